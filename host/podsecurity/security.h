/* The Pod Security Standards: what each level forbids to Pods. Pure. */
#pragma once

#include "schema/status.h"

#include <stdbool.h>

enum pl_security_level { PL_SECURITY_PRIVILEGED, PL_SECURITY_BASELINE, PL_SECURITY_RESTRICTED };

/* A level in the version of a Kubernetes release: "restricted:latest", "baseline:v1.30". */
struct pl_security {
    enum pl_security_level level;
    int minor; /* the minor version (1.x); PL_SECURITY_LATEST: the newest */
};

#define PL_SECURITY_LATEST 1000000

/* The levels that the labels of a namespace set. */
struct pl_security_policy {
    struct pl_security enforce, audit, warn;
};

/* Reads the labels of a namespace. An invalid level counts as restricted (for audit and warnings:
 * as privileged), an invalid version as the newest. Messages about them go to faults, which may be
 * NULL. */
struct pl_security_policy pl_security_policy_of(const struct pl_tree *labels,
                                                struct pl_api_faults *faults);
/* "restricted:latest", in the arena. */
struct pl_slice pl_security_text(struct pl_arena *arena, struct pl_security security);

/* The violations of the Pod (metadata and spec): "reason (detail), reason (detail)" with_details,
 * else "reason, reason". Empty: there are none. */
struct pl_slice pl_security_violations(struct pl_arena *arena, struct pl_security security,
                                       const struct pl_tree *pod, bool with_details);
