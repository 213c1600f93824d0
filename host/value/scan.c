/* Streams of documents: finds where values begin, and their role. parse.c parses the values. Bytes
 * are copied into one padded buffer in slices; between calls it keeps at most one unfinished token.
 */
#include "value/scan.h"
#include "value/parse.h"
#include "value/pool.h"

#include "base/alloc.h"

#include <stdio.h>

enum {
    SLICE = 32 << 10, /* part of a chunk that is scanned while it is in the processor's cache */
    KEEP_BUFFER = 64 << 10, /* a larger buffer is freed between documents */
    MOST_ROOM = 4 << 10,    /* for a document's values before they come */
};

enum { FORM_TEXT = PL_SCAN_WATCH + 1 }; /* exactly one value */

/* The position of the stream between values. */
enum at {
    AT_START, /* a value, list or event may begin */
    AT_KEY,   /* of the list or event; at the first, '}' may come instead */
    AT_FIRST_KEY,
    AT_COLON,
    AT_MEMBER, /* the member's value must come */
    AT_NEXT,   /* ',' or '}' of the list or event */
    AT_FIRST_ITEM,
    AT_ITEM,
    AT_NEXT_ITEM,
    AT_TAIL, /* only white space may follow */
};

/* Members from MEMBER_ITEMS on may not come twice. */
enum member { MEMBER_OTHER, MEMBER_METADATA, MEMBER_ITEMS, MEMBER_TYPE, MEMBER_OBJECT };

struct pl_scan {
    int form; /* enum pl_scan_form or FORM_TEXT */
    struct pl_scan_sink sink;
    size_t max_bytes;
    struct parse parse;
    struct enc doc;      /* the document being read */
    struct enc list;     /* PL_SCAN_LIST: the list without its items; never pooled, because
                          * documents come and go while it is open */
    struct pl_buf bytes; /* not yet scanned, with padding after them */
    uint64_t bytes_at;   /* position of `bytes` in the stream */
    enum at at;
    bool in_value;     /* the parser is inside a value */
    bool value_is_doc; /* the value is a document, not a member of the list or event */
    enum member member;
    unsigned members_seen; /* bits of enum member */
    size_t metadata_at;    /* in list.values: its beginning */
    uint64_t unit_at;      /* in the stream: beginning of the document or the piece of envelope */
    uint64_t envelope;     /* bytes of the list or event so far, without documents */
    struct pl_buf type;
    struct pl_doc *object; /* PL_SCAN_WATCH: complete, waits until its event ends */
    struct pl_err err;     /* sticky */
};

static struct pl_scan *scan_create(int form, const struct pl_scan_options *options,
                                   const struct pl_scan_sink *sink)
{
    struct pl_scan *scan = PL_NEW(struct pl_scan);
    scan->form = form;
    scan->sink = *sink;
    scan->max_bytes = options->max_bytes != 0 ? options->max_bytes : PL_SCAN_BYTES;
    pl_parse_init(&scan->parse, options->max_depth != 0 ? options->max_depth : PL_SCAN_DEPTH,
                  !options->keep_managed_fields);
    scan->parse.api_version = options->api_version;
    scan->parse.kind = options->kind;
    scan->parse.replace_kind = options->replace_kind;
    scan->parse.replaces_halves = options->replace_surrogates;
    pl_enc_init(&scan->doc, options->pool, options->refuse_duplicates);
    pl_enc_init(&scan->list, NULL, options->refuse_duplicates);
    pl_err_clear(&scan->err);
    return scan;
}

struct pl_scan *pl_scan_create(enum pl_scan_form form, const struct pl_scan_options *options,
                               const struct pl_scan_sink *sink)
{
    static const struct pl_scan_options defaults;
    return scan_create((int)form, options != NULL ? options : &defaults, sink);
}

