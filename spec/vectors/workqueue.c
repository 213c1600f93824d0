/* The components workqueue and priorityqueue: one queue of the product in its two forms. */
#include "driver.h"

#include "base/alloc.h"
#include "store/workqueue.h"

#include <stdio.h>

/* A worker that blocks in get until something comes. */
struct waiter {
    struct pl_link link;
    char *id;
    struct pl_doc *got; /* NULL: still blocked */
};

struct times {
    int64_t *ns;
    size_t count;
};

struct queue {
    struct clock *clock;
    struct pl_workqueue *q;
    bool priorities;
    bool drain_asked; /* and not ended by a plain shutdown */
    bool drain_ended;
    struct pl_list waiters;
    struct times latency, work;
};

static void add_time(struct times *times, int64_t ns)
{
    times->ns = pl_reallocarray(times->ns, times->count + 1, sizeof(int64_t));
    times->ns[times->count++] = ns;
}

static void on_latency(void *arg, int64_t ns)
{
    struct queue *self = arg;
    add_time(&self->latency, ns);
}

static void on_work(void *arg, int64_t ns)
{
    struct queue *self = arg;
    add_time(&self->work, ns);
}

static struct queue *create(struct clock *clock, struct pl_node options, bool priorities)
{
    struct queue *self = PL_NEW(struct queue);
    struct pl_node limiter = pl_node_getz(options, "rateLimiter");
    struct pl_workqueue_options how = {.plain = !priorities};
    if (pl_node_type(limiter) == PL_OBJECT)
        how.limit = limiter_of(limiter);
    self->clock = clock;
    self->priorities = priorities;
    self->q = pl_workqueue_create(&how);
    pl_list_init(&self->waiters);
    pl_workqueue_observe(self->q, &(struct pl_workqueue_observer){on_latency, on_work, self});
    return self;
}

static void *create_plain(struct clock *clock, struct pl_node options, const char **skip)
{
    PL_UNUSED(skip);
    return create(clock, options, false);
}

static void *create_priority(struct clock *clock, struct pl_node options, const char **skip)
{
    PL_UNUSED(skip);
    return create(clock, options, true);
}

static void queue_destroy(void *arg)
{
    struct queue *self = arg;
    struct pl_link *link;
    while ((link = pl_list_pop(&self->waiters)) != NULL) {
        struct waiter *waiter = PL_CONTAINER_OF(link, struct waiter, link);
        pl_doc_unref(waiter->got);
        pl_free(waiter->id);
        pl_free(waiter);
    }
    pl_workqueue_destroy(self->q);
    pl_free(self->latency.ns);
    pl_free(self->work.ns);
    pl_free(self);
}

/* ---- adding ---- */

/* A delay of zero or less is no delay, but the plain queue counts it as a retry (rule 93). */
static int64_t delay_of(const struct queue *self, struct pl_node node)
{
    int64_t after = duration_of(node, 0);
    if (after > 0 || pl_node_is_missing(node))
        return after;
    return self->priorities ? 0 : -1;
}

static void add(struct queue *self, struct pl_node item, const struct pl_add *how)
{
    struct pl_scratch room;
    pl_workqueue_add(self->q, pl_node_str(item, &room), how, self->clock->now_ns);
}

static void add_with_options(struct queue *self, struct pl_node step)
{
    struct pl_node items = pl_node_getz(step, "items");
    struct pl_add how = {.priority = (int)int_of(pl_node_getz(step, "priority"), 0),
                         .after_ns = delay_of(self, pl_node_getz(step, "after")),
                         .rate_limited = bool_of(pl_node_getz(step, "rateLimited"), false)};
    for (size_t i = 0; i < pl_node_len(items); i++)
        add(self, pl_node_at(items, i), &how);
}

