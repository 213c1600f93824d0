/* Subresources whose body is another kind than their object: Binding, Eviction, logs and commands
 * of Pods, and the finalizers of a Namespace.
 *
 * No container runs here: a log is empty and a command is refused, in kube-apiserver's words where
 * it would refuse, too. An eviction checks the disruption budgets of the Pod, is counted in the
 * budget's status, and then deletes the Pod. A test must play the budget's controller and write
 * what the budget allows; without such a status it allows nothing. */
#include "apiserver/pods.h"

#include "apicall/body.h"
#include "apiserver/exec.h"
#include "apiserver/steps.h"
#include "net/http_server.h"
#include "object/meta.h"
#include "object/selector.h"

#include <inttypes.h>

#define BUSY_S 10 /* delay until a budget without a status is checked again */

static struct pl_api_type *pods_of(struct pl_api *api)
{
    return pl_api_registry_find_group(api->registry, pl_slice_z(""), pl_slice_z("pods"));
}

static int answer_success(struct pl_api_ctx *ctx)
{
    pl_api_answer_tree(ctx, 201,
                       pl_tree_literal(&ctx->arena,
                                       "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                                       "\"status\":\"Success\",\"code\":201}"));
    return 0;
}

/* Stores the object that a subresource has changed, as a write of the request's user. NULL if the
 * object was removed. */
static struct pl_api_entry *store(struct pl_api_ctx *ctx, struct pl_api_entry *entry,
                                  const struct pl_tree *old, struct pl_tree *object)
{
    struct pl_api_writer writer = pl_api_writer_of(ctx);
    struct pl_tree *entries = pl_api_managed_base(&ctx->arena, old, NULL);
    pl_api_set_managed(ctx, object, pl_api_managed_update(&writer, entries, old, object));
    if (!pl_api_is_finished(object))
        return pl_api_storage_put(ctx->api->storage, &ctx->arena, ctx->type, pl_slice_z(entry->key),
                                  object);
    pl_api_storage_remove(ctx->api->storage, entry);
    return NULL;
}

/* ---- binding ---- */

static int fail_binding(struct pl_api_ctx *ctx, struct pl_slice name, struct pl_slice why)
{
    pl_api_fail(&ctx->status, 409, "Conflict",
                "Operation cannot be fulfilled on pods/binding \"%.*s\": %.*s", PL_FMT(name),
                PL_FMT(why));
    pl_api_fail_about(&ctx->status, pl_slice_z(""), pl_slice_z("pods/binding"), name);
    return -1;
}

static int check_named(struct pl_api_ctx *ctx, const struct pl_tree *binding, struct pl_slice name)
{
    struct pl_slice kind = pl_tree_text_at(binding, "target.kind");
    if (!pl_slice_eq(pl_tree_text_at(binding, "metadata.name"), name))
        return pl_api_bad_request(&ctx->status,
                                  "name in URL does not match name in Binding object");
    if (kind.len > 0 && !pl_slice_eqz(kind, "Node"))
        return pl_api_fail(&ctx->status, 500, "",
                           "target.kind: Unsupported value: \"%.*s\": supported values: \"Node\", "
                           "\"<empty>\"",
                           PL_FMT(kind));
    if (pl_tree_text_at(binding, "target.name").len == 0)
        return pl_api_fail(&ctx->status, 500, "", "target.name: Required value");
    return 0;
}

/* A Binding may say which Pod of that name it means. */
static int check_meant(struct pl_api_ctx *ctx, const struct pl_tree *binding,
                       const struct pl_api_entry *entry, struct pl_slice name)
{
    struct pl_slice uid = pl_tree_text_at(binding, "metadata.uid");
    if (uid.len == 0 || pl_slice_eqz(uid, entry->uid))
        return 0;
    struct pl_slice why = pl_arena_f(
        &ctx->arena,
        "StorageError: invalid object, Code: 4, Key: /registry/pods/%s, ResourceVersion: 0, "
        "AdditionalErrorMsg: Precondition failed: UID in precondition: %.*s, UID in object meta: "
        "%s",
        entry->key, PL_FMT(uid), entry->uid);
    return pl_api_fail_conflict(ctx, name, why.ptr);
}

