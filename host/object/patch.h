/* Patches: a new document from an old one. Results are independent documents (no pool). NULL and
 * err when the patch does not fit. The caller owns a reference to the result. */
#pragma once

#include "base/err.h"
#include "value/doc.h"
#include "object/schema.h"

/* RFC 7386: null removes, objects merge, everything else replaces. */
struct pl_doc *pl_patch_merge(struct pl_node target, struct pl_node patch, struct pl_err *err);
/* RFC 6902; `patch` is the array of operations. A failed "test" is EINVAL with the index. */
struct pl_doc *pl_patch_json(struct pl_node target, struct pl_node patch, struct pl_err *err);
/* The same. *failed is the index of the operation that failed; a failed "test" is
 * PL_EREFUSED. */
struct pl_doc *pl_patch_json_at(struct pl_node target, struct pl_node patch, size_t *failed,
                                struct pl_err *err);
/* Strategic merge with $patch, $deleteFromPrimitiveList, $setElementOrder, $retainKeys. */
struct pl_doc *pl_patch_strategic(struct pl_node target, struct pl_node patch,
                                  const struct pl_schema *schema, struct pl_err *err);
/* `base` with the member at the path of keys set to value (missing objects on the path are created)
 * or, with PL_NODE_MISSING, removed. */
struct pl_doc *pl_doc_with(struct pl_node base, const char *const *keys, size_t count,
                           struct pl_node value);
