/* Faults of texts, in the words of Go's parsers and of Kubernetes' parser of selectors, which
 * kube-apiserver's messages carry. Pure. Results are in the arena. */
#pragma once

#include "base/err.h"
#include "object/tree.h"

/* Why the text is not one JSON value. NULL: nothing is wrong with it. */
const char *pl_go_json_fault(struct pl_arena *arena, struct pl_slice text);
/* The message for an error of pl_yaml_decode: "yaml: line 2: did not find ...". */
const char *pl_go_yaml_fault(struct pl_arena *arena, const struct pl_err *err);
/* The message for an error of pl_selector_parse. */
const char *pl_go_selector_fault(struct pl_arena *arena, struct pl_slice text,
                                 const struct pl_err *err);
