/* Questions of a record (predicates, map and index functions), asked again. Private to host/record:
 * replay.c drives it. The replay's thread. */
#pragma once

#include "record/player.h"

/* from: what PL_ENTRY_ASK holds. Asks the lane, which takes the entries up to PL_ENTRY_ANSWERED,
 * and compares the answers. */
void pl_player_ask(struct pl_player *player, struct pl_bytes from);
