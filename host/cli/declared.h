/* The declarations of a command's scripts, as input of a tool. Main thread. */
#pragma once

#include "cli/options.h"
#include "value/build.h"

/* Loads the scripts without a cluster and adds "declared" (controllers, tasks and webhooks with the
 * file and line of each source and right; perilune.controller's describe) and "files" (every file
 * that was read or searched, with the paths as given) to the object under construction. False: they
 * do not load, and the reason was printed. */
bool pl_declared_add(const struct pl_options *options, struct pl_build *b);
/* The same for loaded lanes. */
void pl_declared_build(struct pl_lanes *lanes, const struct pl_declarations *declarations,
                       struct pl_build *b);
