/* Parses a request: path, parameters, the form of the body, the Accept header. Paths are split
 * before they are unescaped, so that an escaped slash is part of a name. Nothing is deeper than a
 * subresource. Unknown parameters are ignored, as in kube-apiserver. */
#include "apicall/request.h"

#include "base/text.h"
#include "net/http_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_SEGMENTS  8
#define MAX_TIMEOUT_S (INT64_C(100) * 366 * 86400) /* longer times do not fit in nanoseconds */

static struct pl_slice request_unescape(struct pl_arena *arena, struct pl_slice text)
{
    struct pl_buf buf = PL_BUF_INIT;
    pl_url_unescape(text, false, &buf);
    struct pl_slice copy = pl_arena_copy(arena, pl_buf_slice(&buf));
    pl_buf_deinit(&buf);
    return pl_arena_utf8(arena, copy);
}

static size_t request_split(struct pl_arena *arena, struct pl_slice path, struct pl_slice *segments)
{
    size_t count = 0;
    const char *at = path.ptr, *end = path.ptr + path.len;
    while (at < end) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        const char *stop = slash != NULL ? slash : end;
        if (stop > at) {
            if (count == MAX_SEGMENTS + 1)
                return count;
            segments[count++] = request_unescape(arena, pl_slice(at, (size_t)(stop - at)));
        }
        at = stop + 1;
    }
    return count;
}

/* /api/v1/[namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]]; "namespaces" is also a resource. */
static void parse_path(struct pl_api_request *request, struct pl_arena *arena)
{
    struct pl_slice seg[MAX_SEGMENTS + 1];
    size_t count = request_split(arena, request->call.path, seg), at;
    if (count == 0 || count > MAX_SEGMENTS)
        return;
    bool is_broken = pl_text_find(request->call.path, "//") != NULL;
    if (pl_slice_eqz(seg[0], "api") && count >= 2) {
        request->version = seg[1];
        at = 2;
    } else if (pl_slice_eqz(seg[0], "apis") && count >= 3) {
        request->group = seg[1];
        request->version = seg[2];
        at = 3;
    } else {
        return;
    }
    if (at >= count)
        return;
    if (pl_slice_eqz(seg[at], "watch") && count > at + 1) { /* the old form of a watch */
        request->is_watch_path = true;
        at++;
    }
    request->is_resource = true;
    request->depth = count - at;
    bool is_ns = pl_slice_eqz(seg[at], "namespaces") && request->group.len == 0;
    bool of_namespace = request->depth == 3 && (pl_slice_eqz(seg[count - 1], "status") ||
                                                pl_slice_eqz(seg[count - 1], "finalize"));
    if (pl_slice_eqz(seg[at], "namespaces") && request->depth >= 3 && !(is_ns && of_namespace)) {
        request->ns = seg[at + 1];
        at += 2;
    }
    request->resource = seg[at++];
    if (at < count)
        request->name = seg[at++];
    if (at < count)
        request->subresource = seg[at++];
    bool has_slash = pl_slice_chr(request->name, '/') != NULL;
    if (at < count || is_broken || has_slash) /* nothing is deeper */
        request->resource = pl_slice("", 0);
}

/* ---- parameters ---- */

static struct pl_slice param(struct pl_api_request *request, struct pl_arena *arena,
                             const char *name)
{
    struct pl_buf value = PL_BUF_INIT;
    struct pl_slice copy = {NULL, 0};
    if (pl_query_get(request->call.query, name, &value))
        copy = pl_arena_utf8(arena, pl_arena_copy(arena, pl_buf_slice(&value)));
    pl_buf_deinit(&value);
    return copy;
}

/* As in kube-apiserver: everything but "false" and "0" is true, and so is nothing after the name.
 */
static bool request_is_true(struct pl_slice text)
{
    return text.ptr != NULL && !pl_slice_eqz(text, "0") &&
           !(text.len == 5 && strncasecmp(text.ptr, "false", 5) == 0);
}

static int request_number(struct pl_slice text, int64_t *value, struct pl_api_status *status)
{
    if (text.ptr == NULL)
        return 0;
    char *end;
    errno = 0;
    *value = strtoll(text.ptr, &end, 10);
    bool is_number = *end == '\0' && text.ptr[0] > ' ';
    if (is_number && errno == 0)
        return 0;
    return pl_api_bad_request(status, "strconv.ParseInt: parsing \"%.*s\": %s", PL_FMT(text),
                              is_number ? "value out of range" : "invalid syntax");
}

static int check_include(const struct pl_api_request *request, struct pl_api_status *status)
{
    static const char known[][12] = {"", "Metadata", "Object", "None"};
    for (size_t i = 0; i < PL_ARRAY_LEN(known); i++)
        if (pl_slice_eqz(request->include, known[i]))
            return 0;
    return request->form != PL_API_TABLE
               ? 0
               : pl_api_bad_request(status,
                                    "Unable to convert to Table as requested: includeObject: "
                                    "Invalid value: \"%.*s\": must be 'Metadata', 'Object', "
                                    "'None', or empty",
                                    PL_FMT(request->include));
}

