/* The scripts of a host: loading the first generation, starting its controllers and webhooks, and
 * reloads; and a chooser's say in which ready key is next. The generation that a reload replaces
 * ends its runs while the new one already works. A host that is dead reports nothing. */
#include "world/replica_impl.h"

#include "base/alloc.h"
#include "base/text.h"
#include "bind/bind.h"
#include "world/elected.h"

#define CPU_LIMIT       (5 * PL_SECOND)
#define GRACE           (25 * PL_SECOND)
#define MOST_CANDIDATES 8
#define MOST_KEYS       64 /* looked at, running ones among them */

static int64_t grace_ns(const struct pl_replica *replica)
{
    return replica->o.grace_ns > 0 ? replica->o.grace_ns : GRACE;
}

/* ---- which ready key is next ---- */

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
    all->keys[all->count++] = pl_text_copy(queued->key);
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

/* Asks at a PICK point. The key that was chosen gets a higher priority, so that it is taken next.
 */
static void order_ask(const struct pl_chooser *chooser, const char *host,
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

static void on_replica_order(void *arg, struct pl_controller *controller)
{
    struct pl_replica *replica = arg;
    if (!replica->dead)
        order_ask(replica->o.chooser, replica->name, controller, pl_clock_mono(&replica->clock));
}

/* ---- loading ---- */

static struct pl_lanes_options lanes_options(struct pl_replica *replica)
{
    return (struct pl_lanes_options){
        .hooks = &pl_bind_state_hooks,
        .count = 1,
        .cpu_limit_ns = replica->o.cpu_limit_ns > 0 ? replica->o.cpu_limit_ns : CPU_LIMIT,
        .config = replica->o.config,
        .version = "test",
        .metrics = replica->metrics,
        .generation = ++replica->generations,
        .memos = replica->memos,
        .barred = replica->barred,
        .stepped = replica->loop,
        .clock = &replica->script_clock,
        .rand_seed = replica->o.seed,
        .dog = replica->o.dog,
        .http = pl_external_transport(replica->outside),
        .lines = replica->o.lines != NULL ? &replica->lines : NULL,
        .faults = replica->o.chooser != NULL ? &replica->faults : NULL,
        .listing = replica->o.listing,
    };
}

static void on_replica_ran(void *arg, struct pl_generation *generation, const struct pl_ran *ran)
{
    struct pl_replica *replica = arg;
    PL_UNUSED(generation);
    if (replica->o.ran != NULL && !replica->dead)
        replica->o.ran(replica->o.arg, replica, ran);
}

static struct pl_generation_options generation_options(struct pl_replica *replica)
{
    return (struct pl_generation_options){.cluster = replica->cluster,
                                          .loop = replica->loop,
                                          .ran = on_replica_ran,
                                          .order =
                                              replica->o.chooser != NULL ? on_replica_order : NULL,
                                          .arg = replica};
}

int pl_replica_load(struct pl_replica *replica, struct pl_err *err)
{
    struct pl_lanes_options with = lanes_options(replica);
    struct pl_declarations declared = {.controllers = NULL};
    struct pl_lanes *lanes = pl_lanes_create(&with);
    int rc = pl_lanes_load(lanes, replica->o.paths, replica->o.path_count, &declared, err);
    if (rc == 0 && declared.controller_count == 0)
        rc = pl_err_set(err, PL_EINVAL, "%s: the scripts declare nothing; call perilune.controller",
                        replica->o.path_count > 0 ? replica->o.paths[0] : "scripts");
    if (rc == 0)
        rc = pl_generation_check_clusters(replica->cluster, &declared, err);
    if (rc == 0 && replica->o.elects)
        replica->elected =
            pl_elected_create(replica->cluster, replica->name, declared.controllers[0].name);
    if (rc == 0) {
        struct pl_generation_options options = generation_options(replica);
        replica->current = pl_generation_create(&options, lanes, &declared);
    } else {
        pl_lanes_destroy(lanes);
    }
    pl_declarations_deinit(&declared);
    return rc;
}

/* ---- webhooks ---- */

static void on_hooks_stopped(void *arg)
{
    pl_manager_release(((struct pl_replica *)arg)->manager);
}

static void on_stopping(void *arg)
{
    struct pl_replica *replica = arg;
    if (replica->hooks != NULL)
        pl_hooks_stop(replica->hooks, 0, on_hooks_stopped, replica);
}

static void open_hooks(struct pl_replica *replica)
{
    const struct pl_hooks_options options = {
        .loop = replica->loop, .cluster = replica->cluster, .metrics = replica->metrics};
    replica->hooks = pl_hooks_create(&options);
    pl_manager_hold(replica->manager); /* until the webhooks have stopped */
}

/* The webhooks of the generation answer from now on. */
static void switch_hooks(struct pl_replica *replica, struct pl_generation *generation)
{
    size_t count;
    struct pl_edition *const *editions = pl_generation_hooks(generation, &count);
    if (pl_manager_is_stopping(replica->manager) || (count == 0 && replica->hooks == NULL))
        return;
    if (replica->hooks == NULL)
        open_hooks(replica);
    pl_hooks_switch(replica->hooks, editions, count);
}

/* ---- the beginning ---- */

static void on_replica_stopped(void *arg, int exit_code)
{
    struct pl_replica *replica = arg;
    PL_UNUSED(exit_code);
    replica->stopped = true;
}

static void on_replica_gone(void *arg, const struct pl_controller *controller)
{
    struct pl_replica *replica = arg;
    if (replica->current != NULL)
        pl_generation_forget(replica->current, controller);
    if (replica->next != NULL)
        pl_generation_forget(replica->next, controller);
    for (size_t i = 0; i < replica->closing_count; i++)
        pl_generation_forget(replica->closing[i], controller);
}

int pl_replica_begin(struct pl_replica *replica, struct pl_err *err)
{
    const struct pl_manager_options options = {.cluster = replica->cluster,
                                               .grace_ns = grace_ns(replica),
                                               .leadership =
                                                   pl_elected_leadership(replica->elected),
                                               .stopped = on_replica_stopped,
                                               .stopping = on_stopping,
                                               .gone = on_replica_gone,
                                               .arg = replica};
    replica->manager = pl_manager_create(&options);
    pl_generation_take_over(replica->current, replica->manager, NULL, NULL);
    switch_hooks(replica, replica->current);
    pl_manager_start(replica->manager);
    return pl_lanes_add_indexes(pl_generation_lanes(replica->current), err);
}

/* ---- reloads ---- */

static void end_reload(struct pl_replica *replica, const struct pl_err *err)
{
    void (*done)(void *arg, const struct pl_err *err) = replica->reloaded;
    replica->reloaded = NULL;
    if (done != NULL)
        done(replica->reloaded_arg, err);
}

static void refuse_reload(struct pl_replica *replica, const struct pl_err *err)
{
    struct pl_generation *refused = replica->next;
    replica->next = NULL;
    end_reload(replica, err);
    pl_generation_close(refused, 0, NULL, NULL);
}

static void on_replica_closed(void *arg, struct pl_generation *generation, const struct pl_err *err)
{
    struct pl_replica *replica = arg;
    PL_UNUSED(err);
    size_t kept = 0;
    for (size_t i = 0; i < replica->closing_count; i++)
        if (replica->closing[i] != generation)
            replica->closing[kept++] = replica->closing[i];
    replica->closing_count = kept;
}

static void on_replica_prepared(void *arg, struct pl_generation *generation,
                                const struct pl_err *err)
{
    struct pl_replica *replica = arg;
    if (err != NULL) {
        refuse_reload(replica, err);
        return;
    }
    struct pl_generation *before = replica->current;
    replica->closing = pl_reallocarray(replica->closing, replica->closing_count + 1,
                                       sizeof(struct pl_generation *));
    replica->closing[replica->closing_count++] = before;
    pl_generation_take_over(generation, replica->manager, before, NULL);
    switch_hooks(replica, generation);
    replica->current = generation;
    replica->next = NULL;
    end_reload(replica, NULL);
    pl_generation_close(before, grace_ns(replica), on_replica_closed, replica);
}

static void on_replica_loaded(void *arg, struct pl_generation *generation, const struct pl_err *err)
{
    struct pl_replica *replica = arg;
    if (err != NULL)
        refuse_reload(replica, err);
    else
        pl_generation_prepare(generation, replica->current, on_replica_prepared, replica);
}

void pl_replica_reload(struct pl_replica *replica, const char *const *paths, size_t count,
                       void (*done)(void *arg, const struct pl_err *err), void *arg)
{
    struct pl_generation_options options = generation_options(replica);
    struct pl_lanes_options with = lanes_options(replica);
    replica->reloaded = done;
    replica->reloaded_arg = arg;
    replica->next = pl_generation_load(&options, &with, paths, count, on_replica_loaded, replica);
}
