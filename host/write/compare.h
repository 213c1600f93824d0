/* Two runs of one key, compared by what they do. I/O thread. */
#pragma once

#include "write/capture.h"
#include "value/build.h"

/* The same verb, and the same result or the same request. Of what a run created and then wrote
 * again, the running one may hold more: the server's defaults, which it read in between. Times (RFC
 * 3339) less than a minute apart are the same: one of the runs was a little later. */
bool pl_effect_eq(const struct pl_effect *running, const struct pl_effect *candidate);

/* Either is NULL when only the other did it. */
typedef void (*pl_compare_fn)(void *arg, const struct pl_effect *running,
                              const struct pl_effect *candidate);
/* Calls differs for each effect that one has and the other has not, or has otherwise; agrees for
 * each that both have alike. running NULL: it is at rest, which says that it would write nothing,
 * and of other effects nothing: those are left out. */
void pl_compare(const struct pl_capture *running, const struct pl_capture *candidate,
                pl_compare_fn differs, pl_compare_fn agrees, void *arg);

/* Writes a difference as an object: {"what","candidate","running" (verbs, "" for none),
 * "changes":[{"path","old","new"}],"more","note"}. Old and new are before and after of the one that
 * did it, or what the running scripts and the candidate make of it. Values are JSON, cut at 200
 * bytes; those of Secrets' data are sizes, and so is what is hidden wherever it turns up. */
void pl_difference_build(struct pl_build *b, const struct pl_effect *running,
                         const struct pl_effect *candidate, const struct pl_secrets *hidden);