void pl_scan_destroy(struct pl_scan *scan)
{
    if (scan == NULL)
        return;
    pl_doc_unref(scan->object);
    pl_parse_deinit(&scan->parse);
    pl_pool_enter(scan->doc.pool);
    pl_enc_deinit(&scan->doc);
    pl_pool_leave(scan->doc.pool);
    pl_enc_deinit(&scan->list);
    pl_buf_deinit(&scan->bytes);
    pl_buf_deinit(&scan->type);
    pl_free(scan);
}

/* ---- errors: each returns NULL, which ends the step ---- */

static PL_COLD const uint8_t *scan_fail_at(struct pl_scan *scan, int code, uint64_t offset,
                                           const char *what)
{
    pl_err_set(&scan->err, code, "JSON, byte %llu: %s", (unsigned long long)offset, what);
    scan->err.offset = (int64_t)offset;
    return NULL;
}

static uint64_t offset_of(const struct pl_scan *scan, const uint8_t *p)
{
    return scan->bytes_at + (uint64_t)(p - (const uint8_t *)scan->bytes.ptr);
}

static PL_COLD const uint8_t *scan_fail(struct pl_scan *scan, const uint8_t *p, const char *what)
{
    return scan_fail_at(scan, PL_ESYNTAX, offset_of(scan, p), what);
}

/* The error of the value's parser. */
static PL_COLD const uint8_t *scan_fail_value(struct pl_scan *scan)
{
    const struct parse *parse = &scan->parse;
    return scan_fail_at(scan, parse->code, parse->fault_at, parse->fault);
}

static bool check_limit(struct pl_scan *scan, uint64_t until)
{
    bool in_doc = scan->in_value && scan->value_is_doc;
    uint64_t size = until - scan->unit_at + (in_doc ? 0 : scan->envelope);
    if (size <= scan->max_bytes)
        return true;
    char what[80];
    snprintf(what, sizeof(what), "a document of more than %zu bytes", scan->max_bytes);
    scan_fail_at(scan, PL_ELIMIT, until, what);
    return false;
}

/* ---- documents ---- */

static int stopped_by_sink(struct pl_scan *scan, int code)
{
    return code == 0 ? 0 : pl_err_set(&scan->err, code, "stopped by the receiver");
}

static bool give_doc(struct pl_scan *scan, struct pl_doc *doc)
{
    struct pl_slice type = pl_buf_slice(&scan->type);
    return stopped_by_sink(scan, scan->sink.on_doc(scan->sink.arg, type, doc)) == 0;
}

static bool give_list(struct pl_scan *scan, const uint8_t *p)
{
    if (pl_enc_end(&scan->list) >= 0)
        return scan_fail(scan, p, "a list with a duplicate name");
    struct pl_doc *list = pl_enc_finish(&scan->list);
    if (scan->sink.on_list == NULL) {
        pl_doc_unref(list);
        return true;
    }
    return stopped_by_sink(scan, scan->sink.on_list(scan->sink.arg, list)) == 0;
}

static void give_metadata(struct pl_scan *scan)
{
    if (scan->sink.on_metadata == NULL)
        return;
    struct pl_doc *metadata = pl_enc_copy(&scan->list, scan->metadata_at);
    scan->sink.on_metadata(scan->sink.arg, metadata);
    pl_doc_unref(metadata);
}

static bool end_event(struct pl_scan *scan, const uint8_t *p)
{
    if ((scan->members_seen & 1u << MEMBER_TYPE) == 0)
        return scan_fail(scan, p, "a watch event without \"type\"");
    if (scan->object == NULL)
        return scan_fail(scan, p, "a watch event without \"object\"");
    struct pl_doc *object = scan->object;
    scan->object = NULL;
    return give_doc(scan, object);
}

/* ---- values ---- */

/* The object of an "ERROR" event is a Status, and an event may have its type last. */
static bool is_of_the_kind(const struct pl_scan *scan)
{
    return scan->form != PL_SCAN_WATCH || ((scan->members_seen & 1u << MEMBER_TYPE) != 0 &&
                                           !pl_slice_eqz(pl_buf_slice(&scan->type), "ERROR"));
}

