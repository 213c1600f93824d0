/* All lanes of a generation, for the I/O thread: the choice of a lane for a run, the answers, and
 * the end. This file touches no Lua state. Each message to a lane comes back once; a lane that
 * cannot be stopped is abandoned, and its messages are answered for it (lanes_stuck.c). */
#include "lane/lanes.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/text.h"
#include "lane/barred.h"
#include "lane/exec_memo.h"
#include "lane/lane.h"
#include "lane/memo.h"
#include "lane/script_memory.h"
#include "lua/origin.h"
#include "lua/state.h"
#include "net/http_client.h"
#include "net/loop.h"

#define LOAD_LIMIT_NS (2 * PL_SECOND)

static void on_messages(void *arg, struct pl_list *messages);

/* ---- creating ---- */

struct pl_lanes *pl_lanes_create(const struct pl_lanes_options *options)
{
    struct pl_lanes *lanes = PL_NEW(struct pl_lanes);
    lanes->options = *options;
    if (lanes->options.count < 1)
        lanes->options.count = 1;
    if (lanes->options.load_limit_ns == 0)
        lanes->options.load_limit_ns = LOAD_LIMIT_NS;
    if (lanes->options.version == NULL)
        lanes->options.version = "";
    if (lanes->options.generation == 0)
        lanes->options.generation = 1;
    pl_doc_ref(lanes->options.config);
    lanes->memos = options->memos != NULL ? pl_memos_ref(options->memos) : pl_memos_create();
    lanes->barred = options->barred != NULL ? pl_barred_ref(options->barred) : pl_barred_create();
    lanes->origin = options->origin != NULL ? pl_origin_ref(options->origin) : pl_origin_create();
    if (options->config_path != NULL)
        pl_origin_add_common(lanes->origin, options->config_path, options->config_text);
    pthread_mutex_init(&lanes->hint_lock, NULL);
    pthread_mutex_init(&lanes->end_lock, NULL);
    pl_list_init(&lanes->abandoned);
    pl_list_init(&lanes->again.asks);
    lanes->metrics = options->metrics;
    if (lanes->metrics == NULL)
        lanes->metrics = lanes->own_metrics = pl_metrics_create();
    lanes->dog = options->dog != NULL ? options->dog : pl_watchdog_create();
    lanes->lanes = pl_calloc((size_t)lanes->options.count, sizeof *lanes->lanes);
    for (int i = 0; i < lanes->options.count; i++)
        lanes->lanes[i] = pl_lane_create(lanes, i);
    return lanes;
}

static void destroy_controllers(struct pl_lanes *lanes)
{
    for (size_t i = 0; i < lanes->controller_count; i++) {
        struct pl_known_controller *known = &lanes->controllers[i];
        for (size_t j = 0; j < known->cache_count; j++) {
            pl_source_options_deinit(&known->caches[j].options);
            pl_map_deinit(&known->caches[j].requested);
        }
        pl_free(known->caches);
        pl_free(known->name);
    }
    pl_free(lanes->controllers);
    for (size_t i = 0; i < lanes->external_count; i++)
        pl_free(lanes->externals[i]);
    pl_free(lanes->externals);
    for (size_t i = 0; i < lanes->index_count; i++) {
        pl_free(lanes->indexes[i].name);
        pl_free(lanes->indexes[i].stored);
        pl_free(lanes->indexes[i].path);
        pl_free(lanes->indexes[i].declared_at);
    }
    pl_free(lanes->indexes);
    for (size_t i = 0; i < lanes->other_count; i++)
        pl_free(lanes->others[i].name);
    pl_free(lanes->others);
}

