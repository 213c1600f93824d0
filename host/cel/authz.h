/* Expressions that ask about rights (Kubernetes' authorizer library). An expression builds a check
 * step by step. The caller of the evaluation provides the function that decides it: cel itself
 * knows nothing about rights. */
#pragma once

#include "cel/value.h"

struct pl_cel_decision {
    bool allowed;
    struct pl_slice reason; /* "": none */
    struct pl_slice error;  /* "": it was decided */
};

/* The function that decides checks. The texts of a decision live in the arena. */
struct pl_cel_authorizer {
    struct pl_cel_decision (*decide)(void *arg, const struct pl_cel_check *check,
                                     struct pl_slice verb);
    void *arg;
};

/* A check. Borrowed texts; "": left out. */
struct pl_cel_check {
    const struct pl_cel_authorizer *by;  /* borrowed; outlives the evaluation */
    struct pl_slice account_ns, account; /* a service account; "": the user of the request */
    struct pl_slice path;                /* of path checks */
    struct pl_slice group, resource, subresource, ns, name;
    struct pl_slice field_selector, label_selector;
};

/* The variable `authorizer`. */
struct pl_cel pl_cel_authorizer_value(struct pl_arena *arena, const struct pl_cel_authorizer *by);
/* The variable `authorizer.requestResource`: the resource that the check names, decided by
 * check->by. */
struct pl_cel pl_cel_resource_check_value(struct pl_arena *arena, const struct pl_cel_check *check);
