/* The JSON parser: bytes to encoder calls, by a loop over six states that can stop before any token
 * and resume with more bytes. Strings that are not plain ASCII text are read in parse_string.c.
 *
 * It must accept exactly the texts of RFC 8259 and RFC 3629, however they are cut into chunks:
 * spec/data/json has the cases, and the tests feed it in pieces of every size. Text is never
 * trusted: depth and length have limits, and skipped parts (managedFields) are checked like the
 * rest.
 *
 * Three things make it fast without changing what it accepts: strings are searched 16 bytes at a
 * time, names are compared with those expected at this place before they are read (share.h), and
 * text that equals the last managedFields is not read again (skim.h). The zero bytes after the
 * input stop the inner loops, so that these need not check for the end. */
#include "value/parse.h"
#include "value/number.h"
#include "value/share.h"
#include "value/string_scan.h"

#include "base/alloc.h"

#include <limits.h>

enum {
    AT_VALUE, /* a value must come */
    AT_FIRST, /* the container's first value or name, or its end */
    AT_KEY,   /* a name */
    AT_COLON,
    AT_NEXT, /* ',' or the end of the container */
    AT_END,  /* the value is complete */
};

enum { SHORT_NUMBER = 18 }; /* digits: this many always fit 64 bits */

void pl_parse_init(struct parse *ps, unsigned max_depth, bool drop_managed_fields)
{
    ps->max_depth = max_depth;
    ps->drop_managed_fields = drop_managed_fields;
    ps->is_object = pl_calloc(max_depth + 1, 1);
}

void pl_parse_deinit(struct parse *ps)
{
    pl_free(ps->is_object);
    pl_skim_deinit(&ps->skim);
    pl_buf_deinit(&ps->text);
    pl_buf_deinit(&ps->key_at);
    ps->is_object = NULL;
}

void pl_parse_start(struct parse *ps, struct enc *enc)
{
    ps->enc = enc;
    ps->state = AT_VALUE;
    ps->depth = 0;
    ps->skip_depth = UINT_MAX;
    ps->in_metadata = false;
    ps->at_uid = false;
    ps->add_api_version = ps->add_kind = false;
    ps->string_seen = 0;
    ps->key_at.len = 0;
}

/* ---- strings ---- */

/* The place after the closing quote, or NULL. */
static inline const uint8_t *take_string(struct parse *ps, const uint8_t *p, const uint8_t *end,
                                         struct pl_slice *text)
{
    if (ps->string_seen == 0) {
        const uint8_t *stop = string_run(p + 1);
        if (*stop == '"') { /* nearly every string */
            *text = pl_slice((const char *)p + 1, (size_t)(stop - p - 1));
            return stop + 1;
        }
        ps->string_escaped = false;
    }
    return pl_parse_odd_string(ps, p, end, text);
}

enum parse_result pl_parse_string(struct parse *ps, const uint8_t **at, const uint8_t *end,
                                  struct pl_slice *text)
{
    const uint8_t *p = take_string(ps, *at, end, text);
    if (p == NULL)
        return ps->fault != NULL ? PARSE_ERROR : PARSE_MORE;
    *at = p;
    return PARSE_DONE;
}

/* ---- values ---- */

static inline struct enc *encoder(struct parse *ps)
{
    return ps->skip_depth == UINT_MAX ? ps->enc : NULL;
}

/* A value has ended; the next state depends on its container. */
static inline void value_done(struct parse *ps)
{
    if (ps->depth == ps->skip_depth)
        ps->skip_depth = UINT_MAX;
    ps->state = ps->depth == 0 ? AT_END : AT_NEXT;
}

static const uint8_t *take_word(struct parse *ps, const uint8_t *p, const uint8_t *end,
                                const char *word, uint8_t tag)
{
    for (; *word != '\0'; word++, p++) {
        if (*p != (uint8_t)*word)
            return pl_parse_unexpected(ps, p, end, "expected null, true or false");
    }
    if (encoder(ps) != NULL)
        pl_enc_tag(ps->enc, tag);
    value_done(ps);
    return p;
}

