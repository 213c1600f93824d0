/* The clock, the server and the hosts, and their order: always the first one that has work, the
 * server first. When none has, the clock moves to the next timer of any. */
#include "world/world_impl.h"

#include "apicall/convert.h"
#include "apiserver/actors.h"
#include "base/alloc.h"
#include "base/text.h"

#include <limits.h>
#include <string.h>

#define RECONCILES  10000
#define MONO_START  (1000 * PL_SECOND) /* zero means "never" in many places */
#define LOWEST_IP   256                /* see admission/prepare_service.c */
#define IPS         60000
#define LOWEST_PORT 30000
#define PORTS       2700
#define STRIDE      7919
#define BOOKMARK    (140 * PL_SECOND) /* a host opens a silent watch again after 150 s */

/* ---- clock ---- */

static int64_t world_mono(void *arg)
{
    return ((const struct pl_world *)arg)->now_ns;
}

static int64_t world_wall(void *arg)
{
    const struct pl_world *world = arg;
    return world->o.wall_ns + world->now_ns - MONO_START;
}

int64_t pl_world_now(const struct pl_world *world)
{
    return pl_clock_wall(&world->clock);
}

/* ---- hosts ---- */

struct host *pl_world_find(const struct pl_world *world, const char *name)
{
    PL_LIST_FOR (link, &world->hosts) {
        struct host *host = PL_CONTAINER_OF(link, struct host, link);
        if (strcmp(pl_replica_name(host->replica), name) == 0 && !host->crashes)
            return host;
    }
    return NULL;
}

struct pl_hooks *pl_world_find_hooks(void *arg)
{
    const struct pl_world *world = arg;
    PL_LIST_FOR (link, &world->hosts) {
        const struct host *host = PL_CONTAINER_OF(link, struct host, link);
        struct pl_hooks *hooks = pl_replica_hooks(host->replica);
        if (hooks != NULL && pl_hooks_any(hooks) && !host->crashes && !host->leaves)
            return hooks;
    }
    return NULL;
}

void pl_world_take_down(struct pl_world *world, struct host *host)
{
    pl_link_unlink(&host->link);
    if (pl_replica_hooks(host->replica) != NULL)
        pl_reviews_leave(world->reviews, pl_replica_hooks(host->replica));
    pl_replica_destroy(host->replica);
    pl_free(host);
}

void pl_world_take_down_crashed(struct pl_world *world)
{
    struct pl_link *next;
    for (struct pl_link *link = pl_list_first(&world->hosts); link != NULL; link = next) {
        next = link->next != &world->hosts.head ? link->next : NULL;
        struct host *host = PL_CONTAINER_OF(link, struct host, link);
        if (host->crashes)
            pl_world_take_down(world, host);
    }
}

/* ---- webhooks ---- */

static int ask_server(struct pl_world *world, const struct pl_api_call *call,
                      struct pl_world_answer *answer);

static int register_one(void *arg, const char *method, const char *target, struct pl_slice body)
{
    struct pl_world_answer answer;
    struct pl_slice path = pl_slice(target, strcspn(target, "?"));
    const struct pl_api_call call = {
        .method = method,
        .path = path,
        .query = pl_slice_z(target[path.len] == '?' ? target + path.len + 1 : ""),
        .content_type = "application/apply-patch+yaml",
        .body = body};
    int status = ask_server(arg, &call, &answer) == 0 ? answer.status : 0;
    pl_buf_deinit(&answer.body);
    return status;
}

static void open_webhooks(struct pl_world *world)
{
    const struct pl_reviews_options reviews = {
        .loop = world->loop, .find = pl_world_find_hooks, .arg = world};
    world->reviews = pl_reviews_create(&reviews);
    world->registered.url = PL_REVIEWS_URL;
    world->registered.request = register_one;
    world->registered.arg = world;
}

/* The server answers all waiting clients. */
static void close_webhooks(struct pl_world *world)
{
    pl_api_hang_up(world->api);
    pl_reviews_leave(world->reviews, NULL);
    while (pl_loop_step(world->loop))
        continue;
}

/* ---- creation and end ---- */

static void world_collect_documents(struct pl_idle *idle)
{
    pl_api_collect(PL_CONTAINER_OF(idle, struct pl_world, collect)->api);
}

/* Addresses and ports of Services are arbitrary. So they are other ones with another seed, which
 * tells the explorer where they have been copied to. */
static unsigned number_by_seed(uint64_t seed, unsigned lowest, unsigned count)
{
    return lowest + (unsigned)((seed - 1) * STRIDE % count);
}

