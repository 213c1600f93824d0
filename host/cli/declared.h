/* What the scripts of a command declare, as a tool takes it. */
#pragma once

#include "cli/options.h"
#include "value/build.h"

/* Loads the scripts without a cluster and adds "declared" (controllers, tasks and webhooks with the
 * file and line of each source and right; perilune.controller's describe) and "files" (every file
 * that was read or looked for, as the paths were given) to the object that is being built. False:
 * they do not load, and why has been said. */
bool pl_declared_add(const struct pl_options *options, struct pl_build *b);
/* The same of lanes that have loaded. */
void pl_declared_build(struct pl_lanes *lanes, const struct pl_declarations *declarations,
                       struct pl_build *b);
