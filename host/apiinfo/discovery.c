/* Discovery: groups, versions, resources, the server's version, health. Computed from the registry,
 * so that a new CRD is visible at once. The resources of a version are kept as text until a kind
 * changes, since each client asks for them when it starts. */
#include "apiinfo/discovery.h"

#include "apiinfo/openapi.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/text.h"
#include "crypto/sha256.h"
#include "gotype/message.h"
#include "net/http_server.h"

#include <string.h>

#define ALL_VERBS "delete,deletecollection,get,list,patch,create,update,watch"

#define VERSION_JSON                                                                               \
    "{\"major\":\"1\",\"minor\":\"37\",\"emulationMajor\":\"1\",\"emulationMinor\":\"37\","        \
    "\"minCompatibilityMajor\":\"1\",\"minCompatibilityMinor\":\"36\","                            \
    "\"gitVersion\":\"v1.37.0+perilune\",\"gitCommit\":\"\","                                      \
    "\"gitTreeState\":\"clean\",\"buildDate\":\"1970-01-01T00:00:00Z\",\"goVersion\":\"none\","    \
    "\"compiler\":\"c\",\"platform\":\"linux/amd64\"}"

/* ---- one group ---- */

static bool lists_group(const struct pl_tree *versions, struct pl_slice name)
{
    PL_TREE_FOR(item, versions)
    if (pl_slice_eq(pl_tree_text_at(item->value, "version"), name))
        return true;
    return false;
}

static struct pl_tree *by_priority(struct pl_arena *arena, struct pl_tree *versions)
{
    struct pl_tree *sorted = pl_tree_array(arena);
    while (versions->count > 0) {
        struct pl_tree_item *best = versions->first;
        PL_TREE_FOR(item, versions)
        if (pl_api_version_comes_before(pl_tree_text_at(item->value, "version").ptr,
                                        pl_tree_text_at(best->value, "version").ptr))
            best = item;
        pl_tree_push(arena, sorted, best->value);
        pl_tree_unlink(versions, best);
    }
    return sorted;
}

static void add_version(struct pl_arena *arena, struct pl_tree *versions,
                        const struct pl_api_version *v)
{
    char text[PL_KIND_TEXT];
    if (!v->served || lists_group(versions, pl_slice_z(v->name)))
        return;
    struct pl_tree *entry = pl_tree_object(arena);
    pl_tree_setz(arena, entry, "groupVersion", pl_tree_str(arena, pl_api_version_text(v, text)));
    pl_tree_set_strz(arena, entry, "version", v->name);
    pl_tree_push(arena, versions, entry);
}

/* NULL if the group is not served. */
static struct pl_tree *discovery_group_of(struct pl_api_ctx *ctx, struct pl_slice group)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *versions = pl_tree_array(arena);
    for (const struct pl_api_type *type = pl_api_registry_first(ctx->api->registry); type != NULL;
         type = type->next)
        for (size_t i = 0; i < type->version_count; i++)
            if (pl_slice_eqz(group, type->versions[i].group))
                add_version(arena, versions, &type->versions[i]);
    if (versions->count == 0)
        return NULL;
    struct pl_tree *entry = pl_tree_object(arena);
    versions = by_priority(arena, versions);
    pl_tree_setz(arena, entry, "name", pl_tree_str(arena, group));
    pl_tree_setz(arena, entry, "versions", versions);
    pl_tree_setz(arena, entry, "preferredVersion", pl_tree_at(versions, 0));
    return entry;
}

static void add_group(struct pl_api_ctx *ctx, struct pl_tree *groups, const char *name)
{
    if (*name == '\0')
        return;
    PL_TREE_FOR(item, groups)
    if (pl_slice_eqz(pl_tree_text_at(item->value, "name"), name))
        return;
    struct pl_tree *group = discovery_group_of(ctx, pl_slice_z(name));
    if (group != NULL)
        pl_tree_push(&ctx->arena, groups, group);
}