/* Unhandled messages of lanes: dropped operations, and the last words of abandoned lanes. */
static void on_left(struct pl_msg *msg)
{
    if (msg->kind == PL_IO_RUN_DONE) {
        pl_exec_unref(PL_CONTAINER_OF(msg, struct pl_exec, msg));
    } else if (msg->kind == PL_IO_ASK_DONE) {
        pl_ask_drop(PL_CONTAINER_OF(msg, struct pl_ask, msg));
    } else if (msg->kind == PL_IO_OP_CANCEL) {
        pl_lop_unref(PL_CONTAINER_OF(msg, struct pl_lop, cancel));
    } else if (msg->kind == PL_IO_LOADED) {
        struct pl_load *load = PL_CONTAINER_OF(msg, struct pl_load, msg);
        pl_free(load->message);
        pl_free(load);
    } else if (msg->kind == PL_IO_NOTE) {
        struct pl_lane_note *note = PL_CONTAINER_OF(msg, struct pl_lane_note, msg);
        note->drop(note);
    }
}

bool pl_lanes_is_quiet(const struct pl_lanes *lanes)
{
    for (int i = 0; i < lanes->options.count; i++) {
        const struct pl_lane *lane = lanes->lanes[i];
        if (lane != NULL &&
            !(pl_list_empty(&lane->io.execs) && pl_list_empty(&lane->io.ops) &&
              pl_list_empty(&lane->io.asks) && pl_list_empty(&lane->io.asks_waiting)))
            return false;
    }
    return !lanes->loading.on && pl_list_empty(&lanes->again.asks);
}

/* Handles messages that a thread sent before it ended. */
static void handle_last_messages(struct pl_lanes *lanes)
{
    struct pl_list messages;
    pl_list_init(&messages);
    if (lanes->io_box != NULL && pl_mailbox_take(lanes->io_box, &messages))
        on_messages(lanes, &messages);
}

bool pl_lanes_close(struct pl_lanes *lanes)
{
    pl_lane_metrics_remove(lanes->shown); /* it reads states, which end now */
    lanes->shown = NULL;
    bool all = pl_list_empty(&lanes->abandoned); /* a lane that ends after all leaves this list */
    for (int i = 0; i < lanes->options.count; i++) {
        struct pl_lane *lane = lanes->lanes[i];
        if (lane == NULL)
            continue;
        if (!pl_lane_try_join(lane)) {
            all = false;
            continue;
        }
        handle_last_messages(lanes);
    }
    if (all)
        pl_lanes_destroy(lanes);
    return all;
}

/* No lane is freed before all threads have ended, since a lane may just be waking another. */
static void end_lanes(struct pl_lanes *lanes)
{
    for (int i = 0; i < lanes->options.count; i++)
        if (lanes->lanes[i] != NULL && !pl_lane_end(lanes->lanes[i]))
            lanes->lanes[i] = NULL;
    for (int i = 0; i < lanes->options.count; i++)
        pl_lane_free(lanes->lanes[i]);
}

void pl_lanes_destroy(struct pl_lanes *lanes)
{
    if (lanes == NULL)
        return;
    pl_lane_metrics_remove(lanes->shown);
    pl_lanes_drop_again(lanes);
    end_lanes(lanes);
    pl_free(lanes->lanes);
    struct pl_list ended;
    pl_list_init(&ended);
    pl_lanes_leave_abandoned(lanes, &ended);
    if (lanes->io_box != NULL)
        pl_mailbox_destroy(lanes->io_box, on_left);
    PL_LIST_FOR (link, &ended) {
        pl_lane_free(PL_CONTAINER_OF(link, struct pl_lane, io.link));
    }
    if (lanes->http != NULL)
        pl_http_client_destroy(lanes->http);
    if (!pl_list_empty(&lanes->abandoned))
        return; /* their threads use the rest until the process ends */
    pl_mailbox_destroy(lanes->replies, NULL);
    pl_metrics_destroy(lanes->own_metrics);
    if (lanes->options.dog == NULL)
        pl_watchdog_destroy(lanes->dog);
    destroy_controllers(lanes);
    for (char **path = lanes->paths; path != NULL && *path != NULL; path++)
        pl_free(*path);
    pl_free(lanes->paths);
    pl_doc_unref(lanes->options.config);
    pl_origin_unref(lanes->origin);
    pl_memos_unref(lanes->memos);
    pl_barred_unref(lanes->barred);
    pl_map_deinit(&lanes->hinted);
    pl_map_deinit(&lanes->warned);
    pthread_mutex_destroy(&lanes->hint_lock);
    pthread_mutex_destroy(&lanes->end_lock);
    pl_free(lanes);
}

