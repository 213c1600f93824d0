/* Functions of texts: the standard ones, Kubernetes' regular expressions, and CEL's extended string
 * functions (version 2). Positions in a text are counted in characters. */
#include "cel/function.h"

#include "format/regex.h"

#include <string.h>

#define FAIL(text) ((struct pl_cel){.kind = PL_CEL_ERROR, .s = pl_slice_z(text)})

/* ---- standard ---- */

static bool is_at(struct pl_slice text, size_t i, struct pl_slice part)
{
    return part.len <= text.len - i &&
           (part.len == 0 || memcmp(text.ptr + i, part.ptr, part.len) == 0);
}

/* The first byte at or after `from` where the part begins; text.len + 1: it does not occur. */
static size_t lib_string_find(struct pl_slice text, size_t from, struct pl_slice part)
{
    if (part.len == 0)
        return from;
    if (from > text.len || text.len - from < part.len)
        return text.len + 1;
    const char *at = memmem(text.ptr + from, text.len - from, part.ptr, part.len);
    return at != NULL ? (size_t)(at - text.ptr) : text.len + 1;
}

static struct pl_cel contains(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return pl_cel_bool(lib_string_find(args[0].s, 0, args[1].s) <= args[0].s.len);
}

static struct pl_cel starts_with(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return pl_cel_bool(is_at(args[0].s, 0, args[1].s));
}

static struct pl_cel lib_string_ends_with(struct pl_cel_eval *eval, const struct pl_cel *args,
                                          size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    struct pl_slice text = args[0].s, part = args[1].s;
    return pl_cel_bool(part.len <= text.len && is_at(text, text.len - part.len, part));
}

/* ---- regular expressions ---- */

/* The call's pattern, which the program owns if it is constant. NULL: as pl_regex_compile. */
static const struct pl_regex *regex_of(struct pl_cel_eval *eval, struct pl_slice text,
                                       struct pl_err *err)
{
    const struct pl_regex *constant = eval->call->call.regex;
    return constant != NULL ? constant : pl_cel_pattern(eval, text, err);
}

static struct pl_cel matches(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    struct pl_err err;
    pl_err_clear(&err);
    const struct pl_regex *regex = regex_of(eval, args[1].s, &err);
    int found = regex != NULL
                    ? pl_regex_search(pl_cel_search(eval), regex, args[0].s, 0, false, &err)
                    : err.code;
    return found < 0 ? pl_cel_fail(eval->arena, "error parsing regexp: %s", err.message)
                     : pl_cel_bool(found == 1);
}

/* Finds up to `most` matches. The result is a list of them. */
static struct pl_cel find_matches(struct pl_cel_eval *eval, const struct pl_cel *args, size_t most)
{
    struct pl_err err;
    pl_err_clear(&err);
    const struct pl_regex *regex = regex_of(eval, args[1].s, &err);
    struct pl_slice text = args[0].s;
    struct pl_cel *items;
    struct pl_cel made = pl_cel_new_list(eval->arena, text.len + 1, &items);
    struct pl_cel_list *list = pl_arena_alloc(eval->arena, sizeof *list);
    int rc = regex != NULL ? 1 : err.code;
    for (size_t from = 0, start, end; rc == 1 && list->count < most && from <= text.len;) {
        rc = pl_regex_search(pl_cel_search(eval), regex, text, from, from > 0, &err);
        if (rc != 1)
            break;
        pl_regex_group(eval->search, 0, &start, &end);
        items[list->count++] = pl_cel_string(pl_slice(text.ptr + start, end - start));
        from = end > start ? end : end + 1;
        while (from < text.len && ((unsigned char)text.ptr[from] & 0xc0) == 0x80)
            from++;
    }
    if (rc < 0)
        return pl_cel_fail(eval->arena, "Illegal regex: %s", err.message);
    list->items = items;
    made.list = list;
    return made;
}

static struct pl_cel find_first(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    struct pl_cel found = find_matches(eval, args, 1);
    if (pl_cel_is_error(found))
        return found;
    return found.list->count > 0 ? found.list->items[0] : pl_cel_string(pl_slice_z(""));
}

static struct pl_cel find_all(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    int64_t most = n > 2 ? args[2].i : -1;
    return find_matches(eval, args, most < 0 ? SIZE_MAX : (size_t)most);
}

/* ---- places ---- */

/* The byte offset of a character; false: the text is shorter. */
static bool lib_string_place(struct pl_slice text, int64_t character, size_t *byte)
{
    size_t i = 0;
    for (int64_t left = character; left > 0; left--) {
        if (i >= text.len)
            return false;
        i++;
        while (i < text.len && ((unsigned char)text.ptr[i] & 0xc0) == 0x80)
            i++;
    }
    *byte = i;
    return character >= 0;
}

static struct pl_cel out_of_range(struct pl_cel_eval *eval, int64_t i)
{
    return pl_cel_fail(eval->arena, "index out of range: %lld", (long long)i);
}

