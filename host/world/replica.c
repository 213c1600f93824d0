/* Builds a host in the order of the fields of struct pl_replica, and destroys it in reverse, as
 * cli/host.c does. Its clock is the world's plus an offset: a host that is being destroyed goes
 * through its grace period alone, while no time passes for the others. */
#include "world/replica_impl.h"

#include "base/alloc.h"
#include "base/log.h"
#include "control/remaining_work.h"
#include "control/report.h"
#include "lane/barred.h"
#include "lane/memo.h"
#include "world/elected.h"
#include "world/point_details.h"

#include <inttypes.h>
#include <unistd.h>

#define LAST_STEPS 1000000 /* limit of steps while a host is being destroyed */

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
    for (size_t i = 0; i < replica->closing_count; i++)
        if (pl_lanes_asker(pl_generation_lanes(replica->closing[i]), asked, out))
            return true;
    return replica->current != NULL &&
           pl_lanes_asker(pl_generation_lanes(replica->current), asked, out);
}

static bool who_http(void *arg, const char *method, const char *url, struct pl_asker *out)
{
    const struct pl_replica *replica = arg;
    for (size_t i = 0; i < replica->closing_count; i++)
        if (pl_lanes_http_asker(pl_generation_lanes(replica->closing[i]), method, url, out))
            return true;
    return replica->current != NULL &&
           pl_lanes_http_asker(pl_generation_lanes(replica->current), method, url, out);
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

static void replica_fault(void *arg, const struct pl_ask_fault *fault)
{
    const struct pl_replica *replica = arg;
    if (!replica->dead)
        pl_point_details_fault(replica->o.chooser, replica->name, fault);
}

static void open_host(struct pl_replica *replica)
{
    replica->process = getpid();
    replica->lines = (struct pl_line_watch){replica_line, replica};
    replica->faults = (struct pl_fault_watch){replica_fault, replica};
    replica->clock = (struct pl_clock){replica_mono, replica_mono, replica_wall, replica};
    replica->script_clock = (struct pl_clock){script_mono, script_mono, script_wall, replica};
    replica->loop = pl_loop_create_stepped(&replica->clock);
    pl_rand_seed(&replica->rand, replica->o.seed);
    pl_waits_init(&replica->waits, &replica->clock);
    replica->pool = replica->o.unshared ? NULL : pl_pool_create();
    pl_loop_each_turn(replica->loop, &replica->collect, replica_collect_documents);
    replica->metrics = pl_metrics_create();
    replica->memos = pl_memos_create();
    replica->barred = pl_barred_create();
    open_wire(replica);
    open_outside(replica);
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
        rc = pl_replica_load(replica, err);
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

/* Lets a killed host go through its stop, so that everything is freed. It sends nothing any more,
 * so nobody else sees this, and time passes only for it. */
static void run_out(struct pl_replica *replica)
{
    replica->dead = true;
    pl_wire_cut(replica->wire);
    pl_external_cut(replica->outside);
    pl_replica_stop(replica);
    for (int i = 0; i < LAST_STEPS && (!replica->stopped || replica->closing_count > 0); i++) {
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
    for (size_t i = 0; i < replica->closing_count; i++)
        pl_generation_destroy(replica->closing[i]); /* it lost a controller that has not ended */
    pl_free(replica->closing);
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

static void see_any(void *arg, const struct pl_replica_due *due)
{
    PL_UNUSED(due);
    *(bool *)arg = true;
}

/* Whether something of the core will make a difference later. */
static bool has_later_work(struct pl_replica *replica)
{
    bool due = false;
    pl_replica_each_due(replica, see_any, &due);
    for (size_t i = 0; i < pl_manager_count(replica->manager) && !due; i++) {
        struct pl_controller_report report;
        pl_controller_report(pl_manager_at(replica->manager, i), &report);
        due = report.failing + report.map_retries + report.waiting > 0;
    }
    return due || pl_barred_count(replica->barred) > 0 || replica->closing_count > 0;
}

bool pl_replica_memory(struct pl_replica *replica, uint64_t *digest)
{
    return !has_later_work(replica) && replica->hooks == NULL &&
           pl_memos_count(replica->memos) == 0 &&
           pl_lanes_script_memory(pl_generation_lanes(replica->current), digest);
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
