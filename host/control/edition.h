/* One controller as one generation declares it: its spec, its reconciler, its subscriptions. The
 * controller (queue, delays, failure counts, metrics) outlives it: at a reload it adopts the next
 * edition. References are held by its creator, by the controller whose current edition it is, and
 * by each run and each question that began under it. I/O thread. */
#pragma once

#include "control/controller.h"

struct pl_edition;

/* Takes the spec's content. Does not start anything. The caller owns the first reference. */
struct pl_edition *pl_edition_create(const struct pl_controller_options *options,
                                     struct pl_controller_spec *spec);
/* Takes a reference; returns edition, for chaining. */
struct pl_edition *pl_edition_ref(struct pl_edition *edition);
/* Dropping the last reference releases its informers. */
void pl_edition_unref(struct pl_edition *edition);

/* Takes references to its informers; new ones start. Idempotent. on_sync (may be NULL) is called
 * whenever one of them has synced, until pl_edition_forget_sync. */
void pl_edition_open(struct pl_edition *edition, void (*on_sync)(void *arg), void *arg);
/* on_sync is not called any more; unopened sources stay unopened. */
void pl_edition_forget_sync(struct pl_edition *edition);
/* Every informer has synced. */
bool pl_edition_is_synced(const struct pl_edition *edition);

/* The writer for its writes; lives as long as the edition. */
const struct pl_writer *pl_edition_writer(const struct pl_edition *edition);
/* Lives as long as the edition. */
const struct pl_controller_spec *pl_edition_spec(const struct pl_edition *edition);
/* The options of its creation, with the reconciler. They live as long as the edition. */
const struct pl_controller_options *pl_edition_options(const struct pl_edition *edition);
/* The informer of source i; NULL before it was opened. The edition holds the reference. */
struct pl_informer *pl_edition_informer(const struct pl_edition *edition, size_t source);
/* Refuses a key that no object of the For kind can have: "VERB to controller ...: why". Takes every
 * key without a For kind, and while its scope is unknown. */
PL_MUST_USE int pl_edition_check_key(const struct pl_edition *edition, const char *verb,
                                     struct pl_slice key, struct pl_err *err);

/* Sets the kinds that a family follows from now on: these kinds, and its current kinds of every
 * group and version that is among the unknown (their kind is ignored). If no version of a kind is
 * followed any more, its objects are delivered as deleted. An edition without a controller does not
 * change. */
void pl_edition_select(struct pl_edition *edition, size_t source, const struct pl_kind *kinds,
                       size_t count, const struct pl_kind *unknown, size_t unknown_count);
/* Visits each kind that a family follows now; informer: borrowed. */
void pl_edition_each_member(const struct pl_edition *edition,
                            void (*visit)(void *arg, const struct pl_source_spec *source,
                                          struct pl_informer *informer),
                            void *arg);

/* A run of a webhook under it has ended: calls pl_controller_options.ran. */
void pl_edition_tell_ran(const struct pl_edition *edition, const struct pl_ran *ran);

/* True when only its creator holds it: it has no run, no question and no controller. */
bool pl_edition_is_quiet(const struct pl_edition *edition);
void pl_edition_cancel_runs(struct pl_edition *edition, const struct pl_err *why);

/* ---- controllers ---- */

/* Creates a controller with its first edition; a reference is taken. The caller owns the
 * controller, until a manager takes it. */
struct pl_controller *pl_controller_create_with(struct pl_edition *edition);
/* The current edition; borrowed until the controller adopts another. */
struct pl_edition *pl_controller_edition(const struct pl_controller *controller);

/* The controller continues under another edition of its name, which must be open. The queue stays,
 * and so do sources that both editions watch; a run under the old edition ends before its key runs
 * again. changed: the code differs, so its keys are queued again if its spec wants that. A retired
 * controller becomes active again. */
void pl_controller_adopt(struct pl_controller *controller, struct pl_edition *edition,
                         bool changed);
/* No generation declares the controller any more: its events end and it starts no runs. gone is
 * called once, when its last run has ended, and may destroy it; never inside this call. */
void pl_controller_retire(struct pl_controller *controller,
                          void (*gone)(void *arg, struct pl_controller *controller), void *arg);
