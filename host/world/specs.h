/* Runs busted's specs in this process: what `perilune test` does. The calling thread; blocking. */
#pragma once

#include "base/log.h"
#include "base/slice.h"

/* input: JSON for lua/perilune/tool/specs.lua: {paths=, filter=, output=, seed=}. The exit code;
 * what went wrong has been said. */
int pl_specs_run(struct pl_slice input, enum pl_log_level level);
