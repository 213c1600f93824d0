/* Predicates decide which events of a source reach its handler (rules 139, 140).
 *
 * A predicate is a tree of tests that the core knows and of leaves that stand for a script's
 * functions. Evaluating it without asking gives PASS or DROP if the core can decide alone, else
 * ASK. Immutable once made; evaluated on any thread. The caller owns a predicate that a function
 * returns, until it becomes part of another. */
#pragma once

#include "base/err.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>

struct pl_predicate;
struct pl_selector;

enum pl_verdict { PL_VERDICT_DROP, PL_VERDICT_PASS, PL_VERDICT_ASK };

#define PL_PREDICATE_DEPTH 64 /* of a tree */

/* ---- leaves ---- */

struct pl_predicate *pl_predicate_constant(bool pass);
/* These compare the old and the new object of an update. An update without both is dropped; every
 * other event passes. A missing generation counts as 0; missing labels, annotations and finalizers
 * as empty. */
struct pl_predicate *pl_predicate_generation_changed(void);
struct pl_predicate *pl_predicate_resource_version_changed(void);
struct pl_predicate *pl_predicate_label_changed(void);
struct pl_predicate *pl_predicate_annotation_changed(void);
struct pl_predicate *pl_predicate_finalizers_changed(void);
/* Passes when any of the paths (object/path.h) differs. NULL with err when one is invalid, or there
 * is none. */
struct pl_predicate *pl_predicate_fields_changed(const char *const *paths, size_t count,
                                                 struct pl_err *err);
/* Tests every event by its object, an update by the new one; an event without an object is dropped.
 * Takes the selector. */
struct pl_predicate *pl_predicate_label_selector(struct pl_selector *selector);
/* A script's function, identified by a number of the caller. */
struct pl_predicate *pl_predicate_external(int leaf);

/* ---- compositions: they take their parts, even when they fail ---- */

/* NULL with ELIMIT when the tree becomes too deep. Without parts, all and none pass, any drops. */
struct pl_predicate *pl_predicate_all(struct pl_predicate *const *parts, size_t count,
                                      struct pl_err *err);
struct pl_predicate *pl_predicate_any(struct pl_predicate *const *parts, size_t count,
                                      struct pl_err *err);
struct pl_predicate *pl_predicate_none(struct pl_predicate *const *parts, size_t count,
                                       struct pl_err *err);
/* One predicate for each type of event; NULL passes (rule 139). */
struct pl_predicate *pl_predicate_funcs(struct pl_predicate *const parts[PL_EVENT_TYPES],
                                        struct pl_err *err);

/* Also destroys its parts. Accepts NULL. */
void pl_predicate_destroy(struct pl_predicate *predicate);

/* ---- evaluation ---- */

/* The verdict of an external leaf; PL_VERDICT_ASK while it is unknown. */
typedef enum pl_verdict (*pl_leaf_fn)(void *arg, int leaf, const struct pl_event *event);

/* leaf: gives the verdicts of external leaves; called in the order of the tree and only while the
 * result is undecided; NULL: all are unknown. A NULL predicate passes. */
enum pl_verdict pl_predicate_test(const struct pl_predicate *predicate,
                                  const struct pl_event *event, pl_leaf_fn leaf, void *arg);