/* ---- running ---- */

static void on_lanes_read(struct pl_lane *lane)
{
    atomic_store(&lane->told_read, false);
    if (lane->lanes->on_read != NULL)
        lane->lanes->on_read(lane->lanes->on_read_arg);
}

static void handle_io(struct pl_lanes *lanes, struct pl_msg *msg)
{
    switch ((enum pl_lane_msg)msg->kind) {
    case PL_IO_OP:
        pl_lop_start_io(PL_CONTAINER_OF(msg, struct pl_lop, msg));
        break;
    case PL_IO_OP_CANCEL:
        pl_lop_cancel_io(PL_CONTAINER_OF(msg, struct pl_lop, cancel));
        break;
    case PL_IO_RUN_DONE: {
        struct pl_exec *exec = PL_CONTAINER_OF(msg, struct pl_exec, msg);
        pl_exec_done_io(exec);
        break;
    }
    case PL_IO_ASK_DONE:
        pl_ask_done_io(PL_CONTAINER_OF(msg, struct pl_ask, msg));
        break;
    case PL_IO_LOADED:
        pl_lanes_loaded(lanes, PL_CONTAINER_OF(msg, struct pl_load, msg));
        break;
    case PL_IO_READ:
        on_lanes_read(PL_CONTAINER_OF(msg, struct pl_lane, read_msg));
        break;
    case PL_IO_STUCK:
        pl_lanes_replace(PL_CONTAINER_OF(msg, struct pl_lane, stuck_msg));
        break;
    case PL_IO_ENDED: {
        struct pl_lane *lane = PL_CONTAINER_OF(msg, struct pl_lane, end_msg);
        lane->io.ended = true;
        pl_lane_check_ended(lane);
        break;
    }
    case PL_IO_NOTE: {
        struct pl_lane_note *note = PL_CONTAINER_OF(msg, struct pl_lane_note, msg);
        note->take(note);
        break;
    }
    default:
        PL_UNREACHABLE();
    }
}

static void on_messages(void *arg, struct pl_list *messages)
{
    struct pl_link *link;
    while ((link = pl_list_pop(messages)) != NULL)
        handle_io(arg, PL_CONTAINER_OF(link, struct pl_msg, link));
}

void pl_lanes_attach(struct pl_lanes *lanes, struct pl_cluster *cluster, struct pl_loop *loop)
{
    lanes->cluster = cluster;
    lanes->shards = pl_site_shards(pl_cluster_site(cluster));
    lanes->loop = loop;
    lanes->io_box = pl_mailbox_create_for_loop(loop, on_messages, lanes);
    lanes->shown = pl_lane_metrics_add(lanes);
}

/* A key always goes to the same lane. */
static struct pl_lane *lane_of(struct pl_lanes *lanes, struct pl_slice text)
{
    uint64_t hash = lanes->options.count > 1 ? pl_hash(text.ptr, text.len, 0) : 0;
    return lanes->lanes[hash % (uint64_t)lanes->options.count];
}

static int lanes_index_of(const struct pl_lanes *lanes, const struct pl_edition *edition)
{
    for (size_t i = 0; i < lanes->controller_count; i++) {
        if (lanes->controllers[i].edition == edition)
            return (int)i;
    }
    PL_UNREACHABLE();
}

void pl_cache_publish(struct pl_cache *cache)
{
    if (atomic_load_explicit(&cache->ready, memory_order_relaxed))
        return;
    struct pl_informer *informer = pl_edition_informer(cache->edition, cache->source);
    if (informer == NULL || !pl_informer_has_synced(informer))
        return;
    cache->informer = informer;
    cache->store = pl_informer_store(informer);
    cache->resource = pl_informer_resource(informer);
    pl_source_options_copy(&cache->options, pl_informer_options(informer));
    pl_texts_free(cache->options.namespaces);
    cache->options.namespaces = pl_informer_namespaces(informer);
    cache->share = pl_informer_share(informer);
    atomic_store_explicit(&cache->ready, true, memory_order_release);
    pl_cache_hold(cache);
}

