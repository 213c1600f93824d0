/* The hosts of a world: their start, stop, crash and reload. The world moves on until that is done,
 * and a disturbance may kill a host meanwhile: so each use finds it again by its name. */
#include "world/world_impl.h"

#include "base/alloc.h"
#include "base/check.h"

#define SYNC_LIMIT (600 * PL_SECOND)

static struct host *need(const struct pl_world *world, const char *name, struct pl_err *err)
{
    struct host *host = pl_world_find(world, name);
    if (host == NULL)
        pl_err_set(err, PL_EINVAL, "no host \"%s\" runs", name);
    return host;
}

static void on_crash(void *arg, struct pl_replica *replica)
{
    struct pl_world *world = arg;
    struct host *host = pl_world_find(world, pl_replica_name(replica));
    if (host == NULL)
        return;
    host->crashes = true;
    world->crashes++;
}

/* The declarations of the host that has just changed. */
static void register_hooks(struct pl_world *world, const struct host *host)
{
    pl_registered_set(&world->registered, pl_replica_hooks(host->replica));
}

/* The options of the next host that starts. */
static struct pl_replica_options next_options(struct pl_world *world,
                                              const struct pl_replica_options *options)
{
    struct pl_replica_options with = *options;
    with.clock = &world->clock;
    with.api = world->api;
    with.dog = world->o.dog;
    with.seed = world->o.seed + world->started + 1;
    with.chooser = world->o.chooser;
    with.listing = &world->listing;
    with.lines = world->o.lines;
    with.unshared = world->o.unshared;
    with.seen = pl_world_seen;
    with.outside = world->o.outside;
    with.ran = pl_world_ran;
    with.crash = on_crash;
    with.arg = world;
    return with;
}

void pl_world_load_ahead(struct pl_world *world, const struct pl_replica_options *options)
{
    struct pl_replica_options with = next_options(world, options);
    pl_ahead_load(&world->ahead, &with);
}

int pl_world_start(struct pl_world *world, const struct pl_replica_options *options,
                   struct pl_err *err)
{
    pl_world_take_down_crashed(world);
    if (pl_world_find(world, options->name) != NULL)
        return pl_err_set(err, PL_EINVAL, "the host \"%s\" runs already", options->name);
    pl_rounds_forget(&world->keys);
    struct pl_replica_options with = next_options(world, options);
    world->started++;
    struct pl_replica *replica = pl_ahead_take(&world->ahead, &with);
    if (replica == NULL)
        replica = pl_replica_create(&with, err);
    if (replica == NULL)
        return err->code;
    if (pl_replica_begin(replica, err) != 0) {
        pl_replica_destroy(replica);
        return err->code;
    }
    struct host *host = PL_NEW(struct host);
    host->replica = replica;
    pl_list_push(&world->hosts, &host->link);
    register_hooks(world, host);
    return 0;
}

/* A disturbance may kill a host while the world moves on: it is freed then. */
static bool has_host(const struct pl_world *world, const char *name, const struct host *host)
{
    return pl_world_find(world, name) == host;
}

static int check_synced(struct pl_replica *replica, struct pl_err *err)
{
    struct pl_buf why = PL_BUF_INIT;
    int rc = 0;
    bool synced = pl_replica_is_synced(replica, &why);
    if (!synced && pl_replica_is_stopped(replica))
        rc =
            pl_err_set(err, PL_ETIMEOUT,
                       "the host \"%s\" has ended, as no controller could start: errors of its log "
                       "say why",
                       pl_replica_name(replica));
    else if (!synced)
        rc = pl_err_set(err, PL_ETIMEOUT, "%s", pl_buf_z(&why));
    pl_buf_deinit(&why);
    return rc;
}

int pl_world_sync(struct pl_world *world, const char *name, struct pl_err *err)
{
    struct host *host = need(world, name, err);
    int64_t end = world->now_ns + SYNC_LIMIT;
    if (host == NULL)
        return err->code;
    pl_world_forget_runs(world);
    while (has_host(world, name, host) && !pl_replica_is_synced(host->replica, NULL) &&
           !pl_replica_is_stopped(host->replica) && pl_world_move_on(world, end))
        continue;
    return has_host(world, name, host) ? check_synced(host->replica, err) : 0;
}

int pl_world_stop(struct pl_world *world, const char *name, struct pl_err *err)
{
    struct host *host = need(world, name, err);
    if (host == NULL)
        return err->code;
    host->leaves = true;
    if (pl_world_find_hooks(world) == NULL)
        pl_registered_set(&world->registered, NULL);
    pl_replica_stop(host->replica);
    while (has_host(world, name, host) && !pl_replica_is_stopped(host->replica) &&
           pl_world_move_on(world, INT64_MAX))
        continue;
    if (has_host(world, name, host))
        pl_world_take_down(world, host);
    return 0;
}

int pl_world_crash(struct pl_world *world, const char *name, struct pl_err *err)
{
    struct host *host = need(world, name, err);
    if (host == NULL)
        return err->code;
    pl_world_take_down(world, host);
    return 0;
}

struct reloading {
    struct pl_err err;
    bool done;
};

static void on_reloaded(void *arg, const struct pl_err *err)
{
    struct reloading *reloading = arg;
    reloading->done = true;
    if (err != NULL)
        reloading->err = *err;
}

int pl_world_reload(struct pl_world *world, const char *name, const char *const *paths,
                    size_t count, struct pl_err *err)
{
    struct host *host = need(world, name, err);
    struct reloading reloading = {.done = false};
    if (host == NULL)
        return err->code;
    pl_err_clear(&reloading.err);
    pl_replica_reload(host->replica, paths, count, on_reloaded, &reloading);
    while (!reloading.done && has_host(world, name, host))
        PL_REQUIRE(
            pl_world_move_on(world, INT64_MAX)); /* at least the timer of its sync timeout exists */
    if (reloading.err.code != 0)
        *err = reloading.err;
    else if (has_host(world, name, host))
        register_hooks(world, host);
    return reloading.err.code;
}

struct pl_replica *pl_world_replica(struct pl_world *world, const char *name)
{
    struct host *host = pl_world_find(world, name);
    return host != NULL ? host->replica : NULL;
}

void pl_world_each_host(struct pl_world *world,
                        void (*visit)(void *arg, struct pl_replica *replica), void *arg)
{
    PL_LIST_FOR (link, &world->hosts) {
        visit(arg, PL_CONTAINER_OF(link, struct host, link)->replica);
    }
}
