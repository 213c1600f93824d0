/* Compiles the translation of regex_syntax.c, and searches with a callout at each place where PCRE2
 * may backtrack: the callout counts the steps and ends the search at the limit. A compiled
 * expression is one block without pointers into itself. */
#include "format/regex.h"

#include "base/alloc.h"
#include "format/regex_syntax.h"
#include "base/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdlib.h>
#include <string.h>

#define STEP_BACK   8            /* cost of backtracking, in steps */
#define MATCH_LIMIT 20000000     /* PCRE2's own limit, for each starting place */
#define DEPTH_LIMIT 1000000      /* the memory limit is reached first */
#define KEEP_MEMORY (256u << 10) /* bytes that a search keeps for the next one */

struct pl_regex {
    size_t bytes; /* size of the whole block */
    size_t groups;
    uint64_t code[]; /* PCRE2's code, which needs no other memory; aligned as userdata are */
};

static const pcre2_code *code_of(const struct pl_regex *regex)
{
    return (const pcre2_code *)(const void *)regex->code;
}

/* ---- texts ---- */

/* The offset of the first byte that is not UTF-8; len when there is none. */
static size_t valid_length(struct pl_slice text)
{
    const uint8_t *p = (const uint8_t *)text.ptr;
    size_t at = 0;
    while (at < text.len) {
        uint64_t eight;
        unsigned bad;
        if (text.len - at >= 8 && (memcpy(&eight, p + at, 8), (eight & 0x8080808080808080u) == 0)) {
            at += 8;
            continue;
        }
        int len = p[at] < 0x80 ? 1 : pl_utf8_sequence(p + at, text.len - at, &bad);
        if (len <= 0)
            return at;
        at += (size_t)len;
    }
    return at;
}

static int regex_check_text(struct pl_slice text, const char *what, size_t limit,
                            struct pl_err *err)
{
    if (text.len > limit)
        return pl_err_set(err, PL_ELIMIT, "%s has %zu bytes; the limit is %zu", what, text.len,
                          limit);
    size_t good = valid_length(text);
    return good == text.len
               ? 0
               : pl_err_set(err, PL_EINVAL, "%s is not UTF-8 at byte %zu", what, good + 1);
}

/* ---- compiling ---- */

/* An allocator that puts PCRE2's compiled code into the block. */
static void *regex_place(size_t size, void *arg)
{
    void **room = arg;
    if (room == NULL || *room == NULL)
        return malloc(size);
    return *room;
}

static void regex_release(void *ptr, void *arg)
{
    void **room = arg;
    if (room == NULL || ptr != *room)
        free(ptr);
}

static pcre2_code *regex_compile(pcre2_general_context *memory, const struct pl_buf *text,
                                 struct pl_err *err)
{
    pcre2_compile_context *how = pcre2_compile_context_create(memory);
    int code = PCRE2_ERROR_NOMEMORY;
    size_t at = 0;
    pcre2_code *compiled = NULL;
    if (how != NULL) {
        pcre2_set_newline(how, PCRE2_NEWLINE_LF);
        compiled = pcre2_compile((PCRE2_SPTR)text->ptr, text->len,
                                 PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_CIRCUMFLEX |
                                     PCRE2_NEVER_BACKSLASH_C,
                                 &code, &at, how);
        pcre2_compile_context_free(how);
    }
    if (compiled == NULL) {
        PCRE2_UCHAR message[200];
        pcre2_get_error_message(code, message, sizeof message);
        pl_err_set(err, PL_EINVAL, "%s", (const char *)message);
    }
    return compiled;
}

static struct pl_regex *pack(pcre2_code *compiled, void **room, struct pl_err *err)
{
    size_t size;
    uint32_t groups;
    pcre2_pattern_info(compiled, PCRE2_INFO_SIZE, &size);
    pcre2_pattern_info(compiled, PCRE2_INFO_CAPTURECOUNT, &groups);
    if (groups > PL_REGEX_GROUPS) {
        pl_err_set(err, PL_ELIMIT, "it has %u capturing groups; the limit is %d", (unsigned)groups,
                   PL_REGEX_GROUPS);
        return NULL;
    }
    struct pl_regex *regex = pl_calloc(1, sizeof *regex + size);
    regex->bytes = sizeof *regex + size;
    regex->groups = groups;
    *room = regex->code;
    pcre2_code_copy(compiled);
    *room = NULL;
    return regex;
}

struct pl_regex *pl_regex_compile(struct pl_slice text, struct pl_err *err)
{
    struct pl_buf translated = PL_BUF_INIT;
    struct pl_regex *regex = NULL;
    void *room = NULL;
    if (regex_check_text(text, "the expression", PL_REGEX_PATTERN, err) != 0)
        return NULL;
    pcre2_general_context *memory = pcre2_general_context_create(regex_place, regex_release, &room);
    if (memory != NULL && pl_regex_translate(text, &translated, err) == 0) {
        pcre2_code *compiled = regex_compile(memory, &translated, err);
        if (compiled != NULL)
            regex = pack(compiled, &room, err);
        pcre2_code_free(compiled);
    }
    pcre2_general_context_free(memory);
    pl_buf_deinit(&translated);
    return regex;
}

void pl_regex_destroy(struct pl_regex *regex)
{
    pl_free(regex);
}

