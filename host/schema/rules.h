/* The rules of a custom kind's schema (x-kubernetes-validations): compiled once for a version that
 * is served, evaluated for each write. */
#pragma once

#include "schema/status.h"
#include "object/tree.h"

struct pl_api_rules;

/* Of an openAPIV3Schema, which must outlive it; NULL when there are no rules. Rules that do not
 * compile are told when they would be evaluated. The caller destroys it. */
struct pl_api_rules *pl_api_rules_create(struct pl_node schema);
void pl_api_rules_destroy(struct pl_api_rules *rules); /* accepts NULL */

/* Collects what the rules say against the object; old: as it was, NULL for a new one. What a rule
 * that looks at no old value says of a part that did not change goes to `passed` instead. */
void pl_api_rules_apply(const struct pl_api_rules *rules, struct pl_api_faults *faults,
                        struct pl_api_faults *passed, const struct pl_tree *object,
                        const struct pl_tree *old);

/* Collects what is wrong with the rules themselves; path: of the schema in its CRD. */
void pl_api_rules_check(struct pl_api_faults *faults, struct pl_node schema, struct pl_slice path);