/* The groups of built-in kinds in the order of kube-apiserver, which others follow. */
static const char first_groups[][32] = {"apiregistration.k8s.io",
                                        "apps",
                                        "events.k8s.io",
                                        "authentication.k8s.io",
                                        "authorization.k8s.io",
                                        "autoscaling",
                                        "batch",
                                        "certificates.k8s.io",
                                        "networking.k8s.io",
                                        "policy",
                                        "rbac.authorization.k8s.io",
                                        "storage.k8s.io",
                                        "admissionregistration.k8s.io",
                                        "apiextensions.k8s.io",
                                        "scheduling.k8s.io",
                                        "coordination.k8s.io",
                                        "node.k8s.io",
                                        "discovery.k8s.io",
                                        "resource.k8s.io",
                                        "flowcontrol.apiserver.k8s.io",
                                        "storagemigration.k8s.io"};

struct pl_tree *pl_discovery_groups(struct pl_api_ctx *ctx)
{
    struct pl_tree *groups = pl_tree_array(&ctx->arena);
    for (size_t i = 0; i < PL_ARRAY_LEN(first_groups); i++)
        add_group(ctx, groups, first_groups[i]);
    for (const struct pl_api_type *type = pl_api_registry_first(ctx->api->registry); type != NULL;
         type = type->next)
        for (size_t i = 0; i < type->version_count; i++)
            add_group(ctx, groups, type->versions[i].group);
    return groups;
}

static void answer_groups(struct pl_api_ctx *ctx)
{
    struct pl_tree *root =
        pl_tree_literal(&ctx->arena, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\"}");
    pl_tree_setz(&ctx->arena, root, "groups", pl_discovery_groups(ctx));
    pl_api_answer_tree(ctx, 200, root);
}

static int answer_group(struct pl_api_ctx *ctx, struct pl_slice name)
{
    struct pl_tree *root =
        pl_tree_literal(&ctx->arena, "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\"}");
    const struct pl_tree *group = name.len > 0 ? discovery_group_of(ctx, name) : NULL;
    if (group == NULL)
        return pl_api_no_page(&ctx->status);
    PL_TREE_FOR(item, group)
    pl_tree_set(&ctx->arena, root, item->key, item->value);
    pl_api_answer_tree(ctx, 200, root);
    return 0;
}

/* ---- the resources of one version ---- */

static struct pl_tree *add_resource(struct pl_arena *arena, struct pl_tree *list,
                                    const struct pl_api_type *type, const char *sub,
                                    const char *kind, const char *verbs)
{
    struct pl_tree *entry = pl_tree_object(arena);
    bool is_whole = *sub == '\0';
    pl_tree_setz(
        arena, entry, "name",
        pl_tree_str(arena, pl_arena_f(arena, "%s%s%s", type->plural, is_whole ? "" : "/", sub)));
    pl_tree_set_strz(arena, entry, "singularName", is_whole ? type->singular : "");
    pl_tree_setz(arena, entry, "namespaced", pl_tree_bool(arena, type->flags & PL_API_NAMESPACED));
    pl_tree_set_strz(arena, entry, "kind", kind);
    pl_tree_setz(arena, entry, "verbs", pl_tree_texts(arena, verbs));
    if (is_whole && *type->short_names != '\0')
        pl_tree_setz(arena, entry, "shortNames", pl_tree_texts(arena, type->short_names));
    if (is_whole && *type->categories != '\0')
        pl_tree_setz(arena, entry, "categories", pl_tree_texts(arena, type->categories));
    pl_tree_push(arena, list, entry);
    return entry;
}

/* The kind of a subresource's body, where it is of another group or version. */
static void add_kind_of(struct pl_arena *arena, struct pl_tree *entry, const char *group,
                        const char *version)
{
    pl_tree_set_strz(arena, entry, "group", group);
    pl_tree_set_strz(arena, entry, "version", version);
}

/* A hash of the storage version; it changes with that version. */
static void add_hash(struct pl_arena *arena, struct pl_tree *entry, const struct pl_api_type *type)
{
    const struct pl_api_version *v = &type->versions[type->storage_version];
    struct pl_slice text = pl_arena_f(arena, "%s/%s/%s", v->group, v->name, type->kind);
    uint8_t digest[PL_SHA256_BYTES];
    struct pl_buf hash = PL_BUF_INIT;
    pl_sha256(text, digest);
    pl_base64_encode(pl_slice((const char *)digest, 8), &hash);
    pl_tree_setz(arena, entry, "storageVersionHash", pl_tree_str(arena, pl_buf_slice(&hash)));
    pl_buf_deinit(&hash);
}