static int parse_params(struct pl_api_request *request, struct pl_api_status *status)
{
    struct pl_arena *arena = status->arena;
    request->label_selector = param(request, arena, "labelSelector");
    request->field_selector = param(request, arena, "fieldSelector");
    request->shard_selector = param(request, arena, "shardSelector");
    request->resource_version = param(request, arena, "resourceVersion");
    request->version_match = param(request, arena, "resourceVersionMatch");
    request->next = param(request, arena, "continue");
    request->include = param(request, arena, "includeObject");
    if (check_include(request, status) != 0)
        return -1;
    request->field_manager = param(request, arena, "fieldManager");
    request->field_validation = param(request, arena, "fieldValidation");
    request->propagation = param(request, arena, "propagationPolicy");
    request->watch = request_is_true(param(request, arena, "watch"));
    request->bookmarks = request_is_true(param(request, arena, "allowWatchBookmarks"));
    struct pl_slice initial = param(request, arena, "sendInitialEvents");
    request->has_send_initial = initial.ptr != NULL;
    request->send_initial = request_is_true(initial);
    request->ignore_unreadable =
        request_is_true(param(request, arena, "ignoreStoreReadErrorWithClusterBreakingPotential"));
    struct pl_slice orphan = param(request, arena, "orphanDependents");
    request->has_orphan = orphan.ptr != NULL;
    request->orphan = request_is_true(orphan);
    struct pl_slice force = param(request, arena, "force");
    request->has_force = force.ptr != NULL;
    request->force = request_is_true(force);
    struct pl_slice dry = param(request, arena, "dryRun");
    request->dry_run = dry.len > 0;
    request->dry = dry;
    struct pl_slice grace = param(request, arena, "gracePeriodSeconds");
    request->has_grace = grace.len > 0;
    if (request_number(grace, &request->grace_s, status) != 0 ||
        request_number(param(request, arena, "limit"), &request->limit, status) != 0 ||
        request_number(param(request, arena, "timeoutSeconds"), &request->timeout_s, status) != 0)
        return -1;
    if (request->timeout_s > MAX_TIMEOUT_S)
        request->timeout_s = MAX_TIMEOUT_S;
    return 0;
}

/* ---- headers ---- */

static bool has_word(const char *text, size_t len, const char *word)
{
    return memmem(text, len, word, strlen(word)) != NULL;
}

static bool is_whole_discovery(const char *text, size_t len)
{
    return has_word(text, len, "as=APIGroupDiscoveryList") &&
           has_word(text, len, "g=apidiscovery.k8s.io") && has_word(text, len, "v=v2") &&
           !has_word(text, len, "v=v2beta");
}

/* The word up to the end of the option. */
static bool has_option(const char *text, size_t len, const char *word)
{
    const char *at = memmem(text, len, word, strlen(word));
    const char *end = at != NULL ? at + strlen(word) : NULL;
    return at != NULL && (end == text + len || *end == ';' || *end == ' ');
}

/* The form of an alternative. False if it is not supported. */
static bool form_of(const char *text, size_t len, enum pl_api_form *form)
{
    bool is_v1 = has_word(text, len, "g=meta.k8s.io") &&
                 (has_word(text, len, "v=v1") && !has_word(text, len, "v=v1alpha"));
    bool is_whole = is_whole_discovery(text, len);
    if (has_word(text, len, "as=") && !is_v1 && !is_whole)
        return false;
    *form = has_option(text, len, "as=Table") ? PL_API_TABLE
            : has_option(text, len, "as=PartialObjectMetadata") ||
                    has_option(text, len, "as=PartialObjectMetadataList")
                ? PL_API_PARTIAL
                : PL_API_PLAIN;
    return *form != PL_API_PLAIN || !has_word(text, len, "as=") || is_whole;
}

static bool is_discovery_root(const struct pl_api_request *request)
{
    struct pl_slice path = request->call.path;
    while (path.len > 1 && path.ptr[path.len - 1] == '/')
        path.len--;
    return pl_slice_eqz(path, "/api") || pl_slice_eqz(path, "/apis");
}

/* Protobuf, if this alternative is protobuf. Other accepted forms follow it. */
static bool note_proto(struct pl_api_request *request, const char *text, size_t len)
{
    enum pl_api_form form;
    if (!has_word(text, len, "application/vnd.kubernetes.protobuf"))
        return false;
    if (!request->takes_proto && form_of(text, len, &form) && form != PL_API_TABLE) {
        request->takes_proto = true;
        request->proto_form = form;
    }
    return true;
}

int pl_api_fail_form(struct pl_api_status *status)
{
    return pl_api_fail(status, 406, "NotAcceptable",
                       "only the following media types are accepted: application/json, "
                       "application/yaml, application/vnd.kubernetes.protobuf");
}

