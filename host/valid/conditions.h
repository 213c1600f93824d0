/* The variables of expressions in admission (match conditions, policies), with their types. */
#pragma once

#include "cel/cel.h"

/* In the order in which an evaluation gets their values. */
enum pl_condition_var {
    PL_VAR_OBJECT,
    PL_VAR_OLD_OBJECT,
    PL_VAR_NAMESPACE, /* namespaceObject; null for webhooks and for objects without a namespace */
    PL_VAR_REQUEST,
    PL_VAR_AUTHORIZER,
    PL_VAR_REQUEST_RESOURCE, /* authorizer.requestResource */
    PL_VAR_PARAMS,           /* this and the next: only of policies; elsewhere they have no name */
    PL_VAR_VARIABLES,
    PL_VAR_COUNT
};

/* PL_VAR_COUNT variables of webhooks, a constant of the program. */
const struct pl_cel_var *pl_condition_vars(void);
/* Those of a policy's expressions. variables: the type of `variables`; NULL: there are none. */
void pl_condition_vars_of_policy(struct pl_cel_var out[PL_VAR_COUNT], bool has_params,
                                 bool has_authorizer, const struct pl_cel_type *variables);
