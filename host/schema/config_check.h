/* The configuration of server-side apply and its kind's structural schema. Pure. */
#pragma once

#include "object/tree.h"
#include "value/doc.h"

/* NULL, or the fault of the first member that the schema does not declare or that has another type,
 * in kube-apiserver's words: ".spec.size: expected numeric (int or float), got string". Metadata is
 * not checked. The text is in the arena. */
const char *pl_api_config_fault(struct pl_arena *arena, const struct pl_tree *config,
                                struct pl_node schema);
