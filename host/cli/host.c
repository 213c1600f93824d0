/* The whole host. It is built in the order of the fields of struct host, and destroyed in reverse
 * order; destroying also works on a partly built host.
 *
 * Scripts load on the first lane while this thread reads the kubeconfig and prepares TLS; errors in
 * scripts are reported first. Metrics and probes are served before any watch starts, and until
 * everything else has stopped (rule 156).
 *
 * If runs could not be ended when the manager stopped, nothing may be freed, as they still use it:
 * the process ends there. A second SIGTERM or SIGINT ends it at once. */
#include "cli/host_impl.h"

#include "base/alloc.h"
#include "base/log.h"
#include "cli/terminate.h"
#include "cli/load.h"
#include "cli/open_page.h"
#include "crypto/tls_prepare.h"
#include "record/taping.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Options for all generations. */
static struct pl_lanes_options lanes_options(struct host *host)
{
    struct pl_lanes_options options = host->options->lanes;
    options.metrics = host->metrics;
    options.stuck = &host->stuck;
    options.memos = host->memos;
    options.barred = host->barred;
    options.taping = host->taping;
    options.dog = host->dog;
    return options;
}

static void another_turn(struct pl_task *task)
{
    PL_UNUSED(task);
}

static void host_collect_documents(struct pl_idle *idle)
{
    struct host *host = PL_CONTAINER_OF(idle, struct host, collect);
    if (pl_pool_collect(host->pool))
        pl_loop_defer(host->loop, &host->collect_again, another_turn);
}

static void stop_loop(void *arg)
{
    pl_loop_stop(arg);
}

static void on_host_traced(void *arg)
{
    struct host *host = arg;
    if (host->repls != NULL)
        pl_repls_stop(host->repls, stop_loop, host->loop);
    else
        pl_loop_stop(host->loop);
}

static void on_host_stopped(void *arg, int exit_code)
{
    struct host *host = arg;
    if (exit_code != 0)
        host->exit_code = exit_code;
    if (host->tracer != NULL)
        pl_tracer_finish(host->tracer, on_host_traced, host);
    else
        on_host_traced(host);
}

static void host_stop(struct host *host)
{
    host->stopping = true;
    pl_view_set_stopping(host->view);
    pl_reload_stop(host->reload);
    if (host->repls != NULL)
        pl_repls_stop(host->repls, NULL, NULL);
    pl_shadow_stop(host->shadow);
    pl_remotes_stop(host->remotes);
    pl_manager_stop(host->manager);
}

/* ---- --once ---- */

static void on_over(void *arg, int exit_code)
{
    struct host *host = arg;
    if (host->stopping)
        return;
    host->exit_code = exit_code;
    host_stop(host);
}

static void stop_before_it_is_over(struct host *host)
{
    if (host->once == NULL)
        return;
    pl_once_stop(host->once);
    host->exit_code = PL_EXIT_FAILURE;
    pl_log(PL_LOG_ERROR, "once: stopped before everything has run");
}

/* `every` does not wait for its period. */
static void prepare_once(struct host *host)
{
    for (size_t i = 0; i < host->declarations.controller_count; i++)
        host->declarations.controllers[i].task.immediate = true;
}

static void begin_once(struct host *host)
{
    const struct pl_once_options options = {.manager = host->manager,
                                            .timeout_ns = host->options->once_timeout_ns,
                                            .over = on_over,
                                            .arg = host};
    if (host->options->once)
        host->once = pl_once_create(&options);
}

static void on_host_signal(void *arg, int signum)
{
    struct host *host = arg;
    if (signum == SIGUSR1) {
        pl_view_dump(host->view);
    } else if (host->reload == NULL || host->shadow == NULL) {
        host->stopping = true; /* the start has failed, and the started parts are ending already */
    } else if (signum == SIGHUP) {
        pl_reload_request(host->reload, "SIGHUP", NULL);
    } else if (host->stopping) {
        pl_log(PL_LOG_WARN, "a second signal: ending at once");
        pl_terminate(PL_EXIT_FAILURE);
    } else {
        pl_log(PL_LOG_INFO, "stopping", pl_str("signal", signum == SIGINT ? "SIGINT" : "SIGTERM"),
               pl_num("grace_seconds", (double)host->options->grace_ns / 1e9));
        stop_before_it_is_over(host);
        host_stop(host);
    }
}

