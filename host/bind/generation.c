/* One loaded set of scripts: its lanes, its editions and its origin, from loading to the end. A
 * generation that fails to load leaves nothing behind. It is freed when its lanes have ended and
 * its caches are released. */
#include "bind/generation.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "cluster/remotes.h"
#include "lane/declare.h"

#include <string.h>

#define POLL_NS      (10 * PL_MS) /* interval of checks whether it has ended */
#define POLL_MAX     PL_SECOND    /* longest interval, when one of its threads does not end */
#define SYNC_TIMEOUT (120 * PL_SECOND)

struct pl_generation {
    struct pl_generation_options o;
    uint64_t number;
    struct pl_lanes *lanes;   /* owned; NULL once they are closed */
    struct pl_origin *origin; /* counted */
    struct pl_declarations declarations;
    struct pl_edition **editions; /* owned array of references: controllers' first, then hooks' */
    size_t count, controllers;
    pl_generation_fn told; /* loaded, prepared or closed, whichever comes next */
    void *told_arg;

    const struct pl_generation *running; /* during preparation: the running generation */
    struct pl_timer limit;               /* limit for syncing */
    bool preparing;

    struct pl_timer poll; /* during closing */
    int64_t cancel_ns;    /* time to cancel runs */
    bool closing, canceled, joining;
    int64_t poll_ns;
};

static struct pl_timers *generation_timers_of(const struct pl_generation *generation)
{
    return pl_site_timers(pl_cluster_site(generation->o.cluster));
}

/* ---- making one ---- */

static void on_generation_ran(void *arg, const struct pl_ran *ran)
{
    struct pl_generation *generation = arg;
    if (generation->o.ran != NULL)
        generation->o.ran(generation->o.arg, generation, ran);
}

static struct pl_cluster *find_cluster(const struct pl_generation *generation, const char *name)
{
    struct pl_remotes *remotes = pl_cluster_remotes(generation->o.cluster);
    for (size_t i = 0; i < generation->declarations.cluster_count; i++)
        if (strcmp(generation->declarations.clusters[i].name, name) == 0)
            return pl_remotes_take(remotes, &generation->declarations.clusters[i]);
    PL_UNREACHABLE(); /* Lua code has checked that the name was declared */
}

static void find_clusters(struct pl_generation *generation, struct pl_controller_spec *spec)
{
    for (size_t i = 0; i < spec->source_count; i++)
        if (spec->sources[i].cluster_name != NULL)
            spec->sources[i].cluster = find_cluster(generation, spec->sources[i].cluster_name);
}

/* Makes either the hooks' editions or the others. */
static void make_some(struct pl_generation *generation, const struct pl_controller_options *options,
                      bool hooks)
{
    struct pl_declarations *declared = &generation->declarations;
    for (size_t i = 0; i < declared->controller_count; i++) {
        struct pl_controller_spec *spec = &declared->controllers[i];
        if (spec->name == NULL || (spec->hook != NULL) != hooks)
            continue; /* without a name: an edition has taken it */
        find_clusters(generation, spec);
        struct pl_edition *edition = pl_edition_create(options, spec);
        generation->editions[generation->count++] = edition;
        pl_lanes_add_edition(generation->lanes, edition);
    }
}

static void make_editions(struct pl_generation *generation)
{
    size_t count = generation->declarations.controller_count;
    struct pl_controller_options options = {
        .cluster = generation->o.cluster,
        .ops = pl_lanes_ops(),
        .self = generation->lanes,
        .ran = on_generation_ran,
        .ran_arg = generation,
        .order = generation->o.order,
        .order_arg = generation->o.arg,
        .unmeasured = generation->o.unmeasured,
    };
    generation->editions = pl_calloc(count + 1, sizeof(struct pl_edition *));
    for (size_t i = 0; i < generation->declarations.cluster_count; i++) {
        const char *name = generation->declarations.clusters[i].name;
        pl_lanes_add_cluster(generation->lanes, name, find_cluster(generation, name));
    }
    make_some(generation, &options, false);
    generation->controllers = generation->count;
    make_some(generation, &options, true);
}

