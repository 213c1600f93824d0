/* The rules of a custom kind's schema (x-kubernetes-validations): compiled once for each served
 * version, evaluated for each write. */
#pragma once

#include "schema/status.h"
#include "object/tree.h"

struct pl_api_rules;

/* Compiles the rules of an openAPIV3Schema, which must outlive them. NULL if there are no rules. A
 * rule that does not compile is reported when it is evaluated. The caller owns the result. */
struct pl_api_rules *pl_api_rules_create(struct pl_node schema);
void pl_api_rules_destroy(struct pl_api_rules *rules); /* accepts NULL */

/* Collects the violations of the rules. old: the old object, NULL for a new one. If a rule does not
 * use the old value and the part is unchanged, its violation goes to `passed` instead. */
void pl_api_rules_apply(const struct pl_api_rules *rules, struct pl_api_faults *faults,
                        struct pl_api_faults *passed, const struct pl_tree *object,
                        const struct pl_tree *old);

/* Collects faults of the rules themselves. path: the path of the schema in its CRD. */
void pl_api_rules_check(struct pl_api_faults *faults, struct pl_node schema, struct pl_slice path,
                        bool compile);