/* The bytes at p are a value for `enc` (NULL: it is only checked). */
static const uint8_t *start_value(struct pl_scan *scan, const uint8_t *p, struct enc *enc)
{
    scan->in_value = true;
    scan->value_is_doc = enc == &scan->doc;
    if (scan->value_is_doc) {
        uint64_t at = offset_of(scan, p);
        scan->envelope += at - scan->unit_at;
        scan->unit_at = at;
    }
    pl_parse_start(&scan->parse, enc);
    bool adds = scan->value_is_doc && is_of_the_kind(scan);
    scan->parse.add_api_version = adds && scan->parse.api_version != NULL;
    scan->parse.add_kind = adds && scan->parse.kind != NULL;
    return p;
}

static bool end_value(struct pl_scan *scan, const uint8_t *p)
{
    if (!check_limit(scan, offset_of(scan, p)))
        return false;
    scan->in_value = false;
    if (!scan->value_is_doc) {
        if (scan->member == MEMBER_METADATA)
            give_metadata(scan);
        scan->at = AT_NEXT;
        return true;
    }
    scan->value_is_doc = false;
    scan->unit_at = offset_of(scan, p);
    struct pl_doc *doc = pl_enc_finish(&scan->doc);
    if (scan->form == PL_SCAN_WATCH) {
        scan->at = AT_NEXT;
        scan->object = doc;
        return true;
    }
    scan->at = scan->form == PL_SCAN_LIST ? AT_NEXT_ITEM
               : scan->form == FORM_TEXT  ? AT_TAIL
                                          : AT_START;
    return give_doc(scan, doc);
}

/* ---- the envelope ---- */

static const uint8_t *start_envelope(struct pl_scan *scan, const uint8_t *p)
{
    if (scan->form == PL_SCAN_VALUES || scan->form == FORM_TEXT)
        return start_value(scan, p, &scan->doc);
    if (*p != '{')
        return scan_fail(scan, p,
                         scan->form == PL_SCAN_LIST ? "expected a list object"
                                                    : "expected a watch event");
    scan->at = AT_FIRST_KEY;
    scan->members_seen = 0;
    scan->type.len = 0;
    if (scan->form == PL_SCAN_LIST)
        pl_enc_begin(&scan->list, true);
    return p + 1;
}

static const uint8_t *end_envelope(struct pl_scan *scan, const uint8_t *p)
{
    bool given;
    if (scan->form == PL_SCAN_LIST) {
        scan->at = AT_TAIL;
        given = give_list(scan, p);
    } else {
        scan->at = AT_START;
        given = end_event(scan, p);
    }
    scan->envelope = 0;
    return given ? p + 1 : NULL;
}

static enum member member_of(const struct pl_scan *scan, struct pl_slice key)
{
    if (scan->form == PL_SCAN_LIST)
        return pl_slice_eqz(key, "items")      ? MEMBER_ITEMS
               : pl_slice_eqz(key, "metadata") ? MEMBER_METADATA
                                               : MEMBER_OTHER;
    if (pl_slice_eqz(key, "type"))
        return MEMBER_TYPE;
    return pl_slice_eqz(key, "object") ? MEMBER_OBJECT : MEMBER_OTHER;
}

static const uint8_t *envelope_key(struct pl_scan *scan, const uint8_t *p, const uint8_t *end)
{
    struct pl_slice key;
    const uint8_t *next = p;
    if (*p != '"')
        return scan_fail(scan, p, "expected a name in quotes");
    enum parse_result result = pl_parse_string(&scan->parse, &next, end, &key);
    if (result == PARSE_ERROR)
        return scan_fail_value(scan);
    if (result == PARSE_MORE)
        return NULL;
    scan->member = member_of(scan, key);
    unsigned bit = 1u << scan->member;
    if (scan->member >= MEMBER_ITEMS && (scan->members_seen & bit) != 0)
        return scan_fail(scan, p, "a duplicate name");
    scan->members_seen |= bit;
    if (scan->form == PL_SCAN_LIST && scan->member != MEMBER_ITEMS)
        pl_enc_key(&scan->list, key);
    scan->at = AT_COLON;
    return next;
}

