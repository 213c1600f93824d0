/* The compiled rules of a schema. Private to rules.c and rules_check.c. */
#pragma once

#include "schema/rules.h"
#include "cel/cel.h"

struct pl_api_rule {
    struct pl_node node;            /* in the schema */
    struct pl_cel_program *program; /* owned; NULL: it does not compile */
    struct pl_cel_program *message; /* owned; NULL: none, or it does not compile */
    struct pl_slice why;            /* why it does not compile */
};

struct pl_api_member_rules {
    struct pl_slice name;
    struct pl_api_rules *rules;
};

/* The rules of one value of the schema. Everything lives in the root's arena. */
struct pl_api_rules {
    struct pl_arena arena; /* used by the root only */
    struct pl_node schema;
    const struct pl_cel_type *type;
    struct pl_api_rule *rules;
    size_t rule_count;
    struct pl_api_member_rules *members;
    size_t member_count;
    struct pl_api_rules *elements; /* of lists and maps */
};

/* A member of a rule without surrounding white space, in the arena; empty if it is absent. */
struct pl_slice pl_api_rule_text(struct pl_arena *arena, struct pl_node rule, const char *member);
/* Compiles the rule's member ("rule" or "messageExpression"). NULL and the reason if it fails. The
 * caller owns the program. */
struct pl_cel_program *pl_api_rule_compile(const struct pl_cel_type *self, struct pl_node rule,
                                           const char *member, struct pl_arena *arena,
                                           struct pl_buf *why);
