/* Common steps of creation and change. Objects are in the request's version. */
#pragma once

#include "apiserver/write.h"
#include "schema/managed.h"

struct pl_slice pl_api_name_of(const struct pl_tree *object);
/* The object's metadata, which are created if there are none. Part of the object. */
struct pl_tree *pl_api_meta_of(struct pl_api_ctx *ctx, struct pl_tree *object);
/* Checks that the object's namespace, if it has one, is the request's. */
int pl_api_check_place(struct pl_api_ctx *ctx, const struct pl_tree *object);
/* Checks that the object's name is the request's. */
int pl_api_check_name(struct pl_api_ctx *ctx, struct pl_slice name);
/* Checks the parameters of a write as options of that kind ("CreateOptions"). 0, or -1 with the
 * status. */
int pl_api_check_options(struct pl_api_ctx *ctx, const char *kind);
/* Checks that dryRun is absent or "All". */
void pl_api_check_dry(struct pl_api_faults *faults, struct pl_slice dry);
/* 422 for options of that kind; 0 if there are no faults. */
int pl_api_fail_options(struct pl_api_ctx *ctx, const struct pl_api_faults *faults,
                        const char *kind);
/* A resourceVersion as a number; 0 for "". False: it is malformed, or has more than 19 digits. */
bool pl_api_parse_version(struct pl_slice text, uint64_t *version);
/* That of the request. 500: it is malformed. */
int pl_api_asked_version(struct pl_api_ctx *ctx, uint64_t *version);
/* metadata.resourceVersion as a number; 0 for none. False: it is malformed. */
bool pl_api_version_of(const struct pl_tree *object, uint64_t *version);
/* 500: metadata.resourceVersion is malformed. */
int pl_api_fail_version(struct pl_api_ctx *ctx, const struct pl_tree *object);
/* Drops unknown fields and fills in a custom kind's defaults. -1 if unknown fields must be refused.
 */
int pl_api_shape(struct pl_api_ctx *ctx, struct pl_tree *object);
/* The same after mutating admission: without warnings, and nulls stay. */
void pl_api_shape_admitted(struct pl_api_ctx *ctx, struct pl_tree *object);
/* The same as pl_api_shape for an applied object, without defaults, because the client did not
 * state them. */
int pl_api_shape_config(struct pl_api_ctx *ctx, struct pl_tree *config);
/* Applies the request's patch to the target. NULL and the status if the patch does not apply. The
 * caller owns a reference. */
struct pl_doc *pl_api_patched(struct pl_api_ctx *ctx, struct pl_node target);
/* The configuration that the request applies; NULL and the status if its body is none. */
struct pl_tree *pl_api_read_config(struct pl_api_ctx *ctx);
/* old: NULL for a new object. */
int pl_api_validate(struct pl_api_ctx *ctx, struct pl_tree *object, const struct pl_tree *old);
int pl_api_check_size(struct pl_api_ctx *ctx, const struct pl_tree *object);
/* The request's author, for managedFields. */
struct pl_api_writer pl_api_writer_of(struct pl_api_ctx *ctx);
/* Converts an object of a built-in kind that is stored in another version to that version, with its
 * defaults. Sets the version of the context, which the caller sets back before it answers. */
void pl_api_to_stored_form(struct pl_api_ctx *ctx, struct pl_tree **object);
/* Converts the object to the stored form and back to the request's version, so that it has only
 * what a stored object would have. */
void pl_api_to_stored_form_and_back(struct pl_api_ctx *ctx, struct pl_tree **object);
/* The update in the form of another version of the kind. False: the kind has only one form. */
bool pl_api_other_form(struct pl_api_ctx *ctx, const struct pl_tree *live,
                       const struct pl_tree *object, struct pl_api_other_form *out);
void pl_api_set_managed(struct pl_api_ctx *ctx, struct pl_tree *object, struct pl_tree *entries);
/* The request is about the ephemeral containers or the resources of a Pod. */
bool pl_api_is_pod_part(const struct pl_api_ctx *ctx);
/* The request is about the approval of a certificate. */
bool pl_api_is_approval(const struct pl_api_ctx *ctx);
/* Answers with an object that was not stored. */
int pl_api_answer_dry(struct pl_api_ctx *ctx, int code, const struct pl_tree *object);
