/* The declaration of a webhook handler: its requests, and its webhook configuration. Plain data,
 * created from the script and owned by its controller_spec.h. */
#pragma once

#include "object/kind.h"

enum pl_hook_sort { PL_HOOK_VALIDATE, PL_HOOK_MUTATE, PL_HOOK_CONVERT };

enum { PL_HOOK_PARAMETERS = 3 }; /* of validate and mutate: object, old, request */

/* "validate", "mutate", "convert". Literals. */
const char *pl_hook_sort_name(enum pl_hook_sort sort);

/* One kind of a registration. */
struct pl_hook_kind {
    struct pl_kind kind; /* convert: without a version */
    char *name;          /* its name in the webhook configuration: "validate.website.example.com" */
    char *path;          /* the path under which it is served: "/validate-example-com-v1-website" */
    bool exact;          /* match_policy */
};

struct pl_hook_condition {
    char *name, *expression;
};

/* One call of perilune.webhook.*; the spec owns all texts and arrays. */
struct pl_hook_spec {
    enum pl_hook_sort sort;
    struct pl_hook_kind *kinds;
    size_t kind_count;
    char **
        operations; /* NULL-terminated, like the others; convert has none of the following fields */
    char **subresources;                        /* NULL: none */
    char *object_selector, *namespace_selector; /* canonical text; NULL: no restriction */
    struct pl_hook_condition *conditions;
    size_t condition_count;
    bool ignore;     /* failure_policy "Ignore" */
    bool on_dry_run; /* side_effects "NoneOnDryRun" */
    bool if_needed;  /* reinvocation "IfNeeded" */
    int timeout_s;   /* 1 to 30 */
    int parameters;  /* of its function: how many of object, old and request it can see; 0 to 3 */
};

/* Accepts NULL. */
void pl_hook_spec_destroy(struct pl_hook_spec *hook);
