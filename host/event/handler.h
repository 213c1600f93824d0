/* From an event to the keys that it queues (rules 108, 135-138). Pure; any thread. */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "event/event.h"
#include "event/source.h"

/* ---- a set of requests ---- */

#define PL_REQUESTS_MAX 1000000

/* Zero-initialised. */
struct pl_requests {
    struct pl_buf text; /* private: the keys, each ended by NUL */
    size_t *starts;     /* private: where each key begins, and where the last one ends */
    size_t count;
    size_t cap;         /* private */
    struct pl_map seen; /* private: used when there are more than a few */
};

void pl_requests_deinit(struct pl_requests *requests);
void pl_requests_clear(struct pl_requests *requests);
/* Does nothing if the request is already there. ELIMIT beyond PL_REQUESTS_MAX. */
int pl_requests_add(struct pl_requests *requests, struct pl_slice ns, struct pl_slice name);
/* "ns/name" or "name"; in the order of adding; NUL-terminated; valid until the next change. */
struct pl_slice pl_requests_key(const struct pl_requests *requests, size_t i);
struct pl_request pl_requests_at(const struct pl_requests *requests, size_t i);

/* ---- handlers ---- */

struct pl_handler {
    enum pl_map_by by;
    struct pl_kind owner; /* PL_MAP_OWNER: matched by group and kind, in any version (rule 135) */
    bool every_owner;     /* not only the controller reference */
    bool owner_cluster_scoped; /* requests carry no namespace (rule 137) */
};

/* Appends the event's requests. False for PL_MAP_EXTERNAL: then the implementer must be asked, for
 * the old object (if any) and the new one (rule 136). */
bool pl_handler_requests(const struct pl_handler *handler, const struct pl_event *event,
                         struct pl_requests *out);

/* PL_PRIORITY_LOW (store/workqueue.h) for creates of the first list and updates with an unchanged
 * resourceVersion, else 0 (rule 108). */
int pl_event_priority(const struct pl_event *event);
