/* The steps that creating and changing objects have in common. Objects are in the
 * request's version. */
#pragma once

#include "apiserver/write.h"
#include "schema/managed.h"

struct pl_slice pl_api_name_of(const struct pl_tree *object);
struct pl_tree *pl_api_meta_of(struct pl_api_ctx *ctx, struct pl_tree *object);
/* The object's namespace is the request's, if it says one. */
int pl_api_check_place(struct pl_api_ctx *ctx, const struct pl_tree *object);
/* The object's name is the request's. */
int pl_api_check_name(struct pl_api_ctx *ctx, struct pl_slice name);
/* The parameters of a write, as options of that kind ("CreateOptions"): 0, or -1 with the status.
 */
int pl_api_check_options(struct pl_api_ctx *ctx, const char *kind);
/* dryRun is All or nothing. */
void pl_api_check_dry(struct pl_api_faults *faults, struct pl_slice dry);
/* 422 about options of that kind; 0 when there are no faults. */
int pl_api_fail_options(struct pl_api_ctx *ctx, const struct pl_api_faults *faults,
                        const char *kind);
/* Drops unknown fields and fills in a custom kind's defaults; -1 when unknown fields
 * are to be refused. */
int pl_api_shape(struct pl_api_ctx *ctx, struct pl_tree *object);
/* The same for what is applied, without defaults: they are not stated. */
int pl_api_shape_config(struct pl_api_ctx *ctx, struct pl_tree *config);
/* What the request's patch makes of the target; NULL and the status when it does not fit. */
struct pl_doc *pl_api_patched(struct pl_api_ctx *ctx, struct pl_node target);
/* old: NULL for a new object. */
int pl_api_validate(struct pl_api_ctx *ctx, struct pl_tree *object, const struct pl_tree *old);
int pl_api_check_size(struct pl_api_ctx *ctx, const struct pl_tree *object);
/* The request's author, for managedFields. */
struct pl_api_writer pl_api_writer_of(struct pl_api_ctx *ctx);
void pl_api_set_managed(struct pl_api_ctx *ctx, struct pl_tree *object, struct pl_tree *entries);
/* Answers with an object that is not stored. */
int pl_api_answer_dry(struct pl_api_ctx *ctx, int code, const struct pl_tree *object);
