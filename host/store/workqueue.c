/* The queue of keys (rules 86-98, 100-106). A key has one entry from its first add until it is
 * neither queued nor being processed. It may be in several states at once: being processed and
 * ready again, or being processed and delayed.
 *
 * Ready keys are in one list for each priority, delayed ones in a heap by their time. A ready key
 * that is being processed is parked: it keeps its turn but leaves its list, so that taking never
 * walks over keys that cannot be taken.
 *
 * It never reads a clock: `now_ns` comes with each call, and time passes only when due keys are
 * promoted. `changed` is called at the end of a call, when the queue is consistent again. */
#include "base/alloc.h"
#include "base/base.h"
#include "base/check.h"
#include "base/err.h"
#include "store/workqueue_impl.h"

enum { SPARE_ROOM = 64, SPARES_MAX = 64 };

static bool is_due_before(const struct pl_heap_node *a, const struct pl_heap_node *b)
{
    const struct pl_queue_entry *x = pl_queue_entry_waiting(a), *y = pl_queue_entry_waiting(b);
    return x->due_ns != y->due_ns ? x->due_ns < y->due_ns : x->turn < y->turn;
}

struct pl_workqueue *pl_workqueue_create(const struct pl_workqueue_options *options)
{
    struct pl_workqueue *q = PL_NEW(struct pl_workqueue);
    q->options = *options;
    if (q->options.limit == NULL)
        q->options.limit = pl_ratelimit_exponential(5 * PL_MS, 1000 * PL_SECOND);
    pl_keyset_init(&q->entries, offsetof(struct pl_queue_entry, key));
    pl_heap_init(&q->waiting, is_due_before);
    pl_list_init(&q->running);
    pl_list_init(&q->spares);
    return q;
}

void pl_workqueue_destroy(struct pl_workqueue *q)
{
    if (q == NULL)
        return;
    size_t at = 0;
    struct pl_keyed *node;
    pl_heap_deinit(&q->waiting);
    while ((node = pl_keyset_next(&q->entries, &at)) != NULL)
        pl_free(pl_queue_entry_of(node));
    struct pl_link *link;
    while ((link = pl_list_pop(&q->spares)) != NULL)
        pl_free(PL_CONTAINER_OF(link, struct pl_queue_entry, link));
    pl_keyset_deinit(&q->entries);
    for (size_t i = 0; i < q->level_count; i++)
        pl_free(q->levels[i]);
    pl_free(q->levels);
    pl_ratelimit_destroy(q->options.limit);
    pl_free(q);
}

void pl_workqueue_set_limit(struct pl_workqueue *q, struct pl_ratelimit *limit)
{
    pl_ratelimit_copy_counts(limit, q->options.limit);
    pl_ratelimit_destroy(q->options.limit);
    q->options.limit = limit;
}

static void workqueue_tell_changed(struct pl_workqueue *q)
{
    if (q->options.changed != NULL)
        q->options.changed(q->options.arg);
}

/* ---- levels ---- */

static void drop_empty_levels(struct pl_workqueue *q)
{
    size_t kept = 0;
    for (size_t i = 0; i < q->level_count; i++) {
        if (q->levels[i]->count == 0)
            pl_free(q->levels[i]);
        else
            q->levels[kept++] = q->levels[i];
    }
    q->level_count = kept;
}

/* The first level that is not above the priority. There are few levels, usually one. */
static size_t level_place(const struct pl_workqueue *q, int priority)
{
    size_t at = 0;
    while (at < q->level_count && q->levels[at]->priority > priority)
        at++;
    return at;
}

static struct pl_queue_level *add_level(struct pl_workqueue *q, int priority)
{
    drop_empty_levels(q); /* so that temporary priorities leave nothing behind */
    size_t at = level_place(q, priority);
    q->levels = pl_reallocarray(q->levels, q->level_count + 1, sizeof(struct pl_queue_level *));
    memmove(q->levels + at + 1, q->levels + at,
            (q->level_count - at) * sizeof(struct pl_queue_level *));
    struct pl_queue_level *level = PL_NEW(struct pl_queue_level);
    level->priority = priority;
    pl_list_init(&level->keys);
    q->levels[at] = level;
    q->level_count++;
    return level;
}

