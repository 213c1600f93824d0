/* Reviews of the API server, and their answers. Pure; one thread.
 *
 * A review is parsed once, checked and split into the arguments of a handler (control/hook_call.h).
 * Versions: admission.k8s.io/v1 and apiextensions.k8s.io/v1. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "control/hook_call.h"

struct pl_review {
    struct pl_hook_call *call; /* counted */
    char *uid;                 /* owned */
    char *key; /* owned: "namespace/name" of the object, for logs; a uid where it has no name */
    /* Of admission; owned */
    char *operation;                /* "CREATE"; "CONVERT" for a conversion */
    char *name, *group, *kind_name; /* of the object; "" when it has none */
};

/* Reads the body of an AdmissionReview (validate, mutate) or a ConversionReview (convert). EINVAL
 * with one line for the client when it is invalid. */
PL_MUST_USE int pl_review_read(struct pl_slice body, enum pl_hook_sort sort,
                               struct pl_review *review, struct pl_err *err);
void pl_review_deinit(struct pl_review *review);

/* Appends the answer. `said`: see pl_hook_call; the patch is left out of a denial. */
void pl_review_answer(const struct pl_review *review, struct pl_buf *out);
/* A ConversionReview's answer with the reason for a failure. */
void pl_review_refuse(const struct pl_review *review, const char *message, struct pl_buf *out);
/* Whether the answer denies the request. */
bool pl_review_is_denied(const struct pl_review *review);

/* The kind of the objects of a ConversionReview, without a version. EINVAL when they have several
 * kinds, or none; ENOTFOUND when there are no objects. */
PL_MUST_USE int pl_review_kind(const struct pl_review *review, struct pl_kind *kind,
                               struct pl_err *err);
/* The name of the object at which a conversion failed: the one after those with an answer; "" when
 * there is none. The caller frees it. */
char *pl_review_failed_name(const struct pl_review *review);
/* The key of the object that a failure is about; of a conversion as above. The caller frees it. */
char *pl_review_failed_key(const struct pl_review *review);

/* The deadline from the API server's query, `timeout=10s`; false when it is missing or invalid. */
bool pl_review_timeout(struct pl_slice query, int64_t *ns);
/* The handler's part of a deadline: 10 % less, at most half a second less. */
int64_t pl_review_deadline(int64_t timeout_ns);
