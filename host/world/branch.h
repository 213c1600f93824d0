/* Branches: copies of this process that continue from one point of a world, each in another way.
 * The original takes their results. So executions of the explorer with the same beginning share it.
 */
#pragma once

struct lua_State;
struct pl_watchdog;

/* Adds to the table on the stack, unless a sanitizer watches this process:
 *
 *   fork(seconds) -> true             in the branch, which has to call finish
 *                 false, branch       in the original
 *                 false, nil, message when there is no branch
 *   wait({branch, ...})               waits until one of them has ended, at most its seconds: 120 s
 *          -> i, text                 that one, and its result
 *             i, nil, message         when it has ended in another way
 *   finish(text)                      ends the branch
 *   processors                        the number that this process may use
 *
 * A branch that is collected as garbage is killed. Raises an error for more than 64 branches.
 *
 * dog: of scripts; log: a file of its own for the log of hosts. Both borrowed for the state's life.
 */
void pl_branch_add(struct lua_State *L, struct pl_watchdog *dog, int log);
