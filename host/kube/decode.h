/* Private to kube: turns the bytes of an answer into documents while they arrive. A list is never
 * held as text, and an answer that does not come from an API server is described. One thread at a
 * time. */
#pragma once

#include "base/buf.h"
#include "kube/client.h"
#include "net/http.h"

enum pl_form {
    PL_FORM_OBJECT, /* one document of any kind */
    PL_FORM_LIST,
    PL_FORM_EVENTS, /* of a watch */
};

struct pl_expected {
    enum pl_form form;
    bool metadata_only;
    bool takes_text; /* PL_FORM_OBJECT: or a text */
    bool has_kind;   /* else objects keep their own kind */
    struct pl_kind kind;
    bool keep_managed_fields;
    struct pl_pool *pool; /* NULL: independent documents */
};

struct pl_decoder {
    struct pl_expected expected;
    char api_version[PL_KIND_TEXT]; /* of its kind, for scan */
    /* The answer so far. */
    int status; /* 0: no answer yet */
    bool is_json, is_text;
    char content_type[64];
    struct pl_scan *scan; /* of a 2xx answer */
    struct pl_buf text;   /* with is_text the answer; else only its beginning */
    struct pl_doc *doc;
    struct pl_docs items; /* of a list, or of events; the caller takes them after each piece */
    struct pl_buf types;  /* of events: the enum pl_watch_type of each item, one byte each */
    bool changes;         /* of events: one with a type other than ADDED has come */
    struct pl_buf token;  /* of a list: token of its next page; known before the items */
    struct pl_err err;    /* the first failure of decoding */
};

void pl_decoder_begin(struct pl_decoder *decoder, const struct pl_http_response *response);
/* Returns 0, or the code with which to end the request. */
int pl_decoder_feed(struct pl_decoder *decoder, struct pl_slice piece);
/* The answer is complete: returns 0, or the error. An HTTP error is EAPI. Events may end anywhere.
 */
PL_MUST_USE int pl_decoder_end(struct pl_decoder *decoder, struct pl_err *err);
/* Drops the answer; the expectations stay. */
void pl_decoder_reset(struct pl_decoder *decoder);

/* "Retry-After: 3" in milliseconds; -1 when there is none. Dates are not supported. */
int64_t pl_retry_after_ms(const struct pl_http_response *response);
