/* Worlds as Lua sees them: the module "perilune.world" under lua/perilune/test.lua. Specs call it,
 * scripts never do. Failures are nil and a message; times are seconds. Options are JSON.
 *
 *   open(wall, seed, choose | nil, lines, version | nil) -> world    choose: world/choose.h
 *   close(world)
 *   start(world, options) -> true      not synced; {name=, paths=, config=, namespaces=,
 *                                      cpu_limit=, skew=}, where skew is the seconds of its wall
 *                                      clock against the world's
 *   sync(world, name), stop(world, name), crash(world, name) -> true
 *   reload(world, name, paths as JSON array) -> true
 *   runs_host(world, name) -> bool
 *   request(world, method, target, content_type | nil, body | nil) -> status, body
 *   step(world [, end]) -> bool        end: seconds since 1970; the clock is not moved beyond it
 *   settle(world, limit) -> true
 *   advance(world, duration [, until_crash]) -> true      until_crash: or until a disturbance has
 *                                      killed a host
 *   settled(world) -> true | false, why
 *   now(world) -> seconds since 1970
 *   version(world) -> text of the last resourceVersion
 *   seen(world) -> what was asked since the last time, without reads of a user: an array of {host=,
 *                  method=, verb=, path=, query=, body=, status=, lost=, answer=, at=}; the answers
 *                  to reads are not kept
 *   runs(world) -> the same of runs: {host=, controller=, key=, outcome=, message=, after=, at=}
 *   metrics(world, host) -> what /metrics would show
 *   lines(world) -> path -> the numbers of the lines that ran, of a world opened with `lines`
 *   why(world, host, key) -> an array of {controller=, what=, detail=}, see cluster/history.h
 *   actor_status(world, resource, key) -> the status that the server's actor for
 *                  "apps/v1/deployments" would write now, as JSON; nil: nothing is left to do
 *   changed_outside(world)             something outside of the cluster has changed
 *   newest(world, resource) -> the highest version of an object; 0: there is none
 *   alarm(world, delay, f)             f() is called once, then; settling waits for it
 *
 * For the explorer:
 *   load_ahead(world)                  loads the host that started last once more, for restarts in
 *                                      branches: see world/ahead.h
 *   limit(world, reconciles)           that settle gives up after; 0: 10,000
 *   limit_key(world, reconciles)       of one key that settle gives up after
 *   limit_retries(world, times)        settle does not wait for a key that has backed off so
 *                                      often without a change; 0: it always waits
 *   forget_rounds(world)               settle waits again for what it has waited for: an answer was
 *                                      disturbed meanwhile
 *   hold(world, resource, held)        events of watches of "apps/v1/deployments" wait, or not any
 *                                      more
 *   attend(world, on)                  the chooser is called at all points, or again only at those
 *                                      where a disturbance can begin
 *   expire(world, resource)            its watches end, as their version is too old
 *   hold_garbage(world, held)          garbage collection waits, or not any more
 *   enqueue(world, controller, key) -> bool    false: no host has it
 *   lateness(world, seconds)           delayed keys run so much later than they are due
 *   pace(world, seconds)               each write of a host takes so long
 *   asks_rule(world) -> bool           whether a rule of the spec runs, which the world waits for
 *   reverse_lists(world, reversed) -> bool     lists of caches are reversed, or not any more; true:
 *                                      one had several objects since the last call
 *   memory(world, name) -> a text      what a host that runs knows besides its caches; nothing: it
 *                                      can't be told
 *   point_body(world) -> the body of the request or answer at the point that the chooser was called
 *                      at; nil: it was not called
 *
 *   objects(world, resource, known) -> names, texts    the stored objects of "apps/v1/deployments":
 *                                      "UID VERSION" of each, and as JSON those whose name is no
 *                                      key of `known`, without uid, resourceVersion and
 *                                      creationTimestamp, and with a digest as managedFields.
 *                                      No request is made. Nothing, if it is stored in another
 *                                      version
 *
 * Callbacks: a function, or nil for none. The world calls it on its own thread. An error that it
 * raises ends the current call of the world with that message:
 *   on_http(world, f)      f{method=, url=, headers=, body=} -> {status=, headers=, body=} |
 *                          {message=}
 *   on_exec(world, f)      f{namespace=, pod=, query=, stdin=} -> the answer as JSON
 *                          f{namespace=, pod=} -> whether it answers commands in this Pod
 *   on_stored(world, f)    f() after each step in which something was stored
 */
#pragma once

struct lua_State;
struct pl_watchdog;

/* Registry key: the time when the specification has computed for too long, in CPU seconds of the
 * thread; nil: set it anew, since a world has worked. */
#define PL_SPEC_LIMIT "perilune.spec_limit"

/* Pushes the module. dog: of scripts; borrowed for the state's life. */
void pl_world_push(struct lua_State *L, struct pl_watchdog *dog);