static bool find_builtin(const struct pl_api_type *type, const struct pl_api_version *v,
                         struct pl_message_kind *kind)
{
    for (size_t i = 0; i < pl_message_kind_count(); i++) {
        pl_message_kind_at(i, kind);
        if (strcmp(kind->plural, type->plural) == 0 && strcmp(kind->group, v->group) == 0 &&
            strcmp(kind->version, v->name) == 0)
            return true;
    }
    return false;
}

static void add_builtin(struct pl_arena *arena, struct pl_tree *list,
                        const struct pl_api_type *type, const struct pl_api_version *v)
{
    struct pl_message_kind kind;
    struct pl_message_sub sub;
    if (!find_builtin(type, v, &kind))
        return;
    struct pl_tree *entry = add_resource(arena, list, type, "", type->kind, kind.verbs);
    if (!(type->flags & (PL_API_REVIEW | PL_API_READ_ONLY)))
        add_hash(arena, entry, type);
    for (size_t i = 0; i < pl_message_sub_count(&kind); i++) {
        pl_message_sub_at(&kind, i, &sub);
        entry = add_resource(arena, list, type, sub.name, sub.kind, sub.verbs);
        if (strcmp(sub.group, v->group) != 0 || strcmp(sub.version, v->name) != 0)
            add_kind_of(arena, entry, sub.group, sub.version);
    }
}

static void add_custom(struct pl_arena *arena, struct pl_tree *list, const struct pl_api_type *type,
                       const struct pl_api_version *v)
{
    add_hash(arena, add_resource(arena, list, type, "", type->kind, ALL_VERBS), type);
    if (v->has_status)
        add_resource(arena, list, type, "status", type->kind, "get,patch,update");
    if (v->has_scale)
        add_kind_of(arena, add_resource(arena, list, type, "scale", "Scale", "get,patch,update"),
                    "autoscaling", "v1");
}

struct pl_tree *pl_discovery_resources(struct pl_api_ctx *ctx, struct pl_slice group,
                                       struct pl_slice version)
{
    struct pl_tree *list = pl_tree_array(&ctx->arena);
    for (const struct pl_api_type *type = pl_api_registry_first(ctx->api->registry); type != NULL;
         type = type->next)
        for (size_t i = 0; i < type->version_count; i++) {
            const struct pl_api_version *v = &type->versions[i];
            if (!v->served || !pl_slice_eqz(group, v->group) || !pl_slice_eqz(version, v->name))
                continue;
            if (type->is_custom)
                add_custom(&ctx->arena, list, type, v);
            else
                add_builtin(&ctx->arena, list, type, v);
        }
    return list;
}

/* The kept texts; none if a kind has changed since they were made. */
static struct pl_map *kept_resources(struct pl_api *api)
{
    if (api->resources_at != pl_api_registry_changes(api->registry))
        pl_api_discovery_forget(api);
    api->resources_at = pl_api_registry_changes(api->registry);
    return &api->resources;
}

void pl_api_discovery_forget(struct pl_api *api)
{
    size_t at = 0;
    struct pl_slice key;
    void *text;
    while (pl_map_next(&api->resources, &at, &key, &text))
        pl_free(text);
    pl_map_deinit(&api->resources);
    api->resources = PL_MAP_INIT;
}

/* Owned text; NULL: nothing is served there. */
static char *make_resources(struct pl_api_ctx *ctx, struct pl_slice group, struct pl_slice version,
                            struct pl_slice name)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *root =
        pl_tree_literal(arena, group.len > 0 /* the core group's list has no version */
                                   ? "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\"}"
                                   : "{\"kind\":\"APIResourceList\"}");
    struct pl_tree *list = pl_discovery_resources(ctx, group, version);
    struct pl_buf out = PL_BUF_INIT;
    if (list->count == 0)
        return NULL;
    pl_tree_setz(arena, root, "groupVersion", pl_tree_str(arena, name));
    pl_tree_setz(arena, root, "resources", list);
    pl_tree_write(&out, root);
    pl_buf_add_char(&out, '\n');
    char *text = pl_text_copy(pl_buf_slice(&out));
    pl_buf_deinit(&out);
    return text;
}

