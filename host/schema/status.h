/* The answer to a failed request: a Status object like kube-apiserver's. */
#pragma once

#include "object/tree.h"

/* Zero-initialise. Texts live in the arena. */
struct pl_api_status {
    struct pl_arena *arena; /* borrowed: the request's */
    int code;               /* HTTP; 0: no error */
    const char *reason;     /* static; "" for none */
    struct pl_slice message;
    bool has_details;
    struct pl_slice name, group, kind; /* of details */
    struct pl_tree *causes;            /* array; NULL: none */
    int retry_after;                   /* seconds; 0: none */
    struct pl_slice continue_token;    /* metadata.continue of an expired list */
    bool is_plain;                     /* answered as plain text, like paths outside the API */
};

/* Fills in the error. Always returns -1, so that `return pl_api_fail(...)` works. */
int pl_api_fail(struct pl_api_status *status, int code, const char *reason, const char *fmt, ...)
    PL_PRINTF(4, 5);
/* Adds details.name, .group and .kind. */
void pl_api_fail_about(struct pl_api_status *status, struct pl_slice group, struct pl_slice kind,
                       struct pl_slice name);
void pl_api_fail_cause(struct pl_api_status *status, const char *reason, struct pl_slice field,
                       struct pl_slice message);

/* 500 "Internal error occurred: WHY", with the reason as the only cause. */
int pl_api_fail_internal(struct pl_api_status *status, const char *fmt, ...) PL_PRINTF(2, 3);
int pl_api_bad_request(struct pl_api_status *status, const char *fmt, ...) PL_PRINTF(2, 3);
/* 404 "the server could not find the requested resource" */
int pl_api_no_resource(struct pl_api_status *status);
/* 404 "404 page not found" in plain text */
int pl_api_no_page(struct pl_api_status *status);
/* 405 */
int pl_api_no_method(struct pl_api_status *status);

/* Field errors collected while validating: FieldValueInvalid and so on. */
struct pl_api_faults {
    struct pl_arena *arena; /* borrowed */
    struct pl_tree *causes; /* NULL while there are none */
};

static inline size_t pl_api_fault_count(const struct pl_api_faults *faults)
{
    return faults->causes != NULL ? faults->causes->count : 0;
}

/* fmt: what follows "field: " in the message. */
void pl_api_fault(struct pl_api_faults *faults, const char *reason, struct pl_slice field,
                  const char *fmt, ...) PL_PRINTF(4, 5);
/* All faults as one text: one is shown as it is, several are shown in brackets. */
struct pl_slice pl_api_faults_text(const struct pl_api_faults *faults);
/* 422 Invalid with all faults; 0 if there are none. */
int pl_api_fail_faults(struct pl_api_status *status, const struct pl_api_faults *faults,
                       struct pl_slice group, struct pl_slice kind, struct pl_slice name);

/* The Status object. */
void pl_api_status_write(const struct pl_api_status *status, struct pl_buf *out);
