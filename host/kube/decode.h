/* Private to kube: from the bytes of an answer to documents, while they arrive. A list
 * is never held as text, and what is no answer of an API server is named. */
#pragma once

#include "base/buf.h"
#include "kube/client.h"
#include "net/http.h"

enum pl_form {
    PL_FORM_OBJECT, /* whatever one document is */
    PL_FORM_LIST,
    PL_FORM_EVENTS, /* of a watch */
};

struct pl_expected {
    enum pl_form form;
    bool metadata_only;
    bool takes_text; /* PL_FORM_OBJECT: or text */
    bool has_kind;   /* else objects keep the kind they came with */
    struct pl_kind kind;
    bool keep_managed_fields;
    struct pl_pool *pool; /* NULL: documents of their own */
};

struct pl_decoder {
    struct pl_expected expected;
    char api_version[PL_KIND_TEXT]; /* of its kind, for scan */
    /* What came. */
    int status; /* 0: no answer yet */
    bool is_json, is_text;
    char content_type[64];
    struct pl_scan *scan; /* of a 2xx answer */
    struct pl_buf text;   /* with is_text the answer; of any other, cut */
    struct pl_doc *doc;
    struct pl_docs items; /* of a list, or of events; to be taken after each piece */
    struct pl_buf types;  /* of events: the enum pl_watch_type of each item, a byte */
    bool changes;         /* of events: one that is not ADDED has come */
    struct pl_buf token;  /* of a list: where its next page begins; known before the items */
    struct pl_err err;    /* the first failure of decoding */
};

void pl_decoder_begin(struct pl_decoder *decoder, const struct pl_http_response *response);
/* 0, or the code with which the request is to be ended. */
int pl_decoder_feed(struct pl_decoder *decoder, struct pl_slice piece);
/* The answer is complete: 0, or what is wrong with it. An HTTP error is EAPI. Events may end
 * anywhere. */
PL_MUST_USE int pl_decoder_end(struct pl_decoder *decoder, struct pl_err *err);
/* Forgets what came; what it expects stays. */
void pl_decoder_reset(struct pl_decoder *decoder);

/* "Retry-After: 3" in milliseconds; -1 when there is none. Dates are not understood. */
int64_t pl_retry_after_ms(const struct pl_http_response *response);