static const uint8_t *event_type(struct pl_scan *scan, const uint8_t *p, const uint8_t *end)
{
    struct pl_slice type;
    const uint8_t *next = p;
    if (*p != '"')
        return scan_fail(scan, p, "\"type\" is not a string");
    enum parse_result result = pl_parse_string(&scan->parse, &next, end, &type);
    if (result == PARSE_ERROR)
        return scan_fail_value(scan);
    if (result == PARSE_MORE)
        return NULL;
    pl_buf_add_slice(&scan->type, type);
    scan->at = AT_NEXT;
    return next;
}

static const uint8_t *envelope_member(struct pl_scan *scan, const uint8_t *p, const uint8_t *end)
{
    switch (scan->member) {
    case MEMBER_ITEMS:
        if (*p == '[') {
            scan->at = AT_FIRST_ITEM;
            return p + 1;
        }
        if (*p == 'n') /* Go encodes an empty slice as null */
            return start_value(scan, p, NULL);
        return scan_fail(scan, p, "\"items\" is not an array");
    case MEMBER_TYPE:
        return event_type(scan, p, end);
    case MEMBER_OBJECT:
        return start_value(scan, p, &scan->doc);
    case MEMBER_METADATA:
        scan->metadata_at = scan->list.values.len;
        return start_value(scan, p, &scan->list);
    default:
        return start_value(scan, p, scan->form == PL_SCAN_LIST ? &scan->list : NULL);
    }
}

static const uint8_t *separator(struct pl_scan *scan, const uint8_t *p)
{
    bool in_items = scan->at == AT_NEXT_ITEM;
    if (*p == ',') {
        scan->at = in_items ? AT_ITEM : AT_KEY;
        return p + 1;
    }
    if (*p != (in_items ? ']' : '}'))
        return scan_fail(scan, p, in_items ? "expected ',' or ']'" : "expected ',' or '}'");
    if (!in_items)
        return end_envelope(scan, p);
    scan->at = AT_NEXT;
    return p + 1;
}

/* Reads one token of the envelope. NULL: an error, or more bytes are needed. */
static const uint8_t *scan_step(struct pl_scan *scan, const uint8_t *p, const uint8_t *end)
{
    switch (scan->at) {
    case AT_START:
        return start_envelope(scan, p);
    case AT_FIRST_KEY:
        if (*p == '}')
            return end_envelope(scan, p);
        __attribute__((fallthrough));
    case AT_KEY:
        return envelope_key(scan, p, end);
    case AT_COLON:
        if (*p != ':')
            return scan_fail(scan, p, "expected ':'");
        scan->at = AT_MEMBER;
        return p + 1;
    case AT_MEMBER:
        return envelope_member(scan, p, end);
    case AT_FIRST_ITEM:
        if (*p == ']') {
            scan->at = AT_NEXT;
            return p + 1;
        }
        __attribute__((fallthrough));
    case AT_ITEM:
        return start_value(scan, p, &scan->doc);
    case AT_NEXT:
    case AT_NEXT_ITEM:
        return separator(scan, p);
    default:
        return scan_fail(scan, p, "unexpected text after the end");
    }
}

