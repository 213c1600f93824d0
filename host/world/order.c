#include "world/order.h"

#include "base/alloc.h"

#define MOST_CANDIDATES 8
#define MOST_KEYS       64 /* looked at, running ones among them */

struct candidates {
    const char *controller;
    char *names[MOST_CANDIDATES], *keys[MOST_CANDIDATES]; /* owned */
    int priority;                                         /* the highest */
    int count;
};

static void add_candidate(void *arg, const struct pl_queued *queued)
{
    struct candidates *all = arg;
    if (!queued->ready || queued->running || all->count == MOST_CANDIDATES)
        return;
    all->names[all->count] = pl_format("%s %.*s", all->controller, PL_FMT(queued->key));
    all->keys[all->count++] = pl_memdup0(queued->key.ptr, queued->key.len);
    if (queued->priority > all->priority)
        all->priority = queued->priority;
}

static int order_pick(const struct pl_chooser *chooser, const char *host,
                      const struct candidates *all)
{
    struct pl_disturbance what = {PL_ACT_GO, 0, NULL, 0, 0};
    const struct pl_point point = {.kind = PL_POINT_PICK,
                                   .host = host,
                                   .controller = all->controller,
                                   .candidates = (const char *const *)all->names,
                                   .count = all->count};
    chooser->at(chooser->arg, &point, &what);
    return what.act == PL_ACT_PICK && what.pick < all->count ? what.pick : 0;
}

void pl_order_ask(const struct pl_chooser *chooser, const char *host,
                  struct pl_controller *controller, int64_t now_ns)
{
    struct candidates all = {.controller = pl_controller_spec(controller)->name};
    struct pl_workqueue *queue = pl_controller_queue(controller);
    pl_workqueue_each(queue, now_ns, MOST_KEYS, add_candidate, &all);
    int pick = all.count > 1 ? order_pick(chooser, host, &all) : 0;
    if (pick > 0)
        pl_workqueue_add(queue, pl_slice_z(all.keys[pick]),
                         &(struct pl_add){.priority = all.priority + 1}, now_ns);
    for (int i = 0; i < all.count; i++) {
        pl_free(all.names[i]);
        pl_free(all.keys[i]);
    }
}
