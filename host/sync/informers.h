/* The informers of one site: sources with equal kinds and options share one. I/O thread. */
#pragma once

#include "sync/informer.h"

struct pl_informers;
struct pl_site;

/* site and namespaces (those of --namespace; NULL: all) are borrowed for life. The caller owns the
 * result. */
struct pl_informers *pl_informers_create(struct pl_site *site, char *const *namespaces);
/* Every informer must have been released. Accepts NULL. */
void pl_informers_destroy(struct pl_informers *informers);
/* Stops every informer, even if there are references to it. */
void pl_informers_stop(struct pl_informers *informers);

/* Returns the informer of this kind with these options (limited to the host's namespaces), with a
 * reference for the caller. Creates it if necessary; it starts by itself. */
struct pl_informer *pl_informers_take(struct pl_informers *informers, const struct pl_kind *kind,
                                      const struct pl_source_options *options);
/* Calls visit for each informer of the kind, newest first. */
void pl_informers_each(struct pl_informers *informers, const struct pl_kind *kind,
                       void (*visit)(void *arg, struct pl_informer *informer), void *arg);
size_t pl_informers_count(const struct pl_informers *informers);
/* Borrowed; i < count; oldest first. */
struct pl_informer *pl_informers_at(const struct pl_informers *informers, size_t i);