static int check_bindable(struct pl_api_ctx *ctx, const struct pl_tree *pod, struct pl_slice name)
{
    struct pl_slice node = pl_tree_text_at(pod, "spec.nodeName");
    struct pl_arena *arena = &ctx->arena;
    if (pl_tree_text_at(pod, "metadata.deletionTimestamp").len > 0)
        return fail_binding(ctx, name,
                            pl_arena_f(arena,
                                       "pod %.*s is being deleted, cannot be assigned to a "
                                       "host",
                                       PL_FMT(name)));
    if (node.len > 0)
        return fail_binding(ctx, name,
                            pl_arena_f(arena, "pod %.*s is already assigned to node \"%.*s\"",
                                       PL_FMT(name), PL_FMT(node)));
    return 0;
}

static void assign(struct pl_api_ctx *ctx, struct pl_tree *pod, const struct pl_tree *binding)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *meta = pl_tree_child(arena, pod, "metadata");
    pl_tree_setz(arena, pl_tree_child(arena, pod, "spec"), "nodeName",
                 pl_tree_copy(arena, pl_tree_dig(binding, "target.name")));
    PL_TREE_FOR(item, pl_tree_dig(binding, "metadata.annotations"))
    pl_tree_set(arena, pl_tree_child(arena, meta, "annotations"), item->key,
                pl_tree_copy(arena, item->value));
    struct pl_tree *status = pl_tree_child(arena, pod, "status");
    struct pl_tree *conditions = pl_tree_default(arena, status, "conditions", pl_tree_array(arena));
    struct pl_tree *condition = pl_tree_literal(
        arena, "{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastProbeTime\":null}");
    pl_tree_setz(arena, condition, "lastTransitionTime", pl_api_now(ctx->api, arena));
    PL_TREE_FOR(item, conditions)
    if (pl_slice_eqz(pl_tree_text_at(item->value, "type"), "PodScheduled"))
        pl_tree_unlink(conditions, item);
    pl_tree_push(arena, conditions, condition);
}

int pl_api_pod_bind(struct pl_api_ctx *ctx)
{
    struct pl_tree *binding = pl_api_decode_as(ctx, "v1", "Binding");
    if (binding == NULL)
        return -1;
    struct pl_slice name = ctx->request.subresource.len > 0
                               ? ctx->request.name
                               : pl_tree_text_at(binding, "metadata.name");
    if (check_named(ctx, binding, name) != 0)
        return -1;
    ctx->type = pods_of(ctx->api);
    ctx->version = ctx->type->storage_version;
    struct pl_api_entry *entry =
        pl_api_table_find(ctx->type->table, pl_api_key(&ctx->arena, ctx->request.ns, name));
    if (entry == NULL)
        return pl_api_fail_not_found(ctx, name);
    struct pl_tree *pod = pl_api_load(ctx, entry->doc);
    if (pod == NULL || check_meant(ctx, binding, entry, name) != 0)
        return -1;
    if (check_bindable(ctx, pod, name) != 0)
        return -1;
    assign(ctx, pod, binding);
    ctx->request.subresource = pl_slice_z("binding");
    if (!ctx->request.dry_run) /* managedFields have no entry for it */
        pl_api_storage_put(ctx->api->storage, &ctx->arena, ctx->type, pl_slice_z(entry->key), pod);
    return answer_success(ctx);
}

/* ---- eviction ---- */

static int fail_busy(struct pl_api_ctx *ctx, struct pl_slice why, int retry_s)
{
    pl_api_fail(&ctx->status, 429, "TooManyRequests",
                "Cannot evict pod as it would violate the pod's disruption budget.");
    pl_api_fail_cause(&ctx->status, "DisruptionBudget", pl_slice("", 0), why);
    ctx->status.retry_after = retry_s;
    return -1;
}

