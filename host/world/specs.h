/* Runs busted's specs in this process, for `perilune test`. The calling thread; blocking. */
#pragma once

#include "base/log.h"
#include "base/slice.h"

/* input: JSON for lua/perilune/tool/specs.lua: {paths=, filter=, output=, seed=}. Returns the exit
 * code; errors were printed. */
int pl_specs_run(struct pl_slice input, enum pl_log_level level);