static struct pl_generation *generation_create(const struct pl_generation_options *options,
                                               struct pl_lanes *lanes)
{
    struct pl_generation *generation = PL_NEW(struct pl_generation);
    generation->o = *options;
    generation->lanes = lanes;
    generation->number = pl_lanes_generation(lanes);
    generation->origin = pl_origin_ref(pl_lanes_origin(lanes));
    pl_lanes_attach(lanes, options->cluster, options->loop);
    return generation;
}

struct pl_generation *pl_generation_create(const struct pl_generation_options *options,
                                           struct pl_lanes *lanes,
                                           struct pl_declarations *declarations)
{
    struct pl_generation *generation = generation_create(options, lanes);
    generation->declarations = *declarations;
    *declarations = (struct pl_declarations){.controllers = NULL};
    make_editions(generation);
    return generation;
}

int pl_generation_check_clusters(struct pl_cluster *cluster,
                                 const struct pl_declarations *declarations, struct pl_err *err)
{
    if (declarations->cluster_count == 0 || pl_cluster_remotes(cluster) != NULL)
        return 0;
    return pl_err_set(
        err, PL_EUNSUPPORTED,
        "perilune.cluster(\"%s\"): a world is a single cluster; try scripts that name "
        "other clusters with `perilune dev`",
        declarations->clusters[0].name);
}

static void generation_tell(struct pl_generation *generation, const struct pl_err *err)
{
    pl_generation_fn told = generation->told;
    generation->told = NULL;
    if (told != NULL)
        told(generation->told_arg, generation, err);
}

static void on_generation_loaded(void *arg, const struct pl_err *err)
{
    struct pl_generation *generation = arg;
    if (generation->closing)
        return; /* the next callback is that of its end */
    struct pl_err refused;
    pl_err_clear(&refused);
    if (err == NULL && generation->o.unmeasured && generation->declarations.cluster_count > 0) {
        pl_err_set(&refused, PL_EUNSUPPORTED,
                   "scripts that name other clusters cannot be tried in a shadow");
        err = &refused;
    }
    if (err == NULL && pl_generation_check_clusters(generation->o.cluster,
                                                    &generation->declarations, &refused) != 0)
        err = &refused;
    if (err == NULL && generation->o.declared != NULL)
        generation->o.declared(generation->o.arg, &generation->declarations);
    if (err == NULL)
        make_editions(generation);
    generation_tell(generation, err);
}

struct pl_generation *pl_generation_load(const struct pl_generation_options *options,
                                         const struct pl_lanes_options *lanes,
                                         const char *const *paths, size_t path_count,
                                         pl_generation_fn loaded, void *arg)
{
    struct pl_generation *generation = generation_create(options, pl_lanes_create(lanes));
    generation->told = loaded;
    generation->told_arg = arg;
    pl_lanes_load_begin(generation->lanes, paths, path_count, &generation->declarations,
                        on_generation_loaded, generation);
    return generation;
}

static void free_generation(struct pl_generation *generation)
{
    pl_timer_stop(generation_timers_of(generation), &generation->limit);
    pl_timer_stop(generation_timers_of(generation), &generation->poll);
    for (size_t i = 0; i < generation->count; i++) {
        pl_edition_forget_sync(generation->editions[i]);
        pl_edition_unref(generation->editions[i]);
    }
    pl_free(generation->editions);
    pl_declarations_deinit(&generation->declarations);
    pl_origin_unref(generation->origin);
    pl_free(generation);
}

void pl_generation_destroy(struct pl_generation *generation)
{
    if (generation == NULL)
        return;
    pl_lanes_destroy(generation->lanes);
    free_generation(generation);
}

/* ---- its sources ---- */

static bool has_informer(const struct pl_generation *generation, const struct pl_informer *informer)
{
    for (size_t i = 0; generation != NULL && i < generation->count; i++) {
        const struct pl_edition *edition = generation->editions[i];
        for (size_t j = 0; j < pl_edition_spec(edition)->source_count; j++)
            if (pl_edition_informer(edition, j) == informer)
                return true;
    }
    return false;
}