static void publish_caches(struct pl_known_controller *known)
{
    for (size_t i = 0; i < known->cache_count; i++)
        pl_cache_publish(&known->caches[i]);
}

/* Publishes newly synced caches of all controllers, since lanes also read others' caches. */
static void publish_all(struct pl_lanes *lanes)
{
    if (lanes->all_ready)
        return;
    lanes->all_ready = true;
    for (size_t i = 0; i < lanes->controller_count; i++) {
        struct pl_known_controller *known = &lanes->controllers[i];
        publish_caches(known);
        for (size_t j = 0; j < known->cache_count; j++)
            if (!pl_source_is_family(known->caches[j].spec) &&
                !atomic_load_explicit(&known->caches[j].ready, memory_order_relaxed))
                lanes->all_ready = false;
    }
}

static struct pl_exec *make_exec(struct pl_lanes *lanes, struct pl_run *run)
{
    int controller = lanes_index_of(lanes, run->edition);
    publish_caches(&lanes->controllers[controller]); /* its sources have synced */
    return pl_exec_create_io(lane_of(lanes, run->key), run, controller);
}

/* Lanes without a loop (`check`, a replay) have no I/O thread. */
static void lanes_require_thread(const struct pl_lanes *lanes)
{
    if (lanes->loop != NULL)
        pl_loop_require(lanes->loop);
}

static void start_run(void *self, struct pl_run *run)
{
    lanes_require_thread(self);
    struct pl_exec *exec = make_exec(self, run);
    if (pl_lanes_is_run_barred(self, exec->controller, run->key)) {
        pl_exec_refuse_io(exec);
        return;
    }
    pl_exec_send_io(exec);
}

static bool follow_run(void *self, struct pl_run *run, struct pl_run *next)
{
    lanes_require_thread(self);
    struct pl_exec *exec = make_exec(self, next);
    if (!pl_lanes_is_run_barred(self, exec->controller, next->key) &&
        pl_exec_follow_io(run->self_data, exec))
        return true;
    pl_exec_unref(exec);
    return false;
}

static bool unfollow_run(void *self, struct pl_run *run, struct pl_run *next)
{
    PL_UNUSED(self);
    return pl_exec_unfollow_io(run->self_data, next->self_data);
}

static void cancel_run(void *self, struct pl_run *run, const struct pl_err *why)
{
    lanes_require_thread(self);
    pl_exec_cancel_io(run->self_data, why);
}

/* One controller's functions always run on one lane, and so do a kind's index functions. */
static struct pl_lane *lane_for(struct pl_lanes *lanes, int controller, const char *kind)
{
    return lane_of(lanes, pl_slice_z(controller >= 0 ? lanes->controllers[controller].name : kind));
}

void pl_lanes_ask(void *self, struct pl_question *question)
{
    PL_UNUSED(self);
    const struct pl_external *external = question->external;
    struct pl_lanes *lanes = external->lanes;
    publish_all(lanes); /* a function that is asked cannot wait for a cache */
    pl_ask_io(lane_for(lanes, external->controller, question->kind), question);
}

void pl_lanes_send_ask(struct pl_lanes *lanes, struct pl_ask *ask)
{
    pl_ask_send_io(lane_for(lanes, ask->external.controller, ask->kind), ask);
}

static void stop_task(void *self, struct pl_run *run)
{
    PL_UNUSED(self);
    pl_exec_end_io(run->self_data);
}

static void forget_key(void *self, struct pl_controller *controller, struct pl_slice key)
{
    struct pl_lanes *lanes = self;
    char *text = pl_text_copy(key);
    pl_lanes_forget_key(lanes, pl_controller_spec(controller)->name, text);
    pl_free(text);
}

const struct pl_reconciler_ops *pl_lanes_ops(void)
{
    static const struct pl_reconciler_ops ops = {.start = start_run,
                                                 .follow = follow_run,
                                                 .unfollow = unfollow_run,
                                                 .cancel = cancel_run,
                                                 .stop = stop_task,
                                                 .gone = forget_key,
                                                 .ask = pl_lanes_ask};
    return &ops;
}

