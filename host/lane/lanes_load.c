/* Loading the scripts in every lane, one lane after the other. */
#include "lane/lane.h"

#include "base/alloc.h"
#include "base/check.h"
#include "lua/origin.h"

static void copy_paths(struct pl_lanes *lanes, const char *const *paths, size_t count)
{
    lanes->paths = pl_calloc(count + 1, sizeof *lanes->paths);
    for (size_t i = 0; i < count; i++)
        lanes->paths[i] = pl_strdup(paths[i]);
}

struct pl_external *pl_lanes_new_external(struct pl_lanes *lanes, int controller, int source)
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
    declared->content.clusters = NULL;
    declared->content.description = NULL;
    lanes->controller_count = out->controller_count;
    lanes->controllers = pl_calloc(out->controller_count + 1, sizeof *lanes->controllers);
    for (size_t i = 0; i < out->controller_count; i++) {
        struct pl_controller_spec *spec = &out->controllers[i];
        lanes->controllers[i].name = pl_strdup(spec->name);
        lanes->controllers[i].is_task = spec->task.form != PL_NO_TASK;
        for (size_t j = 0; j < spec->source_count; j++)
            spec->sources[j].external = pl_lanes_new_external(lanes, (int)i, (int)j);
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

static bool declares_same(const struct pl_controller_spec *a, const struct pl_controller_spec *b)
{
    return strcmp(a->name, b->name) == 0 && a->source_count == b->source_count;
}

/* The first controller that only one of them has, or that is another one there; NULL: none. */
static const struct pl_controller_spec *first_difference(const struct pl_declarations *a,
                                                         const struct pl_declarations *b)
{
    const struct pl_declarations *longer = a->controller_count > b->controller_count ? a : b;
    const struct pl_declarations *other = longer == a ? b : a;
    for (size_t i = 0; i < longer->controller_count; i++)
        if (i >= other->controller_count ||
            !declares_same(&longer->controllers[i], &other->controllers[i]))
            return &longer->controllers[i];
    return NULL;
}

/* Declarations that depend on time or random numbers would differ between lanes. */
static int compare_lanes(struct pl_lanes *lanes, struct pl_err *err)
{
    const struct pl_declarations *first = &lanes->lanes[0]->s->declared->content;
    for (int i = 1; i < lanes->options.count; i++) {
        const struct pl_declarations *other = &lanes->lanes[i]->s->declared->content;
        const struct pl_controller_spec *differs = first_difference(first, other);
        if (differs == NULL && other->index_count == first->index_count)
            continue;
        return pl_err_set(err, PL_ESCRIPT,
                          "%s: %s is not declared each time that the scripts are loaded: --lanes "
                          "loads them %d times, so declarations must not depend on the time or on "
                          "random numbers",
                          differs != NULL ? differs->declared_at : lanes->lanes[0]->s->script,
                          differs != NULL ? differs->name : "an index", lanes->options.count);
    }
    return 0;
}

static int wait_for_load(struct pl_lane *lane, struct pl_mailbox *reply, struct pl_err *err)
{
    struct pl_list messages;
    pl_list_init(&messages);
    /* A main chunk that cannot be ended (--jit) must not block the start for ever. */
    while (!pl_mailbox_wait(reply, &messages, PL_SECOND)) {
        if (!atomic_load(&lane->told_stuck))
            continue;
        struct pl_lanes *lanes = lane->lanes;
        pl_lanes_fail_endless(err, lane->s->script ? lane->s->script : "?");
        pl_lane_abandon(lane);
        pl_list_push(&lanes->abandoned, &lane->io.link);
        lanes->lanes[lane->number] = NULL;
        return err->code;
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

void pl_lane_send_load(struct pl_lane *lane, struct pl_mailbox *reply)
{
    struct pl_load *load = PL_NEW(struct pl_load);
    load->reply = reply;
    load->msg.kind = PL_LANE_LOAD;
    pl_lane_start(lane);
    if (lane->lanes->options.stepped != NULL)
        pl_lane_load_here(lane, load);
    else
        pl_mailbox_send(lane->box, &load->msg);
}

void pl_lanes_load_start(struct pl_lanes *lanes, const char *const *paths, size_t path_count)
{
    if (lanes->replies == NULL)
        lanes->replies = pl_mailbox_create();
    copy_paths(lanes, paths, path_count);
    pl_lane_send_load(lanes->lanes[0], lanes->replies);
}

int pl_lanes_load_finish(struct pl_lanes *lanes, struct pl_declarations *out, struct pl_err *err)
{
    /* One after the other: an error is reported once, and print() of main chunks comes in order. */
    int failed = wait_for_load(lanes->lanes[0], lanes->replies, err);
    for (int i = 1; i < lanes->options.count && failed == 0; i++) {
        pl_lane_send_load(lanes->lanes[i], lanes->replies);
        failed = wait_for_load(lanes->lanes[i], lanes->replies, err);
    }
    if (failed == 0)
        failed = compare_lanes(lanes, err);
    if (failed == 0)
        take_declarations(lanes, out);
    pl_origin_seal(lanes->origin);
    return failed;
}

int pl_lanes_load(struct pl_lanes *lanes, const char *const *paths, size_t path_count,
                  struct pl_declarations *out, struct pl_err *err)
{
    pl_lanes_load_start(lanes, paths, path_count);
    return pl_lanes_load_finish(lanes, out, err);
}

void pl_lanes_end_loading(struct pl_lanes *lanes, const struct pl_err *err)
{
    lanes->loading.on = false;
    pl_origin_seal(lanes->origin);
    lanes->loading.done(lanes->loading.arg, err);
}

void pl_lanes_loaded(struct pl_lanes *lanes, struct pl_load *load)
{
    struct pl_err err;
    pl_err_clear(&err);
    int failed = load->failed;
    if (failed)
        pl_err_set(&err, failed, "%s", load->message);
    pl_free(load->message);
    pl_free(load);
    if (!lanes->loading.on)
        return; /* its lane was given up */
    if (failed == 0 && ++lanes->loading.lane < lanes->options.count) {
        pl_lane_send_load(lanes->lanes[lanes->loading.lane], lanes->io_box);
        return;
    }
    if (failed == 0)
        failed = compare_lanes(lanes, &err);
    if (failed == 0)
        take_declarations(lanes, lanes->loading.out);
    pl_lanes_end_loading(lanes, failed ? &err : NULL);
}

void pl_lanes_load_begin(struct pl_lanes *lanes, const char *const *paths, size_t path_count,
                         struct pl_declarations *out, pl_lanes_loaded_fn done, void *arg)
{
    PL_REQUIRE(lanes->io_box != NULL && !lanes->loading.on);
    copy_paths(lanes, paths, path_count);
    lanes->loading.on = true;
    lanes->loading.lane = 0;
    lanes->loading.out = out;
    lanes->loading.done = done;
    lanes->loading.arg = arg;
    pl_lane_send_load(lanes->lanes[0], lanes->io_box);
}

struct pl_origin *pl_lanes_origin(struct pl_lanes *lanes)
{
    return lanes->origin;
}

void pl_lanes_on_read(struct pl_lanes *lanes, void (*read)(void *arg), void *arg)
{
    lanes->on_read = read;
    lanes->on_read_arg = arg;
}
