/* Named checks behind /healthz and /readyz, answered in the form of Kubernetes' own servers:
 *
 *     [+]ping ok
 *     [-]controller/website failed: v1/Secret: list of v1/Secret: for 12.3 s, at most 30 s
 *     readyz check failed
 *
 * Each part of the host adds its own checks and needs to know nothing else about the endpoints. The
 * loop's thread. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

enum pl_probe {
    PL_PROBE_LIVE,  /* /healthz: fails when only a restart helps */
    PL_PROBE_READY, /* /readyz: fails while the host cannot work yet, or not any more */
};

struct pl_health;
struct pl_health_page; /* The caller owns the registry. */
struct pl_health *pl_health_create(void);
void pl_health_destroy(struct pl_health *health); /* accepts NULL */

/* Adds a check. It returns true when all is well, else false with the reason in *why (one line;
 * line breaks become spaces, long texts are cut). name: a literal, unique per probe, e.g.
 * "leader-election". Checks are shown in the order of adding. */
void pl_health_add(struct pl_health *health, enum pl_probe probe, const char *name,
                   bool (*check)(void *arg, struct pl_buf *why), void *arg);
/* The same for a variable number of checks: each calls pl_health_say once for a name. */
void pl_health_add_group(struct pl_health *health, enum pl_probe probe,
                         void (*each)(void *arg, struct pl_health_page *page), void *arg);
/* why NULL: all is well. Both are copied. */
void pl_health_say(struct pl_health_page *page, const char *name, const char *why);
/* All is well, but for something that people should see. Both are copied. */
void pl_health_note(struct pl_health_page *page, const char *name, const char *note);
/* Removes every check and group that was added with this arg. */
void pl_health_remove(struct pl_health *health, const void *arg);

/* Answers path ("/healthz", "/readyz/controller/website"; still escaped) with its query (?verbose,
 * ?exclude=NAME, which may be repeated). Returns the HTTP status; the body is appended. */
int pl_health_answer(struct pl_health *health, struct pl_slice path, struct pl_slice query,
                     struct pl_buf *body);