struct pl_world *pl_world_create(const struct pl_world_options *options)
{
    struct pl_world *world = PL_NEW(struct pl_world);
    world->o = *options;
    world->now_ns = MONO_START;
    pl_world_limit(world, 0);
    world->most_of_key = UINT_MAX;
    world->clock = (struct pl_clock){world_mono, world_mono, world_wall, world};
    world->loop = pl_loop_create_stepped(&world->clock);
    pl_list_init(&world->hosts);
    pl_alarms_init(&world->alarms, pl_loop_timers(world->loop));
    open_webhooks(world);
    const struct pl_api_options api = {.rand_seed = options->seed,
                                       .first_ip = number_by_seed(options->seed, LOWEST_IP, IPS),
                                       .first_port =
                                           number_by_seed(options->seed, LOWEST_PORT, PORTS),
                                       .first_version = options->first_version,
                                       .bookmark_ns = BOOKMARK,
                                       .unprotected = true,
                                       .unshared = options->unshared,
                                       .commands = options->commands,
                                       .transport = pl_reviews_transport(world->reviews)};
    world->api = pl_api_create(pl_loop_timers(world->loop), &api);
    world->registered.api = world->api;
    pl_loop_each_turn(world->loop, &world->collect, world_collect_documents);
    world->told_version = pl_world_version(world);
    return world;
}

void pl_world_destroy(struct pl_world *world)
{
    if (world == NULL)
        return;
    struct pl_link *link;
    close_webhooks(world);
    while ((link = pl_list_first(&world->hosts)) != NULL)
        pl_world_take_down(world, PL_CONTAINER_OF(link, struct host, link));
    pl_ahead_deinit(&world->ahead);
    pl_alarms_deinit(&world->alarms);
    pl_api_destroy(world->api);
    pl_registered_deinit(&world->registered);
    pl_reviews_destroy(world->reviews);
    pl_loop_each_turn_stop(&world->collect);
    pl_loop_destroy(world->loop);
    pl_rounds_deinit(&world->keys);
    pl_free(world->exhausted);
    pl_free(world);
}

/* ---- steps ---- */

static void tell_stored(struct pl_world *world)
{
    uint64_t version = pl_world_version(world);
    if (version == world->told_version || world->o.stored == NULL)
        return;
    world->told_version = version;
    if (!world->o.stored(world->o.arg))
        world->refused = true;
}

static bool step_any(struct pl_world *world)
{
    if (pl_loop_step(world->loop))
        return true;
    PL_LIST_FOR (link, &world->hosts) {
        if (pl_replica_step(PL_CONTAINER_OF(link, struct host, link)->replica))
            return true;
    }
    return false;
}

/* Without moving the clock. */
bool pl_world_step_now(struct pl_world *world)
{
    pl_world_take_down_crashed(world);
    bool some = step_any(world);
    tell_stored(world);
    return some;
}

int pl_world_refusal(struct pl_world *world, struct pl_err *err)
{
    world->refused = false;
    return pl_err_set(err, PL_ESCRIPT, "the test's API server refused it");
}

bool pl_world_next_timer(const struct pl_world *world, int64_t *due_ns)
{
    bool some = pl_timers_next(pl_loop_timers(world->loop), due_ns);
    PL_LIST_FOR (link, &world->hosts) {
        int64_t due;
        if (!pl_replica_next_timer(PL_CONTAINER_OF(link, struct host, link)->replica, &due))
            continue;
        *due_ns = !some || due < *due_ns ? due : *due_ns;
        some = true;
    }
    return some;
}

void pl_world_move_to(struct pl_world *world, int64_t at_ns)
{
    if (at_ns > world->now_ns)
        world->now_ns = at_ns;
}

bool pl_world_move_on(struct pl_world *world, int64_t end_ns)
{
    int64_t due;
    if (pl_world_step_now(world))
        return true;
    if (!pl_world_next_timer(world, &due) || due > end_ns)
        return false;
    pl_world_move_to(world, due);
    return true;
}

bool pl_world_step(struct pl_world *world, int64_t end_ns)
{
    int64_t before = world->now_ns;
    int64_t room = end_ns - pl_world_now(world);
    bool some = pl_world_move_on(world, end_ns == INT64_MAX ? INT64_MAX : before + room);
    return some && (world->now_ns == before || pl_world_step_now(world));
}

/* ---- counting ---- */

static bool is_exhaustion(const char *message)
{
    return strstr(message, "script CPU limit exceeded") != NULL ||
           strstr(message, "script memory limit exceeded") != NULL;
}

/* Such a run would be tried again and again, for seconds of real time each. */
static void note_exhausted(struct pl_world *world, const char *what, const struct pl_ran *ran)
{
    const char *message = ran->outcome->message;
    if (world->exhausted == NULL && message != NULL && is_exhaustion(message))
        world->exhausted = pl_format("%s: %s", what, message);
}

