/* The configuration of server-side apply and its kind's structural schema. Pure. */
#pragma once

#include "object/tree.h"
#include "value/doc.h"

/* NULL, or the first member that the schema does not have or whose type is another one, in
 * kube-apiserver's words: ".spec.size: expected numeric (int or float), got string". Metadata is
 * not looked at. In the arena. */
const char *pl_api_config_fault(struct pl_arena *arena, const struct pl_tree *config,
                                struct pl_node schema);
