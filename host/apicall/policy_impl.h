/* The common part of policies that check and policies that change. Private to policy*.c. */
#pragma once

#include "apicall/evaluate.h"
#include "apicall/policy.h"

#define PL_POLICY_BUDGET 10000000 /* cost of all expressions of one policy with one parameter */

struct pl_policy_bound;

struct pl_policy_kind {
    const char *policies, *bindings; /* plurals */
    /* A policy and a binding match. param: NULL is a value, too. */
    void (*apply)(struct pl_policy_bound *b, const struct pl_tree *param);
    /* The policy or its binding can't be used, and its failures count. */
    void (*misconfigured)(struct pl_policy_bound *b, struct pl_slice why);
};

/* A policy and one of its bindings, for one request. */
struct pl_policy_bound {
    struct pl_api_ctx *ctx;
    const struct pl_policy_kind *kind;
    void *result;                             /* the kind's own, borrowed */
    const struct pl_api_admission *admission; /* as it is matched */
    struct pl_node policy, binding; /* their specs; binding: missing while none is chosen */
    struct pl_slice policy_name, binding_name;
    struct pl_slice param_key; /* of the parameter's object; empty: there is none */
    size_t version;            /* index of the version that the policy matches */
};

/* Finds what matches, with its parameters, and applies it. */
void pl_policies_apply(struct pl_api_ctx *ctx, const struct pl_api_admission *admission,
                       const struct pl_policy_kind *kind, void *result);

/* A text without the white space around it, in the arena. */
struct pl_slice pl_policy_text(struct pl_policy_bound *b, struct pl_node node, const char *member);
bool pl_policy_ignores(const struct pl_policy_bound *b);

/* True if paramKind is a custom kind. */
bool pl_policy_param_is_custom(struct pl_policy_bound *b);
/* Prepares the evaluation of the policy's expressions about an object in the version that the
 * policy matches. */
void pl_policy_evaluation_init(struct pl_policy_bound *b, const struct pl_api_admission *admission,
                               const struct pl_tree *param, struct pl_api_evaluation *e);
/* Begins an evaluation about an object in the version that the policy matches, and evaluates the
 * policy's conditions. With FAILED *why has the reason. */
enum pl_api_match pl_policy_begin(struct pl_policy_bound *b,
                                  const struct pl_api_admission *admission,
                                  const struct pl_tree *param, struct pl_api_evaluation *e,
                                  struct pl_slice *why);

/* The variables of a policy: their programs own the types. */
struct pl_policy_variables {
    struct pl_cel_program **programs;
    struct pl_cel_field *fields;
    struct pl_cel_entry *entries;
    struct pl_cel_type type;
    struct pl_cel_map map;
    struct pl_cel_var vars[PL_VAR_COUNT];
};

/* Evaluates them. With e->is_over the last one is the error. */
void pl_policy_variables_init(struct pl_policy_bound *b, struct pl_api_evaluation *e,
                              struct pl_policy_variables *v);
void pl_policy_variables_deinit(struct pl_policy_variables *v);