static int open_view(struct host *host, struct pl_err *err)
{
    host->pool = pl_pool_create();
    pl_waits_init(&host->waits, pl_clock_system());
    pl_loop_each_turn(host->loop, &host->collect, host_collect_documents);
    const struct pl_view_options view = {
        .loop = host->loop,
        .metrics = host->metrics,
        .waits = &host->waits,
        .pool = host->pool,
        .metrics_address = host->options->metrics_address,
        .health_address = host->options->health_address,
        .metrics_secure = host->options->metrics_secure,
        .metrics_cert = host->options->metrics_cert,
    };
    host->view = pl_view_create(&view, err);
    if (host->view == NULL)
        return err->code;
    pl_view_add_lanes(host->view, host->lanes);
    return 0;
}

/* The longest cache_sync_timeout of all controllers that have caches: tasks have none. */
static int64_t settle_time(const struct pl_declarations *declarations)
{
    int64_t longest = 0;
    for (size_t i = 0; i < declarations->controller_count; i++) {
        const struct pl_controller_spec *spec = &declarations->controllers[i];
        int64_t own = spec->source_count > 0 ? pl_controller_sync_timeout(spec) : 0;
        longest = own > longest ? own : longest;
    }
    return longest;
}

/* NULL: the scripts have only webhooks. */
static const char *first_controller(const struct pl_declarations *declarations)
{
    for (size_t i = 0; i < declarations->controller_count; i++)
        if (declarations->controllers[i].hook == NULL)
            return declarations->controllers[i].name;
    return NULL;
}

static int join_election(struct host *host, struct pl_err *err)
{
    const struct pl_leader_setup setup = {
        .options = &host->options->leader,
        .config = &host->config,
        .cluster = host->cluster,
        .first_controller = first_controller(&host->declarations),
        .settle_ns = settle_time(&host->declarations),
        .health = pl_view_health(host->view),
    };
    if (!host->options->leader.elect)
        return 0;
    if (host->options->dry_run) {
        pl_log(PL_LOG_WARN, "--leader-elect is ignored: a dry run must not take the Lease from a "
                            "replica that does the work");
        return 0;
    }
    host->leader = pl_leader_create(&setup, err);
    return host->leader != NULL ? 0 : err->code;
}

static void on_host_gone(void *arg, const struct pl_controller *controller)
{
    struct host *host = arg;
    pl_reload_controller_gone(host->reload, controller);
}

/* ---- webhooks ---- */

/* The pod's namespace; NULL: outside of a cluster. */
static const char *pod_namespace(const struct host *host)
{
    const char *ns = getenv("POD_NAMESPACE");
    if (getenv("KUBERNETES_SERVICE_HOST") == NULL)
        return NULL;
    return ns != NULL && *ns != '\0' ? ns : host->config.ns;
}

static int create_webhooks(struct host *host, struct pl_err *err)
{
    const struct pl_webhook_place place = {.ns = pod_namespace(host),
                                           .lease_name = host->options->leader.name,
                                           .first_controller =
                                               first_controller(&host->declarations),
                                           .own_server = host->options->own_server,
                                           .port_told = host->options->webhook_port,
                                           .dry_run = host->options->dry_run};
    struct pl_webhooks_options options = {
        .loop = host->loop, .cluster = host->cluster, .metrics = host->metrics};
    if (pl_webhook_choose(&host->options->webhook, &place, &host->webhook_names, &options, err) !=
        0)
        return err->code;
    host->webhooks = pl_webhooks_create(&options, err);
    if (host->webhooks == NULL)
        return err->code;
    pl_webhook_add_check(pl_view_health(host->view), host->webhooks);
    return 0;
}