/* The first source that has to sync and has not; NULL: none. */
static struct pl_informer *unsynced(const struct pl_generation *generation,
                                    const struct pl_edition **of)
{
    for (size_t i = 0; i < generation->count; i++) {
        const struct pl_edition *edition = generation->editions[i];
        for (size_t j = 0; j < pl_edition_spec(edition)->source_count; j++) {
            struct pl_informer *informer = pl_edition_informer(edition, j);
            *of = edition;
            if (informer == NULL)
                continue; /* a family has none of its own */
            if (pl_edition_spec(edition)->sources[j].cluster != NULL)
                continue; /* an unreachable cluster does not delay a reload */
            if (!pl_informer_has_synced(informer) && !has_informer(generation->running, informer))
                return informer;
        }
    }
    return NULL;
}

static void end_preparing(struct pl_generation *generation, const struct pl_err *err)
{
    generation->preparing = false;
    generation->running = NULL;
    pl_timer_stop(generation_timers_of(generation), &generation->limit);
    generation_tell(generation, err);
}

static void on_sync(void *arg)
{
    struct pl_generation *generation = arg;
    const struct pl_edition *of;
    if (generation->preparing && unsynced(generation, &of) == NULL)
        end_preparing(generation, NULL);
}

static void on_generation_limit(struct pl_timer *timer)
{
    struct pl_generation *generation = PL_CONTAINER_OF(timer, struct pl_generation, limit);
    const struct pl_edition *of;
    struct pl_informer *informer = unsynced(generation, &of);
    const struct pl_err *trouble = informer != NULL ? pl_informer_trouble(informer) : NULL;
    struct pl_err err;
    pl_err_clear(&err);
    pl_err_set(&err, PL_ETIMEOUT, "%s: controller \"%s\": %s did not sync in time%s%s",
               pl_edition_spec(of)->declared_at, pl_edition_spec(of)->name,
               informer != NULL ? pl_informer_owner(informer) : "a source",
               trouble != NULL ? ": " : "", trouble != NULL ? trouble->message : "");
    end_preparing(generation, &err);
}

/* The longest timeout of all controllers. */
static int64_t sync_timeout(const struct pl_generation *generation)
{
    int64_t longest = 0;
    for (size_t i = 0; i < generation->count; i++) {
        int64_t own = pl_edition_spec(generation->editions[i])->cache_sync_timeout_ns;
        own = own > 0 ? own : SYNC_TIMEOUT;
        longest = own > longest ? own : longest;
    }
    return longest;
}

void pl_generation_prepare(struct pl_generation *generation, const struct pl_generation *running,
                           pl_generation_fn prepared, void *arg)
{
    struct pl_err err;
    pl_err_clear(&err);
    generation->told = prepared;
    generation->told_arg = arg;
    generation->running = running;
    for (size_t i = 0; i < generation->count; i++)
        pl_edition_open(generation->editions[i], on_sync, generation);
    if (pl_lanes_add_indexes(generation->lanes, &err) != 0) {
        end_preparing(generation, &err);
        return;
    }
    generation->preparing = true;
    pl_timer_start(generation_timers_of(generation), &generation->limit, sync_timeout(generation),
                   on_generation_limit);
    on_sync(generation);
}

void pl_generation_take_over(struct pl_generation *generation, struct pl_manager *manager,
                             const struct pl_generation *before, struct pl_buf *changed)
{
    struct pl_takeover *all = pl_calloc(generation->controllers + 1, sizeof *all);
    for (size_t i = 0; i < generation->controllers; i++) {
        const char *name = pl_edition_spec(generation->editions[i])->name;
        char *unit = pl_format(PL_UNIT_CONTROLLER "%s", name);
        all[i].edition = generation->editions[i];
        all[i].changed =
            before != NULL && pl_origin_unit_changed(before->origin, generation->origin, unit);
        if (all[i].changed && changed != NULL)
            pl_buf_add_f(changed, "%s%s", changed->len > 0 ? ", " : "", name);
        pl_free(unit);
    }
    pl_manager_switch(manager, all, generation->controllers);
    for (size_t i = generation->controllers; i < generation->count; i++)
        pl_edition_open(generation->editions[i], NULL, NULL);
    for (size_t i = 0; i < generation->controllers; i++) {
        const char *name = pl_edition_spec(generation->editions[i])->name;
        struct pl_controller *controller = pl_manager_find(manager, pl_slice_z(name));
        if (controller != NULL)
            pl_lanes_add_controller(generation->lanes, controller);
    }
    pl_free(all);
}

