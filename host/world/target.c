/* Readable names of requests: from "/apis/apps/v1/namespaces/default/deployments/blog" to
 * "apps/v1/deployments default/blog". Names of objects need no unescaping, as they contain no
 * escaped characters. A path that is not a resource's keeps its own text. */
#include "world/target.h"

#include "base/alloc.h"
#include "base/text.h"

#include <string.h>

#define SEGMENTS 12

static size_t target_split(struct pl_slice path, struct pl_slice *out)
{
    size_t count = 0, at = 0;
    while (at < path.len && count < SEGMENTS) {
        size_t end = at;
        while (end < path.len && path.ptr[end] != '/')
            end++;
        if (end > at)
            out[count++] = pl_slice(path.ptr + at, end - at);
        at = end + 1;
    }
    return count;
}

static bool has_parameter(struct pl_slice query, const char *text)
{
    size_t len = strlen(text);
    for (size_t at = 0; at + len <= query.len; at++)
        if ((at == 0 || query.ptr[at - 1] == '&') && memcmp(query.ptr + at, text, len) == 0)
            return true;
    return false;
}

static bool is_watch(struct pl_slice query)
{
    return has_parameter(query, "watch=true") || has_parameter(query, "watch=1");
}

static const char *target_verb_of(const char *method, bool named, struct pl_slice query)
{
    if (strcmp(method, "GET") == 0)
        return is_watch(query) ? "watch" : named ? "get" : "list";
    if (strcmp(method, "POST") == 0)
        return "create";
    if (strcmp(method, "PUT") == 0)
        return "update";
    if (strcmp(method, "PATCH") == 0)
        return "patch";
    if (strcmp(method, "DELETE") == 0)
        return named ? "delete" : "deletecollection";
    return "other";
}

/* "/api/v1/..." and "/apis/GROUP/VERSION/..." of at least one resource. */
static bool read_resource(struct pl_target *target, const char *method,
                          const struct pl_slice *parts, size_t count)
{
    bool core = count >= 3 && pl_slice_eqz(parts[0], "api");
    bool group = count >= 4 && pl_slice_eqz(parts[0], "apis");
    if (!core && !group)
        return false;
    size_t at = core ? 2 : 3;
    struct pl_slice ns = pl_slice("", 0), none = ns;
    if (pl_slice_eqz(parts[at], "namespaces") && count > at + 2) {
        ns = parts[at + 1];
        at += 2;
    }
    struct pl_slice resource = parts[at];
    struct pl_slice name = count > at + 1 ? parts[at + 1] : none;
    struct pl_slice sub = count > at + 2 ? parts[at + 2] : none;
    if (core)
        target->resource = pl_format("%.*s/%.*s", PL_FMT(parts[1]), PL_FMT(resource));
    else
        target->resource =
            pl_format("%.*s/%.*s/%.*s", PL_FMT(parts[1]), PL_FMT(parts[2]), PL_FMT(resource));
    const char *slash = ns.len > 0 && name.len > 0 ? "/" : "";
    bool any = ns.len > 0 || name.len > 0;
    target->object = pl_format("%s%s%.*s%s%.*s", target->resource, any ? " " : "", PL_FMT(ns),
                               slash, PL_FMT(name));
    target->subresource = pl_text_copy(sub);
    target->verb = target_verb_of(method, name.len > 0, target->query);
    if (pl_slice_eqz(sub, "exec")) /* a GET over WebSocket, which is a write */
        target->verb = "exec";
    return true;
}

void pl_target_parse(struct pl_target *target, const char *method, const char *url)
{
    struct pl_slice parts[SEGMENTS];
    *target = (struct pl_target){.verb = "other"};
    const char *host = strstr(url, "://");
    const char *path = host != NULL ? strchr(host + 3, '/') : url;
    target->path = pl_slice(path != NULL ? path : "/", path != NULL ? strcspn(path, "?") : 1);
    const char *query = path != NULL ? strchr(path, '?') : NULL;
    target->query = pl_slice_z(query != NULL ? query + 1 : "");
    if (!read_resource(target, method, parts, target_split(target->path, parts))) {
        target->resource = pl_strdup("");
        target->subresource = pl_strdup("");
        target->object = pl_text_copy(target->path);
        target->verb = target_verb_of(method, true, target->query);
    }
    target->writes = (strcmp(method, "GET") != 0 || strcmp(target->verb, "exec") == 0) &&
                     !has_parameter(target->query, "dryRun=");
}

void pl_target_deinit(struct pl_target *target)
{
    pl_free(target->resource);
    pl_free(target->object);
    pl_free(target->subresource);
}
