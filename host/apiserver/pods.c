/* Subresources whose body is another kind than their object: Binding, logs and commands of Pods,
 * tokens, and the finalizers of a Namespace. Evictions have a file of their own (eviction.c).
 *
 * No container runs here: a log is empty and a command is refused, in kube-apiserver's words where
 * it would refuse, too. */
#include "apiserver/pods.h"

#include "apicall/admit.h"
#include "apicall/body.h"
#include "apicall/token.h"
#include "apiserver/exec.h"
#include "apiserver/steps.h"
#include "net/http_server.h"
#include "schema/condition.h"

#include <inttypes.h>
#include <stdlib.h>

static struct pl_api_type *pods_of(struct pl_api *api)
{
    return pl_api_registry_find_group(api->registry, pl_slice_z(""), pl_slice_z("pods"));
}

int pl_api_pods_answer_success(struct pl_api_ctx *ctx)
{
    pl_api_answer_tree(ctx, 201,
                       pl_tree_literal(&ctx->arena,
                                       "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                                       "\"status\":\"Success\",\"code\":201}"));
    return 0;
}

int pl_api_pods_admit_body(struct pl_api_ctx *ctx, struct pl_tree **body, const char *group,
                           const char *kind)
{
    struct pl_slice as = pl_arena_f(
        &ctx->arena, "{\"group\":\"%s\",\"version\":\"v1\",\"kind\":\"%s\"}", group, kind);
    struct pl_api_admission admission = {.operation = "CREATE", .object = *body, .as = as.ptr};
    if (!pl_api_admit_any(ctx))
        return 0;
    if (pl_api_admit(ctx, &admission) != 0 || pl_api_admit_check(ctx, &admission) != 0)
        return -1;
    *body = admission.object;
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

/* A Binding may name the uid of the Pod that it means. */
static int check_meant(struct pl_api_ctx *ctx, const struct pl_tree *binding,
                       const struct pl_api_entry *entry, struct pl_slice name)
{
    struct pl_slice uid = pl_tree_text_at(binding, "metadata.uid");
    if (uid.len == 0 || pl_slice_eqz(uid, entry->uid))
        return 0;
    return pl_api_fail_uid(ctx, name, entry, uid);
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
    const struct pl_tree *gates = pl_tree_dig(pod, "spec.schedulingGates");
    if (gates != NULL && gates->count > 0)
        return fail_binding(
            ctx, name,
            pl_arena_f(arena, "pod %.*s has non-empty .spec.schedulingGates", PL_FMT(name)));
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
    struct pl_tree *condition = pl_tree_literal(
        arena, "{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastProbeTime\":null}");
    pl_api_condition_replace(arena, status, pl_api_ctx_now(ctx), condition);
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
    return pl_api_pods_answer_success(ctx);
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
    static const char lists[][20] = {"containers", "initContainers", "ephemeralContainers"};
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

/* The numbers among the options of a log. Values that are no numbers are read as 0 there. */
static int check_log_options(struct pl_api_ctx *ctx)
{
    static const struct {
        const char *name;
        int64_t least;
        const char *why;
    } numbers[] = {
        {"tailLines", 0, "must be greater than or equal to 0"},
        {"limitBytes", 1, "must be greater than 0"},
        {"sinceSeconds", 1, "must be greater than 0"},
    };
    struct pl_api_faults faults = {.arena = &ctx->arena};
    for (size_t i = 0; i < PL_ARRAY_LEN(numbers); i++) {
        struct pl_slice text = parameter(ctx, numbers[i].name);
        int64_t value = strtoll(pl_arena_copy(&ctx->arena, text).ptr, NULL, 10);
        if (text.len > 0 && value < numbers[i].least)
            pl_api_fault(&faults, "FieldValueInvalid", pl_slice_z(numbers[i].name),
                         "Invalid value: %" PRId64 ": %s", value, numbers[i].why);
    }
    return pl_api_fail_faults(&ctx->status, &faults, pl_slice("", 0), pl_slice_z("PodLogOptions"),
                              ctx->request.name);
}

int pl_api_pod_log(struct pl_api_ctx *ctx)
{
    struct pl_http_header type = {"Content-Type", "text/plain"};
    if (check_log_options(ctx) != 0)
        return -1;
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
    if (given == NULL || pl_api_check_name(ctx, pl_api_name_of(given)) != 0)
        return -1;
    struct pl_api_entry *entry = pl_api_table_find(ctx->type->table, ctx->request.name);
    if (entry == NULL)
        return pl_api_fail_not_found(ctx, ctx->request.name);
    struct pl_tree *old = pl_api_load(ctx, entry->doc), *object = pl_tree_copy(&ctx->arena, old);
    static const char metadata[][12] = {"labels", "annotations"};
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
    if (pl_api_validate(ctx, object, old) != 0)
        return -1;
    entry = ctx->request.dry_run ? NULL : store(ctx, entry, old, object);
    if (entry == NULL)
        return pl_api_answer_dry(ctx, 200, object);
    pl_api_answer_object(ctx, 200, entry->doc);
    return 0;
}

/* ---- service accounts ---- */

int pl_api_account_token(struct pl_api_ctx *ctx)
{
    struct pl_tree *request = pl_api_token_read(ctx);
    if (request == NULL ||
        pl_api_pods_admit_body(ctx, &request, "authentication.k8s.io", "TokenRequest") != 0)
        return -1;
    pl_api_answer_tree(ctx, 201, pl_api_token_make(ctx, request));
    return 0;
}
