#include "lane/lanes.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/log.h"
#include "lane/bind_event.h"
#include "lane/lane.h"
#include "lane/state.h"
#include "net/http_client.h"

#include <unistd.h>

#define LOAD_LIMIT_NS (2 * PL_SECOND)

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
    pl_doc_ref(lanes->options.config);
    pthread_mutex_init(&lanes->hint_lock, NULL);
    pl_list_init(&lanes->abandoned);
    lanes->metrics = options->metrics;
    if (lanes->metrics == NULL)
        lanes->metrics = lanes->own_metrics = pl_metrics_create();
    lanes->dog = pl_watchdog_create();
    lanes->lanes = pl_calloc((size_t)lanes->options.count, sizeof *lanes->lanes);
    for (int i = 0; i < lanes->options.count; i++)
        lanes->lanes[i] = pl_lane_create(lanes, i);
    return lanes;
}

static void destroy_controllers(struct pl_lanes *lanes)
{
    for (size_t i = 0; i < lanes->controller_count; i++) {
        struct pl_known_controller *known = &lanes->controllers[i];
        for (size_t j = 0; j < known->cache_count; j++)
            pl_source_options_deinit(&known->caches[j].options);
        pl_free(known->caches);
        pl_free(known->name);
    }
    pl_free(lanes->controllers);
    for (size_t i = 0; i < lanes->external_count; i++)
        pl_free(lanes->externals[i]);
    pl_free(lanes->externals);
    for (size_t i = 0; i < lanes->index_count; i++) {
        pl_free(lanes->indexes[i].name);
        pl_free(lanes->indexes[i].path);
        pl_free(lanes->indexes[i].declared_at);
    }
    pl_free(lanes->indexes);
}

/* What lanes sent and nobody handled: only dropped operations may be left. */
static void on_left(struct pl_msg *msg)
{
    if (msg->kind == PL_IO_OP_CANCEL)
        pl_lop_unref(PL_CONTAINER_OF(msg, struct pl_lop, cancel));
    else if (msg->kind == PL_IO_EVENT)
        pl_event_msg_free(msg);
}

void pl_lanes_destroy(struct pl_lanes *lanes)
{
    if (lanes == NULL)
        return;
    pl_lane_metrics_remove(lanes->shown);
    for (int i = 0; i < lanes->options.count; i++)
        pl_lane_destroy(lanes->lanes[i]);
    pl_free(lanes->lanes);
    if (pl_list_empty(&lanes->abandoned)) {
        pl_mailbox_destroy(lanes->replies, NULL);
        pl_metrics_destroy(lanes->own_metrics);
    }
    if (lanes->io_box != NULL)
        pl_mailbox_destroy(lanes->io_box, on_left);
    if (lanes->http != NULL)
        pl_http_client_destroy(lanes->http);
    if (pl_list_empty(&lanes->abandoned)) /* else its thread may still use all this */
        pl_watchdog_destroy(lanes->dog);
    destroy_controllers(lanes);
    for (char **path = lanes->paths; path != NULL && *path != NULL; path++)
        pl_free(*path);
    pl_free(lanes->paths);
    pl_doc_unref(lanes->options.config);
    pl_map_deinit(&lanes->hinted);
    pthread_mutex_destroy(&lanes->hint_lock);
    if (pl_list_empty(&lanes->abandoned))
        pl_free(lanes);
}

/* ---- loading ---- */

static void copy_paths(struct pl_lanes *lanes, const char *const *paths, size_t count)
{
    lanes->paths = pl_calloc(count + 1, sizeof *lanes->paths);
    for (size_t i = 0; i < count; i++)
        lanes->paths[i] = pl_strdup(paths[i]);
}

static struct pl_external *new_external(struct pl_lanes *lanes, int controller, int source)
{
    struct pl_external *external = PL_NEW(struct pl_external);
    *external = (struct pl_external){.lanes = lanes, .controller = controller, .source = source};
    lanes->externals =
        pl_reallocarray(lanes->externals, lanes->external_count + 1, sizeof *lanes->externals);
    lanes->externals[lanes->external_count++] = external;
    return external;
}