static struct pl_cel char_at(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    size_t from, to;
    if (!lib_string_place(args[0].s, args[1].i, &from))
        return out_of_range(eval, args[1].i);
    struct pl_slice rest = pl_slice(args[0].s.ptr + from, args[0].s.len - from);
    if (!lib_string_place(rest, 1, &to))
        to = 0;
    return pl_cel_string(pl_slice(rest.ptr, to));
}

static struct pl_cel lib_string_index_of(struct pl_cel_eval *eval, const struct pl_cel *args,
                                         size_t n)
{
    size_t from = 0;
    if (n > 2 && !lib_string_place(args[0].s, args[2].i, &from))
        return out_of_range(eval, args[2].i);
    size_t at = lib_string_find(args[0].s, from, args[1].s);
    bool found = at <= args[0].s.len;
    return pl_cel_int(found ? (int64_t)pl_cel_characters(pl_slice(args[0].s.ptr, at)) : -1);
}

static struct pl_cel last_index_of(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    struct pl_slice text = args[0].s, part = args[1].s;
    size_t at = text.len;
    if (n > 2 && !lib_string_place(text, args[2].i, &at))
        return out_of_range(eval, args[2].i);
    if (part.len > text.len)
        return pl_cel_int(-1);
    at = at > text.len - part.len ? text.len - part.len : at;
    if (!pl_cel_charge(eval, at / 10 * (part.len / 10 + 1)))
        return pl_cel_over_limit();
    for (size_t i = at + 1; i-- > 0;)
        if (is_at(text, i, part))
            return pl_cel_int((int64_t)pl_cel_characters(pl_slice(text.ptr, i)));
    return pl_cel_int(-1);
}

static struct pl_cel substring(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    size_t from, to = args[0].s.len;
    if (!lib_string_place(args[0].s, args[1].i, &from))
        return out_of_range(eval, args[1].i);
    if (n > 2 && !lib_string_place(args[0].s, args[2].i, &to))
        return out_of_range(eval, args[2].i);
    if (to < from)
        return pl_cel_fail(eval->arena, "invalid substring range. start: %lld, end: %lld",
                           (long long)args[1].i, (long long)args[2].i);
    return pl_cel_string(pl_slice(args[0].s.ptr + from, to - from));
}

/* ---- copies ---- */

static struct pl_cel mapped(struct pl_cel_eval *eval, struct pl_slice text, char first, char shift)
{
    char *copy = pl_arena_alloc(eval->arena, text.len + 1);
    for (size_t i = 0; i < text.len; i++) {
        bool is_letter = text.ptr[i] >= first && text.ptr[i] < first + 26;
        copy[i] = (char)(is_letter ? text.ptr[i] + shift : text.ptr[i]);
    }
    return pl_cel_string(pl_slice(copy, text.len));
}

static struct pl_cel lib_string_lower(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    return mapped(eval, args[0].s, 'A', 'a' - 'A');
}

static struct pl_cel upper(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    return mapped(eval, args[0].s, 'a', 'A' - 'a');
}

static struct pl_cel trim(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    struct pl_slice text = args[0].s;
    while (text.len > 0 && strchr(" \t\n\v\f\r", text.ptr[0]) != NULL)
        text.ptr++, text.len--;
    while (text.len > 0 && strchr(" \t\n\v\f\r", text.ptr[text.len - 1]) != NULL)
        text.len--;
    return pl_cel_string(text);
}

static size_t character_length(struct pl_slice text)
{
    size_t len = 1;
    while (len < text.len && ((unsigned char)text.ptr[len] & 0xc0) == 0x80)
        len++;
    return len;
}

static struct pl_cel replace(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    struct pl_slice text = args[0].s, old = args[1].s, new = args[2].s;
    int64_t left = n > 3 && args[3].i >= 0 ? args[3].i : INT64_MAX;
    struct pl_buf out = PL_BUF_INIT;
    for (size_t i = 0; i <= text.len;) {
        size_t at = left > 0 ? lib_string_find(text, i, old) : text.len + 1;
        if (at > text.len || out.len > PL_CEL_REQUEST_BYTES) {
            pl_buf_add(&out, text.ptr + i, text.len - i);
            break;
        }
        pl_buf_add(&out, text.ptr + i, at - i);
        pl_buf_add_slice(&out, new);
        left--;
        i = at + old.len;
        if (old.len == 0 && i < text.len) {
            size_t len = character_length(pl_slice(text.ptr + i, text.len - i));
            pl_buf_add(&out, text.ptr + i, len);
            i += len;
        } else if (old.len == 0) {
            break;
        }
    }
    if (out.len > PL_CEL_REQUEST_BYTES) {
        pl_buf_deinit(&out);
        return FAIL("the replaced text is too long");
    }
    return pl_cel_text_result(eval, &out);
}

