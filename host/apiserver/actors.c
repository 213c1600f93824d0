/* An actor is a row: a kind, how to tell that nothing is left to do, and the status to write. An
 * event of such an object is noted with the instant at which the actor acts. The delay is the same
 * for all, so the notes are in the order of their instants and one timer serves the first. When it
 * is due, the object is looked up again: it may be gone, replaced by another one of its name, or
 * done. A status that an actor has written causes an event, too, but nothing follows from it, since
 * the object is done. */
#include "apiserver/actors.h"

#include "apiserver/budgets.h"
#include "apiserver/write.h"
#include "base/alloc.h"
#include "object/meta.h"
#include "valid/check.h"
#include "valid/kinds.h"

#define DELAY PL_SECOND

struct actor {
    const char *group, *plural, *kind;
    bool (*is_done)(const struct pl_tree *object);
    void (*act)(struct pl_arena *arena, const struct pl_tree *object, struct pl_tree *status,
                struct pl_tree *now);
};

struct note {
    struct pl_link link;
    int64_t due_ns;
    const struct actor *actor;
    char *key, *uid; /* owned */
};

struct pl_api_actors {
    struct pl_api *api;   /* back-pointer */
    struct pl_list notes; /* struct note, the next one first */
    struct pl_timer timer;
    struct pl_api_budgets *budgets; /* owned */
};

/* ---- workloads ---- */

static int64_t wanted_replicas(const struct pl_tree *object)
{
    int64_t count = 1;
    pl_tree_integer(pl_tree_dig(object, "spec.replicas"), &count);
    return count;
}

static bool is_rolled_out(const struct pl_tree *object)
{
    const struct pl_tree *status = pl_tree_getz(object, "status");
    int64_t want = wanted_replicas(object);
    return pl_number_at(status, "observedGeneration") ==
               pl_number_at(pl_tree_getz(object, "metadata"), "generation") &&
           pl_number_at(status, "replicas") == want &&
           pl_number_at(status, "readyReplicas") == want;
}

static void add_condition(struct pl_arena *arena, struct pl_tree *list, const char *type,
                          const char *reason, struct pl_tree *now, const char *time_member)
{
    struct pl_tree *condition = pl_tree_object(arena);
    pl_tree_set_strz(arena, condition, "type", type);
    pl_tree_set_strz(arena, condition, "status", "True");
    if (reason != NULL)
        pl_tree_set_strz(arena, condition, "reason", reason);
    pl_tree_setz(arena, condition, "lastTransitionTime", now);
    if (time_member != NULL)
        pl_tree_setz(arena, condition, time_member, now);
    pl_tree_push(arena, list, condition);
}

static void roll_out(struct pl_arena *arena, const struct pl_tree *object, struct pl_tree *status,
                     const char *more)
{
    const char *const counts[] = {"replicas", "readyReplicas", "availableReplicas", more};
    pl_tree_setz(arena, status, "observedGeneration",
                 pl_tree_int(arena, pl_number_at(pl_tree_getz(object, "metadata"), "generation")));
    for (size_t i = 0; i < PL_ARRAY_LEN(counts); i++)
        pl_tree_setz(arena, status, counts[i], pl_tree_int(arena, wanted_replicas(object)));
}

static void roll_out_deployment(struct pl_arena *arena, const struct pl_tree *object,
                                struct pl_tree *status, struct pl_tree *now)
{
    struct pl_tree *conditions = pl_tree_array(arena);
    roll_out(arena, object, status, "updatedReplicas");
    add_condition(arena, conditions, "Available", "MinimumReplicasAvailable", now,
                  "lastUpdateTime");
    add_condition(arena, conditions, "Progressing", "NewReplicaSetAvailable", now,
                  "lastUpdateTime");
    pl_tree_setz(arena, status, "conditions", conditions);
}

static void roll_out_stateful_set(struct pl_arena *arena, const struct pl_tree *object,
                                  struct pl_tree *status, struct pl_tree *now)
{
    PL_UNUSED(now);
    roll_out(arena, object, status, "updatedReplicas");
    pl_tree_setz(arena, status, "currentReplicas", pl_tree_int(arena, wanted_replicas(object)));
}

static void roll_out_replica_set(struct pl_arena *arena, const struct pl_tree *object,
                                 struct pl_tree *status, struct pl_tree *now)
{
    PL_UNUSED(now);
    roll_out(arena, object, status, "fullyLabeledReplicas");
}

/* ---- Jobs ---- */

static bool is_complete(const struct pl_tree *object)
{
    struct pl_tree *suspend = pl_tree_dig(object, "spec.suspend");
    return pl_tree_text_at(object, "status.completionTime").len > 0 ||
           (pl_tree_is(suspend, PL_BOOL) && suspend->boolean) || pl_has_condition(object, "Failed");
}