/* Moves the first lane's declarations out and gives their functions handles. */
static void take_declarations(struct pl_lanes *lanes, struct pl_declarations *out)
{
    struct pl_declared *declared = lanes->lanes[0]->s->declared;
    *out = declared->content;
    declared->content.controllers = NULL;
    declared->content.indexes = NULL;
    lanes->controller_count = out->controller_count;
    lanes->controllers = pl_calloc(out->controller_count + 1, sizeof *lanes->controllers);
    for (size_t i = 0; i < out->controller_count; i++) {
        struct pl_controller_spec *spec = &out->controllers[i];
        lanes->controllers[i].name = pl_strdup(spec->name);
        for (size_t j = 0; j < spec->source_count; j++)
            spec->sources[j].external = new_external(lanes, (int)i, (int)j);
    }
    lanes->index_count = out->index_count;
    lanes->indexes = pl_calloc(out->index_count + 1, sizeof *lanes->indexes);
    for (size_t i = 0; i < out->index_count; i++) {
        const struct pl_index_spec *from = &out->indexes[i];
        lanes->indexes[i] = (struct pl_index_spec){
            .kind = from->kind,
            .name = pl_strdup(from->name),
            .path = from->path ? pl_strdup(from->path) : NULL,
            .declared_at = from->declared_at ? pl_strdup(from->declared_at) : NULL,
        };
    }
}

/* Scripts that declare by chance (time, random numbers) would mix up the lanes. */
static int compare_lanes(struct pl_lanes *lanes, struct pl_err *err)
{
    const struct pl_declarations *first = &lanes->lanes[0]->s->declared->content;
    for (int i = 1; i < lanes->options.count; i++) {
        const struct pl_declarations *other = &lanes->lanes[i]->s->declared->content;
        bool same = other->controller_count == first->controller_count &&
                    other->index_count == first->index_count;
        for (size_t j = 0; same && j < first->controller_count; j++) {
            const struct pl_controller_spec *a = &first->controllers[j],
                                            *b = &other->controllers[j];
            same = strcmp(a->name, b->name) == 0 && a->source_count == b->source_count;
        }
        if (!same)
            return pl_err_set(err, PL_ESCRIPT,
                              "the scripts declare something else each time they are loaded, which "
                              "--lanes does not allow");
    }
    return 0;
}

static int wait_for_load(struct pl_lane *lane, struct pl_mailbox *reply, struct pl_err *err)
{
    struct pl_list messages;
    pl_list_init(&messages);
    /* A main chunk that can't be ended (--jit) must not hang the start for ever. */
    while (!pl_mailbox_wait(reply, &messages, PL_SECOND)) {
        if (!atomic_load(&lane->told_stuck))
            continue;
        struct pl_lanes *lanes = lane->lanes;
        atomic_store(&lane->abandoned, true);
        pl_list_push(&lanes->abandoned, &lane->io.link);
        lanes->lanes[lane->number] = NULL;
        return pl_err_set(err, PL_ESCRIPT,
                          "%s: the main chunk can't be interrupted and did not end",
                          lane->s->script ? lane->s->script : "?");
    }
    struct pl_load *load = PL_CONTAINER_OF(
        PL_CONTAINER_OF(pl_list_pop(&messages), struct pl_msg, link), struct pl_load, msg);
    int failed = load->failed;
    if (failed)
        pl_err_set(err, failed, "%s", load->message);
    pl_free(load->message);
    pl_free(load);
    return failed;
}

int pl_lanes_load(struct pl_lanes *lanes, const char *const *paths, size_t path_count,
                  struct pl_declarations *out, struct pl_err *err)
{
    int failed = 0;
    if (lanes->replies == NULL)
        lanes->replies = pl_mailbox_create();
    copy_paths(lanes, paths, path_count);
    /* One after the other: a mistake is reported once, and print() of main chunks in order. */
    for (int i = 0; i < lanes->options.count && failed == 0; i++) {
        struct pl_load *load = PL_NEW(struct pl_load);
        load->reply = lanes->replies;
        load->msg.kind = PL_LANE_LOAD;
        pl_lane_start(lanes->lanes[i]);
        pl_mailbox_send(lanes->lanes[i]->box, &load->msg);
        failed = wait_for_load(lanes->lanes[i], lanes->replies, err);
    }
    if (failed == 0)
        failed = compare_lanes(lanes, err);
    if (failed == 0)
        take_declarations(lanes, out);
    return failed;
}