static struct pl_cel lib_string_split(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    struct pl_slice text = args[0].s, by = args[1].s;
    int64_t most = n > 2 && args[2].i >= 0 ? args[2].i : INT64_MAX;
    struct pl_cel *items;
    struct pl_cel made = pl_cel_new_list(eval->arena, text.len + 1, &items);
    struct pl_cel_list *list = pl_arena_alloc(eval->arena, sizeof *list);
    list->items = items;
    made.list = list;
    size_t from = 0;
    bool has_more = most > 0 && (by.len > 0 || text.len > 0);
    while (has_more) {
        struct pl_slice rest = pl_slice(text.ptr + from, text.len - from);
        size_t len = by.len == 0 ? character_length(rest) : lib_string_find(rest, 0, by);
        bool is_last = (int64_t)list->count + 1 >= most || len >= rest.len + (by.len > 0);
        items[list->count++] = pl_cel_string(is_last ? rest : pl_slice(rest.ptr, len));
        from += len + by.len;
        has_more = !is_last;
    }
    return made;
}

static struct pl_cel lib_string_join(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    const struct pl_cel_list *list = pl_cel_list_of(eval, args[0]);
    struct pl_buf out = PL_BUF_INIT;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].kind != PL_CEL_STRING || out.len > PL_CEL_REQUEST_BYTES) {
            pl_buf_deinit(&out);
            return list->items[i].kind != PL_CEL_STRING ? pl_cel_no_overload()
                                                        : FAIL("the joined text is too long");
        }
        if (i > 0 && n > 1)
            pl_buf_add_slice(&out, args[1].s);
        pl_buf_add_slice(&out, list->items[i].s);
    }
    return pl_cel_text_result(eval, &out);
}

static struct pl_cel quote(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    static const char from[] = "\a\b\f\n\r\t\v\\\"", to[] = "abfnrtv\\\"";
    PL_UNUSED(n);
    struct pl_buf out = PL_BUF_INIT;
    pl_buf_add_char(&out, '"');
    for (size_t i = 0; i < args[0].s.len; i++) {
        char c = args[0].s.ptr[i];
        const char *at = c != '\0' ? strchr(from, c) : NULL;
        if (at != NULL)
            pl_buf_add_char(&out, '\\');
        pl_buf_add_char(&out, at != NULL ? to[at - from] : c);
    }
    pl_buf_add_char(&out, '"');
    return pl_cel_text_result(eval, &out);
}

#define MEMBER(name, signature, cost, size, fn)                                                    \
    PL_CEL_ROW(name, signature, true, PL_CEL_COST_##cost, PL_CEL_SIZE_##size, fn)

const struct pl_cel_function pl_cel_string_functions[] = {
    MEMBER("contains", "ss:b", PRODUCT, NONE, contains),
    MEMBER("startsWith", "ss:b", LAST, NONE, starts_with),
    MEMBER("endsWith", "ss:b", LAST, NONE, lib_string_ends_with),
    MEMBER("matches", "ss:b", REGEX, NONE, matches),
    PL_CEL_ROW("matches", "ss:b", false, PL_CEL_COST_REGEX, PL_CEL_SIZE_NONE, matches),
    MEMBER("find", "ss:s", REGEX, UP_TO_SELF, find_first),
    MEMBER("findAll", "ss:Ls", REGEX, UP_TO_SELF, find_all),
    MEMBER("findAll", "ssi:Ls", REGEX, UP_TO_SELF, find_all),
    MEMBER("charAt", "si:s", ONE, NONE, char_at),
    MEMBER("indexOf", "ss:i", ELEMENTS, NONE, lib_string_index_of),
    MEMBER("indexOf", "ssi:i", ELEMENTS, NONE, lib_string_index_of),
    MEMBER("lastIndexOf", "ss:i", ELEMENTS, NONE, last_index_of),
    MEMBER("lastIndexOf", "ssi:i", ELEMENTS, NONE, last_index_of),
    MEMBER("substring", "si:s", SELF, SELF, substring),
    MEMBER("substring", "sii:s", SELF, SELF, substring),
    MEMBER("lowerAscii", "s:s", SELF, SELF, lib_string_lower),
    MEMBER("upperAscii", "s:s", SELF, SELF, upper),
    MEMBER("trim", "s:s", SELF, SELF, trim),
    MEMBER("replace", "sss:s", SELF_TWICE, REPLACE, replace),
    MEMBER("replace", "sssi:s", SELF_TWICE, REPLACE, replace),
    MEMBER("split", "ss:Ls", SELF_TWICE, SPLIT, lib_string_split),
    MEMBER("split", "ssi:Ls", SELF_TWICE, SPLIT, lib_string_split),
    MEMBER("join", "Ls:s", RESULT, JOINED, lib_string_join),
    MEMBER("join", "Lss:s", RESULT, JOINED, lib_string_join),
    MEMBER("format", "sLD:s", SELF, NONE, pl_cel_format_text),
    PL_CEL_ROW("strings.quote", "s:s", false, PL_CEL_COST_SELF, PL_CEL_SIZE_QUOTED, quote),
    {0},
};
