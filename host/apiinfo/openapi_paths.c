/* The paths of OpenAPI documents: where a kind is served, with which methods, parameters and
 * bodies. kubectl reads here whether a patch accepts fieldValidation; generators read the names of
 * functions. All paths come from one table of operations, in the form of OpenAPI 3 or 2. The table
 * follows the verbs in api.c. */
#include "apiinfo/openapi_document.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."

enum place { AT_ALL, AT_COLLECTION, AT_ITEM, AT_STATUS, AT_SCALE };

struct operation {
    enum place place;
    const char *method, *action, *id; /* id: the beginning of operationId */
    const char *parameters;           /* of parameter_types, separated by blanks */
    const char *body;                 /* NULL: none; "": the object */
    const char *answer;               /* "": the object; "List": its list */
};

#define READS   "continue fieldSelector labelSelector limit resourceVersion resourceVersionMatch"
#define WATCHES "allowWatchBookmarks sendInitialEvents timeoutSeconds watch"
#define WRITES  "dryRun fieldManager fieldValidation"
#define DELETES                                                                                    \
    "dryRun gracePeriodSeconds ignoreStoreReadErrorWithClusterBreakingPotential orphanDependents " \
    "propagationPolicy"

static const struct operation operations[] = {
    {AT_ALL, "get", "list", "list", READS " " WATCHES, NULL, "List"},
    {AT_COLLECTION, "get", "list", "list", READS " " WATCHES, NULL, "List"},
    {AT_COLLECTION, "post", "post", "create", WRITES, "", ""},
    {AT_COLLECTION, "delete", "deletecollection", "delete", READS " " DELETES, META "DeleteOptions",
     META "Status"},
    {AT_ITEM, "get", "get", "read", "", NULL, ""},
    {AT_ITEM, "put", "put", "replace", WRITES, "", ""},
    {AT_ITEM, "delete", "delete", "delete", DELETES, META "DeleteOptions", META "Status"},
    {AT_ITEM, "patch", "patch", "patch", WRITES " force", META "Patch", ""},
    {AT_STATUS, "get", "get", "read", "", NULL, ""},
    {AT_STATUS, "put", "put", "replace", WRITES, "", ""},
    {AT_STATUS, "patch", "patch", "patch", WRITES " force", META "Patch", ""},
};

/* Parameters that are not texts. */
static const struct {
    char name[52], type[8];
} parameter_types[] = {
    {"allowWatchBookmarks", "boolean"},
    {"force", "boolean"},
    {"gracePeriodSeconds", "integer"},
    {"ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"},
    {"limit", "integer"},
    {"orphanDependents", "boolean"},
    {"sendInitialEvents", "boolean"},
    {"timeoutSeconds", "integer"},
    {"watch", "boolean"},
};

/* ---- parameters and bodies ---- */

static struct pl_tree *openapi_parameter(struct pl_openapi *doc, struct pl_slice name,
                                         const char *in)
{
    struct pl_arena *arena = doc->to.arena;
    struct pl_tree *parameter = pl_tree_object(arena), *holder = parameter;
    const char *type = "string";
    for (size_t i = 0; i < PL_ARRAY_LEN(parameter_types); i++)
        if (pl_slice_eqz(name, parameter_types[i].name))
            type = parameter_types[i].type;
    pl_tree_setz(arena, parameter, "name", pl_tree_str(arena, name));
    pl_tree_set_strz(arena, parameter, "in", in);
    if (strcmp(in, "path") == 0)
        pl_tree_setz(arena, parameter, "required", pl_tree_bool(arena, true));
    if (!doc->to.is_swagger)
        holder = pl_tree_child(arena, parameter, "schema");
    pl_tree_set_strz(arena, holder, "type", type);
    pl_tree_setz(arena, holder, "uniqueItems", pl_tree_bool(arena, true));
    return parameter;
}

