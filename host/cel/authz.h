/* Questions about somebody's rights in expressions (Kubernetes' authorizer library). An expression
 * builds a check step by step; who evaluates it says who answers. cel itself knows no rights. */
#pragma once

#include "cel/value.h"

struct pl_cel_decision {
    bool allowed;
    struct pl_slice reason; /* "": none */
    struct pl_slice error;  /* "": it could be decided */
};

/* Whom to ask. The texts of a decision live in the arena. */
struct pl_cel_authorizer {
    struct pl_cel_decision (*decide)(void *arg, const struct pl_cel_check *check,
                                     struct pl_slice verb);
    void *arg;
};

/* What is asked. Borrowed texts; "": left out. */
struct pl_cel_check {
    const struct pl_cel_authorizer *by;  /* borrowed; outlives the evaluation */
    struct pl_slice account_ns, account; /* a service account; "": whoever sent the request */
    struct pl_slice path;                /* of path checks */
    struct pl_slice group, resource, subresource, ns, name;
    struct pl_slice field_selector, label_selector;
};

/* The variable `authorizer`. */
struct pl_cel pl_cel_authorizer_value(struct pl_arena *arena, const struct pl_cel_authorizer *by);
/* The variable `authorizer.requestResource`: what the check names, asked of check->by. */
struct pl_cel pl_cel_resource_check_value(struct pl_arena *arena, const struct pl_cel_check *check);