/* Most numbers are short and need no further check. */
static void add_number(struct parse *ps, const uint8_t *p, const uint8_t *stop, bool plain)
{
    if (!plain || *p == '-' || stop - p > SHORT_NUMBER) {
        pl_enc_number(ps->enc, pl_slice((const char *)p, (size_t)(stop - p)));
        return;
    }
    int64_t value = 0;
    while (p < stop)
        value = value * 10 + (*p++ - '0');
    pl_enc_int(ps->enc, value);
}

static const uint8_t *take_number(struct parse *ps, const uint8_t *p, const uint8_t *end,
                                  bool final)
{
    bool plain;
    const uint8_t *bad, *stop = pl_number_end(p, &plain, &bad);
    if (end - p > PARSE_NUMBER_MAX && (stop == NULL ? bad : stop) - p > PARSE_NUMBER_MAX)
        return pl_parse_fail(ps, p, PL_ELIMIT, "a number of more than 4096 characters");
    if (stop == NULL)
        return pl_parse_unexpected(ps, bad, end, "malformed number");
    if (stop == end && !final)
        return NULL;
    if (encoder(ps) != NULL)
        add_number(ps, p, stop, plain);
    value_done(ps);
    return stop;
}

/* At the start of a container that is only checked. If it is like the last one, returns the place
 * after it; else the place where parsing has to begin. */
static const uint8_t *skim(struct parse *ps, const uint8_t *p, const uint8_t *end)
{
    const struct skim_mark *mark;
    size_t len = pl_skim_match(&ps->skim, p, end, &mark);
    if (len != 0) {
        value_done(ps);
        return p + len;
    }
    ps->skip_at = ps->bytes_at + (uint64_t)(p - ps->bytes);
    if (mark == NULL || ps->depth + mark->depth > ps->max_depth)
        return NULL;
    for (uint32_t i = 0; i < mark->depth; i++)
        ps->is_object[++ps->depth] = mark->is_object >> i & 1;
    ps->state = ps->is_object[ps->depth] ? AT_KEY : AT_VALUE;
    return p + mark->offset;
}

static void end_skim(struct parse *ps, const uint8_t *end)
{
    if (ps->skip_at < ps->bytes_at || !pl_skim_wants(&ps->skim))
        return; /* its beginning is not in the buffer any more, or it is not worth learning */
    const uint8_t *start = ps->bytes + (ps->skip_at - ps->bytes_at);
    pl_skim_learn(&ps->skim, start, (size_t)(end - start));
}

static const uint8_t *open_box(struct parse *ps, const uint8_t *p, const uint8_t *end,
                               bool is_object)
{
    if (ps->depth == ps->skip_depth) {
        const uint8_t *next = skim(ps, p, end);
        if (next != NULL)
            return next;
    }
    if (ps->depth == ps->max_depth)
        return pl_parse_fail(ps, p, PL_ELIMIT, "nested too deeply");
    ps->is_object[++ps->depth] = is_object;
    if (encoder(ps) != NULL)
        pl_enc_begin(ps->enc, is_object);
    ps->state = AT_FIRST;
    return p + 1;
}

/* The position in the input of the `ordinal`-th name of the container that ends. */
static uint64_t key_position(const struct parse *ps, ssize_t ordinal)
{
    uint64_t at;
    size_t open = ps->key_at.len / sizeof(at);
    size_t count = ps->enc->frames[ps->enc->depth + 1].count;
    memcpy(&at, ps->key_at.ptr + (open - count + (size_t)ordinal) * sizeof(at), sizeof(at));
    return at;
}

static void parse_add_member(struct parse *ps, const uint8_t *p, const char *key, const char *text)
{
    uint64_t at = ps->bytes_at + (uint64_t)(p - ps->bytes);
    pl_enc_key(ps->enc, pl_slice_z(key));
    if (ps->enc->refuse_duplicates)
        pl_buf_add(&ps->key_at, &at, sizeof(at));
    pl_enc_str(ps->enc, pl_slice_z(text));
}

