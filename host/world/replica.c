/* Builds a host in the order of the fields of struct pl_replica, and destroys it in reverse, as
 * cli/host.c does. Its clock is the world's plus an offset: a host that is being destroyed goes
 * through its grace period alone, while no time passes for the others. */
#include "world/replica.h"

#include "base/alloc.h"
#include "base/log.h"
#include "bind/bind.h"
#include "control/remaining_work.h"
#include "kube/decode_thread.h"
#include "lane/barred.h"
#include "lane/memo.h"
#include "lua/limit.h"
#include "world/elected.h"
#include "world/order.h"
#include "write/recorder.h"

#include <inttypes.h>
#include <unistd.h>

#define CPU_LIMIT  (5 * PL_SECOND)
#define GRACE      (25 * PL_SECOND)
#define LAST_STEPS 1000000 /* limit of steps while a host is being destroyed */

struct pl_replica {
    struct pl_line_watch lines; /* for the lanes */
    pid_t process;              /* that created it */
    struct pl_replica_options o;
    char *name;
    struct pl_clock clock, script_clock;
    int64_t extra_ns; /* offset to the world's clock, while it is being destroyed */
    struct pl_loop *loop;
    struct pl_rand rand;
    struct pl_waits waits;
    struct pl_pool *pool;
    struct pl_idle collect;
    struct pl_metrics *metrics;
    struct pl_wire *wire;
    struct pl_external_servers *outside;
    struct pl_kubeconfig config;
    struct pl_client *client;
    struct pl_cluster *cluster;
    struct pl_memos *memos;
    struct pl_barred *barred;
    struct pl_elected *elected; /* NULL: no election */
    struct pl_manager *manager;
    struct pl_hooks *hooks;                        /* NULL: no script has declared a webhook yet */
    struct pl_generation *current, *next, *before; /* before: the last that is being closed */
    uint64_t generations;
    void (*reloaded)(void *arg, const struct pl_err *err);
    void *reloaded_arg;
    unsigned closing; /* replaced generations */
    bool stopped, dead;
    bool asked_time; /* script_clock was read */
};

static int64_t replica_mono(void *arg)
{
    const struct pl_replica *replica = arg;
    return pl_clock_mono(replica->o.clock) + replica->extra_ns;
}

static int64_t replica_wall(void *arg)
{
    const struct pl_replica *replica = arg;
    return pl_clock_wall(replica->o.clock) + replica->o.skew_ns + replica->extra_ns;
}

static int64_t script_mono(void *arg)
{
    struct pl_replica *replica = arg;
    replica->asked_time = true;
    return replica_mono(arg);
}

static int64_t script_wall(void *arg)
{
    struct pl_replica *replica = arg;
    replica->asked_time = true;
    return replica_wall(arg);
}

bool pl_replica_asked_time(const struct pl_replica *replica)
{
    return replica->asked_time;
}

/* ---- building ---- */

static void replica_collect_documents(struct pl_idle *idle)
{
    pl_pool_collect(PL_CONTAINER_OF(idle, struct pl_replica, collect)->pool);
}

static void defer(void *arg, struct pl_task *task, void (*run)(struct pl_task *task))
{
    pl_loop_defer(arg, task, run);
}

static void on_crash(void *arg)
{
    struct pl_replica *replica = arg;
    pl_wire_cut(replica->wire);
    replica->o.crash(replica->o.arg, replica);
}

static bool who(void *arg, const struct pl_sought *asked, struct pl_asker *out)
{
    const struct pl_replica *replica = arg;
    const struct pl_generation *both[] = {replica->before, replica->current};
    for (size_t i = 0; i < PL_ARRAY_LEN(both); i++)
        if (both[i] != NULL && pl_lanes_asker(pl_generation_lanes(both[i]), asked, out))
            return true;
    return false;
}

static bool who_http(void *arg, const char *method, const char *url, struct pl_asker *out)
{
    const struct pl_replica *replica = arg;
    const struct pl_generation *both[] = {replica->before, replica->current};
    for (size_t i = 0; i < PL_ARRAY_LEN(both); i++)
        if (both[i] != NULL && pl_lanes_http_asker(pl_generation_lanes(both[i]), method, url, out))
            return true;
    return false;
}