/* Scans the buffer. Returns the place where it stopped; scan->err has errors. */
static const uint8_t *scan_run(struct pl_scan *scan, bool final)
{
    const uint8_t *p = (const uint8_t *)scan->bytes.ptr, *end = p + scan->bytes.len;
    scan->parse.bytes = p;
    scan->parse.bytes_at = scan->bytes_at;
    for (;;) {
        if (scan->in_value) {
            enum parse_result result = pl_parse_run(&scan->parse, &p, end, final);
            if (result == PARSE_ERROR)
                scan_fail_value(scan);
            if (result != PARSE_DONE || !end_value(scan, p))
                return p;
            continue;
        }
        while (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')
            p++;
        if (scan->at == AT_START || scan->at == AT_TAIL)
            scan->unit_at = offset_of(scan, p);
        if (p >= end)
            return p;
        const uint8_t *next = scan_step(scan, p, end);
        if (next == NULL)
            return p;
        p = next;
    }
}

static void scan_slice(struct pl_scan *scan, struct pl_slice slice, bool final)
{
    pl_buf_reserve(&scan->bytes, slice.len + PARSE_PADDING);
    if (slice.len != 0)
        memcpy(scan->bytes.ptr + scan->bytes.len, slice.ptr, slice.len);
    scan->bytes.len += slice.len;
    memset(scan->bytes.ptr + scan->bytes.len, 0, PARSE_PADDING);
    size_t done = (size_t)(scan_run(scan, final) - (const uint8_t *)scan->bytes.ptr);
    if (scan->err.code != 0)
        return;
    check_limit(scan, scan->bytes_at + scan->bytes.len);
    pl_buf_drop_front(&scan->bytes, done);
    scan->bytes_at += done;
}

static int result(const struct pl_scan *scan, struct pl_err *err)
{
    if (scan->err.code != 0 && err != NULL)
        *err = scan->err;
    return scan->err.code;
}

int pl_scan_feed(struct pl_scan *scan, struct pl_slice chunk, struct pl_err *err)
{
    pl_pool_enter(scan->doc.pool);
    while (chunk.len > 0 && scan->err.code == 0) {
        size_t len = chunk.len < SLICE ? chunk.len : SLICE;
        scan_slice(scan, pl_slice(chunk.ptr, len), false);
        chunk = pl_slice(chunk.ptr + len, chunk.len - len);
    }
    if (scan->in_value && scan->value_is_doc)
        pl_enc_pause(&scan->doc);
    pl_pool_leave(scan->doc.pool);
    if (scan->bytes.len == 0 && scan->bytes.cap > KEEP_BUFFER)
        pl_buf_deinit(&scan->bytes);
    return result(scan, err);
}

bool pl_scan_is_between(const struct pl_scan *scan)
{
    bool streams = scan->form == PL_SCAN_VALUES || scan->form == PL_SCAN_WATCH;
    return scan->err.code == 0 && !scan->in_value && scan->at == (streams ? AT_START : AT_TAIL);
}

int pl_scan_end(struct pl_scan *scan, struct pl_err *err)
{
    pl_pool_enter(scan->doc.pool);
    if (scan->err.code == 0)
        scan_slice(scan, pl_slice(NULL, 0), true);
    pl_pool_leave(scan->doc.pool);
    if (scan->err.code == 0 && !pl_scan_is_between(scan))
        scan_fail_at(scan, PL_ESYNTAX, scan->bytes_at + scan->bytes.len,
                     "the input ends too early");
    return result(scan, err);
}

static int keep_doc(void *arg, struct pl_slice type, struct pl_doc *doc)
{
    PL_UNUSED(type);
    *(struct pl_doc **)arg = doc;
    return 0;
}

struct pl_doc *pl_scan_text(struct pl_slice text, const struct pl_scan_options *options,
                            struct pl_err *err)
{
    static const struct pl_scan_options defaults;
    struct pl_doc *doc = NULL;
    struct pl_scan_sink sink = {.on_doc = keep_doc, .arg = &doc};
    struct pl_scan *scan = scan_create(FORM_TEXT, options != NULL ? options : &defaults, &sink);
    /* The values rarely need more room than the text. Growing the buffer several times took a tenth
     * of the time of a short text. */
    pl_buf_reserve(&scan->doc.values, text.len < MOST_ROOM ? text.len : MOST_ROOM);
    pl_buf_reserve(&scan->doc.keys, text.len < MOST_ROOM / 8 ? text.len : MOST_ROOM / 8);
    int code = pl_scan_feed(scan, text, err);
    if (code == 0)
        code = pl_scan_end(scan, err);
    pl_scan_destroy(scan);
    if (code == 0)
        return doc;
    pl_doc_unref(doc);
    return NULL;
}
