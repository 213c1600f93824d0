/* Read-only questions about the queue. */
#include "base/alloc.h"
#include "store/workqueue_impl.h"

#include <stdlib.h>

bool pl_workqueue_next_due(struct pl_workqueue *q, int64_t *due_ns)
{
    struct pl_heap_node *node = pl_heap_peek(&q->waiting);
    if (node == NULL)
        return false;
    *due_ns = pl_queue_entry_waiting(node)->due_ns;
    return true;
}

size_t pl_workqueue_len(struct pl_workqueue *q, int64_t now_ns)
{
    pl_workqueue_promote(q, now_ns);
    if (!q->options.plain)
        return q->ready_count;
    size_t marked = 0; /* keys that done will queue do not count yet */
    PL_LIST_FOR (link, &q->running) {
        marked += PL_CONTAINER_OF(link, struct pl_queue_entry, running)->ready;
    }
    return q->ready_count - marked;
}

size_t pl_workqueue_waiting(struct pl_workqueue *q)
{
    return q->waiting.count;
}

int pl_workqueue_requeues(struct pl_workqueue *q, struct pl_slice key)
{
    return pl_ratelimit_requeues(q->options.limit, key);
}

bool pl_workqueue_is_shutting_down(const struct pl_workqueue *q)
{
    return q->shutting_down;
}

bool pl_workqueue_is_drained(struct pl_workqueue *q, int64_t now_ns)
{
    pl_workqueue_promote(q, now_ns);
    return q->shutting_down && q->ready_count == 0 && q->processing_count == 0;
}

void pl_workqueue_metrics(struct pl_workqueue *q, int64_t now_ns, struct pl_workqueue_metrics *out)
{
    pl_workqueue_promote(q, now_ns);
    *out = (struct pl_workqueue_metrics){
        .adds = q->adds, .retries = q->retries, .depth = q->ready_count};
    struct pl_link *oldest = pl_list_first(&q->running);
    if (oldest == NULL)
        return;
    out->unfinished_ns =
        (int64_t)(q->processing_count * (uint64_t)now_ns - (uint64_t)q->started_sum);
    out->longest_ns = now_ns - PL_CONTAINER_OF(oldest, struct pl_queue_entry, running)->started_ns;
}

size_t pl_workqueue_depths(struct pl_workqueue *q, int64_t now_ns, struct pl_depth *out, size_t cap)
{
    pl_workqueue_promote(q, now_ns);
    size_t count = 0;
    for (size_t i = 0; i < q->level_count; i++) {
        if (q->levels[i]->count == 0)
            continue;
        if (count < cap)
            out[count] = (struct pl_depth){q->levels[i]->priority, q->levels[i]->count};
        count++;
    }
    return count;
}

/* ---- key by key ---- */

static bool runs(const struct pl_queue_entry *entry)
{
    return entry->processing && !entry->claimed;
}

static struct pl_queued workqueue_look_describe(const struct pl_workqueue *q,
                                                const struct pl_queue_entry *entry)
{
    struct pl_slice key = pl_slice(entry->key, entry->node.len);
    return (struct pl_queued){
        .key = key,
        .running = runs(entry),
        .ready = entry->ready,
        .delayed = pl_heap_holds(&entry->waiting),
        .priority = entry->priority,
        .started_ns = entry->started_ns,
        .ready_ns = entry->ready_ns,
        .due_ns = entry->due_ns,
        .requeues = pl_ratelimit_requeues(q->options.limit, key),
    };
}

bool pl_workqueue_look(struct pl_workqueue *q, struct pl_slice key, int64_t now_ns,
                       struct pl_queued *out)
{
    pl_workqueue_promote(q, now_ns);
    const struct pl_queue_entry *entry = pl_queue_entry_find(q, key);
    if (entry == NULL) {
        *out = (struct pl_queued){.requeues = pl_ratelimit_requeues(q->options.limit, key)};
        return false;
    }
    *out = workqueue_look_describe(q, entry);
    return true;
}

/* Running ones first, then ready ones by their turn, then delayed ones by when they are due. */
static int workqueue_look_compare(const void *a, const void *b)
{
    const struct pl_queue_entry *x = *(struct pl_queue_entry *const *)a;
    const struct pl_queue_entry *y = *(struct pl_queue_entry *const *)b;
    if (runs(x) != runs(y))
        return runs(x) ? -1 : 1;
    if (x->ready != y->ready)
        return x->ready ? -1 : 1;
    if (!x->ready && x->due_ns != y->due_ns)
        return x->due_ns < y->due_ns ? -1 : 1;
    if (x->ready && x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return x->turn < y->turn ? -1 : x->turn > y->turn;
}

size_t pl_workqueue_each(struct pl_workqueue *q, int64_t now_ns, size_t limit,
                         void (*visit)(void *arg, const struct pl_queued *queued), void *arg)
{
    pl_workqueue_promote(q, now_ns);
    struct pl_queue_entry **entries = pl_calloc(q->entries.count + 1, sizeof(*entries));
    struct pl_keyed *node;
    size_t at = 0, count = 0;
    while ((node = pl_keyset_next(&q->entries, &at)) != NULL)
        entries[count++] = pl_queue_entry_of(node);
    qsort(entries, count, sizeof(*entries), workqueue_look_compare);
    for (size_t i = 0; i < count && i < limit; i++) {
        struct pl_queued queued = workqueue_look_describe(q, entries[i]);
        visit(arg, &queued);
    }
    pl_free(entries);
    return count;
}
