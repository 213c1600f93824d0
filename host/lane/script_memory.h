/* What the scripts of a state keep from one run to the next. */
#pragma once

#include "lua/state.h"

#include <stdbool.h>
#include <stdint.h>

/* A number for everything that functions of scripts can reach, outside of runs: globals, modules,
 * upvalues, tables. Two states with the same scripts and the same number know the same. false: it
 * can't be told, because there are objects of the cluster, coroutines, or too much. Changes
 * nothing. The state's thread. */
bool pl_script_memory(struct pl_state *s, uint64_t *digest);