/* ---- its end ---- */

static bool is_quiet(const struct pl_generation *generation)
{
    for (size_t i = 0; i < generation->count; i++)
        if (!pl_edition_is_quiet(generation->editions[i]))
            return false;
    return pl_lanes_is_quiet(generation->lanes);
}

static void cancel_late_runs(struct pl_generation *generation)
{
    if (generation->canceled ||
        pl_clock_mono(generation_timers_of(generation)->clock) < generation->cancel_ns)
        return;
    generation->canceled = true;
    struct pl_err why = {0};
    pl_err_set(&why, PL_ECANCELED, "the scripts were reloaded and the grace period is over");
    for (size_t i = 0; i < generation->count; i++)
        pl_edition_cancel_runs(generation->editions[i], &why);
}

static void on_generation_poll(struct pl_timer *timer)
{
    struct pl_generation *generation = PL_CONTAINER_OF(timer, struct pl_generation, poll);
    if (!generation->joining && is_quiet(generation)) {
        generation->joining = true;
        pl_lanes_drop_indexes(generation->lanes);
    }
    if (generation->joining && pl_lanes_close(generation->lanes)) {
        generation->lanes = NULL;
        pl_log(PL_LOG_DEBUG, "generation closed",
               pl_int("generation", (int64_t)generation->number));
        generation_tell(generation, NULL);
        free_generation(generation);
        return;
    }
    if (!generation->joining)
        cancel_late_runs(generation);
    else if (generation->poll_ns < POLL_MAX)
        generation->poll_ns += generation->poll_ns / 2;
    pl_timer_start(generation_timers_of(generation), timer, generation->poll_ns,
                   on_generation_poll);
}

void pl_generation_close(struct pl_generation *generation, int64_t grace_ns,
                         pl_generation_fn closed, void *arg)
{
    int64_t cancel = pl_clock_mono(generation_timers_of(generation)->clock) + grace_ns;
    if (generation->closing && cancel >= generation->cancel_ns)
        return;
    generation->told = closed;
    generation->told_arg = arg;
    generation->cancel_ns = cancel;
    generation->closing = true;
    generation->preparing = false;
    generation->running = NULL;
    generation->poll_ns = POLL_NS;
    pl_timer_stop(generation_timers_of(generation), &generation->limit);
    pl_timer_start(generation_timers_of(generation), &generation->poll, 0, on_generation_poll);
}

void pl_generation_forget(struct pl_generation *generation, const struct pl_controller *controller)
{
    if (generation->lanes != NULL)
        pl_lanes_forget_controller(generation->lanes, controller);
}

/* ---- questions about it ---- */

uint64_t pl_generation_number(const struct pl_generation *generation)
{
    return generation->number;
}

bool pl_generation_is_over(const struct pl_generation *generation)
{
    return generation->joining;
}

size_t pl_generation_controllers(const struct pl_generation *generation)
{
    return generation->controllers;
}

struct pl_edition *const *pl_generation_hooks(const struct pl_generation *generation, size_t *count)
{
    *count = generation->count - generation->controllers;
    return generation->editions + generation->controllers;
}

struct pl_edition *pl_generation_edition(const struct pl_generation *generation, size_t i)
{
    return generation->editions[i];
}

struct pl_edition *pl_generation_edition_of(const struct pl_generation *generation,
                                            const char *name)
{
    for (size_t i = 0; i < generation->count; i++)
        if (strcmp(pl_edition_spec(generation->editions[i])->name, name) == 0)
            return generation->editions[i];
    return NULL;
}

struct pl_lanes *pl_generation_lanes(const struct pl_generation *generation)
{
    return generation->lanes;
}

struct pl_origin *pl_generation_origin(const struct pl_generation *generation)
{
    return generation->origin;
}
