/* Stand-ins for the controllers and kubelets that do not run here (`perilune dev --simulate`):
 * workloads become ready, Jobs complete, Pods run and end, claims are bound, disruption budgets
 * are counted. An actor writes a second after the change that calls for it. No Pod is created for
 * a workload, and no container runs. One thread. */
#pragma once

#include "apicall/core.h"

/* The caller owns the result. */
struct pl_api_actors *pl_api_actors_create(struct pl_api *api);
/* Accepts NULL. */
void pl_api_actors_destroy(struct pl_api_actors *actors);
/* Appends the status that the actor of this kind would write now, as JSON. False, and nothing is
 * appended: it has nothing left to do, the object is being deleted, or no actor has this kind. */
bool pl_api_actor_status(struct pl_api *api, const struct pl_api_type *type,
                         const struct pl_api_entry *entry, struct pl_buf *out);
/* Called for every event; writes nothing itself. */
void pl_api_actors_note(struct pl_api_actors *actors, const struct pl_api_event *event);
