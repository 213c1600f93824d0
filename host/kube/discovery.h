/* Maps kinds to resources: asks the server and remembers the answers; asks again when a kind is
 * unknown. I/O thread. */
#pragma once

#include "kube/client.h"
#include "kube/resource.h"

struct pl_discovery;

/* The caller owns the discovery. The client must outlive it. */
struct pl_discovery *pl_discovery_create(struct pl_client *client);
void pl_discovery_destroy(struct pl_discovery *discovery);

/* resource is NULL with err: EAPI/ENETWORK, or ENOTFOUND when the server does not serve the kind
 * (the message names kinds of that name in other groups or versions). */
typedef void (*pl_resource_fn)(void *arg, const struct pl_resource *resource,
                               const struct pl_err *err);

/* Answers later, even from memory. For kinds that stay unknown, the groups are asked at most once
 * in 2 s; one group's failure does not hide others. */
void pl_discovery_find(struct pl_discovery *discovery, const struct pl_kind *kind,
                       pl_resource_fn on_resource, void *arg);
/* Cancels the answers that are still to come for arg. */
void pl_discovery_forget(struct pl_discovery *discovery, void *arg);
/* The resource if it is already known; else NULL. It lives as long as the discovery. */
const struct pl_resource *pl_discovery_known(struct pl_discovery *discovery,
                                             const struct pl_kind *kind);
/* A request for this known kind was answered with 404: its group is asked again before the next
 * find is answered. Until then the kind stays known. */
void pl_discovery_doubt(struct pl_discovery *discovery, const struct pl_kind *kind);
