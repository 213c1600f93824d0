/* Branches: copies of this process that continue from one point of a world, each in another way,
 * while the original waits for the result. So executions of the explorer with the same beginning
 * share it. */
#pragma once

struct lua_State;
struct pl_watchdog;

/* Adds to the table on the stack, unless a sanitizer watches this process:
 *
 *   fork() -> true                    in the branch, which has to call finish
 *             false, text             in the original, when the branch has ended
 *             false, nil, message     when there is no branch, or it has ended in another way
 *   finish(text)                      ends the branch
 *
 * dog: of scripts; log: a file of its own for the log of hosts. Both borrowed for the state's life.
 */
void pl_branch_add(struct lua_State *L, struct pl_watchdog *dog, int log);