static bool add_step(struct queue *self, struct pl_slice op, struct pl_node step)
{
    struct pl_node item = pl_node_getz(step, "item");
    if (pl_slice_eqz(op, "add"))
        add(self, item, &(struct pl_add){0});
    else if (pl_slice_eqz(op, "addRateLimited"))
        add(self, item, &(struct pl_add){.rate_limited = true});
    else if (pl_slice_eqz(op, "addAfter"))
        add(self, item, &(struct pl_add){.after_ns = delay_of(self, pl_node_getz(step, "after"))});
    else if (pl_slice_eqz(op, "addWithOpts"))
        add_with_options(self, step);
    else
        return false;
    return true;
}

/* ---- taking ---- */

static int take(struct queue *self, struct pl_item *item)
{
    return pl_workqueue_take(self->q, item, self->clock->now_ns);
}

static void put_taken(struct queue *self, int rc, const struct pl_item *item, struct pl_build *out)
{
    if (rc == PL_ECLOSED) {
        put_flag(out, "shutdown");
        return;
    }
    pl_build_object(out);
    put_member_str(out, "item", item->key);
    if (self->priorities)
        put_member_int(out, "priority", item->priority);
    pl_build_end(out);
}

static void get(struct queue *self, struct pl_build *out)
{
    struct pl_item item;
    int rc = take(self, &item);
    if (rc == PL_EAGAIN)
        put_flag(out, "wouldBlock");
    else
        put_taken(self, rc, &item, out);
}

/* Whoever waits longest is served first. */
static void queue_settle(void *arg)
{
    struct queue *self = arg;
    PL_LIST_FOR (link, &self->waiters) {
        struct waiter *waiter = PL_CONTAINER_OF(link, struct waiter, link);
        struct pl_item item;
        if (waiter->got != NULL)
            continue;
        int rc = take(self, &item);
        if (rc == PL_EAGAIN)
            return;
        struct pl_build *out = pl_build_create(NULL);
        put_taken(self, rc, &item, out);
        waiter->got = pl_build_close(out);
    }
    if (self->drain_asked && pl_workqueue_is_drained(self->q, self->clock->now_ns))
        self->drain_ended = true;
}

static bool queue_next_due(void *arg, int64_t *due_ns)
{
    struct queue *self = arg;
    /* Counting makes ready what is due, so that what remains is later than now. */
    pl_workqueue_len(self->q, self->clock->now_ns);
    return pl_workqueue_next_due(self->q, due_ns);
}

static void get_async(struct queue *self, struct pl_node id)
{
    struct waiter *waiter = PL_NEW(struct waiter);
    waiter->id = text_of(id);
    pl_list_push(&self->waiters, &waiter->link);
}

static void poll(struct queue *self, struct pl_node id, struct pl_build *out)
{
    PL_LIST_FOR (link, &self->waiters) {
        struct waiter *waiter = PL_CONTAINER_OF(link, struct waiter, link);
        if (!pl_node_str_eq(id, pl_slice_z(waiter->id)) || waiter->got == NULL)
            continue;
        put_doc(out, waiter->got);
        return;
    }
    put_flag(out, "blocked");
}

static void drain_ready(struct queue *self, struct pl_build *out)
{
    struct pl_item item;
    pl_build_array(out);
    while (take(self, &item) == 0) {
        if (self->priorities)
            pl_build_array(out);
        pl_build_str(out, item.key);
        if (self->priorities) {
            pl_build_int(out, item.priority);
            pl_build_end(out);
        }
        pl_workqueue_done(self->q, item.key, self->clock->now_ns);
    }
    pl_build_end(out);
}

/* ---- metrics ---- */

static void put_times(struct pl_build *out, const char *name, const struct times *times)
{
    pl_build_keyz(out, name);
    pl_build_array(out);
    for (size_t i = 0; i < times->count; i++)
        pl_build_int(out, times->ns[i]);
    pl_build_end(out);
}