static struct pl_tree *openapi_parameters(struct pl_openapi *doc, const char *names, const char *in)
{
    struct pl_tree *list = pl_tree_array(doc->to.arena);
    while (*names != '\0') {
        size_t len = strcspn(names, " ");
        pl_tree_push(doc->to.arena, list, openapi_parameter(doc, pl_slice(names, len), in));
        names += len + (names[len] == ' ');
    }
    return list;
}

/* {"content": {TYPE: {"schema": {"$ref": ...}}}} */
static struct pl_tree *openapi_content(struct pl_openapi *doc, const char *types,
                                       struct pl_slice schema)
{
    struct pl_arena *arena = doc->to.arena;
    struct pl_tree *holder = pl_tree_object(arena);
    struct pl_tree *content = pl_tree_child(arena, holder, "content");
    while (*types != '\0') {
        size_t len = strcspn(types, " ");
        struct pl_tree *media = pl_tree_object(arena);
        pl_tree_setz(arena, media, "schema", pl_describe_ref(&doc->to, schema));
        pl_tree_set(arena, content, pl_slice(types, len), media);
        types += len + (types[len] == ' ');
    }
    return holder;
}

static const char *openapi_body_types(const struct operation *is, bool is_custom)
{
    if (strcmp(is->method, "patch") != 0)
        return "*/*";
    return is_custom ? "application/apply-patch+yaml application/json-patch+json "
                       "application/merge-patch+json"
                     : "application/apply-patch+yaml application/json-patch+json "
                       "application/merge-patch+json application/strategic-merge-patch+json";
}

/* The schema of an operation's body or answer; "": none. */
static struct pl_slice openapi_shape(struct pl_openapi *doc, const char *what,
                                     struct pl_slice schema)
{
    if (*what == '\0')
        return schema;
    if (strcmp(what, "List") == 0)
        return pl_arena_f(doc->to.arena, "%.*sList", PL_FMT(schema));
    struct pl_message message = pl_message_find(pl_slice_z(what));
    if (!pl_message_is_none(message))
        pl_describe_message(&doc->to, message);
    else if (pl_tree_getz(doc->to.schemas, what) == NULL)
        pl_tree_setz(doc->to.arena, doc->to.schemas, what,
                     pl_describe_scalar(doc->to.arena, "object", ""));
    return pl_slice_z(what);
}

static void openapi_add_body(struct pl_openapi *doc, struct pl_tree *operation,
                             const struct operation *is, const char *types, struct pl_slice schema)
{
    struct pl_arena *arena = doc->to.arena;
    struct pl_slice shape = openapi_shape(doc, is->body, schema);
    bool required = strcmp(is->method, "delete") != 0;
    struct pl_tree *body;
    if (doc->to.is_swagger) {
        body = pl_tree_object(arena);
        pl_tree_set_strz(arena, body, "name", "body");
        pl_tree_set_strz(arena, body, "in", "body");
        pl_tree_setz(arena, body, "schema", pl_describe_ref(&doc->to, shape));
        struct pl_tree *list = pl_tree_getz(operation, "parameters");
        pl_tree_push(arena, list, body);
    } else {
        body = openapi_content(doc, types, shape);
        pl_tree_setz(arena, operation, "requestBody", body);
    }
    if (required)
        pl_tree_setz(arena, body, "required", pl_tree_bool(arena, true));
}

static void openapi_add_answers(struct pl_openapi *doc, struct pl_tree *operation,
                                const struct operation *is, struct pl_slice schema)
{
    struct pl_arena *arena = doc->to.arena;
    struct pl_slice shape = openapi_shape(doc, is->answer, schema);
    struct pl_tree *answers = pl_tree_child(arena, operation, "responses");
    bool makes = strcmp(is->method, "post") == 0 || strcmp(is->method, "put") == 0 ||
                 strcmp(is->method, "patch") == 0;
    const char *codes[] = {"200", makes ? "201" : NULL, "401"};
    for (size_t i = 0; i < PL_ARRAY_LEN(codes); i++) {
        if (codes[i] == NULL)
            continue;
        bool has_body = strcmp(codes[i], "401") != 0;
        struct pl_tree *answer = pl_tree_object(arena);
        if (has_body && !doc->to.is_swagger)
            answer = openapi_content(doc, "application/json application/yaml", shape);
        else if (has_body)
            pl_tree_setz(arena, answer, "schema", pl_describe_ref(&doc->to, shape));
        pl_tree_set_strz(arena, answer, "description", has_body ? "OK" : "Unauthorized");
        pl_tree_setz(arena, answers, codes[i], answer);
    }
}

