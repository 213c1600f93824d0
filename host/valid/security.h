/* The Pod Security Standards: what a pod may not have at a level. Pure. */
#pragma once

#include "schema/status.h"

#include <stdbool.h>

enum pl_security_level { PL_SECURITY_PRIVILEGED, PL_SECURITY_BASELINE, PL_SECURITY_RESTRICTED };

/* A level in the state of a version of Kubernetes: "restricted:latest", "baseline:v1.30". */
struct pl_security {
    enum pl_security_level level;
    int minor; /* of version 1; PL_SECURITY_LATEST: the newest */
};

#define PL_SECURITY_LATEST 1000000

/* What a namespace asks for. */
struct pl_security_policy {
    struct pl_security enforce, audit, warn;
};

/* From the labels of a namespace. What is no level is restricted (for warnings: privileged), what
 * is no version is the newest; texts about them go to faults, which may be NULL. */
struct pl_security_policy pl_security_policy_of(const struct pl_tree *labels,
                                                struct pl_api_faults *faults);
/* "restricted:latest", in the arena. */
struct pl_slice pl_security_text(struct pl_arena *arena, struct pl_security security);

/* What the pod (metadata and spec) violates: with_details: "reason (detail), reason (detail)", else
 * "reason, reason". Empty: nothing. */
struct pl_slice pl_security_violations(struct pl_arena *arena, struct pl_security security,
                                       const struct pl_tree *pod, bool with_details);