static void complete_job(struct pl_arena *arena, const struct pl_tree *object,
                         struct pl_tree *status, struct pl_tree *now)
{
    struct pl_tree *conditions = pl_tree_array(arena);
    int64_t completions = 1;
    pl_tree_integer(pl_tree_dig(object, "spec.completions"), &completions);
    pl_tree_default(arena, status, "startTime", now);
    pl_tree_setz(arena, status, "completionTime", now);
    pl_tree_setz(arena, status, "succeeded", pl_tree_int(arena, completions));
    add_condition(arena, conditions, "SuccessCriteriaMet", "CompletionsReached", now,
                  "lastProbeTime");
    add_condition(arena, conditions, "Complete", "CompletionsReached", now, "lastProbeTime");
    pl_tree_setz(arena, status, "conditions", conditions);
}

/* ---- Pods ---- */

static bool is_beyond_pending(const struct pl_tree *object)
{
    struct pl_slice phase = pl_tree_text_at(object, "status.phase");
    return phase.len > 0 && !pl_slice_eqz(phase, "Pending");
}

static void add_container(struct pl_arena *arena, struct pl_tree *list,
                          const struct pl_tree *container, struct pl_tree *now)
{
    struct pl_tree *one = pl_tree_literal(
        arena, "{\"ready\":true,\"started\":true,\"restartCount\":0,\"imageID\":\"\"}");
    pl_tree_setz(arena, one, "name", pl_tree_str(arena, pl_tree_text_at(container, "name")));
    pl_tree_setz(arena, one, "image", pl_tree_str(arena, pl_tree_text_at(container, "image")));
    struct pl_tree *running = pl_tree_child(arena, pl_tree_child(arena, one, "state"), "running");
    pl_tree_setz(arena, running, "startedAt", now);
    pl_tree_push(arena, list, one);
}

static void run_pod(struct pl_arena *arena, const struct pl_tree *object, struct pl_tree *status,
                    struct pl_tree *now)
{
    static const char types[][16] = {"PodScheduled", "Initialized", "ContainersReady", "Ready"};
    struct pl_tree *conditions = pl_tree_array(arena), *containers = pl_tree_array(arena);
    pl_tree_set_strz(arena, status, "phase", "Running");
    pl_tree_default(arena, status, "startTime", now);
    for (size_t i = 0; i < PL_ARRAY_LEN(types); i++)
        add_condition(arena, conditions, types[i], NULL, now, NULL);
    PL_TREE_FOR(item, pl_tree_dig(object, "spec.containers"))
    add_container(arena, containers, item->value, now);
    pl_tree_setz(arena, status, "conditions", conditions);
    pl_tree_setz(arena, status, "containerStatuses", containers);
}

/* ---- claims ---- */

static bool is_bound(const struct pl_tree *object)
{
    return pl_slice_eqz(pl_tree_text_at(object, "status.phase"), "Bound");
}

static void bind_claim(struct pl_arena *arena, const struct pl_tree *object, struct pl_tree *status,
                       struct pl_tree *now)
{
    PL_UNUSED(now);
    const struct pl_tree *modes = pl_tree_dig(object, "spec.accessModes");
    const struct pl_tree *capacity = pl_tree_dig(object, "spec.resources.requests");
    pl_tree_set_strz(arena, status, "phase", "Bound");
    if (modes != NULL)
        pl_tree_setz(arena, status, "accessModes", pl_tree_copy(arena, modes));
    if (capacity != NULL)
        pl_tree_setz(arena, status, "capacity", pl_tree_copy(arena, capacity));
}

/* ---- acting ---- */

static const struct actor table[] = {
    {"apps", "deployments", "Deployment", is_rolled_out, roll_out_deployment},
    {"apps", "statefulsets", "StatefulSet", is_rolled_out, roll_out_stateful_set},
    {"apps", "replicasets", "ReplicaSet", is_rolled_out, roll_out_replica_set},
    {"batch", "jobs", "Job", is_complete, complete_job},
    {"", "pods", "Pod", is_beyond_pending, run_pod},
    {"", "persistentvolumeclaims", "PersistentVolumeClaim", is_bound, bind_claim},
};

static bool is_deleting(const struct pl_tree *object)
{
    return pl_tree_text_at(object, "metadata.deletionTimestamp").len > 0;
}

/* True if the actor has no work left. An object that is being deleted has none, unless it is a Pod
 * whose grace period has not ended. */
static bool is_left_alone(const struct actor *actor, const struct pl_tree *object)
{
    int64_t grace = 0;
    if (!is_deleting(object))
        return actor->is_done(object);
    pl_tree_integer(pl_tree_dig(object, "metadata.deletionGracePeriodSeconds"), &grace);
    return grace == 0;
}

/* Does what a kubelet does once the containers have ended: removes the object unless it has
 * finalizers. */
static void end_grace(struct pl_arena *arena, struct pl_tree *object)
{
    pl_tree_setz(arena, pl_tree_getz(object, "metadata"), "deletionGracePeriodSeconds",
                 pl_tree_int(arena, 0));
}