/* ---- names ---- */

/* "rbac.authorization.k8s.io" -> "RbacAuthorization", "" -> "Core" */
static struct pl_slice openapi_group_name(struct pl_arena *arena, const char *group)
{
    static const char ours[] = ".k8s.io";
    size_t len = strlen(group), at = 0;
    char *out = pl_arena_alloc(arena, len + sizeof("Core"));
    if (len == 0)
        return pl_slice_z("Core");
    if (len > strlen(ours) && strcmp(group + len - strlen(ours), ours) == 0)
        len -= strlen(ours);
    bool begins = true;
    for (size_t i = 0; i < len; i++) {
        if (pl_is_alnum(group[i]))
            out[at++] = begins ? (char)toupper((unsigned char)group[i]) : group[i];
        begins = !pl_is_alnum(group[i]);
    }
    return pl_slice(out, at);
}

static struct pl_slice openapi_upper(struct pl_arena *arena, const char *text)
{
    return pl_arena_f(arena, "%c%s", toupper((unsigned char)*text), *text != '\0' ? text + 1 : "");
}

static void openapi_name(struct pl_openapi *doc, struct pl_tree *operation,
                         const struct operation *is, const struct pl_api_type *type,
                         const struct pl_api_version *v, enum place place)
{
    struct pl_arena *arena = doc->to.arena;
    struct pl_slice group = openapi_group_name(arena, v->group);
    bool namespaced = type->flags & PL_API_NAMESPACED && place != AT_ALL;
    const char *collection = strcmp(is->action, "deletecollection") == 0 ? "Collection" : "";
    const char *tail = place == AT_STATUS  ? "Status"
                       : place == AT_SCALE ? "Scale"
                       : place == AT_ALL   ? "ForAllNamespaces"
                                           : "";
    pl_tree_setz(arena, operation, "operationId",
                 pl_tree_str(arena, pl_arena_f(arena, "%s%.*s%.*s%s%s%s%s", is->id, PL_FMT(group),
                                               PL_FMT(openapi_upper(arena, v->name)), collection,
                                               namespaced ? "Namespaced" : "", type->kind, tail)));
    struct pl_tree *tags = pl_tree_array(arena);
    pl_tree_push(
        arena, tags,
        pl_tree_str(arena, pl_arena_f(arena, "%c%.*s_%s", tolower((unsigned char)group.ptr[0]),
                                      (int)group.len - 1, group.ptr + 1, v->name)));
    pl_tree_setz(arena, operation, "tags", tags);
}

/* ---- operations and paths ---- */

struct kind {
    const struct pl_api_type *type;
    const struct pl_api_version *version;
    struct pl_slice schema;
};

static struct pl_tree *openapi_operation(struct pl_openapi *doc, const struct operation *is,
                                         const struct kind *kind, enum place place)
{
    struct pl_arena *arena = doc->to.arena;
    struct pl_tree *operation = pl_tree_object(arena);
    const char *types = openapi_body_types(is, kind->type->is_custom);
    openapi_name(doc, operation, is, kind->type, kind->version, place);
    pl_tree_setz(arena, operation, "parameters", openapi_parameters(doc, is->parameters, "query"));
    if (is->body != NULL)
        openapi_add_body(doc, operation, is, types, kind->schema);
    openapi_add_answers(doc, operation, is, kind->schema);
    pl_tree_set_strz(arena, operation, "x-kubernetes-action", is->action);
    struct pl_tree *gvk = place == AT_SCALE ? pl_openapi_gvk(doc, "autoscaling", "v1", "Scale")
                                            : pl_openapi_gvk(doc, kind->version->group,
                                                             kind->version->name, kind->type->kind);
    pl_tree_setz(arena, operation, "x-kubernetes-group-version-kind", gvk);
    return operation;
}