static struct pl_queue_level *level_for(struct pl_workqueue *q, int priority)
{
    size_t at = level_place(q, priority);
    if (at < q->level_count && q->levels[at]->priority == priority)
        return q->levels[at];
    return add_level(q, priority);
}

static void enter_level(struct pl_workqueue *q, struct pl_queue_entry *entry)
{
    entry->level = level_for(q, entry->priority);
    entry->level->count++;
    entry->turn = q->next_turn++;
    pl_list_push(&entry->level->keys, &entry->link);
}

static void leave_level(struct pl_queue_entry *entry)
{
    pl_link_unlink(&entry->link);
    entry->level->count--;
    entry->level = NULL;
}

/* ---- entries ---- */

static struct pl_queue_entry *make_entry(struct pl_workqueue *q, size_t key_len)
{
    bool small = key_len < SPARE_ROOM;
    struct pl_link *spare = small ? pl_list_pop(&q->spares) : NULL;
    if (spare != NULL) {
        q->spare_count--;
        return PL_CONTAINER_OF(spare, struct pl_queue_entry,
                               link); /* idle, so all its marks are clear */
    }
    struct pl_queue_entry *entry = pl_malloc(sizeof(*entry) + (small ? SPARE_ROOM : key_len + 1));
    memset(entry, 0, sizeof(*entry));
    entry->small = small;
    return entry;
}

static void free_entry(struct pl_workqueue *q, struct pl_queue_entry *entry)
{
    if (!entry->small || q->spare_count >= SPARES_MAX) {
        pl_free(entry);
        return;
    }
    pl_list_push_front(&q->spares,
                       &entry->link); /* the last used entry is still in the processor's cache */
    q->spare_count++;
}

static struct pl_queue_entry *workqueue_find_or_make(struct pl_workqueue *q, struct pl_slice key)
{
    uint32_t hash = pl_keyset_hash(key);
    struct pl_keyed *node = pl_keyset_find(&q->entries, key, hash);
    if (node != NULL)
        return pl_queue_entry_of(node);
    struct pl_queue_entry *entry = make_entry(q, key.len);
    memcpy(entry->key, key.ptr ? key.ptr : "", key.len);
    entry->key[key.len] = '\0';
    pl_keyset_insert(&q->entries, &entry->node, key.len, hash);
    return entry;
}

static void free_if_idle(struct pl_workqueue *q, struct pl_queue_entry *entry)
{
    if (entry->ready || entry->processing || pl_heap_holds(&entry->waiting))
        return;
    pl_keyset_remove(&q->entries, &entry->node);
    free_entry(q, entry);
}

static void make_ready(struct pl_workqueue *q, struct pl_queue_entry *entry, int64_t at_ns)
{
    entry->ready = true;
    entry->ready_ns = at_ns;
    q->ready_count++;
    q->adds++;
    enter_level(q, entry);
    if (q->options.plain && entry->processing)
        pl_link_unlink(
            &entry->link); /* only the mark stays; done gives the key its turn (rule 88) */
}

static void unmake_ready(struct pl_workqueue *q, struct pl_queue_entry *entry)
{
    leave_level(entry);
    entry->ready = false;
    q->ready_count--;
}

/* A higher priority moves a ready key to the end of its new level (rule 101). */
static void raise_priority(struct pl_workqueue *q, struct pl_queue_entry *entry, int priority)
{
    if (priority <= entry->priority)
        return;
    if (entry->ready)
        leave_level(entry);
    entry->priority = priority;
    if (entry->ready)
        enter_level(q, entry);
}

static void delay_until(struct pl_workqueue *q, struct pl_queue_entry *entry, int64_t due_ns)
{
    bool waits = pl_heap_holds(&entry->waiting);
    if (waits && entry->due_ns <= due_ns)
        return;
    entry->due_ns = due_ns;
    if (waits) {
        pl_heap_fix(&q->waiting, &entry->waiting);
    } else {
        entry->turn = q->next_turn++;
        pl_heap_push(&q->waiting, &entry->waiting);
    }
}

void pl_workqueue_promote(struct pl_workqueue *q, int64_t now_ns)
{
    while (q->waiting.count > 0) {
        struct pl_queue_entry *entry = pl_queue_entry_waiting(pl_heap_peek(&q->waiting));
        if (entry->due_ns > now_ns)
            return;
        pl_heap_remove(&q->waiting, &entry->waiting);
        if (entry->claimed)
            entry->again = true;
        else if (!entry->ready)
            make_ready(q, entry, entry->due_ns);
    }
}

