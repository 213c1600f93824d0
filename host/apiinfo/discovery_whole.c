/* Aggregated discovery: all groups, versions and resources in one document, for clients that accept
 * an APIGroupDiscoveryList. It is made from the same parts as the documents for each version, and
 * an ETag tells a client that nothing has changed. */
#include "apiinfo/discovery.h"

#include "base/text.h"
#include "crypto/sha256.h"

#include <stdio.h>
#include <string.h>

#define MEDIA_TYPE "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

struct whole {
    struct pl_api_ctx *ctx;
    struct pl_arena *arena;
    struct pl_slice group, version; /* of kinds without their own; empty for built-in kinds */
};

static void move_member(struct whole *w, struct pl_tree *to, const char *name,
                        const struct pl_tree *from, const char *old_name)
{
    struct pl_tree *value = pl_tree_getz(from, old_name);
    if (value != NULL)
        pl_tree_setz(w->arena, to, name, value);
}

static void add_response(struct whole *w, struct pl_tree *to, const struct pl_tree *resource)
{
    struct pl_tree *kind = pl_tree_child(w->arena, to, "responseKind");
    const struct pl_tree *group = pl_tree_getz(resource, "group");
    const struct pl_tree *version = pl_tree_getz(resource, "version");
    pl_tree_setz(w->arena, kind, "group",
                 pl_tree_str(w->arena, group != NULL ? group->text : w->group));
    pl_tree_setz(w->arena, kind, "version",
                 pl_tree_str(w->arena, version != NULL ? version->text : w->version));
    move_member(w, kind, "kind", resource, "kind");
}

static struct pl_tree *resource_of(struct whole *w, const struct pl_tree *resource)
{
    struct pl_tree *out = pl_tree_object(w->arena);
    const struct pl_tree *namespaced = pl_tree_getz(resource, "namespaced");
    move_member(w, out, "resource", resource, "name");
    add_response(w, out, resource);
    pl_tree_set_strz(w->arena, out, "scope", namespaced->boolean ? "Namespaced" : "Cluster");
    move_member(w, out, "singularResource", resource, "singularName");
    move_member(w, out, "verbs", resource, "verbs");
    move_member(w, out, "shortNames", resource, "shortNames");
    move_member(w, out, "categories", resource, "categories");
    return out;
}

/* A subresource follows its resource in the list. */
static void add_sub(struct whole *w, struct pl_tree *parent, const struct pl_tree *resource,
                    struct pl_slice name)
{
    struct pl_tree *out = pl_tree_object(w->arena);
    pl_tree_setz(w->arena, out, "subresource", pl_tree_str(w->arena, name));
    add_response(w, out, resource);
    move_member(w, out, "verbs", resource, "verbs");
    struct pl_tree *subs =
        pl_tree_default(w->arena, parent, "subresources", pl_tree_array(w->arena));
    pl_tree_push(w->arena, subs, out);
}

static struct pl_tree *version_of(struct whole *w, struct pl_slice group, struct pl_slice version)
{
    struct pl_tree *out = pl_tree_object(w->arena), *resources = pl_tree_array(w->arena);
    bool is_builtin = pl_api_registry_is_builtin(w->ctx->api->registry, group);
    w->group = is_builtin ? pl_slice("", 0) : group;
    w->version = is_builtin ? pl_slice("", 0) : version;
    PL_TREE_FOR(item, pl_discovery_resources(w->ctx, group, version))
    {
        struct pl_slice name = pl_tree_text_at(item->value, "name");
        const char *slash = pl_slice_chr(name, '/');
        if (slash == NULL)
            pl_tree_push(w->arena, resources, resource_of(w, item->value));
        else
            add_sub(w, resources->last->value, item->value,
                    pl_slice(slash + 1, (size_t)(name.ptr + name.len - slash - 1)));
    }
    pl_tree_setz(w->arena, out, "version", pl_tree_str(w->arena, version));
    pl_tree_setz(w->arena, out, "resources", resources);
    pl_tree_set_strz(w->arena, out, "freshness", "Current");
    return out;
}

static void whole_add_group(struct whole *w, struct pl_tree *items, struct pl_slice name,
                            const struct pl_tree *versions)
{
    struct pl_tree *out = pl_tree_object(w->arena), *list = pl_tree_array(w->arena);
    struct pl_tree *meta = pl_tree_child(w->arena, out, "metadata");
    if (name.len > 0)
        pl_tree_setz(w->arena, meta, "name", pl_tree_str(w->arena, name));
    PL_TREE_FOR(item, versions)
    pl_tree_push(w->arena, list, version_of(w, name, pl_tree_text_at(item->value, "version")));
    pl_tree_setz(w->arena, out, "versions", list);
    pl_tree_push(w->arena, items, out);
}

static void whole_reply(struct pl_api_ctx *ctx, struct pl_slice body)
{
    char etag[2 * PL_SHA256_BYTES + 3] = "\"";
    uint8_t digest[PL_SHA256_BYTES];
    const char *known = ctx->request.call.if_none_match;
    pl_sha256(body, digest);
    for (size_t i = 0; i < PL_SHA256_BYTES; i++)
        snprintf(etag + 1 + 2 * i, 3, "%02X", digest[i]);
    etag[sizeof(etag) - 2] = '"';
    const struct pl_http_header headers[] = {
        {"Etag", etag},
        {"Vary", "Accept"},
        {"Cache-Control", "public"},
        {"Content-Type", MEDIA_TYPE},
    };
    bool same = known != NULL && strstr(known, etag) != NULL;
    ctx->responder.ops->reply(ctx->responder.self, same ? 304 : 200, headers, same ? 3 : 4,
                              same ? pl_slice("", 0) : body);
}

int pl_api_discover_whole(struct pl_api_ctx *ctx)
{
    struct pl_slice path = ctx->request.call.path;
    bool is_core = !pl_text_begins(path, "/apis");
    if (strcmp(ctx->request.call.method, "GET") != 0)
        return pl_api_no_method(&ctx->status);
    struct whole w = {.ctx = ctx, .arena = &ctx->arena};
    struct pl_tree *items = pl_tree_array(w.arena);
    struct pl_tree *root = pl_tree_literal(
        w.arena, "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\","
                 "\"metadata\":{}}");
    if (is_core)
        whole_add_group(&w, items, pl_slice("", 0),
                        pl_tree_literal(w.arena, "[{\"version\":\"v1\"}]"));
    else
        PL_TREE_FOR(item, pl_discovery_groups(ctx))
    whole_add_group(&w, items, pl_tree_text_at(item->value, "name"),
                    pl_tree_getz(item->value, "versions"));
    pl_tree_setz(w.arena, root, "items", items);
    struct pl_buf out = PL_BUF_INIT;
    pl_tree_write(&out, root);
    pl_buf_add_char(&out, '\n');
    whole_reply(ctx, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    return 0;
}