static void on_switched(void *arg, struct pl_generation *generation)
{
    struct host *host = arg;
    size_t count;
    struct pl_edition *const *editions = pl_generation_hooks(generation, &count);
    pl_err_clear(&host->webhooks_err);
    if (pl_webhooks_switch(host->webhooks, editions, count, &host->webhooks_err) != 0)
        pl_log(PL_LOG_ERROR, "webhooks are not served",
               pl_str("error", host->webhooks_err.message));
}

static void on_webhooks_stopped(void *arg)
{
    struct host *host = arg;
    pl_manager_release(host->manager);
}

static void on_stopping(void *arg)
{
    struct host *host = arg;
    pl_webhooks_stop(host->webhooks, on_webhooks_stopped, host);
}

/* Creates the parts that reload the scripts and that try candidates beside them. They take over the
 * first lanes. */
static void create_reload(struct host *host)
{
    struct pl_reload_options reload = {
        .loop = host->loop,
        .cluster = host->cluster,
        .manager = host->manager,
        .metrics = host->metrics,
        .view = host->view,
        .lanes = lanes_options(host),
        .paths = (const char *const *)host->options->flags.paths,
        .path_count = host->options->flags.path_count,
        .config = host->options->lanes.config_path,
        .watch = host->options->reload,
        .guard = host->options->reload_guard,
        .grace_ns = host->options->grace_ns,
        .switched = on_switched,
        .arg = host,
    };
    struct pl_lanes *lanes = host->lanes;
    host->lanes = NULL;
    host->reload = pl_reload_create(&reload, lanes, &host->declarations);
    struct pl_shadow_options shadow = {.loop = host->loop,
                                       .cluster = host->cluster,
                                       .manager = host->manager,
                                       .reload = host->reload,
                                       .lanes = lanes_options(host),
                                       .config = host->options->lanes.config_path};
    host->shadow = pl_shadow_create(&shadow);
}

static int start_controllers(struct host *host, struct pl_err *err)
{
    struct pl_manager_options options = {
        .cluster = host->cluster,
        .grace_ns = host->options->grace_ns,
        .leadership = pl_leader_leadership(host->leader),
        .stopped = on_host_stopped,
        .stopping = on_stopping,
        .gone = on_host_gone,
        .arg = host,
    };
    host->manager = pl_manager_create(&options);
    host->key_count = pl_shard_key_count_create(host->manager);
    pl_manager_hold(host->manager); /* until the webhooks have stopped */
    if (host->options->once)
        prepare_once(host);
    create_reload(host);
    pl_manager_start(host->manager);
    pl_view_set_manager(host->view, host->manager);
    int rc = pl_reload_start(host->reload, err);
    if (rc == 0 && host->webhooks_err.code != 0) {
        *err = host->webhooks_err;
        rc = err->code;
    }
    return rc;
}

/* The host also runs without the socket. */
static void open_admin(struct host *host)
{
    struct pl_err err;
    const char *path = host->options->admin_socket;
    struct pl_admin_options options = {.loop = host->loop,
                                       .cluster = host->cluster,
                                       .manager = host->manager,
                                       .key_count = host->key_count,
                                       .server = host->config.server,
                                       .path = path};
    if (path != NULL && strcmp(path, "0") == 0 && host->options->page_address.off)
        return;
    host->admin = pl_admin_create(&options, &err);
    if (host->admin == NULL) {
        pl_log(PL_LOG_WARN, "no admin socket: status, why and similar commands will not work",
               pl_str("error", err.message));
        options.path = "0";
        host->admin = pl_admin_create(&options, &err);
    }
    pl_admin_add_commands(host->admin);
    pl_admin_add_reload(host->admin, host->reload);
    pl_admin_add_shadow(host->admin, host->shadow);
    pl_admin_add_webhooks(host->admin, host->webhooks);
    host->tuner = pl_admin_add_tune(host->admin, pl_loop_timers(host->loop));
    host->profiler = pl_admin_add_profile(host->admin, pl_loop_timers(host->loop), host->dog);
    const struct pl_repl_options repl = {.cluster = host->cluster,
                                         .loop = host->loop,
                                         .manager = host->manager,
                                         .lanes = lanes_options(host)};
    host->repls = pl_repls_create(host->admin, &repl);
}