/* The budget that selects the pod; NULL: none. several: there is more than one. */
static struct pl_api_entry *budget_of(struct pl_api_ctx *ctx, struct pl_node pod, bool *several)
{
    const struct pl_api_table *table =
        pl_api_builtin_table(ctx->api->registry, "policy", "poddisruptionbudgets");
    struct pl_api_span span = pl_api_table_span(table, ctx->request.ns);
    struct pl_api_entry *found = NULL;
    *several = false;
    for (size_t i = span.first; i < span.end; i++) {
        struct pl_api_entry *entry = table->entries[i];
        struct pl_selector *selector =
            pl_selector_from_node(pl_node_dig(pl_doc_root(entry->doc), "spec", "selector"), NULL);
        if (selector != NULL && pl_selector_matches(selector, pl_meta_labels(pod))) {
            *several = found != NULL;
            found = entry;
        }
        pl_selector_destroy(selector);
    }
    return found;
}

static int64_t integer_at(const struct pl_tree *object, const char *path)
{
    int64_t value = 0;
    pl_tree_integer(pl_tree_dig(object, path), &value);
    return value;
}

/* Subtracts one disruption and records its pod. */
static void pods_spend(struct pl_api_ctx *ctx, struct pl_api_entry *entry)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *budget = pl_tree_from_node(arena, pl_doc_root(entry->doc));
    int64_t left = integer_at(budget, "status.disruptionsAllowed") - 1;
    struct pl_tree *status = pl_tree_child(arena, budget, "status");
    pl_tree_setz(arena, status, "disruptionsAllowed", pl_tree_int(arena, left));
    pl_tree_set(arena, pl_tree_child(arena, status, "disruptedPods"), ctx->request.name,
                pl_api_now(ctx->api, arena));
    if (!ctx->request.dry_run)
        pl_api_store_raw(ctx->api, arena, entry, budget);
}

/* -1 if the pod's budget allows nothing. Else *spent is set if a disruption must be counted. */
static int ask_budget(struct pl_api_ctx *ctx, struct pl_node pod, struct pl_api_entry **spent)
{
    bool several;
    struct pl_arena *arena = &ctx->arena;
    struct pl_api_entry *entry = budget_of(ctx, pod, &several);
    if (several)
        return pl_api_fail(&ctx->status, 500, "InternalError",
                           "This pod has more than one PodDisruptionBudget, which the eviction "
                           "subresource does not support.");
    if (entry == NULL)
        return 0;
    struct pl_tree *budget = pl_tree_from_node(arena, pl_doc_root(entry->doc));
    struct pl_slice name = pl_tree_text_at(budget, "metadata.name");
    if (integer_at(budget, "status.observedGeneration") < integer_at(budget, "metadata.generation"))
        return fail_busy(ctx,
                         pl_arena_f(arena,
                                    "The disruption budget %.*s is still being processed by "
                                    "the server.",
                                    PL_FMT(name)),
                         BUSY_S);
    if (integer_at(budget, "status.disruptionsAllowed") <= 0)
        return fail_busy(ctx,
                         pl_arena_f(arena,
                                    "The disruption budget %.*s needs %" PRId64
                                    " healthy pods and has %" PRId64 " currently",
                                    PL_FMT(name), integer_at(budget, "status.desiredHealthy"),
                                    integer_at(budget, "status.currentHealthy")),
                         0);
    *spent = entry;
    return 0;
}

/* Pods that have not started, have ended, or are being deleted need no budget. */
static bool needs_budget(struct pl_node pod)
{
    static const char *const phases[] = {"Succeeded", "Failed", "Pending"};
    struct pl_node phase = pl_node_dig(pod, "status", "phase");
    for (size_t i = 0; i < PL_ARRAY_LEN(phases); i++)
        if (pl_node_str_eq(phase, pl_slice_z(phases[i])))
            return false;
    return !pl_meta_is_deleting(pod);
}