int pl_world_exhausted(struct pl_world *world, struct pl_err *err)
{
    if (world->exhausted == NULL)
        return 0;
    pl_err_set(err, PL_ESCRIPT, "%s", world->exhausted);
    pl_free(world->exhausted);
    world->exhausted = NULL;
    return err->code;
}

uint64_t pl_world_changes(const struct pl_world *world)
{
    return pl_world_version(world) - world->renewals + world->changed_outside;
}

void pl_world_changed_outside(struct pl_world *world)
{
    world->changed_outside++;
}

void pl_world_ran(void *arg, struct pl_replica *replica, const struct pl_ran *ran)
{
    struct pl_world *world = arg;
    const char *controller =
        ran->run->controller != NULL ? pl_controller_spec(ran->run->controller)->name : "webhook";
    char *what =
        pl_format("%s %s %.*s", pl_replica_name(replica), controller, PL_FMT(ran->run->key));
    struct pl_round *count = pl_rounds_of(&world->keys, what);
    count->runs++;
    if (count->runs >= world->most_of_key)
        world->too_many++;
    if (pl_ran_failed(ran)) /* a failed run is not a round without changes */
        count->version = UINT64_MAX;
    if (pl_outcome_backs_off(ran->outcome->outcome))
        pl_round_retry(count, pl_world_changes(world));
    world->reconciles++;
    note_exhausted(world, what, ran);
    if (world->o.chooser != NULL)
        pl_point_details_ran(world->o.chooser, pl_replica_name(replica), controller, ran);
    if (world->o.ran != NULL)
        world->o.ran(world->o.arg, pl_replica_name(replica), ran);
    pl_free(what);
}

void pl_world_forget_runs(struct pl_world *world)
{
    pl_rounds_forget_runs(&world->keys);
    world->reconciles = 0;
    world->too_many = 0;
}

void pl_world_limit(struct pl_world *world, unsigned reconciles)
{
    world->most = reconciles > 0 ? reconciles : RECONCILES;
}

void pl_world_limit_key(struct pl_world *world, unsigned reconciles)
{
    world->most_of_key = reconciles;
}

void pl_world_limit_retries(struct pl_world *world, unsigned retries)
{
    world->most_retries = retries;
}

/* ---- requests ---- */

static bool is_write_of_host(const struct pl_wire_seen *seen)
{
    return strcmp(seen->method, "GET") != 0 && seen->status / 100 == 2 &&
           strcmp(seen->host, "user") != 0;
}

static bool is_renewal(const struct pl_wire_seen *seen)
{
    return is_write_of_host(seen) && pl_text_begins(seen->path, "/apis/coordination.k8s.io/");
}

void pl_world_seen(void *arg, const struct pl_wire_seen *seen)
{
    struct pl_world *world = arg;
    bool renews = is_renewal(seen);
    world->renewals += renews;
    if (!renews && is_write_of_host(seen))
        pl_world_move_to(world, world->now_ns + world->pace_ns);
    if (world->o.seen != NULL)
        world->o.seen(world->o.arg, seen);
}

struct moving {
    struct pl_world *world;
    int64_t end_ns;
};

static bool move_until(void *arg)
{
    const struct moving *moving = arg;
    return pl_world_move_on(moving->world, moving->end_ns);
}

/* Webhooks may be asked meanwhile. */
static int ask_server(struct pl_world *world, const struct pl_api_call *call,
                      struct pl_world_answer *answer)
{
    struct moving moving = {world, world->now_ns + 60 * PL_SECOND};
    *answer = (struct pl_world_answer){.body = PL_BUF_INIT};
    return pl_user_request(world->api, call, move_until, &moving, answer) ? 0 : PL_ETIMEOUT;
}

int pl_world_request(struct pl_world *world, const char *method, const char *target,
                     const char *content_type, struct pl_slice body, struct pl_world_answer *answer,
                     struct pl_err *err)
{
    struct pl_slice path = pl_slice(target, strcspn(target, "?"));
    const struct pl_api_call call = {
        .method = method,
        .path = path,
        .query = pl_slice_z(target[path.len] == '?' ? target + path.len + 1 : ""),
        .content_type = content_type,
        .user_agent = "test",
        .body = body};
    if (ask_server(world, &call, answer) != 0)
        return pl_err_set(err, PL_ETIMEOUT, "%s %s: no answer within a minute", method, target);
    const struct pl_wire_seen seen = {.host = "user",
                                      .method = method,
                                      .verb = "",
                                      .path = path,
                                      .query = call.query,
                                      .body = body,
                                      .status = answer->status,
                                      .answer = pl_buf_slice(&answer->body)};
    pl_world_seen(world, &seen);
    tell_stored(world);
    if (world->registered.incomplete && pl_world_find_hooks(world) != NULL)
        pl_registered_set(&world->registered, pl_world_find_hooks(world));
    return world->refused ? pl_world_refusal(world, err) : 0;
}