void pl_declarations_deinit(struct pl_declarations *declarations)
{
    for (size_t i = 0; i < declarations->controller_count && declarations->controllers; i++)
        pl_controller_spec_deinit(&declarations->controllers[i]);
    for (size_t i = 0; i < declarations->index_count && declarations->indexes; i++) {
        pl_free(declarations->indexes[i].name);
        pl_free(declarations->indexes[i].path);
        pl_free(declarations->indexes[i].declared_at);
    }
    pl_free(declarations->controllers);
    pl_free(declarations->indexes);
    *declarations = (struct pl_declarations){.controllers = NULL};
}

/* ---- running ---- */

static void replace_lane(struct pl_lane *lane);

static void handle_io(struct pl_msg *msg)
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
    case PL_IO_STUCK:
        replace_lane(PL_CONTAINER_OF(msg, struct pl_lane, stuck_msg));
        break;
    case PL_IO_EVENT:
        pl_event_msg_io(msg);
        break;
    default:
        PL_UNREACHABLE();
    }
}

static void on_messages(void *arg, struct pl_list *messages)
{
    PL_UNUSED(arg);
    struct pl_link *link;
    while ((link = pl_list_pop(messages)) != NULL)
        handle_io(PL_CONTAINER_OF(link, struct pl_msg, link));
}

void pl_lanes_attach(struct pl_lanes *lanes, struct pl_cluster *cluster, struct pl_loop *loop)
{
    lanes->cluster = cluster;
    lanes->loop = loop;
    lanes->io_box = pl_mailbox_create_for_loop(loop, on_messages, lanes);
    lanes->shown = pl_lane_metrics_add(lanes);
}

static void give_up(struct pl_lane *lane)
{
    pl_log(PL_LOG_ERROR, "too many lanes are stuck in scripts that can't be interrupted; giving up",
           pl_int("stuck", atomic_load(&lane->lanes->stuck)));
    _exit(1);
}

/* A slice of the lane can't be ended: its runs and questions are written off, its thread and
 * state are left as they are, and a fresh lane takes its place. */
static void replace_lane(struct pl_lane *lane)
{
    struct pl_lanes *lanes = lane->lanes;
    atomic_store(&lane->abandoned, true);
    int stuck = atomic_fetch_add(&lanes->stuck, 1) + 1;
    pl_lane_metrics_stuck(lanes->shown);
    pl_log(PL_LOG_ERROR, "a script can't be interrupted; its lane is replaced",
           pl_int("lane", lane->number), pl_str("script", lane->s->script), pl_int("stuck", stuck));
    if (stuck > PL_STUCK_MAX)
        give_up(lane);
    struct pl_lane *fresh = pl_lane_create(lanes, lane->number);
    lanes->lanes[lane->number] = fresh;
    pl_list_push(&lanes->abandoned, &lane->io.link);
    pl_lane_start(fresh);
    struct pl_load *load = PL_NEW(struct pl_load);
    load->msg.kind = PL_LANE_LOAD;
    pl_mailbox_send(fresh->box, &load->msg);
    PL_LIST_FOR (link, &lane->io.ops) {
        pl_lop_abandon_io(PL_CONTAINER_OF(link, struct pl_lop, io.link));
    }
    PL_LIST_FOR (link, &lane->io.execs) {
        pl_exec_abandon_io(PL_CONTAINER_OF(link, struct pl_exec, link));
    }
    pl_ask_abandon_io(lane);
}

/* A key always goes to the same lane. */
static struct pl_lane *lane_of(struct pl_lanes *lanes, struct pl_slice text)
{
    uint64_t hash = lanes->options.count > 1 ? pl_hash(text.ptr, text.len, 0) : 0;
    return lanes->lanes[hash % (uint64_t)lanes->options.count];
}

static int index_of(const struct pl_lanes *lanes, const struct pl_controller *controller)
{
    for (size_t i = 0; i < lanes->controller_count; i++) {
        if (lanes->controllers[i].controller == controller)
            return (int)i;
    }
    PL_UNREACHABLE();
}

