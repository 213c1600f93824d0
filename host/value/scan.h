/* From JSON text to documents, in one pass, from chunks of any size.
 *
 * It accepts exactly RFC 8259 and UTF-8 (RFC 3629: no surrogates, no overlong forms), and limits
 * depth and size. Of duplicate members the last wins, unless duplicates are refused.
 * metadata.managedFields of each object is skipped unless asked for. Errors have the byte offset,
 * counted over all chunks; for input that ends too early, the offset of its end. A number has at
 * most 4,096 characters. A scan with a pool takes a turn for each chunk. */
#pragma once

#include "base/err.h"
#include "value/doc.h"

struct pl_pool;
struct pl_scan;

#define PL_SCAN_DEPTH 512
#define PL_SCAN_BYTES (16u << 20)

struct pl_scan_options {
    struct pl_pool *pool;     /* documents share through it; NULL: independent documents */
    unsigned max_depth;       /* 0: PL_SCAN_DEPTH */
    size_t max_bytes;         /* of one document's text; 0: PL_SCAN_BYTES */
    bool keep_managed_fields; /* else metadata.managedFields is dropped */
    bool refuse_duplicates;   /* a member named twice is an error */
    bool replace_surrogates;  /* half a pair becomes U+FFFD, as in Go; else it is an error */
    /* Documents (objects) that lack these members get them: the API server leaves them out of the
     * items of its own kinds. With PL_SCAN_WATCH an event that is an "ERROR" or has its type last
     * does not get them. Borrowed while the scan exists; NULL: nothing is added. */
    const char *api_version, *kind;
    bool replace_kind; /* documents that have their own get these instead */
};

/* Parses one document that is the whole `text` (white space around it is allowed). The caller owns
 * a reference. On failure returns NULL and err (ESYNTAX or ELIMIT, with offset). */
struct pl_doc *pl_scan_text(struct pl_slice text, const struct pl_scan_options *options,
                            struct pl_err *err);

/* The form of a stream, which determines where its documents begin. */
enum pl_scan_form {
    PL_SCAN_VALUES, /* any number of values in sequence: each is a document */
    PL_SCAN_LIST,   /* one Kubernetes list: each element of .items is a document; at the
                     * end the list itself without items */
    PL_SCAN_WATCH,  /* watch events {"type":T,"object":O}: each O is a document. "items",
                     * "type" and "object" may not come twice */
};

struct pl_scan_sink {
    /* A document is complete. The sink takes it. type: with PL_SCAN_WATCH the event's "type"
     * (borrowed, even if "type" comes after "object"), else empty. A non-zero return stops the scan
     * with that code and a general message. The sink must not destroy the scan. */
    int (*on_doc)(void *arg, struct pl_slice type, struct pl_doc *doc);
    /* PL_SCAN_LIST: the list without its items ("items" itself is left out). The sink takes it.
     * Called once, at the end of the list. May be NULL. */
    int (*on_list)(void *arg, struct pl_doc *list);
    /* PL_SCAN_LIST: the list's "metadata" as soon as it has arrived; the API server sends it before
     * the items. Borrowed. May be NULL. */
    void (*on_metadata)(void *arg, const struct pl_doc *metadata);
    void *arg;
};

/* The caller owns the scan and ends it with pl_scan_destroy. options (NULL: the defaults) and sink
 * are copied. */
struct pl_scan *pl_scan_create(enum pl_scan_form form, const struct pl_scan_options *options,
                               const struct pl_scan_sink *sink);
/* Accepts NULL; a half-read document is dropped. */
void pl_scan_destroy(struct pl_scan *scan);
/* Scans as far as it can and keeps the rest of an unfinished document. After an error every further
 * call returns the same error. */
PL_MUST_USE int pl_scan_feed(struct pl_scan *scan, struct pl_slice chunk, struct pl_err *err);
/* There are no more chunks: returns an error when a document is unfinished. */
PL_MUST_USE int pl_scan_end(struct pl_scan *scan, struct pl_err *err);
/* True when no document is half read: a stream may end here. */
bool pl_scan_is_between(const struct pl_scan *scan);
