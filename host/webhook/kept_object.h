/* One object on the API server that a host maintains: reads it now and whenever it may have
 * changed, and writes it. Reads are repeated until they succeed, with growing pauses. A watch
 * reports changes; without a watch the object is read each minute. One request at a time. I/O
 * thread. */
#pragma once

#include "kube/client.h"
#include "kube/resource.h"

struct pl_kept;

struct pl_kept_options {
    struct pl_client *client;           /* borrowed until it is closed */
    struct pl_timers *timers;           /* the same */
    const struct pl_resource *resource; /* borrowed for life */
    const char *ns, *name;              /* copied; ns NULL: cluster-scoped */
    /* The current object; NULL: there is none. The callback may write, and close. */
    void (*seen)(void *arg, struct pl_doc *object);
    /* A write has ended; err NULL: object is the stored one, or NULL after a deletion. */
    void (*written)(void *arg, struct pl_doc *object, const struct pl_err *err);
    void *arg;
};

/* Reads at once. The caller owns the result and ends it with pl_kept_close. */
struct pl_kept *pl_kept_create(const struct pl_kept_options *options);
/* There are no callbacks afterwards; requests under way are cancelled. Accepts NULL. */
void pl_kept_close(struct pl_kept *kept);
/* Reads again after this time, or earlier. */
void pl_kept_look(struct pl_kept *kept, int64_t delay_ns);
/* True while a write is under way. */
bool pl_kept_is_writing(const struct pl_kept *kept);

/* Do not call these while a write is under way. Bodies are referenced. */
void pl_kept_create_object(struct pl_kept *kept, struct pl_doc *object);
void pl_kept_update(struct pl_kept *kept, struct pl_doc *object); /* with its resourceVersion */
void pl_kept_apply(struct pl_kept *kept, struct pl_doc *object, const char *manager);
void pl_kept_delete(struct pl_kept *kept);
