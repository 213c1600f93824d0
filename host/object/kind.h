/* Kinds and resources: "apps/v1/Deployment" and its path on the API server. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "value/doc.h"

#include <stdbool.h>

/* A kind as a plain value. Owner references match group and kind in any version. */
struct pl_kind {
    char group[254]; /* "" for the core group */
    char version[64];
    char kind[64];
};

#define PL_KIND_TEXT 384 /* room for pl_kind_text */

/* "v1/Pod", "apps/v1/Deployment". EINVAL and a message with an example otherwise. */
PL_MUST_USE int pl_kind_parse(struct pl_slice text, struct pl_kind *kind, struct pl_err *err);
/* From a document's apiVersion ("apps/v1") and kind. */
PL_MUST_USE int pl_kind_from(struct pl_slice api_version, struct pl_slice kind_name,
                             struct pl_kind *kind, struct pl_err *err);
/* Of an object by its apiVersion and kind. */
PL_MUST_USE int pl_kind_of(struct pl_node object, struct pl_kind *kind, struct pl_err *err);
/* A kind without group and version, as the API server allows it: "Pod". */
bool pl_kind_is_name(struct pl_slice text);
bool pl_kind_eq(const struct pl_kind *a, const struct pl_kind *b);
bool pl_kind_eq_group(const struct pl_kind *a, const struct pl_kind *b); /* any version */
bool pl_kind_is_secret(const struct pl_kind *kind); /* values of its data must be hidden */
/* True for "*": every kind, in declarations of rights. */
bool pl_kind_is_any(const struct pl_kind *kind);
void pl_kind_set_any(struct pl_kind *kind);
/* True when it is the kind of a document with this apiVersion and kind. */
bool pl_kind_is(const struct pl_kind *kind, struct pl_slice api_version, struct pl_slice name);
/* Writes "apps/v1/Deployment", or "*" for any kind, to `out` and returns `out`. */
const char *pl_kind_text(const struct pl_kind *kind, char out[PL_KIND_TEXT]);
/* Writes "apps/v1" or "v1" to `out` and returns `out`. */
const char *pl_kind_api_version(const struct pl_kind *kind, char out[PL_KIND_TEXT]);