static void open_outside(struct pl_replica *replica)
{
    const struct pl_external_client client = {.host = replica->name,
                                              .chooser = replica->o.chooser,
                                              .who = who_http,
                                              .crash = on_crash,
                                              .arg = replica};
    replica->outside = pl_external_create(replica->loop, &replica->o.outside, &client);
}

static void open_wire(struct pl_replica *replica)
{
    const struct pl_wire_options wire = {.loop = replica->loop,
                                         .api = replica->o.api,
                                         .host = replica->name,
                                         .chooser = replica->o.chooser,
                                         .crash = on_crash,
                                         .crash_arg = replica,
                                         .who = who,
                                         .who_arg = replica,
                                         .seen = replica->o.seen,
                                         .rule = replica->o.rule,
                                         .is_held = replica->o.is_held,
                                         .arg = replica->o.arg};
    replica->wire = pl_wire_create(&wire);
}

static int connect_cluster(struct pl_replica *replica, struct pl_err *err)
{
    replica->config.server = pl_strdup("http://world");
    replica->config.source = pl_strdup("world");
    const struct pl_client_options client = {.transport = pl_wire_transport(replica->wire),
                                             .timers = pl_loop_timers(replica->loop),
                                             .rand = &replica->rand,
                                             .waits = &replica->waits,
                                             .metrics = replica->metrics,
                                             .loop = replica->loop,
                                             .config = &replica->config,
                                             .pool = replica->pool,
                                             .user_agent = "perilune/test"};
    replica->client = pl_client_create(&client, err);
    if (replica->client == NULL)
        return err->code;
    const struct pl_cluster_options cluster = {.site = {.client = replica->client,
                                                        .timers = pl_loop_timers(replica->loop),
                                                        .rand = &replica->rand,
                                                        .waits = &replica->waits,
                                                        .pool = replica->pool,
                                                        .metrics = replica->metrics,
                                                        .defer = defer,
                                                        .defer_arg = replica->loop},
                                               .namespaces = replica->o.namespaces,
                                               .instance = replica->name};
    replica->cluster = pl_cluster_create(&cluster);
    return 0;
}

/* The handlers of a killed process run nothing. */
static void replica_line(void *arg, lua_State *L, const char *path, int line)
{
    const struct pl_replica *replica = arg;
    if (!replica->dead)
        replica->o.lines->at(replica->o.lines->arg, L, path, line);
}

static void open_host(struct pl_replica *replica)
{
    replica->process = getpid();
    replica->lines = (struct pl_line_watch){replica_line, replica};
    replica->clock = (struct pl_clock){replica_mono, replica_mono, replica_wall, replica};
    replica->script_clock = (struct pl_clock){script_mono, script_mono, script_wall, replica};
    replica->loop = pl_loop_create_stepped(&replica->clock);
    pl_rand_seed(&replica->rand, replica->o.seed);
    pl_waits_init(&replica->waits, &replica->clock);
    replica->pool = pl_pool_create();
    pl_loop_each_turn(replica->loop, &replica->collect, replica_collect_documents);
    replica->metrics = pl_metrics_create();
    replica->memos = pl_memos_create();
    replica->barred = pl_barred_create();
    open_wire(replica);
    open_outside(replica);
}

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
        .listing = replica->o.listing,
    };
}

/* ---- its controllers ---- */

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
}

static void on_replica_ran(void *arg, struct pl_generation *generation, const struct pl_ran *ran)
{
    struct pl_replica *replica = arg;
    PL_UNUSED(generation);
    if (replica->o.ran != NULL && !replica->dead)
        replica->o.ran(replica->o.arg, replica, ran);
}

static void on_replica_order(void *arg, struct pl_controller *controller)
{
    struct pl_replica *replica = arg;
    if (!replica->dead)
        pl_order_ask(replica->o.chooser, replica->name, controller, pl_clock_mono(&replica->clock));
}

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
    size_t count = pl_generation_hooks(generation);
    if (pl_manager_is_stopping(replica->manager) || (count == 0 && replica->hooks == NULL))
        return;
    if (replica->hooks == NULL)
        open_hooks(replica);
    struct pl_edition **editions = pl_calloc(count + 1, sizeof(struct pl_edition *));
    for (size_t i = 0; i < count; i++)
        editions[i] = pl_generation_hook(generation, i);
    pl_hooks_switch(replica->hooks, editions, count);
    pl_free(editions);
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