int pl_api_fail_media_type(const struct pl_api_request *request, struct pl_api_status *status)
{
    bool may_watch = request->name.len == 0 && request->call.method != NULL &&
                     strcmp(request->call.method, "GET") == 0;
    pl_api_fail(status, 406, "NotAcceptable",
                "406: Not Acceptable\n\nAvailable representations: application/json, "
                "application/yaml, application/vnd.kubernetes.protobuf%s",
                may_watch ? ", application/json;stream=watch, "
                            "application/vnd.kubernetes.protobuf;stream=watch"
                          : "");
    status->has_details = true;
    return -1;
}

/* The first supported alternative. Whether protobuf is available depends on the type, which is not
 * known yet. */
static int parse_accept(struct pl_api_request *request, struct pl_api_status *status)
{
    const char *at = request->call.accept;
    if (at == NULL || *at == '\0')
        return 0;
    for (size_t len; *at != '\0'; at += len, at += strspn(at, ", ")) {
        len = strcspn(at, ",");
        bool yaml = has_word(at, len, "application/yaml");
        bool json = has_word(at, len, "application/json") || has_word(at, len, "*/*");
        bool is_misplaced = is_whole_discovery(at, len) && !is_discovery_root(request);
        bool is_form = form_of(at, len, &request->form) && !is_misplaced;
        request->has_other_form |= (json || yaml) && !is_form;
        if (note_proto(request, at, len) || (!json && !yaml) || !is_form)
            continue;
        request->has_other_form = false;
        request->wants_partial_list = has_word(at, len, "as=PartialObjectMetadataList");
        request->is_yaml_answer = yaml;
        request->wants_whole = json && is_whole_discovery(at, len);
        return 0;
    }
    request->takes_nothing_else = true;
    request->form = PL_API_PLAIN;
    /* openapi in protobuf, metrics in text: the handler decides */
    if (request->takes_proto || !request->is_resource)
        return 0;
    return request->has_other_form ? pl_api_fail_form(status)
                                   : pl_api_fail_media_type(request, status);
}

static enum pl_api_body body_form(const char *content_type)
{
    static const struct {
        const char *name;
        enum pl_api_body form;
    } forms[] = {
        {"application/json-patch+json", PL_API_JSON_PATCH},
        {"application/merge-patch+json", PL_API_MERGE},
        {"application/strategic-merge-patch+json", PL_API_STRATEGIC},
        {"application/apply-patch+yaml", PL_API_APPLY},
        {"application/json", PL_API_JSON},
        {"application/yaml", PL_API_YAML},
        {"application/vnd.kubernetes.protobuf", PL_API_PROTOBUF},
    };
    if (content_type == NULL || *content_type == '\0')
        return PL_API_JSON;
    size_t len = strcspn(content_type, "; ");
    for (size_t i = 0; i < PL_ARRAY_LEN(forms); i++)
        if (strlen(forms[i].name) == len && strncasecmp(content_type, forms[i].name, len) == 0)
            return forms[i].form;
    return PL_API_UNKNOWN_BODY;
}

int pl_api_request_parse(struct pl_api_request *request, const struct pl_api_call *call,
                         struct pl_api_status *status)
{
    *request = (struct pl_api_request){.call = *call};
    const char *agent = call->user_agent != NULL ? call->user_agent : "";
    agent = pl_arena_utf8(status->arena, pl_slice_z(agent)).ptr;
    request->call.user_agent = agent;
    request->call.path = pl_arena_utf8(status->arena, call->path);
    /* Requests from browsers and curl get indented answers. */
    struct pl_slice pretty = param(request, status->arena, "pretty");
    bool for_people = strncmp(agent, "curl/", 5) == 0 || strncmp(agent, "Wget/", 5) == 0;
    request->is_pretty = pretty.len > 0 ? request_is_true(pretty) : for_people;
    request->body_form = body_form(call->content_type);
    parse_path(request, status->arena);
    if (parse_accept(request, status) != 0)
        return -1;
    return parse_params(request, status);
}

struct pl_slice pl_api_request_manager(const struct pl_api_request *request)
{
    if (request->field_manager.len > 0)
        return request->field_manager;
    const char *agent = request->call.user_agent;
    if (agent == NULL || *agent == '\0')
        return pl_slice_z("unknown");
    return pl_slice(agent, strcspn(agent, "/"));
}

const char *pl_api_verb(const struct pl_api_request *request)
{
    const char *method = request->call.method;
    bool one = request->name.len > 0;
    if (strcmp(method, "GET") == 0)
        return request->is_watch_path || (request->watch && !one) ? "watch" : one ? "get" : "list";
    if (strcmp(method, "POST") == 0)
        return one && request->subresource.len == 0 ? "" : "create";
    if (strcmp(method, "PUT") == 0)
        return one ? "update" : "";
    if (strcmp(method, "PATCH") == 0)
        return one ? "patch" : "";
    if (strcmp(method, "DELETE") == 0)
        return one ? "delete" : "deletecollection";
    return "";
}