static void put_depths(struct queue *self, struct pl_build *out)
{
    struct pl_depth depths[64];
    size_t count = pl_workqueue_depths(self->q, self->clock->now_ns, depths, PL_ARRAY_LEN(depths));
    pl_build_object(out);
    for (size_t i = 0; i < count && i < PL_ARRAY_LEN(depths); i++) {
        char priority[16];
        snprintf(priority, sizeof(priority), "%d", depths[i].priority);
        put_member_int(out, priority, (int64_t)depths[i].count);
    }
    pl_build_end(out);
}

static void put_metrics(struct queue *self, struct pl_build *out)
{
    struct pl_workqueue_metrics metrics;
    pl_workqueue_metrics(self->q, self->clock->now_ns, &metrics);
    pl_build_object(out);
    put_member_int(out, "adds", (int64_t)metrics.adds);
    pl_build_keyz(out, "depth");
    if (self->priorities)
        put_depths(self, out);
    else
        pl_build_int(out, (int64_t)metrics.depth);
    put_member_int(out, "retries", (int64_t)metrics.retries);
    put_times(out, "latency", &self->latency);
    put_times(out, "workDuration", &self->work);
    put_member_int(out, "unfinished", metrics.unfinished_ns);
    put_member_int(out, "longest", metrics.longest_ns);
    pl_build_end(out);
}

/* ---- steps ---- */

/* A plain shutdown ends the wait of a drain. */
static void shut_down(struct queue *self, bool drain)
{
    if (drain)
        self->drain_asked = true;
    else if (self->drain_asked)
        self->drain_ended = true;
    pl_workqueue_shutdown(self->q);
}

static bool change_step(struct queue *self, struct pl_slice op, struct pl_node step)
{
    struct pl_scratch room;
    struct pl_slice item = pl_node_str(pl_node_getz(step, "item"), &room);
    if (pl_slice_eqz(op, "forget"))
        pl_workqueue_forget(self->q, item);
    else if (pl_slice_eqz(op, "done"))
        pl_workqueue_done(self->q, item, self->clock->now_ns);
    else if (pl_slice_eqz(op, "shutdown"))
        shut_down(self, false);
    else if (pl_slice_eqz(op, "shutdownWithDrain"))
        shut_down(self, true);
    else if (pl_slice_eqz(op, "getAsync"))
        get_async(self, pl_node_getz(step, "id"));
    else
        return false;
    return true;
}

static void ask_step(struct queue *self, struct pl_slice op, struct pl_node step,
                     struct pl_build *out)
{
    struct pl_scratch room;
    struct pl_slice item = pl_node_str(pl_node_getz(step, "item"), &room);
    if (pl_slice_eqz(op, "get"))
        get(self, out);
    else if (pl_slice_eqz(op, "poll"))
        poll(self, pl_node_getz(step, "id"), out);
    else if (pl_slice_eqz(op, "len"))
        pl_build_int(out, (int64_t)pl_workqueue_len(self->q, self->clock->now_ns));
    else if (pl_slice_eqz(op, "numRequeues"))
        pl_build_int(out, pl_workqueue_requeues(self->q, item));
    else if (pl_slice_eqz(op, "drained"))
        pl_build_bool(out, self->drain_ended);
    else if (pl_slice_eqz(op, "shuttingDown"))
        pl_build_bool(out, pl_workqueue_is_shutting_down(self->q));
    else if (pl_slice_eqz(op, "drainReady"))
        drain_ready(self, out);
    else
        put_metrics(self, out);
}

static void queue_step(void *arg, struct pl_slice op, struct pl_node step, struct pl_build *out)
{
    struct queue *self = arg;
    if (add_step(self, op, step) || change_step(self, op, step))
        pl_build_null(out);
    else
        ask_step(self, op, step, out);
}

const struct component workqueue_component = {
    .name = "workqueue",
    .create = create_plain,
    .step = queue_step,
    .destroy = queue_destroy,
    .next_due = queue_next_due,
    .settle = queue_settle,
};

const struct component priorityqueue_component = {
    .name = "priorityqueue",
    .create = create_priority,
    .step = queue_step,
    .destroy = queue_destroy,
    .next_due = queue_next_due,
    .settle = queue_settle,
};
