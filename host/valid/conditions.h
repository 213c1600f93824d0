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
    PL_VAR_COUNT
};

/* PL_VAR_COUNT variables, a constant of the program. */
const struct pl_cel_var *pl_condition_vars(void);