static int open_page(struct host *host, struct pl_err *err)
{
    const struct pl_page_options options = {.loop = host->loop,
                                            .admin = host->admin,
                                            .manager = host->manager,
                                            .cluster = host->cluster,
                                            .reload = host->reload,
                                            .shadow = host->shadow,
                                            .address = host->options->page_address};
    return options.address.off ? 0 : pl_open_page(&options, &host->page, err);
}

static bool is_in_use(const struct host *host)
{
    return atomic_load(&host->stuck) > 0 ||
           (host->manager != NULL && !pl_manager_is_clean(host->manager)) ||
           !pl_repls_is_closed(host->repls);
}

/* Runs that could not be ended still use what would be freed. */
static void end_if_runs_remain(struct host *host)
{
    if (!is_in_use(host))
        return;
    pl_log(PL_LOG_INFO, "stopped", pl_int("exit_code", host->exit_code));
    pl_terminate(host->exit_code);
}

/* Closes the parts that query the host or change its scripts. */
static void close_front(struct host *host)
{
    pl_page_destroy(host->page);
    pl_admin_destroy(host->admin);
    pl_tuner_destroy(host->tuner);
    pl_profiler_destroy(host->profiler);
    pl_repls_destroy(host->repls);
    if (host->view != NULL)
        pl_view_set_manager(host->view, NULL);
    pl_once_destroy(host->once);
    if (host->webhooks != NULL)
        pl_health_remove(pl_view_health(host->view), host->webhooks);
    pl_webhooks_destroy(host->webhooks);
    pl_webhook_names_deinit(&host->webhook_names);
    pl_shadow_destroy(host->shadow);
    pl_reload_destroy(host->reload);
}

/* Closes scripts, controllers and caches. */
static void close_controllers(struct host *host)
{
    pl_lanes_destroy(host->lanes);
    pl_shard_key_count_destroy(host->key_count);
    if (host->manager != NULL)
        pl_manager_destroy(host->manager);
    pl_remotes_destroy(host->remotes);
    if (host->cluster != NULL)
        pl_cluster_destroy(host->cluster);
}

static void close_client(struct host *host)
{
    if (host->client != NULL) {
        pl_view_set_client(host->view, NULL);
        pl_client_destroy(host->client);
    }
    pl_decode_thread_destroy(host->decode_thread);
    pl_http_client_destroy(host->http);
    pl_tracer_destroy(host->tracer);
    pl_leader_destroy(host->leader);
    pl_shards_destroy(host->shards);
}

static void close_pool(struct host *host)
{
    if (host->pool == NULL)
        return;
    pl_loop_each_turn_stop(&host->collect);
    pl_loop_undefer(&host->collect_again);
    pl_pool_collect(host->pool);
}

/* In reverse order; also for a partly built host. */
static void tear_down(struct host *host)
{
    end_if_runs_remain(host);
    close_front(host);
    close_controllers(host);
    close_client(host);
    pl_trim_stop(&host->trim);
    pl_signals_unwatch(host->signals);
    pl_terminate_on_signals(host->stopping ? PL_EXIT_FAILURE
                                           : PL_EXIT_OK); /* a second signal, or the first */
    pl_view_destroy(host->view);
    close_pool(host);
    pl_declarations_deinit(&host->declarations);
    pl_loop_destroy(host->loop);
    pl_metrics_destroy(host->metrics);
    pl_pool_destroy(host->pool);
    pl_kubeconfig_deinit(&host->config);
}

static int watch_signals(struct host *host, struct pl_err *err)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    host->signals =
        pl_signals_watch(host->loop, signals, PL_ARRAY_LEN(signals), on_host_signal, host);
    return host->signals != NULL ? 0 : pl_err_set(err, PL_EIO, "signals can't be watched");
}