static bool openapi_serves(const struct operation *is, const struct pl_api_type *type)
{
    if (type->flags & PL_API_REVIEW)
        return strcmp(is->action, "post") == 0;
    return !(type->flags & PL_API_NO_COLLECTION) || strcmp(is->action, "deletecollection") != 0;
}

static void openapi_add_path(struct pl_openapi *doc, struct pl_slice path, enum place place,
                             const struct kind *kind)
{
    struct pl_arena *arena = doc->to.arena;
    struct pl_tree *item = pl_tree_object(arena);
    enum place as = place == AT_SCALE ? AT_STATUS : place;
    for (size_t i = 0; i < PL_ARRAY_LEN(operations); i++)
        if (operations[i].place == as && openapi_serves(&operations[i], kind->type))
            pl_tree_setz(arena, item, operations[i].method,
                         openapi_operation(doc, &operations[i], kind, place));
    if (item->count == 0)
        return;
    bool namespaced = kind->type->flags & PL_API_NAMESPACED && place != AT_ALL;
    bool named = place >= AT_ITEM;
    const char *names = named && namespaced ? "name namespace"
                        : named             ? "name"
                        : namespaced        ? "namespace"
                                            : "";
    pl_tree_setz(arena, item, "parameters", openapi_parameters(doc, names, "path"));
    pl_tree_set(arena, doc->paths, path, item);
}

static struct pl_slice openapi_scale(struct pl_openapi *doc)
{
    static const char key[] = "x-kubernetes-group-version-kind";
    struct pl_message scale = pl_message_find(pl_slice_z("io.k8s.api.autoscaling.v1.Scale"));
    struct pl_tree *schema = pl_describe_message(&doc->to, scale);
    struct pl_tree *kinds = pl_tree_array(doc->to.arena);
    pl_tree_push(doc->to.arena, kinds, pl_openapi_gvk(doc, "autoscaling", "v1", "Scale"));
    pl_tree_setz(doc->to.arena, schema, key, kinds);
    return pl_slice_z(pl_message_name(scale));
}

void pl_openapi_add_paths(struct pl_openapi *doc, const struct pl_api_type *type,
                          const struct pl_api_version *v, struct pl_slice schema)
{
    struct pl_arena *arena = doc->to.arena;
    struct kind kind = {type, v, schema};
    bool namespaced = type->flags & PL_API_NAMESPACED;
    char text[PL_KIND_TEXT];
    struct pl_slice base = pl_arena_f(arena, "%s%.*s", *v->group == '\0' ? "/api/" : "/apis/",
                                      PL_FMT(pl_api_version_text(v, text)));
    struct pl_slice at = pl_arena_f(arena, "%.*s/%s%s", PL_FMT(base),
                                    namespaced ? "namespaces/{namespace}/" : "", type->plural);
    struct pl_slice item = pl_arena_f(arena, "%.*s/{name}", PL_FMT(at));
    if (namespaced)
        openapi_add_path(doc, pl_arena_f(arena, "%.*s/%s", PL_FMT(base), type->plural), AT_ALL,
                         &kind);
    openapi_add_path(doc, at, AT_COLLECTION, &kind);
    if (type->flags & PL_API_REVIEW)
        return;
    openapi_add_path(doc, item, AT_ITEM, &kind);
    if (v->has_status)
        openapi_add_path(doc, pl_arena_f(arena, "%.*s/status", PL_FMT(item)), AT_STATUS, &kind);
    if (!v->has_scale)
        return;
    kind.schema = openapi_scale(doc);
    openapi_add_path(doc, pl_arena_f(arena, "%.*s/scale", PL_FMT(item)), AT_SCALE, &kind);
}