/* "apps/v1/deployments", or "v1/pods" of the core group. NULL: there is none in that version. */
static const struct pl_api_type *stored_type(const struct pl_world *world, const char *resource)
{
    const char *plural = strrchr(resource, '/');
    size_t index;
    if (plural == NULL)
        return NULL;
    struct pl_slice group = pl_slice("", 0),
                    version = pl_slice(resource, (size_t)(plural - resource));
    const char *slash = memchr(version.ptr, '/', version.len);
    if (slash != NULL) {
        group = pl_slice(resource, (size_t)(slash - resource));
        version = pl_slice(slash + 1, (size_t)(plural - slash - 1));
    }
    const struct pl_api_type *type =
        pl_api_registry_find(world->api->registry, group, version, pl_slice_z(plural + 1), &index);
    return type != NULL && type->convert == NULL && index == type->storage_version &&
                   !pl_api_reshapes(type, index)
               ? type
               : NULL;
}

bool pl_world_each_object(struct pl_world *world, const char *resource,
                          void (*visit)(void *arg, const char *uid, uint64_t version,
                                        const struct pl_doc *doc),
                          void *arg)
{
    const struct pl_api_type *type = stored_type(world, resource);
    for (size_t i = 0; type != NULL && i < type->table->count; i++) {
        const struct pl_api_entry *entry = type->table->entries[i];
        visit(arg, entry->uid, entry->rv, entry->doc);
    }
    return type != NULL;
}

uint64_t pl_world_newest(struct pl_world *world, const char *resource)
{
    const struct pl_api_type *type = stored_type(world, resource);
    uint64_t newest = 0;
    for (size_t i = 0; type != NULL && i < type->table->count; i++)
        if (type->table->entries[i]->rv > newest)
            newest = type->table->entries[i]->rv;
    return newest;
}

bool pl_world_actor_status(struct pl_world *world, const char *resource, const char *key,
                           struct pl_buf *out)
{
    const struct pl_api_type *type = stored_type(world, resource);
    const struct pl_api_entry *entry =
        type != NULL ? pl_api_table_find(type->table, pl_slice_z(key)) : NULL;
    return entry != NULL && pl_api_actor_status(world->api, type, entry, out);
}

void pl_world_forget_rounds(struct pl_world *world)
{
    pl_rounds_forget(&world->keys);
}

void pl_world_look(struct pl_world *world)
{
    pl_world_forget_rounds(world);
    PL_LIST_FOR (link, &world->hosts) {
        pl_wire_look(pl_replica_wire(PL_CONTAINER_OF(link, struct host, link)->replica));
    }
}

void pl_world_expire_watches(struct pl_world *world, const char *resource)
{
    PL_LIST_FOR (link, &world->hosts) {
        struct host *host = PL_CONTAINER_OF(link, struct host, link);
        pl_wire_expire_watches(pl_replica_wire(host->replica), resource);
    }
}

void pl_world_hold_garbage(struct pl_world *world, bool held)
{
    pl_api_hold_garbage(world->api, held);
}

uint64_t pl_world_version(const struct pl_world *world)
{
    return pl_api_storage_rv(world->api->storage);
}

struct pl_alarms *pl_world_alarms(struct pl_world *world)
{
    return &world->alarms;
}

bool pl_world_enqueue(struct pl_world *world, const char *name, const char *key)
{
    bool found = false;
    PL_LIST_FOR (link, &world->hosts) {
        struct pl_replica *replica = PL_CONTAINER_OF(link, struct host, link)->replica;
        struct pl_controller *controller =
            pl_manager_find(pl_replica_manager(replica), pl_slice_z(name));
        if (controller == NULL || pl_controller_spec(controller)->task.form != PL_NO_TASK)
            continue;
        struct pl_add how = {0};
        pl_controller_enqueue(controller, pl_slice_z(key), &how, PL_CAUSE_REQUEUE);
        found = true;
    }
    return found;
}

void pl_world_set_lateness(struct pl_world *world, int64_t ns)
{
    PL_LIST_FOR (link, &world->hosts) {
        struct pl_manager *manager =
            pl_replica_manager(PL_CONTAINER_OF(link, struct host, link)->replica);
        for (size_t i = 0; i < pl_manager_count(manager); i++)
            pl_controller_set_lateness(pl_manager_at(manager, i), ns);
    }
}

void pl_world_set_pace(struct pl_world *world, int64_t ns)
{
    world->pace_ns = ns;
}

bool pl_world_reverse_lists(struct pl_world *world, bool reversed)
{
    bool had_many = world->listing.had_many;
    world->listing = (struct pl_listing){.reversed = reversed};
    return had_many;
}