static int answer_resources(struct pl_api_ctx *ctx, struct pl_slice group, struct pl_slice version)
{
    struct pl_map *kept = kept_resources(ctx->api);
    struct pl_slice name = pl_arena_f(&ctx->arena, "%.*s%s%.*s", PL_FMT(group),
                                      group.len > 0 ? "/" : "", PL_FMT(version));
    char *text = pl_map_get(kept, name);
    if (text == NULL && (text = make_resources(ctx, group, version, name)) != NULL)
        pl_map_put(kept, name, text);
    if (text == NULL)
        return pl_api_registry_is_builtin(ctx->api->registry, group)
                   ? pl_api_no_resource(&ctx->status)
                   : pl_api_no_page(&ctx->status);
    pl_api_answer(ctx, 200, pl_slice_z(text));
    return 0;
}

/* ---- fixed answers ---- */

struct fixed {
    const char *path, *type, *body;
};

static const struct fixed fixed_answers[] = {
    {"/version", "json", VERSION_JSON "\n"},
    {"/", "json",
     "{\"paths\":[\"/api\",\"/api/v1\",\"/apis\",\"/healthz\",\"/livez\",\"/openapi/v2\","
     "\"/openapi/v3\",\"/readyz\",\"/version\"]}\n"},
};

static bool answer_fixed(struct pl_api_ctx *ctx, struct pl_slice path)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(fixed_answers); i++) {
        const struct fixed *fixed = &fixed_answers[i];
        if (!pl_slice_eqz(path, fixed->path))
            continue;
        if (strcmp(fixed->type, "json") == 0) {
            pl_api_answer(ctx, 200, pl_slice_z(fixed->body));
        } else {
            struct pl_http_header header = {"Content-Type", "text/plain; charset=utf-8"};
            ctx->responder.ops->reply(ctx->responder.self, 200, &header, 1,
                                      pl_slice_z(fixed->body));
        }
        return true;
    }
    return false;
}

static void answer_text(struct pl_api_ctx *ctx, struct pl_slice text)
{
    struct pl_http_header header = {"Content-Type", "text/plain; charset=utf-8"};
    ctx->responder.ops->reply(ctx->responder.self, 200, &header, 1, text);
}

/* ---- health: a server that answers is healthy ---- */

/* The storage is also known by the name that it has in a cluster. */
static bool is_check(struct pl_slice path)
{
    static const char checks[][12] = {"/ping", "/log", "/etcd", "/storage"};
    for (size_t i = 0; i < PL_ARRAY_LEN(checks); i++)
        if (pl_slice_eqz(path, checks[i]))
            return true;
    return false;
}

/* /healthz, /livez, /readyz, each also followed by the name of a check. */
static bool answer_health(struct pl_api_ctx *ctx, struct pl_slice path)
{
    static const char pages[][12] = {"/healthz", "/livez", "/readyz"};
    struct pl_buf verbose = PL_BUF_INIT;
    bool wants_all = pl_query_get(ctx->request.call.query, "verbose", &verbose);
    pl_buf_deinit(&verbose);
    for (size_t i = 0; i < PL_ARRAY_LEN(pages); i++) {
        size_t len = strlen(pages[i]);
        if (!pl_text_begins(path, pages[i]))
            continue;
        struct pl_slice check = pl_slice(path.ptr + len, path.len - len);
        if (check.len > 0 && !is_check(check))
            return false;
        if (check.len == 0 && wants_all)
            answer_text(ctx, pl_arena_f(&ctx->arena, "[+]ping ok\n[+]storage ok\n%s check passed\n",
                                        pages[i] + 1));
        else
            answer_text(ctx, pl_slice_z("ok"));
        return true;
    }
    return false;
}

/* The answer contains the address that the client used. */
static void answer_versions(struct pl_api_ctx *ctx)
{
    struct pl_arena *arena = &ctx->arena;
    const char *host = ctx->request.call.host;
    struct pl_tree *root = pl_tree_literal(
        arena, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":"
               "[{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":\"\"}]}");
    struct pl_tree *first = pl_tree_at(pl_tree_getz(root, "serverAddressByClientCIDRs"), 0);
    pl_tree_setz(arena, first, "serverAddress",
                 pl_tree_str(arena, pl_arena_utf8(arena, pl_slice_z(host != NULL ? host : ""))));
    pl_api_answer_tree(ctx, 200, root);
}