static const uint8_t *close_box(struct parse *ps, const uint8_t *p)
{
    ps->depth--;
    if (encoder(ps) != NULL) {
        if (ps->depth == 0 && *p == '}') {
            if (ps->add_api_version)
                parse_add_member(ps, p, "apiVersion", ps->api_version);
            if (ps->add_kind)
                parse_add_member(ps, p, "kind", ps->kind);
        }
        const struct enc_frame *frame = &ps->enc->frames[ps->enc->depth];
        size_t names = ps->enc->refuse_duplicates && frame->is_object ? frame->count : 0;
        ssize_t repeated = pl_enc_end(ps->enc);
        if (repeated >= 0) {
            pl_parse_fail(ps, p, PL_ESYNTAX, "a duplicate name");
            ps->fault_at = key_position(ps, repeated);
            return NULL;
        }
        ps->key_at.len -= names * sizeof(uint64_t);
    } else if (ps->depth == ps->skip_depth) {
        end_skim(ps, p + 1);
    }
    value_done(ps);
    return p + 1;
}

static inline void add_string(struct parse *ps, struct pl_slice text)
{
    if (ps->at_uid) {
        ps->at_uid = false;
        pl_enc_uid(ps->enc, text);
        return;
    }
    pl_enc_str(ps->enc, text);
}

static const uint8_t *take_value(struct parse *ps, const uint8_t *p, const uint8_t *end, bool final)
{
    struct pl_slice text;
    const uint8_t *next;
    switch (*p) {
    case '"':
        if (encoder(ps) != NULL && ps->string_seen == 0 && !ps->at_uid &&
            (next = share_guess_str(ps->enc, p, end)) != NULL) {
            value_done(ps);
            return next;
        }
        next = take_string(ps, p, end, &text);
        if (next == NULL)
            return NULL;
        if (encoder(ps) != NULL)
            add_string(ps, text);
        value_done(ps);
        return next;
    case '{':
    case '[':
        return open_box(ps, p, end, *p == '{');
    case 't':
        return take_word(ps, p, end, "true", TAG_TRUE);
    case 'f':
        return take_word(ps, p, end, "false", TAG_FALSE);
    case 'n':
        return take_word(ps, p, end, "null", TAG_NULL);
    default:
        if (*p == '-' || (*p >= '0' && *p <= '9'))
            return take_number(ps, p, end, final);
        return pl_parse_unexpected(ps, p, end, "expected a value");
    }
}

/* The document has this member itself, so it need not be added. True when the document's own is to
 * be left out. */
static bool has_own(const struct parse *ps, bool *adds)
{
    *adds = ps->replace_kind;
    return ps->replace_kind;
}

/* Watches for metadata.uid, metadata.managedFields, apiVersion and kind of the document. True when
 * the member of this name is to be left out. */
static bool note_key(struct parse *ps, struct pl_slice key)
{
    ps->at_uid = false;
    if (ps->depth == 1) {
        ps->in_metadata = pl_slice_eqz(key, "metadata");
        if (ps->add_api_version && pl_slice_eqz(key, "apiVersion"))
            return has_own(ps, &ps->add_api_version);
        if (ps->add_kind && pl_slice_eqz(key, "kind"))
            return has_own(ps, &ps->add_kind);
    }
    if (ps->depth != 2 || !ps->in_metadata)
        return false;
    ps->at_uid = pl_slice_eqz(key, "uid");
    return ps->drop_managed_fields && pl_slice_eqz(key, "managedFields");
}

static inline const uint8_t *take_colon(struct parse *ps, const uint8_t *p, const uint8_t *end)
{
    if (*p != ':')
        return pl_parse_unexpected(ps, p, end, "expected ':'");
    ps->state = AT_VALUE;
    return p + 1;
}

