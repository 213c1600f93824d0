/* Compares two runs of one key by their effects. I/O thread. */
#pragma once

#include "write/capture.h"
#include "value/build.h"

/* The same verb, and the same result or the same request. If a run created an object and then wrote
 * it again, the running one's may contain more: the server's defaults, which it read in between.
 * Times (RFC 3339) less than a minute apart are equal: one of the runs was a little later. */
bool pl_effect_eq(const struct pl_effect *running, const struct pl_effect *candidate);

/* One of them is NULL when only the other run did it. */
typedef void (*pl_compare_fn)(void *arg, const struct pl_effect *running,
                              const struct pl_effect *candidate);
/* Calls differs for each effect that only one run has, or that both have differently; agrees for
 * each that both have alike. running NULL: the key is at rest. Then it would write nothing, and
 * nothing is known of other effects: those are left out. */
void pl_compare(const struct pl_capture *running, const struct pl_capture *candidate,
                pl_compare_fn differs, pl_compare_fn agrees, void *arg);

/* Writes a difference as an object: {"what","candidate","running" (verbs, "" for none),
 * "changes":[{"path","old","new"}],"more","note"}. If one run did it, old and new are before and
 * after; else they are the results of the running scripts and of the candidate. Values are JSON,
 * cut at 200 bytes. Values of Secrets' data are replaced by their sizes, as are known secrets in
 * other values. */
void pl_difference_build(struct pl_build *b, const struct pl_effect *running,
                         const struct pl_effect *candidate, const struct pl_secrets *hidden);