/* ---- adding ---- */

static int64_t delay_of(struct pl_workqueue *q, struct pl_slice key, const struct pl_add *how,
                        int64_t now_ns)
{
    if (!how->rate_limited)
        return how->after_ns;
    int64_t limited = pl_ratelimit_when(q->options.limit, key, now_ns);
    return how->after_ns > 0 && how->after_ns < limited ? how->after_ns : limited;
}

static void add_plain(struct pl_workqueue *q, struct pl_queue_entry *entry, int64_t due_ns,
                      int64_t now_ns)
{
    if (due_ns > now_ns)
        delay_until(q, entry, due_ns);
    else if (!entry->ready)
        make_ready(q, entry, now_ns);
}

static void add_merged(struct pl_workqueue *q, struct pl_queue_entry *entry, int64_t due_ns,
                       int64_t now_ns)
{
    if (entry->ready && !entry->claimed)
        return; /* it stays ready, whatever the delay (rule 103) */
    if (due_ns > now_ns) {
        delay_until(q, entry, due_ns);
        return;
    }
    pl_heap_remove(&q->waiting, &entry->waiting);
    if (entry->claimed)
        entry->again = true;
    else
        make_ready(q, entry, now_ns);
}

void pl_workqueue_add(struct pl_workqueue *q, struct pl_slice key, const struct pl_add *how,
                      int64_t now_ns)
{
    if (q->shutting_down)
        return;
    pl_workqueue_promote(q, now_ns);
    int64_t delay = delay_of(q, key, how, now_ns);
    int64_t due_ns = delay <= 0 ? now_ns : delay > INT64_MAX - now_ns ? INT64_MAX : now_ns + delay;
    q->retries += how->rate_limited || how->after_ns != 0;
    struct pl_queue_entry *entry = workqueue_find_or_make(q, key);
    /* A key that was taken is new to the queue: its old priority does not count. */
    if (!entry->ready && !pl_heap_holds(&entry->waiting))
        entry->priority = how->priority;
    else
        raise_priority(q, entry, how->priority);
    if (q->options.plain)
        add_plain(q, entry, due_ns, now_ns);
    else
        add_merged(q, entry, due_ns, now_ns);
    workqueue_tell_changed(q);
}

/* ---- processing ---- */

/* A ready key that is being processed keeps its turn (rule 105). It leaves the list, so that no
 * take meets it; done puts it back among its equals. */
static void workqueue_park(struct pl_queue_entry *entry)
{
    pl_link_unlink(&entry->link);
}

/* The keys before a parked key have been taken or parked since, so its place is near the front. */
static void unpark(struct pl_workqueue *q, struct pl_queue_entry *entry)
{
    struct pl_list *keys = &entry->level->keys;
    if (q->options.plain) {
        entry->turn = q->next_turn++;
        pl_list_push(keys, &entry->link);
        return;
    }
    struct pl_link *at = keys->head.next;
    while (at != &keys->head &&
           PL_CONTAINER_OF(at, struct pl_queue_entry, link)->turn < entry->turn)
        at = at->next;
    pl_link_insert(&entry->link, at->prev, at);
}

static struct pl_queue_entry *next_takeable(struct pl_workqueue *q)
{
    for (size_t i = 0; i < q->level_count; i++) {
        PL_LIST_FOR (link, &q->levels[i]->keys) {
            struct pl_queue_entry *entry = PL_CONTAINER_OF(link, struct pl_queue_entry, link);
            if (!entry->processing)
                return entry;
            workqueue_park(entry);
        }
    }
    return NULL;
}

static int look_for_next(struct pl_workqueue *q, struct pl_item *item,
                         struct pl_queue_entry **entry, int64_t now_ns)
{
    pl_workqueue_promote(q, now_ns);
    *entry = next_takeable(q);
    if (*entry == NULL)
        return q->shutting_down ? PL_ECLOSED : PL_EAGAIN;
    *item = (struct pl_item){
        .key = pl_slice((*entry)->key, (*entry)->node.len),
        .priority = (*entry)->priority,
        .added_ns = (*entry)->ready_ns,
    };
    return 0;
}