size_t pl_regex_bytes(const struct pl_regex *regex)
{
    return regex->bytes;
}

size_t pl_regex_groups(const struct pl_regex *regex)
{
    return regex->groups;
}

/* ---- searching ---- */

struct pl_regex_search {
    size_t used;                   /* bytes that PCRE2 has allocated */
    pcre2_general_context *memory; /* owned, like all fields below */
    pcre2_match_context *limits;
    pcre2_match_data *found;
    size_t steps, last; /* steps so far, and the position at the last of them */
};

/* Each allocation stores its size. */
static void *regex_take(size_t size, void *arg)
{
    struct pl_regex_search *search = arg;
    max_align_t *piece = malloc(sizeof *piece + size);
    if (piece == NULL)
        return NULL;
    memcpy(piece, &size, sizeof size);
    search->used += size;
    return piece + 1;
}

static void regex_give(void *ptr, void *arg)
{
    struct pl_regex_search *search = arg;
    if (ptr == NULL)
        return;
    max_align_t *piece = (max_align_t *)ptr - 1;
    size_t size;
    memcpy(&size, piece, sizeof size);
    search->used -= size;
    free(piece);
}

/* Called where a search resumes after backtracking: counts the characters since the last call. */
static int on_callout(pcre2_callout_block *block, void *arg)
{
    struct pl_regex_search *search = arg;
    size_t at = block->current_position;
    search->steps += STEP_BACK * (1 + block->callout_number) +
                     (at > search->last ? at - search->last : search->last - at);
    search->last = at;
    return search->steps > PL_REGEX_STEPS ? PCRE2_ERROR_MATCHLIMIT : 0;
}

struct pl_regex_search *pl_regex_search_create(void)
{
    struct pl_regex_search *search = PL_NEW(struct pl_regex_search);
    search->memory = pcre2_general_context_create(regex_take, regex_give, search);
    search->limits = pcre2_match_context_create(search->memory);
    pcre2_set_callout(search->limits, on_callout, search);
    pcre2_set_match_limit(search->limits, MATCH_LIMIT);
    pcre2_set_depth_limit(search->limits, DEPTH_LIMIT);
    pcre2_set_heap_limit(search->limits, PL_REGEX_MEMORY >> 10);
    return search;
}

void pl_regex_search_destroy(struct pl_regex_search *search)
{
    if (search == NULL)
        return;
    pcre2_match_data_free(search->found);
    pcre2_match_context_free(search->limits);
    pcre2_general_context_free(search->memory);
    pl_free(search);
}

static int regex_explain(int code, struct pl_slice text, struct pl_err *err)
{
    if (code == PCRE2_ERROR_MATCHLIMIT)
        return pl_err_set(err, PL_ELIMIT,
                          "the search was given up: on this text of %zu bytes the expression "
                          "backtracks too often",
                          text.len);
    if (code == PCRE2_ERROR_HEAPLIMIT || code == PCRE2_ERROR_DEPTHLIMIT ||
        code == PCRE2_ERROR_NOMEMORY)
        return pl_err_set(
            err, PL_ELIMIT,
            "the search was given up: on this text of %zu bytes it needs more than %u "
            "MiB",
            text.len, PL_REGEX_MEMORY >> 20);
    PCRE2_UCHAR message[200];
    pcre2_get_error_message(code, message, sizeof message);
    return pl_err_set(err, PL_EINVAL, "%s", (const char *)message);
}

int pl_regex_search(struct pl_regex_search *search, const struct pl_regex *regex,
                    struct pl_slice text, size_t from, bool more, struct pl_err *err)
{
    if (!more) {
        int rc = regex_check_text(text, "the text", PL_REGEX_TEXT, err);
        if (rc != 0)
            return rc;
        search->steps = 0;
    }
    if (search->found == NULL || search->used > KEEP_MEMORY) {
        pcre2_match_data_free(search->found);
        search->found = pcre2_match_data_create(PL_REGEX_GROUPS + 1, search->memory);
        if (search->found == NULL)
            return regex_explain(PCRE2_ERROR_NOMEMORY, text, err);
    }
    if (from > text.len || (from < text.len && ((unsigned char)text.ptr[from] & 0xc0) == 0x80))
        return pl_err_set(err, PL_EINVAL, "byte %zu is inside of a character", from + 1);
    search->last = from;
    int rc = pcre2_match(code_of(regex), (PCRE2_SPTR)(text.ptr != NULL ? text.ptr : ""), text.len,
                         from, PCRE2_NO_UTF_CHECK, search->found, search->limits);
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    return rc > 0 ? 1 : regex_explain(rc, text, err);
}

void pl_regex_group(const struct pl_regex_search *search, size_t i, size_t *from, size_t *to)
{
    const size_t *offsets = pcre2_get_ovector_pointer(search->found);
    *from = offsets[2 * i] == PCRE2_UNSET ? PL_REGEX_NONE : offsets[2 * i];
    *to = offsets[2 * i] == PCRE2_UNSET ? PL_REGEX_NONE : offsets[2 * i + 1];
}

int pl_regex_test(const struct pl_regex *regex, struct pl_slice text, struct pl_err *err)
{
    struct pl_regex_search *search = pl_regex_search_create();
    int rc = pl_regex_search(search, regex, text, 0, false, err);
    pl_regex_search_destroy(search);
    return rc;
}
