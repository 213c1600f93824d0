/* Finds the run or question whose code could not be ended, and bars it (lane/barred.h). I/O thread.
 */
#include "lane/lane.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "lane/barred.h"
#include "lane/effects.h"
#include "lua/origin.h"
#include "object/meta.h"

/* A candidate beside the running scripts must not cost the host more than one lane. */
static bool is_shadow_over(const struct pl_lanes *lanes)
{
    return pl_lanes_hold(lanes) && atomic_load(&((struct pl_lanes *)lanes)->stuck) > 0;
}

static bool may_be_barred(const struct pl_lanes *lanes)
{
    return pl_barred_count(lanes->barred) > 0;
}

/* Digest of the controller's code, or of all indexes of the kind. */
static void describe_code(struct pl_lanes *lanes, int controller, const char *kind,
                          struct pl_buf *out)
{
    if (controller >= 0) {
        char digest[2 * PL_SHA256_BYTES + 1];
        char *unit = pl_format(PL_UNIT_CONTROLLER "%s", lanes->controllers[controller].name);
        pl_origin_unit_digest(lanes->origin, unit, digest);
        pl_free(unit);
        pl_buf_add_z(out, digest);
        return;
    }
    for (size_t i = 0; i < lanes->index_count; i++) {
        const struct pl_index_spec *index = &lanes->indexes[i];
        char text[PL_KIND_TEXT];
        if (index->stored != NULL && strcmp(pl_kind_text(&index->kind, text), kind) == 0)
            pl_buf_add_f(out, "%s ", index->stored);
    }
}

static void bar(struct pl_lanes *lanes, int controller, const char *kind, const char *what)
{
    struct pl_buf code = PL_BUF_INIT;
    describe_code(lanes, controller, kind, &code);
    pl_barred_add(lanes->barred, what, pl_buf_z(&code));
    pl_buf_deinit(&code);
}

static bool is_barred(struct pl_lanes *lanes, int controller, const char *kind, const char *what)
{
    struct pl_buf code = PL_BUF_INIT;
    describe_code(lanes, controller, kind, &code);
    bool barred = pl_barred_has(lanes->barred, what, pl_buf_z(&code));
    pl_buf_deinit(&code);
    return barred;
}

/* ---- runs ---- */

static char *name_run(const struct pl_lanes *lanes, int controller, struct pl_slice key)
{
    return pl_format("run %s %.*s", lanes->controllers[controller].name, PL_FMT(key));
}

void pl_lanes_bar_run(struct pl_lanes *lanes, const struct pl_exec *exec)
{
    char *what = name_run(lanes, exec->controller, pl_slice_z(exec->key));
    bar(lanes, exec->controller, NULL, what);
    pl_free(what);
}

bool pl_lanes_is_run_barred(struct pl_lanes *lanes, int controller, struct pl_slice key)
{
    if (is_shadow_over(lanes))
        return true;
    if (!may_be_barred(lanes))
        return false;
    char *what = name_run(lanes, controller, key);
    bool barred = is_barred(lanes, controller, NULL, what);
    pl_free(what);
    return barred;
}

/* ---- questions ---- */

static char *name_ask(const struct pl_ask *ask)
{
    struct pl_buf what = PL_BUF_INIT;
    const struct pl_external *external = &ask->external;
    if (external->controller >= 0)
        pl_buf_add_f(&what, "event %s %d ", external->lanes->controllers[external->controller].name,
                     external->source);
    else
        pl_buf_add_f(&what, "index %s ", ask->kind);
    if (ask->event.object != NULL)
        pl_meta_put_key(pl_doc_root(ask->event.object), &what);
    return pl_buf_take(&what);
}

void pl_lanes_bar_ask(struct pl_lanes *lanes, const struct pl_ask *ask)
{
    char *what = name_ask(ask);
    bar(lanes, ask->external.controller, ask->kind, what);
    pl_free(what);
}

bool pl_lanes_is_ask_barred(struct pl_lanes *lanes, const struct pl_ask *ask)
{
    if (is_shadow_over(lanes))
        return true;
    if (!may_be_barred(lanes))
        return false;
    char *what = name_ask(ask);
    bool barred = is_barred(lanes, ask->external.controller, ask->kind, what);
    pl_free(what);
    return barred;
}

/* ---- the guilty one ---- */

struct pl_exec *pl_lane_guilty_run(struct pl_lane *lane)
{
    struct pl_exec *running = atomic_load(&lane->running);
    PL_LIST_FOR (link, &lane->io.execs) {
        struct pl_exec *exec = PL_CONTAINER_OF(link, struct pl_exec, link);
        if (exec == running)
            return exec;
    }
    return NULL;
}

struct pl_ask *pl_lane_guilty_ask(struct pl_lane *lane)
{
    struct pl_ask *answering = atomic_load(&lane->answering);
    PL_LIST_FOR (link, &lane->io.asks) {
        struct pl_ask *ask = PL_CONTAINER_OF(link, struct pl_ask, link);
        if (ask == answering)
            return ask;
    }
    return NULL;
}