/* A Pod says why it ends. managedFields have no entry for it. */
static struct pl_api_entry *note_eviction(struct pl_api_ctx *ctx, struct pl_api_entry *entry)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *pod = pl_tree_from_node(arena, pl_doc_root(entry->doc));
    struct pl_tree *status = pl_tree_child(arena, pod, "status");
    struct pl_tree *list = pl_tree_default(arena, status, "conditions", pl_tree_array(arena));
    struct pl_tree *condition = pl_tree_literal(
        arena, "{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"lastProbeTime\":null,"
               "\"reason\":\"EvictionByEvictionAPI\","
               "\"message\":\"Eviction API: evicting\"}");
    pl_tree_setz(arena, condition, "lastTransitionTime", pl_api_now(ctx->api, arena));
    PL_TREE_FOR(item, list)
    if (pl_slice_eqz(pl_tree_text_at(item->value, "type"), "DisruptionTarget"))
        pl_tree_unlink(list, item);
    pl_tree_push(arena, list, condition);
    return pl_api_storage_put(ctx->api->storage, arena, ctx->type, pl_slice_z(entry->key), pod);
}

int pl_api_pod_evict(struct pl_api_ctx *ctx)
{
    struct pl_doc *left;
    bool gone;
    struct pl_tree *eviction = pl_api_decode_as(ctx, "policy/v1", "Eviction");
    if (eviction == NULL)
        return -1;
    if (!pl_slice_eq(pl_tree_text_at(eviction, "metadata.name"), ctx->request.name))
        return pl_api_bad_request(&ctx->status,
                                  "name in URL does not match name in Eviction object");
    const struct pl_tree *given = pl_tree_getz(eviction, "deleteOptions");
    struct pl_api_entry *entry = pl_api_table_find(
        ctx->type->table, pl_api_key(&ctx->arena, ctx->request.ns, ctx->request.name));
    if (entry == NULL)
        return pl_api_fail_not_found(ctx, ctx->request.name);
    struct pl_api_delete_options options = {
        .uid = pl_tree_text_at(given, "preconditions.uid"),
        .rv = pl_tree_text_at(given, "preconditions.resourceVersion"),
        .dry_run = ctx->request.dry_run,
        .is_graceful = true,
        .has_grace = pl_tree_integer(pl_tree_getz(given, "gracePeriodSeconds"), &options.grace_s),
    };
    struct pl_node pod = pl_doc_root(entry->doc);
    struct pl_api_entry *spent = NULL;
    if (needs_budget(pod) && ask_budget(ctx, pod, &spent) != 0)
        return -1;
    if (!options.dry_run)
        entry = note_eviction(ctx, entry);
    if (pl_api_delete_entry(ctx, entry, &options, &left, &gone) != 0)
        return -1; /* or the request waits for a webhook and runs again from the beginning */
    pl_doc_unref(left);
    if (spent != NULL)
        pods_spend(ctx, spent);
    return answer_success(ctx);
}

/* ---- logs and commands ---- */

static struct pl_slice parameter(struct pl_api_ctx *ctx, const char *name)
{
    struct pl_buf value = PL_BUF_INIT;
    pl_query_get(ctx->request.call.query, name, &value);
    struct pl_slice copy =
        pl_arena_utf8(&ctx->arena, pl_arena_copy(&ctx->arena, pl_buf_slice(&value)));
    pl_buf_deinit(&value);
    return copy;
}

static bool has_container(struct pl_node pod, struct pl_slice name)
{
    static const char *const lists[] = {"containers", "initContainers", "ephemeralContainers"};
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++) {
        struct pl_iter it = pl_iter(pl_node_dig(pod, "spec", lists[i]));
        while (pl_iter_next(&it))
            if (pl_node_str_eq(pl_node_getz(it.value, "name"), name))
                return true;
    }
    return false;
}

static int fail_choice(struct pl_api_ctx *ctx, struct pl_node containers)
{
    struct pl_buf names = PL_BUF_INIT;
    struct pl_scratch scratch;
    struct pl_iter it = pl_iter(containers);
    while (pl_iter_next(&it))
        pl_buf_add_f(&names, "%s%.*s", names.len > 0 ? " " : "",
                     PL_FMT(pl_node_str(pl_node_getz(it.value, "name"), &scratch)));
    pl_api_bad_request(&ctx->status,
                       "a container name must be specified for pod %.*s, choose one of: [%s]",
                       PL_FMT(ctx->request.name), pl_buf_z(&names));
    pl_buf_deinit(&names);
    return -1;
}