/* In this order: each part uses those before it. After a failure some are open. */
static int open_parts(struct host *host, const struct pl_host_hooks *hooks, struct pl_err *err)
{
    int rc = open_view(host, err);
    if (rc == 0 && host->config_err.code != 0) {
        *err = host->config_err;
        rc = err->code;
    }
    if (host->options->leader.shards > 0 && !host->options->dry_run)
        host->shards =
            pl_shards_create(host->options->leader.shards, host->options->leader.shard_by);
    if (rc == 0)
        rc = pl_host_connect(host, err);
    if (rc == 0)
        rc = pl_host_trace(host, err);
    if (rc == 0 && hooks != NULL && hooks->before != NULL)
        rc = hooks->before(hooks->arg, host->cluster, host->loop, err);
    /* From here on the host starts parts and plugins that must be stopped in order: a signal is
     * handled when the loop runs. */
    if (rc == 0)
        rc = watch_signals(host, err);
    if (rc == 0)
        rc = join_election(host, err);
    if (rc == 0)
        rc = create_webhooks(host, err);
    if (rc == 0)
        rc = start_controllers(host, err);
    if (rc == 0) {
        open_admin(host);
        rc = open_page(host, err);
    }
    return rc;
}

static int run_host(struct host *host, const struct pl_host_hooks *hooks, struct pl_err *err)
{
    int rc = open_parts(host, hooks, err);
    if (rc != 0 && host->manager != NULL) {
        pl_manager_stop(host->manager); /* started parts end before they are destroyed */
        pl_loop_run(host->loop);
    }
    if (rc != 0)
        return rc;
    begin_once(host);
    pl_trim_start(&host->trim, host->loop, host->pool);
    pl_log(PL_LOG_INFO, "started", pl_str("server", host->config.server),
           pl_int("controllers", (int64_t)pl_manager_count(host->manager)),
           pl_int("lanes", host->options->lanes.count));
    pl_loop_run(host->loop);
    return 0;
}

/* Prepares the parts that need no script, while the first lane loads the scripts on its thread;
 * errors here are reported after those of the scripts. */
static void host_prepare(struct host *host)
{
    pl_err_clear(&host->config_err);
    if (pl_kubeconfig_load(&host->options->kubeconfig, &host->config, &host->config_err) == 0 &&
        strncmp(host->config.server, "https:", 6) == 0)
        pl_tls_prepare(host->config.ca_pem);
    host->loop = pl_loop_create(pl_clock_system());
    host->http = pl_http_client_create(host->loop);
}

static int host_complain(const struct pl_err *err)
{
    fprintf(stderr, "perilune: %s\n", err->message);
    return PL_EXIT_FAILURE;
}

static int open_record(struct host *host, struct pl_err *err)
{
    host->record = pl_record_create(&host->options->record, err);
    host->taping = pl_record_taping(host->record);
    return err->code;
}

int pl_host_run(const struct pl_options *options, const struct pl_host_hooks *hooks)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct host host = {.options = options};
    pl_terminate_on_signals(PL_EXIT_OK);
    if (open_record(&host, &err) != 0)
        return host_complain(&err);
    host.metrics = pl_metrics_create();
    host.memos = pl_memos_create();
    host.dog = pl_watchdog_create();
    host.barred = pl_barred_create();
    struct pl_lanes_options lanes = lanes_options(&host);
    host.lanes = pl_load_start(options, &lanes);
    host_prepare(&host);
    host.lanes = pl_load_finish(options, host.lanes, &host.declarations);
    bool loaded = host.lanes != NULL;
    if (!loaded) {
        host.exit_code = PL_EXIT_FAILURE;
    } else if (run_host(&host, hooks, &err) != 0) {
        host.exit_code = host_complain(&err);
    }
    tear_down(&host);
    pl_record_destroy(host.record);
    pl_free(host.taping);
    pl_memos_unref(host.memos);
    PL_IGNORE(pl_watchdog_try_destroy(host.dog)); /* it stays while it watches abandoned lanes */
    pl_barred_unref(host.barred);
    if (loaded)
        pl_log(PL_LOG_INFO, "stopped", pl_int("exit_code", host.exit_code));
    return host.exit_code;
}
