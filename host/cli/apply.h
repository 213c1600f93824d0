/* Applies manifests in order (CRDs and namespaces first), as `kubectl apply --server-side` does.
 * I/O thread. */
#pragma once

#include "cluster/cluster.h"
#include "net/loop.h"

/* Paths: YAML or JSON files, or folders of them (not recursive, in name order); scripts: PATHs of
 * scripts, whose manifests/ folders are applied first if they have manifests. Either may be NULL.
 * Runs the loop until every object is applied, each with a log line; on the first failure returns
 * it with file and object named. */
PL_MUST_USE int pl_apply_paths(char *const *scripts, char *const *paths, struct pl_cluster *cluster,
                               struct pl_loop *loop, struct pl_err *err);