static void act_now(struct pl_api_actors *actors, const struct note *note)
{
    struct pl_api *api = actors->api;
    struct pl_api_table *objects =
        pl_api_builtin_table(api->registry, note->actor->group, note->actor->plural);
    struct pl_api_entry *entry = pl_api_table_find(objects, pl_slice_z(note->key));
    if (entry == NULL || strcmp(entry->uid, note->uid) != 0)
        return;
    struct pl_arena arena = {0};
    struct pl_tree *object = pl_tree_from_node(&arena, pl_doc_root(entry->doc));
    if (!is_left_alone(note->actor, object)) {
        if (is_deleting(object))
            end_grace(&arena, object);
        else
            note->actor->act(&arena, object, pl_tree_child(&arena, object, "status"),
                             pl_api_now(api, &arena));
        pl_api_store_raw(api, &arena, entry, object);
    }
    pl_arena_deinit(&arena);
}

static void free_note(struct note *note)
{
    pl_free(note->key);
    pl_free(note->uid);
    pl_free(note);
}

static void act_on_due(struct pl_timer *timer)
{
    struct pl_api_actors *actors = PL_CONTAINER_OF(timer, struct pl_api_actors, timer);
    int64_t now = pl_clock_mono(actors->api->timers->clock);
    struct pl_link *link;
    while ((link = pl_list_first(&actors->notes)) != NULL) {
        struct note *note = PL_CONTAINER_OF(link, struct note, link);
        if (note->due_ns > now) {
            pl_timer_start(actors->api->timers, timer, note->due_ns - now, act_on_due);
            return;
        }
        pl_link_unlink(link);
        act_now(actors, note);
        free_note(note);
    }
}

static const struct actor *actor_of(const struct pl_api_type *type)
{
    for (size_t i = 0; type != NULL && i < PL_ARRAY_LEN(table); i++)
        if (pl_api_type_is_builtin(type, table[i].kind))
            return &table[i];
    return NULL;
}

void pl_api_actors_note(struct pl_api_actors *actors, const struct pl_api_event *event)
{
    const struct actor *actor = event->change != PL_API_DELETED ? actor_of(event->type) : NULL;
    if (actors != NULL)
        pl_api_budgets_note(actors->budgets, event);
    if (actors == NULL || actor == NULL)
        return;
    struct pl_node root = pl_doc_root(event->doc);
    struct pl_scratch ns, name, uid;
    struct pl_arena arena = {0};
    if (!is_left_alone(actor, pl_tree_from_node(&arena, root))) {
        struct note *note = PL_NEW(struct note);
        note->due_ns = pl_clock_mono(actors->api->timers->clock) + DELAY;
        note->actor = actor;
        note->key = pl_format("%.*s/%.*s", PL_FMT(pl_meta_namespace(root, &ns)),
                              PL_FMT(pl_meta_name(root, &name)));
        note->uid = pl_format("%.*s", PL_FMT(pl_meta_uid(root, &uid)));
        pl_list_push(&actors->notes, &note->link);
        if (!pl_timer_is_active(&actors->timer))
            pl_timer_start(actors->api->timers, &actors->timer, DELAY, act_on_due);
    }
    pl_arena_deinit(&arena);
}

/* The object with the status that an actor has to write; NULL: nothing is left to do. */
static struct pl_tree *acted_on(struct pl_api *api, const struct pl_api_type *type,
                                struct pl_arena *arena, const struct pl_api_entry *entry)
{
    const struct actor *actor = actor_of(type);
    struct pl_node root = pl_doc_root(entry->doc);
    if (pl_meta_is_deleting(root))
        return NULL;
    if (pl_api_type_is_builtin(type, "PodDisruptionBudget"))
        return pl_api_budget_count(api, arena, entry);
    struct pl_tree *object = actor != NULL ? pl_tree_from_node(arena, root) : NULL;
    if (object == NULL || actor->is_done(object))
        return NULL;
    actor->act(arena, object, pl_tree_child(arena, object, "status"), pl_api_now(api, arena));
    return object;
}

bool pl_api_actor_status(struct pl_api *api, const struct pl_api_type *type,
                         const struct pl_api_entry *entry, struct pl_buf *out)
{
    struct pl_arena arena = {0};
    const struct pl_tree *object = acted_on(api, type, &arena, entry);
    if (object != NULL)
        pl_tree_write(out, pl_tree_getz(object, "status"));
    pl_arena_deinit(&arena);
    return object != NULL;
}

/* ---- life ---- */

struct pl_api_actors *pl_api_actors_create(struct pl_api *api)
{
    struct pl_api_actors *actors = PL_NEW(struct pl_api_actors);
    actors->api = api;
    actors->budgets = pl_api_budgets_create(api);
    pl_list_init(&actors->notes);
    return actors;
}

void pl_api_actors_destroy(struct pl_api_actors *actors)
{
    struct pl_link *link;
    if (actors == NULL)
        return;
    pl_timer_stop(actors->api->timers, &actors->timer);
    while ((link = pl_list_pop(&actors->notes)) != NULL)
        free_note(PL_CONTAINER_OF(link, struct note, link));
    pl_api_budgets_destroy(actors->budgets);
    pl_free(actors);
}