static void workqueue_begin(struct pl_workqueue *q, struct pl_queue_entry *entry, int64_t now_ns)
{
    unmake_ready(q, entry);
    entry->processing = true;
    entry->started_ns = now_ns;
    pl_list_push(&q->running, &entry->running);
    q->processing_count++;
    q->started_sum = (int64_t)((uint64_t)q->started_sum + (uint64_t)now_ns);
    if (q->observer.latency != NULL)
        q->observer.latency(q->observer.arg, now_ns - entry->ready_ns);
}

int pl_workqueue_take(struct pl_workqueue *q, struct pl_item *item, int64_t now_ns)
{
    struct pl_queue_entry *entry;
    int code = look_for_next(q, item, &entry, now_ns);
    if (code == 0)
        workqueue_begin(q, entry, now_ns);
    return code;
}

void pl_workqueue_done(struct pl_workqueue *q, struct pl_slice key, int64_t now_ns)
{
    struct pl_queue_entry *entry = pl_queue_entry_find(q, key);
    if (entry == NULL || !entry->processing)
        return;
    entry->processing = false;
    pl_link_unlink(&entry->running);
    q->processing_count--;
    q->started_sum = (int64_t)((uint64_t)q->started_sum - (uint64_t)entry->started_ns);
    if (q->observer.work != NULL)
        q->observer.work(q->observer.arg, now_ns - entry->started_ns);
    if (entry->ready && !pl_link_is_linked(&entry->link))
        unpark(q, entry);
    bool again = entry->ready;
    free_if_idle(q, entry);
    if (again)
        workqueue_tell_changed(q);
}

int pl_workqueue_claim(struct pl_workqueue *q, struct pl_item *item, int64_t now_ns)
{
    PL_REQUIRE(!q->options.plain);
    struct pl_queue_entry *entry;
    int code = look_for_next(q, item, &entry, now_ns);
    if (code != 0)
        return code;
    entry->processing = entry->claimed = true;
    workqueue_park(entry);
    return 0;
}

void pl_workqueue_begin(struct pl_workqueue *q, struct pl_slice key, int64_t now_ns)
{
    struct pl_queue_entry *entry = pl_queue_entry_find(q, key);
    PL_REQUIRE(entry != NULL && entry->claimed);
    bool again = entry->again;
    entry->claimed = entry->again = false;
    workqueue_begin(q, entry, now_ns);
    if (again)
        make_ready(q, entry, now_ns);
}

void pl_workqueue_unclaim(struct pl_workqueue *q, struct pl_slice key)
{
    struct pl_queue_entry *entry = pl_queue_entry_find(q, key);
    PL_REQUIRE(entry != NULL && entry->claimed);
    entry->processing = entry->claimed = entry->again = false;
    pl_heap_remove(&q->waiting, &entry->waiting); /* it is ready (rule 103) */
    if (!pl_link_is_linked(&entry->link))         /* its priority may have risen */
        unpark(q, entry);
}

void pl_workqueue_forget(struct pl_workqueue *q, struct pl_slice key)
{
    pl_ratelimit_forget(q->options.limit, key);
}

bool pl_workqueue_drop(struct pl_workqueue *q, struct pl_slice key)
{
    struct pl_queue_entry *entry = pl_queue_entry_find(q, key);
    bool queued = entry != NULL && (entry->claimed ? entry->again : entry->ready);
    if (entry == NULL || (!queued && !pl_heap_holds(&entry->waiting)))
        return false;
    if (queued && !entry->claimed)
        unmake_ready(q, entry);
    entry->again = false;
    pl_heap_remove(&q->waiting, &entry->waiting);
    free_if_idle(q, entry);
    return true;
}

/* ---- the end ---- */

void pl_workqueue_shutdown(struct pl_workqueue *q)
{
    q->shutting_down = true;
    struct pl_heap_node *node;
    while ((node = pl_heap_pop(&q->waiting)) != NULL)
        free_if_idle(q, pl_queue_entry_waiting(node));
    workqueue_tell_changed(q);
}

void pl_workqueue_observe(struct pl_workqueue *q, const struct pl_workqueue_observer *observer)
{
    q->observer = *observer;
}
