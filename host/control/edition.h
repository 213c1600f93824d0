/* One generation's word on a controller: what it declares, who reconciles, and its subscriptions.
 * The controller (queue, delays, failure counts, metrics) outlives it: at a reload it adopts the
 * next edition. Counted by whoever made it, by the controller whose current one it is, and by each
 * run and each question that began under it. I/O thread. */
#pragma once

#include "control/controller.h"

struct pl_edition;

/* Takes the spec's content. Starts nothing. */
struct pl_edition *pl_edition_create(const struct pl_controller_options *options,
                                     struct pl_controller_spec *spec);
struct pl_edition *pl_edition_ref(struct pl_edition *edition);
/* The last reference gives its informers back. */
void pl_edition_unref(struct pl_edition *edition);

/* Takes references to its informers; those that are new start. Idempotent. on_sync (may be NULL)
 * is called whenever one of them has synced, until it is forgotten. */
void pl_edition_open(struct pl_edition *edition, void (*on_sync)(void *arg), void *arg);
/* on_sync is not called any more; what was never opened stays so. */
void pl_edition_forget_sync(struct pl_edition *edition);
/* Every informer has synced. */
bool pl_edition_is_synced(const struct pl_edition *edition);

/* Lent to its writes; lives as long as the edition. */
const struct pl_writer *pl_edition_writer(const struct pl_edition *edition);
const struct pl_controller_spec *pl_edition_spec(const struct pl_edition *edition);
/* What it was made with: who reconciles. Lives as long as the edition. */
const struct pl_controller_options *pl_edition_options(const struct pl_edition *edition);
/* The informer behind source i; NULL before it was opened. */
struct pl_informer *pl_edition_informer(const struct pl_edition *edition, size_t source);

/* What a source that is a family follows from now on: these kinds, and those that it follows of a
 * group and version that is among the unknown (their kind is not looked at). The objects of one
 * that it does not follow any more are told as gone where no other version of it is followed. An
 * edition that no controller has any more is left as it is. */
void pl_edition_select(struct pl_edition *edition, size_t source, const struct pl_kind *kinds,
                       size_t count, const struct pl_kind *unknown, size_t unknown_count);
/* Visits each kind that a family follows now; informer: borrowed. */
void pl_edition_each_member(const struct pl_edition *edition,
                            void (*visit)(void *arg, const struct pl_source_spec *source,
                                          struct pl_informer *informer),
                            void *arg);

/* A run of a webhook under it has ended: pl_controller_options.ran hears of it. */
void pl_edition_tell_ran(const struct pl_edition *edition, const struct pl_ran *ran);

/* Only its maker holds it: no run and no question of it is under way, and no controller has it. */
bool pl_edition_is_quiet(const struct pl_edition *edition);
void pl_edition_cancel_runs(struct pl_edition *edition, const struct pl_err *why);

/* ---- controllers ---- */

/* A controller whose first edition this is; a reference is taken. */
struct pl_controller *pl_controller_create_with(struct pl_edition *edition);
struct pl_edition *pl_controller_edition(const struct pl_controller *controller);

/* The controller goes on under another edition of its name, which is open: its queue stays as it
 * is, and so do sources that both watch; a key that is running ends under the old one first.
 * changed: its code is other code, so that its keys are enqueued, if its spec wants that. A
 * controller that was retired is back. */
void pl_controller_adopt(struct pl_controller *controller, struct pl_edition *edition,
                         bool changed);
/* Nothing declares it any more: it hears nothing and starts nothing. gone is called, once, when
 * its last run has ended, and may destroy it; never from inside this call. */
void pl_controller_retire(struct pl_controller *controller,
                          void (*gone)(void *arg, struct pl_controller *controller), void *arg);
