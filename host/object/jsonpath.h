/* JSONPath as kubectl and CRDs have it: "{.spec.containers[*].image}", without the templates
 * around. The braces, "$" and the first dot may be left out. Steps are .name  ['name']  .*  [*] [2]
 * [-1]  [1:3]  [0:8:2]  [0,2]  ['a','b']  ..name  ..*
 *   [?(@.type=="Ready")]  [?(@.ports)], with == != < <= > >= and a text, number, true, false, null
 * where "\." in a name is a dot. Names that are absent find nothing; that is no error. Pure; any
 * thread. */
#pragma once

#include "base/err.h"
#include "value/doc.h"

struct pl_jsonpath;

/* NULL and err, with the offset, when the text is not a path (at most 4 KiB and 64 steps). The
 * caller owns the path. */
struct pl_jsonpath *pl_jsonpath_parse(struct pl_slice text, struct pl_err *err);
void pl_jsonpath_destroy(struct pl_jsonpath *path);

/* Returns false to end the visit. */
typedef bool (*pl_jsonpath_visit)(void *arg, struct pl_node value);
/* Visits the values of the path in document order. ELIMIT after looking at a million values. */
PL_MUST_USE int pl_jsonpath_each(const struct pl_jsonpath *path, struct pl_node root,
                                 pl_jsonpath_visit visit, void *arg, struct pl_err *err);
/* The first value, or PL_NODE_MISSING. */
struct pl_node pl_jsonpath_first(const struct pl_jsonpath *path, struct pl_node root);