static struct pl_known_controller *known_as(struct pl_lanes *lanes, const char *name)
{
    for (size_t i = 0; i < lanes->controller_count; i++) {
        if (strcmp(lanes->controllers[i].name, name) == 0)
            return &lanes->controllers[i];
    }
    PL_UNREACHABLE();
}

void pl_lanes_add_edition(struct pl_lanes *lanes, struct pl_edition *edition)
{
    lanes_require_thread(lanes);
    const struct pl_controller_spec *spec = pl_edition_spec(edition);
    struct pl_known_controller *known = known_as(lanes, spec->name);
    PL_REQUIRE(known->edition == NULL);
    known->edition = edition;
    known->caches = pl_calloc(spec->source_count + 1, sizeof *known->caches);
    for (size_t i = 0; i < spec->source_count; i++)
        known->caches[i] = (struct pl_cache){
            .lanes = lanes, .edition = edition, .source = i, .spec = &spec->sources[i]};
    known->cache_count = spec->source_count;
    lanes->all_ready = false;
}

void pl_lanes_add_cluster(struct pl_lanes *lanes, const char *name, struct pl_cluster *cluster)
{
    lanes->others = pl_reallocarray(lanes->others, lanes->other_count + 1, sizeof *lanes->others);
    lanes->others[lanes->other_count].name = pl_strdup(name);
    lanes->others[lanes->other_count++].cluster = cluster;
}

void pl_lanes_add_controller(struct pl_lanes *lanes, struct pl_controller *controller)
{
    lanes_require_thread(lanes);
    known_as(lanes, pl_controller_spec(controller)->name)->controller = controller;
}

void pl_lanes_forget_controller(struct pl_lanes *lanes, const struct pl_controller *controller)
{
    lanes_require_thread(lanes);
    pl_lanes_forget_keys(lanes, pl_controller_spec(controller)->name);
    for (size_t i = 0; i < lanes->controller_count; i++) {
        if (lanes->controllers[i].controller == controller)
            lanes->controllers[i].controller = NULL;
    }
}

uint64_t pl_lanes_generation(const struct pl_lanes *lanes)
{
    return lanes->options.generation;
}

static bool is_of_task(const struct pl_lop *op)
{
    return op->type == PL_LOP_SLEEP && op->io.timed && op->exec != NULL && op->controller >= 0 &&
           op->lane->lanes->controllers[op->controller].is_task;
}

void pl_lanes_each_sleep(struct pl_lanes *lanes,
                         void (*visit)(void *arg, const struct pl_lane_sleep *sleep), void *arg)
{
    for (int i = 0; i < lanes->options.count; i++) {
        if (lanes->lanes[i] == NULL)
            continue;
        PL_LIST_FOR (link, &lanes->lanes[i]->io.ops) {
            const struct pl_lop *op = PL_CONTAINER_OF(link, struct pl_lop, io.link);
            if (!is_of_task(op))
                continue;
            struct pl_lane_sleep sleep = {.controller = lanes->controllers[op->controller].name,
                                          .key = op->exec->id,
                                          .place = op->in.place,
                                          .delay_ns = op->delay_ns,
                                          .due_ns = op->io.timer.due_ns};
            visit(arg, &sleep);
        }
    }
}

/* ---- numbers ---- */

size_t pl_lanes_memory(struct pl_lanes *lanes)
{
    size_t bytes = 0;
    for (int i = 0; i < lanes->options.count; i++) {
        struct pl_limits *limits = lanes->lanes[i] ? atomic_load(&lanes->lanes[i]->limits) : NULL;
        if (limits != NULL)
            bytes += pl_limits_used(limits);
    }
    return bytes;
}

bool pl_lanes_script_memory(struct pl_lanes *lanes, uint64_t *digest)
{
    PL_REQUIRE(lanes->options.count == 1);
    struct pl_state *s = lanes->lanes[0]->s;
    return s != NULL && pl_script_memory(s, digest);
}

const char *pl_lanes_lua_version(void)
{
    return LUAJIT_VERSION;
}