void pl_cache_publish(struct pl_cache *cache)
{
    if (atomic_load_explicit(&cache->ready, memory_order_relaxed))
        return;
    struct pl_informer *informer = pl_controller_informer(cache->controller, cache->source);
    if (informer == NULL || !pl_informer_has_synced(informer))
        return;
    cache->informer = informer;
    cache->store = pl_informer_store(informer);
    cache->resource = pl_informer_resource(informer);
    pl_source_options_copy(&cache->options, pl_informer_options(informer));
    atomic_store_explicit(&cache->ready, true, memory_order_release);
}

static void publish_caches(struct pl_known_controller *known)
{
    for (size_t i = 0; i < known->cache_count; i++)
        pl_cache_publish(&known->caches[i]);
}

static void start_run(void *self, struct pl_run *run)
{
    struct pl_lanes *lanes = self;
    int controller = index_of(lanes, run->controller);
    publish_caches(&lanes->controllers[controller]); /* its sources have synced */
    struct pl_exec *exec = pl_exec_create_io(lane_of(lanes, run->key), run, controller);
    exec->msg.kind = PL_LANE_RUN;
    pl_mailbox_send(exec->lane->box, &exec->msg);
}

static void cancel_run(void *self, struct pl_run *run, const struct pl_err *why)
{
    PL_UNUSED(self);
    pl_exec_cancel_io(run->self_data, why);
}

static void ask(void *self, struct pl_question *question)
{
    PL_UNUSED(self);
    const struct pl_external *external = question->external;
    struct pl_lanes *lanes = external->lanes;
    struct pl_slice by = external->controller >= 0
                             ? pl_slice_z(lanes->controllers[external->controller].name)
                             : pl_slice_z(question->kind);
    pl_ask_io(lane_of(lanes, by), question);
}

const struct pl_reconciler_ops *pl_lanes_ops(void)
{
    static const struct pl_reconciler_ops ops = {
        .start = start_run, .cancel = cancel_run, .ask = ask};
    return &ops;
}

void pl_lanes_add_controller(struct pl_lanes *lanes, struct pl_controller *controller)
{
    const struct pl_controller_spec *spec = pl_controller_spec(controller);
    struct pl_known_controller *known = NULL;
    for (size_t i = 0; i < lanes->controller_count; i++) {
        if (strcmp(lanes->controllers[i].name, spec->name) == 0)
            known = &lanes->controllers[i];
    }
    PL_REQUIRE(known != NULL && known->controller == NULL);
    known->controller = controller;
    known->spec = spec;
    known->caches = pl_calloc(spec->source_count + 1, sizeof *known->caches);
    for (size_t i = 0; i < spec->source_count; i++)
        known->caches[i] =
            (struct pl_cache){.controller = controller, .source = i, .spec = &spec->sources[i]};
    known->cache_count = spec->source_count;
}

/* ---- indexes ---- */

struct adding {
    const struct pl_index_spec *index;
    struct pl_external *external;
    struct pl_err *err;
    int failed;
    size_t count;
};

static void add_index(void *arg, struct pl_informer *informer)
{
    struct adding *adding = arg;
    const struct pl_index_spec *index = adding->index;
    adding->count++;
    if (adding->failed == 0)
        adding->failed =
            pl_informer_add_index(informer, index->name, index->path, index->path ? NULL : ask,
                                  adding->external, adding->err);
}

int pl_lanes_add_indexes(struct pl_lanes *lanes, struct pl_err *err)
{
    for (size_t i = 0; i < lanes->index_count; i++) {
        struct pl_index_spec *index = &lanes->indexes[i];
        struct adding adding = {
            .index = index, .err = err, .external = new_external(lanes, -1, -1)};
        pl_cluster_each_informer(lanes->cluster, &index->kind, add_index, &adding);
        char kind[PL_KIND_TEXT];
        if (adding.count == 0)
            adding.failed = pl_err_set(err, PL_EINVAL, "index %s: no controller declares %s",
                                       index->name, pl_kind_text(&index->kind, kind));
        if (adding.failed) {
            pl_err_prefix(err, "%s", index->declared_at ? index->declared_at : "?");
            return adding.failed;
        }
    }
    return 0;
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

int pl_lanes_stuck(struct pl_lanes *lanes)
{
    return atomic_load(&lanes->stuck);
}

const char *pl_lanes_lua_version(void)
{
    return LUAJIT_VERSION;
}