/* Most names are guessed before they are read. NULL: this name differs from the guess. */
static inline const uint8_t *guessed_key(struct parse *ps, const uint8_t *p, const uint8_t *end)
{
    struct pl_slice key;
    if (encoder(ps) == NULL || ps->string_seen != 0)
        return NULL;
    const uint8_t *next = share_guess_key(ps->enc, p, end, &key);
    if (next == NULL || (ps->depth <= 2 && note_key(ps, key)))
        return NULL;
    share_take_key(ps->enc);
    ps->state = AT_COLON;
    return next;
}

static inline const uint8_t *take_key(struct parse *ps, const uint8_t *p, const uint8_t *end)
{
    struct pl_slice key;
    if (*p != '"')
        return pl_parse_unexpected(ps, p, end, "expected a name in quotes");
    const uint8_t *next = guessed_key(ps, p, end);
    if (next != NULL)
        return next;
    next = take_string(ps, p, end, &key);
    if (next == NULL)
        return NULL;
    ps->state = AT_COLON;
    if (encoder(ps) == NULL)
        return next;
    if (ps->depth <= 2 && note_key(ps, key)) {
        ps->skip_depth = ps->depth;
        return next;
    }
    pl_enc_key(ps->enc, key);
    if (ps->enc->refuse_duplicates) {
        uint64_t at = ps->bytes_at + (uint64_t)(p - ps->bytes);
        pl_buf_add(&ps->key_at, &at, sizeof(at));
    }
    return next;
}

static inline bool is_end_of_box(const struct parse *ps, uint8_t c)
{
    return c == (ps->is_object[ps->depth] ? '}' : ']');
}

/* Takes ',' or the end of the container after a value, and returns the place after it. */
static inline const uint8_t *take_next(struct parse *ps, const uint8_t *p, const uint8_t *end)
{
    bool in_object = ps->is_object[ps->depth];
    if (*p == ',') {
        ps->state = in_object ? AT_KEY : AT_VALUE;
        return p + 1;
    }
    if (is_end_of_box(ps, *p))
        return close_box(ps, p);
    return pl_parse_unexpected(ps, p, end,
                               in_object ? "expected ',' or '}'" : "expected ',' or ']'");
}

static inline const uint8_t *parse_skip_space(const uint8_t *p)
{
    while (*p <= ' ' && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
        p++;
    return p;
}

/* Each token leaves ps->state at the next one, so that scanning can stop before any token; p is
 * then where it begins. The bytes after the end are zero, which occurs in no token, so the end
 * shows as an unexpected byte. */
enum parse_result pl_parse_run(struct parse *ps, const uint8_t **at, const uint8_t *end, bool final)
{
    const uint8_t *p = *at, *next;
    for (;;) {
        p = parse_skip_space(p);
        switch (ps->state) {
        case AT_FIRST:
            if (p >= end) {
                *at = p;
                return PARSE_MORE;
            }
            ps->state = is_end_of_box(ps, *p)      ? AT_NEXT
                        : ps->is_object[ps->depth] ? AT_KEY
                                                   : AT_VALUE;
            continue;
        case AT_KEY:
            next = take_key(ps, p, end);
            if (next == NULL)
                break;
            p = parse_skip_space(next);
            __attribute__((fallthrough));
        case AT_COLON:
            next = take_colon(ps, p, end);
            if (next == NULL)
                break;
            p = parse_skip_space(next);
            __attribute__((fallthrough));
        case AT_VALUE:
            next = take_value(ps, p, end, final);
            if (next == NULL || ps->state != AT_NEXT)
                break;
            p = parse_skip_space(next);
            __attribute__((fallthrough));
        case AT_NEXT:
            next = take_next(ps, p, end);
            break;
        default:
            *at = p;
            return PARSE_DONE;
        }
        if (next == NULL) {
            *at = p;
            return ps->fault != NULL ? PARSE_ERROR : PARSE_MORE;
        }
        p = next;
        if (ps->state == AT_END) {
            *at = p;
            return PARSE_DONE;
        }
    }
}
