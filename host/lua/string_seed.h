/* The seed of the hashes of strings in a Lua state. The order of `pairs` follows from it. LuaJIT
 * takes the seed from the system and has no setting for it. */
#pragma once

#include <stdint.h>

/* The next state that this thread creates has this seed; 0: a random one. Set it back to 0
 * afterwards. */
void pl_string_seed(uint64_t seed);
