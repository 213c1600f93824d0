/* One object of the API server that a host looks after: read now and whenever it may have changed,
 * and written. Reads are repeated until they succeed, with growing pauses; a watch tells of
 * changes, and where it can't be had a look each minute does. One request at a time. I/O thread. */
#pragma once

#include "kube/client.h"
#include "kube/resource.h"

struct pl_kept;

struct pl_kept_options {
    struct pl_client *client;           /* borrowed until it is closed */
    struct pl_timers *timers;           /* the same */
    const struct pl_resource *resource; /* borrowed for life */
    const char *ns, *name;              /* copied; ns NULL: cluster-scoped */
    /* What it is now; NULL: there is none. May write, and close. */
    void (*seen)(void *arg, struct pl_doc *object);
    /* A write has ended; err NULL: so it is stored, or NULL after a deletion. */
    void (*written)(void *arg, struct pl_doc *object, const struct pl_err *err);
    void *arg;
};

/* Looks at once. */
struct pl_kept *pl_kept_create(const struct pl_kept_options *options);
/* Nothing is told any more; what is under way is cancelled. Accepts NULL. */
void pl_kept_close(struct pl_kept *kept);
/* Looks again after so long, or earlier. */
void pl_kept_look(struct pl_kept *kept, int64_t delay_ns);
/* True while a write is under way. */
bool pl_kept_is_writing(const struct pl_kept *kept);

/* Not while a write is under way. Bodies are referenced. */
void pl_kept_create_object(struct pl_kept *kept, struct pl_doc *object);
void pl_kept_update(struct pl_kept *kept, struct pl_doc *object); /* with its resourceVersion */
void pl_kept_apply(struct pl_kept *kept, struct pl_doc *object, const char *manager);
void pl_kept_delete(struct pl_kept *kept);