/* The pod, if it has the requested container. */
static const struct pl_api_entry *find_container(struct pl_api_ctx *ctx)
{
    struct pl_slice container = parameter(ctx, "container");
    const struct pl_api_entry *entry = pl_api_table_find(
        ctx->type->table, pl_api_key(&ctx->arena, ctx->request.ns, ctx->request.name));
    if (entry == NULL) {
        pl_api_fail_not_found(ctx, ctx->request.name);
        return NULL;
    }
    struct pl_node pod = pl_doc_root(entry->doc);
    struct pl_node containers = pl_node_dig(pod, "spec", "containers");
    if (container.len == 0 && pl_node_len(containers) > 1) {
        fail_choice(ctx, containers);
        return NULL;
    }
    if (container.len == 0 || has_container(pod, container))
        return entry;
    pl_api_bad_request(&ctx->status, "container %.*s is not valid for pod %.*s", PL_FMT(container),
                       PL_FMT(ctx->request.name));
    return NULL;
}

static bool has_node(const struct pl_api_entry *entry)
{
    struct pl_scratch scratch;
    struct pl_node node = pl_node_dig(pl_doc_root(entry->doc), "spec", "nodeName");
    return pl_node_str(node, &scratch).len > 0;
}

int pl_api_pod_log(struct pl_api_ctx *ctx)
{
    struct pl_http_header type = {"Content-Type", "text/plain"};
    const struct pl_api_entry *entry = find_container(ctx);
    if (entry == NULL)
        return -1;
    bool runs = has_node(entry);
    ctx->responder.ops->reply(ctx->responder.self, runs ? 200 : 204, &type, runs ? 1 : 0,
                              pl_slice("", 0));
    return 0;
}

int pl_api_pod_connect(struct pl_api_ctx *ctx)
{
    const struct pl_api_entry *entry = find_container(ctx);
    if (entry == NULL)
        return -1;
    int code = pl_api_exec(ctx, pl_doc_root(entry->doc));
    if (code <= 0)
        return code;
    if (!has_node(entry))
        return pl_api_bad_request(&ctx->status, "pod %.*s does not have a host assigned",
                                  PL_FMT(ctx->request.name));
    return pl_api_fail(&ctx->status, 501, "NotImplemented",
                       "the embedded API server runs no containers: there is nothing to connect to "
                       "in pod %.*s (its annotation " PL_API_EXEC_ANNOTATION
                       " can say what a command answers)",
                       PL_FMT(ctx->request.name));
}

/* ---- namespaces ---- */

int pl_api_namespace_finalize(struct pl_api_ctx *ctx)
{
    struct pl_tree *given = pl_api_decode(ctx);
    if (given == NULL)
        return -1;
    struct pl_api_entry *entry = pl_api_table_find(ctx->type->table, ctx->request.name);
    if (entry == NULL)
        return pl_api_fail_not_found(ctx, ctx->request.name);
    struct pl_tree *old = pl_api_load(ctx, entry->doc), *object = pl_tree_copy(&ctx->arena, old);
    static const char *const metadata[] = {"labels", "annotations"};
    for (size_t i = 0; i < PL_ARRAY_LEN(metadata); i++) { /* the whole object is replaced */
        struct pl_tree *value = pl_tree_getz(pl_tree_getz(given, "metadata"), metadata[i]);
        pl_tree_removez(pl_api_meta_of(ctx, object), metadata[i]);
        if (value != NULL)
            pl_tree_setz(&ctx->arena, pl_api_meta_of(ctx, object), metadata[i], value);
    }
    pl_api_body_default(ctx, object); /* the label with the name stays */
    struct pl_tree *spec = pl_tree_child(&ctx->arena, object, "spec");
    struct pl_tree *finalizers = pl_tree_dig(given, "spec.finalizers");
    if (finalizers != NULL && finalizers->count > 0)
        pl_tree_setz(&ctx->arena, spec, "finalizers", finalizers);
    else
        pl_tree_removez(spec, "finalizers");
    entry = ctx->request.dry_run ? NULL : store(ctx, entry, old, object);
    if (entry == NULL)
        return pl_api_answer_dry(ctx, 200, object);
    pl_api_answer_object(ctx, 200, entry->doc);
    return 0;
}