/* "/apis/G/V" -> G and V. */
static size_t discovery_split(struct pl_slice path, struct pl_slice parts[3])
{
    size_t count = 0, i = 0;
    while (i < path.len) {
        size_t start = i;
        while (i < path.len && path.ptr[i] != '/')
            i++;
        if (i > start) {
            if (count == 3)
                return 4;
            parts[count++] = pl_slice(path.ptr + start, i - start);
        }
        i++;
    }
    return count;
}

static bool is_page(struct pl_slice path)
{
    static const char trees[][12] = {"/api/", "/apis/", "/openapi/"};
    static const char pages[][12] = {"/", "/api", "/version", "/metrics"};
    for (size_t i = 0; i < PL_ARRAY_LEN(trees); i++)
        if (pl_text_begins(path, trees[i]))
            return true;
    for (size_t i = 0; i < PL_ARRAY_LEN(pages); i++)
        if (pl_slice_eqz(path, pages[i]))
            return true;
    return false;
}

/* -1 when there is no such page, or none for this method and these media types. */
static int check_page(struct pl_api_ctx *ctx, struct pl_slice path)
{
    if (pl_text_find(path, "//") != NULL)
        return pl_text_begins(path, "/api/") || pl_text_begins(path, "/apis/")
                   ? pl_api_no_resource(&ctx->status)
                   : pl_api_no_page(&ctx->status);
    bool is_list = pl_slice_eqz(path, "/apis"); /* the only page for every method */
    if (strcmp(ctx->request.call.method, "GET") != 0 && !is_list)
        return is_page(path) ? pl_api_no_method(&ctx->status) : pl_api_no_page(&ctx->status);
    if (pl_slice_eqz(path, "/version") &&
        (ctx->request.is_yaml_answer || ctx->request.takes_nothing_else)) {
        pl_api_fail(&ctx->status, 406, "NotAcceptable",
                    "406: Not Acceptable\n\nAvailable representations: application/json");
        ctx->status.has_details = true;
        return -1;
    }
    return 0;
}

/* True when it has answered. */
static bool answer_page(struct pl_api_ctx *ctx, struct pl_slice path)
{
    if (answer_fixed(ctx, path))
        return true;
    if (pl_slice_eqz(path, "/api"))
        answer_versions(ctx);
    else if (pl_slice_eqz(path, "/apis"))
        answer_groups(ctx);
    else
        return false;
    return true;
}

/* "/api/V", "/apis/G" and "/apis/G/V". */
static int answer_kinds(struct pl_api_ctx *ctx, struct pl_slice path)
{
    struct pl_slice parts[3];
    size_t count = discovery_split(path, parts);
    bool apis = count > 0 && pl_slice_eqz(parts[0], "apis");
    if (ctx->request.takes_nothing_else && !ctx->request.takes_proto)
        return pl_api_fail_form(&ctx->status);
    if (apis && count == 2)
        return answer_group(ctx, parts[1]);
    if (apis && count == 3)
        return answer_resources(ctx, parts[1], parts[2]);
    if (count == 2 && pl_slice_eqz(parts[0], "api"))
        return answer_resources(ctx, pl_slice_z(""), parts[1]);
    if (count > 2 && pl_slice_eqz(parts[0], "api")) /* no resource has such a long path */
        return pl_api_no_resource(&ctx->status);
    return pl_api_no_page(&ctx->status);
}

int pl_api_discover(struct pl_api_ctx *ctx)
{
    struct pl_slice path = ctx->request.call.path;
    if (pl_text_begins(path, "/apis//"))
        return pl_api_no_page(&ctx->status);
    if (answer_health(ctx, path))
        return 0;
    while (path.len > 1 && path.ptr[path.len - 1] == '/')
        path.len--;
    if (check_page(ctx, path) != 0)
        return -1;
    if (answer_page(ctx, path))
        return 0;
    if (path.len > 8 && pl_text_begins(path, "/openapi"))
        return pl_api_openapi(ctx, path);
    return answer_kinds(ctx, path);
}