static int replica_load(struct pl_replica *replica, struct pl_err *err)
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

int pl_replica_begin(struct pl_replica *replica, struct pl_err *err)
{
    const struct pl_manager_options options = {
        .cluster = replica->cluster,
        .grace_ns = replica->o.grace_ns > 0 ? replica->o.grace_ns : GRACE,
        .leadership = pl_elected_leadership(replica->elected),
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

struct pl_replica *pl_replica_create(const struct pl_replica_options *options, struct pl_err *err)
{
    struct pl_replica *replica = PL_NEW(struct pl_replica);
    replica->o = *options;
    replica->name = pl_strdup(options->name);
    pl_doc_ref(options->config);
    open_host(replica);
    int rc = connect_cluster(replica, err);
    if (rc == 0)
        rc = replica_load(replica, err);
    replica->o.paths = NULL;
    replica->o.namespaces = NULL;
    replica->o.text = NULL;
    if (rc == 0)
        return replica;
    pl_replica_destroy(replica);
    return NULL;
}

/* ---- the end ---- */

void pl_replica_stop(struct pl_replica *replica)
{
    if (!pl_manager_is_stopping(replica->manager))
        pl_manager_stop(replica->manager);
}

bool pl_replica_is_stopped(const struct pl_replica *replica)
{
    return replica->stopped;
}

/* No byte leaves it any more, so its end is invisible; time passes only for it. */
static void run_out(struct pl_replica *replica)
{
    replica->dead = true;
    pl_wire_cut(replica->wire);
    pl_external_cut(replica->outside);
    pl_replica_stop(replica);
    for (int i = 0; i < LAST_STEPS && (!replica->stopped || replica->closing > 0); i++) {
        int64_t due;
        if (pl_loop_step(replica->loop))
            continue;
        if (!pl_timers_next(pl_loop_timers(replica->loop), &due))
            break;
        if (due > pl_loop_now(replica->loop))
            replica->extra_ns += due - pl_loop_now(replica->loop);
    }
}

/* A host that was copied into a branch (world/branch.h) only stops: the branch ends soon, and all
 * memory with it. */
static void abandon(struct pl_replica *replica)
{
    replica->dead = true;
    pl_external_cut(replica->outside);
    pl_wire_abandon(replica->wire);
}

void pl_replica_destroy(struct pl_replica *replica)
{
    if (replica == NULL)
        return;
    if (replica->process != getpid()) {
        abandon(replica);
        return;
    }
    if (replica->manager != NULL)
        run_out(replica);
    if (replica->manager != NULL && !pl_manager_is_clean(replica->manager)) {
        pl_log(PL_LOG_WARN, "a script does not end although it was cancelled; its memory stays");
        return;
    }
    pl_hooks_destroy(replica->hooks);
    pl_generation_destroy(replica->next);
    pl_generation_destroy(replica->before); /* it lost a controller that has not ended */
    pl_generation_destroy(replica->current);
    if (replica->manager != NULL)
        pl_manager_destroy(replica->manager);
    pl_cluster_destroy(replica->cluster);
    if (replica->client != NULL)
        pl_client_destroy(replica->client);
    pl_wire_destroy(replica->wire);
    pl_elected_destroy(replica->elected);
    pl_external_destroy(replica->outside);
    pl_loop_each_turn_stop(&replica->collect);
    pl_pool_collect(replica->pool);
    pl_loop_destroy(replica->loop);
    pl_metrics_destroy(replica->metrics);
    pl_pool_destroy(replica->pool);
    pl_memos_unref(replica->memos);
    pl_barred_unref(replica->barred);
    pl_kubeconfig_deinit(&replica->config);
    pl_doc_unref(replica->o.config);
    pl_free(replica->name);
    pl_free(replica);
}

/* ---- another generation ---- */

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
    replica->closing--;
    if (replica->before == generation)
        replica->before = NULL;
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
    replica->before = before;
    replica->closing++;
    pl_generation_take_over(generation, replica->manager, before, NULL);
    switch_hooks(replica, generation);
    replica->current = generation;
    replica->next = NULL;
    end_reload(replica, NULL);
    pl_generation_close(before, replica->o.grace_ns > 0 ? replica->o.grace_ns : GRACE,
                        on_replica_closed, replica);
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

/* ---- stepping ---- */

const char *pl_replica_name(const struct pl_replica *replica)
{
    return replica->name;
}

bool pl_replica_step(struct pl_replica *replica)
{
    return pl_loop_step(replica->loop);
}

bool pl_replica_next_timer(const struct pl_replica *replica, int64_t *due_ns)
{
    return pl_timers_next(pl_loop_timers(replica->loop), due_ns);
}

bool pl_replica_is_synced(struct pl_replica *replica, struct pl_buf *why)
{
    for (size_t i = 0; i < pl_manager_count(replica->manager); i++) {
        struct pl_controller *controller = pl_manager_at(replica->manager, i);
        if (pl_controller_is_running(controller) || pl_controller_is_standing_by(controller))
            continue;
        if (why != NULL) {
            pl_buf_add_f(why, "controller \"%s\": ", pl_controller_spec(controller)->name);
            pl_controller_explain(controller, why);
        }
        return false;
    }
    return true;
}

const char *pl_replica_busy_with(struct pl_replica *replica)
{
    if (replica->next != NULL)
        return "a reload";
    if (pl_wire_open(replica->wire) > 0)
        return "a request";
    if (pl_wire_is_behind(replica->wire))
        return "events of a watch";
    for (size_t i = 0; i < pl_manager_count(replica->manager); i++) {
        const char *what = pl_controller_busy_with(pl_manager_at(replica->manager, i));
        if (what != NULL)
            return what;
    }
    return NULL;
}

bool pl_replica_stands_by(const struct pl_replica *replica)
{
    for (size_t i = 0; i < pl_manager_count(replica->manager); i++)
        if (pl_controller_is_standing_by(pl_manager_at(replica->manager, i)))
            return true;
    return false;
}

bool pl_replica_leads(const struct pl_replica *replica)
{
    const struct pl_leadership *leadership = pl_elected_leadership(replica->elected);
    return leadership == NULL || pl_leadership_is_leading(leadership);
}

struct due_visit {
    void (*visit)(void *arg, const struct pl_replica_due *due);
    void *arg;
    const char *controller;
};

static void see_due(void *arg, struct pl_slice key, int64_t due_ns, bool fails)
{
    const struct due_visit *to = arg;
    char *what = pl_format("%s %.*s", to->controller, PL_FMT(key));
    to->visit(to->arg, &(struct pl_replica_due){.what = what, .due_ns = due_ns, .fails = fails});
    pl_free(what);
}

static void see_sleep(void *arg, const struct pl_lane_sleep *sleep)
{
    const struct due_visit *to = arg;
    char *what = pl_format("%s %s %" PRIx64, sleep->controller, sleep->key, sleep->place);
    struct pl_replica_due due = {
        .what = what, .due_ns = sleep->due_ns, .delay_ns = sleep->delay_ns};
    to->visit(to->arg, &due);
    pl_free(what);
}

void pl_replica_each_due(struct pl_replica *replica,
                         void (*visit)(void *arg, const struct pl_replica_due *due), void *arg)
{
    struct due_visit to = {visit, arg, NULL};
    for (size_t i = 0; i < pl_manager_count(replica->manager); i++) {
        struct pl_controller *controller = pl_manager_at(replica->manager, i);
        to.controller = pl_controller_spec(controller)->name;
        pl_controller_each_due(controller, see_due, &to);
    }
    pl_lanes_each_sleep(pl_generation_lanes(replica->current), see_sleep, &to);
}

struct pl_cluster *pl_replica_cluster(struct pl_replica *replica)
{
    return replica->cluster;
}

struct pl_manager *pl_replica_manager(struct pl_replica *replica)
{
    return replica->manager;
}

struct pl_hooks *pl_replica_hooks(struct pl_replica *replica)
{
    return replica->hooks;
}

struct pl_metrics *pl_replica_metrics(struct pl_replica *replica)
{
    return replica->metrics;
}

struct pl_wire *pl_replica_wire(struct pl_replica *replica)
{
    return replica->wire;
}
