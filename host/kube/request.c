/* A call as an HTTP request. Pure, so that every URL and body can be tested without a server.
 *
 * Names, namespaces and subresources are checked as path segments before they are put into a URL:
 * "..", "/" and "%" would lead to another object. All values in a query are escaped. The next page
 * is requested only by its token, which contains the rest (rule 55). */
#include "kube/request.h"

#include "kube/exec.h"
#include "net/http_server.h"
#include "value/write.h"

#include <inttypes.h>
#include <stdio.h>

#define ACCEPT_JSON "application/json"
#define ACCEPT_ANY  "application/json, */*"
/* A server that cannot make partial objects answers with whole ones, which works too. */
#define ACCEPT_PARTIAL                                                                             \
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
#define ACCEPT_PARTIAL_LIST                                                                        \
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

#define SEGMENT_MAX 1024 /* bytes; the API server allows 253 for a name */
/* Longer URLs are not answered: servers close the connection. */
#define TARGET_MAX (256 * 1024)

void pl_wire_deinit(struct pl_wire *wire)
{
    pl_buf_deinit(&wire->url);
    pl_buf_deinit(&wire->body);
    pl_buf_deinit(&wire->headers);
}

static void add_segment(struct pl_buf *out, struct pl_slice segment)
{
    if (segment.len == 0)
        return;
    pl_buf_add_char(out, '/');
    pl_url_escape(segment, out);
}

/* Appends "/apis/apps/v1/namespaces/default/deployments/web/status"; empty parts are left out. */
static void request_add_path(struct pl_buf *out, const struct pl_resource *resource,
                             struct pl_slice ns, struct pl_slice name, struct pl_slice subresource)
{
    struct pl_slice group = pl_slice_z(resource->kind.group);
    pl_buf_add_z(out, group.len > 0 ? "/apis" : "/api");
    add_segment(out, group);
    add_segment(out, pl_slice_z(resource->kind.version));
    if (resource->namespaced && ns.len > 0) {
        pl_buf_add_z(out, "/namespaces");
        add_segment(out, ns);
    }
    add_segment(out, pl_slice_z(resource->plural));
    add_segment(out, name);
    add_segment(out, subresource);
}

static void add_separator(struct pl_buf *url)
{
    pl_buf_add_char(url, memchr(url->ptr, '?', url->len) != NULL ? '&' : '?');
}

/* Appends "?name=value" or "&name=value"; nothing for an empty value. */
static void add_query(struct pl_buf *url, const char *name, struct pl_slice value)
{
    if (value.len == 0)
        return;
    add_separator(url);
    pl_buf_add_z(url, name);
    pl_buf_add_char(url, '=');
    pl_url_escape(value, url);
}

static void add_query_z(struct pl_buf *url, const char *name, const char *value)
{
    add_query(url, name, pl_slice_z(value));
}

static void add_query_int(struct pl_buf *url, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    add_query_z(url, name, text);
}

/* The server would refuse such a name too, but only after it had changed the path. */
static int check_segment(struct pl_slice text, const char *what, struct pl_err *err)
{
    if (text.len > SEGMENT_MAX)
        return pl_err_set(err, PL_EINVAL, "%s of %zu bytes; it may have %d", what, text.len,
                          SEGMENT_MAX);
    if (pl_slice_eqz(text, ".") || pl_slice_eqz(text, "..") || pl_slice_chr(text, '/') != NULL ||
        pl_slice_chr(text, '%') != NULL)
        return pl_err_set(err, PL_EINVAL, "\"%.*s\" cannot be %s", PL_FMT(text), what);
    return 0;
}

static int request_check_path(const struct pl_resource *resource, struct pl_slice ns,
                              struct pl_slice name, struct pl_err *err)
{
    char text[PL_KIND_TEXT];
    if (!resource->namespaced && ns.len > 0)
        return pl_err_set(err, PL_EINVAL, "%s is cluster-scoped: it takes no namespace (\"%.*s\")",
                          pl_kind_text(&resource->kind, text), PL_FMT(ns));
    int code = check_segment(ns, "a namespace", err);
    return code != 0 ? code : check_segment(name, "a name", err);
}

static int request_check_call(const struct pl_call *call, struct pl_err *err)
{
    const struct pl_resource *resource = call->resource;
    char text[PL_KIND_TEXT];
    pl_kind_text(&resource->kind, text);
    bool needs_name = call->verb == PL_VERB_GET || call->verb == PL_VERB_UPDATE ||
                      call->verb == PL_VERB_PATCH || call->verb == PL_VERB_DELETE;
    if (needs_name && call->name.len == 0)
        return pl_err_set(err, PL_EINVAL, "%s of %s needs a name", pl_verb_name(call->verb), text);
    if (resource->namespaced && call->ns.len == 0 && call->name.len > 0)
        return pl_resource_check_scope(resource, call->ns, call->name, err);
    if (resource->namespaced && call->ns.len == 0 && call->verb != PL_VERB_LIST)
        return pl_err_set(err, PL_EINVAL, "%s is namespaced: %s needs a namespace", text,
                          pl_verb_name(call->verb));
    bool needs_body =
        call->verb == PL_VERB_CREATE || call->verb == PL_VERB_UPDATE || call->verb == PL_VERB_PATCH;
    if (needs_body && call->body == NULL)
        return pl_err_set(err, PL_EINVAL, "%s of %s needs a document", pl_verb_name(call->verb),
                          text);
    int code = request_check_path(resource, call->ns, call->name, err);
    return code != 0 ? code : check_segment(call->subresource, "a subresource", err);
}

static const char *method_of(enum pl_verb verb)
{
    switch (verb) {
    case PL_VERB_CREATE:
        return "POST";
    case PL_VERB_UPDATE:
        return "PUT";
    case PL_VERB_PATCH:
        return "PATCH";
    case PL_VERB_DELETE:
    case PL_VERB_DELETE_COLLECTION:
        return "DELETE";
    case PL_VERB_GET:
    case PL_VERB_LIST:
        break;
    }
    return "GET";
}

static const char *content_type_of(const struct pl_call *call)
{
    if (call->verb != PL_VERB_PATCH)
        return "application/json";
    switch (call->patch_type) {
    case PL_PATCH_JSON:
        return "application/json-patch+json";
    case PL_PATCH_STRATEGIC:
        return "application/strategic-merge-patch+json";
    case PL_PATCH_APPLY: /* JSON is YAML */
        return "application/apply-patch+yaml";
    case PL_PATCH_MERGE:
        break;
    }
    return "application/merge-patch+json";
}

static void request_add_member(struct pl_buf *body, const char *name, struct pl_slice value)
{
    if (value.len == 0)
        return;
    if (body->ptr[body->len - 1] != '{')
        pl_buf_add_char(body, ',');
    pl_write_str(body, pl_slice_z(name));
    pl_buf_add_char(body, ':');
    pl_write_str(body, value);
}

/* DeleteOptions go only in the body: a server that finds a body ignores the query. */
static void write_delete_options(struct pl_buf *body, const struct pl_call *call)
{
    pl_buf_add_z(body, "{");
    request_add_member(body, "apiVersion", pl_slice_z("v1"));
    request_add_member(body, "kind", pl_slice_z("DeleteOptions"));
    if (call->grace_period >= 0)
        pl_buf_add_f(body, ",\"gracePeriodSeconds\":%" PRId64, call->grace_period);
    request_add_member(body, "propagationPolicy", call->propagation);
    if (call->uid.len > 0 || call->precondition_rv.len > 0) {
        pl_buf_add_z(body, ",\"preconditions\":{");
        request_add_member(body, "uid", call->uid);
        request_add_member(body, "resourceVersion", call->precondition_rv);
        pl_buf_add_char(body, '}');
    }
    if (call->dry_run)
        pl_buf_add_z(body, ",\"dryRun\":[\"All\"]");
    pl_buf_add_char(body, '}');
}

static void write_body(struct pl_wire *wire, const struct pl_call *call)
{
    bool deletes = call->verb == PL_VERB_DELETE || call->verb == PL_VERB_DELETE_COLLECTION;
    if (call->body != NULL)
        pl_write(&wire->body, pl_doc_root(call->body), PL_WRITE_COMPACT);
    else if (deletes)
        write_delete_options(&wire->body, call);
    if (wire->body.len > 0)
        wire->content_type = content_type_of(call);
}

static void add_read_query(struct pl_buf *url, const struct pl_call *call)
{
    add_query(url, "labelSelector", call->labels);
    add_query(url, "fieldSelector", call->fields);
    add_query(url, "shardSelector", call->shards);
    if (call->limit > 0)
        add_query_int(url, "limit", call->limit);
    add_query(url, "continue", call->continue_token);
    add_query(url, "resourceVersion", call->rv);
    add_query(url, "resourceVersionMatch", call->rv_match);
    if (call->query.len > 0) {
        add_separator(url);
        pl_buf_add_slice(url, call->query);
    }
}

static void add_write_query(struct pl_buf *url, const struct pl_call *call)
{
    add_query(url, "fieldManager", call->field_manager);
    add_query(url, "fieldValidation", call->field_validation);
    if (call->dry_run)
        add_query_z(url, "dryRun", "All");
    if (call->force && call->verb == PL_VERB_PATCH && call->patch_type == PL_PATCH_APPLY)
        add_query_z(url, "force", "true");
}

static const char *accept_of(const struct pl_call *call)
{
    if (!call->metadata_only)
        return call->takes_text ? ACCEPT_ANY : ACCEPT_JSON;
    return call->verb == PL_VERB_LIST ? ACCEPT_PARTIAL_LIST : ACCEPT_PARTIAL;
}

/* A script's accept and content-type replace the wire's. */
static void add_headers(struct pl_wire *wire, const struct pl_call *call)
{
    pl_buf_add_slice(&wire->headers, call->headers);
    const char *at = wire->headers.ptr, *end = at + wire->headers.len;
    while (call->resource == NULL && at < end) {
        const char *value = at + strlen(at) + 1;
        if (strcmp(at, "accept") == 0)
            wire->accept = value;
        else if (strcmp(at, "content-type") == 0 && wire->content_type != NULL)
            wire->content_type = value;
        at = value + strlen(value) + 1;
    }
}

/* DeleteOptions contain dryRun themselves. */
static void write_raw(struct pl_wire *wire, const struct pl_call *call)
{
    pl_buf_add_slice(&wire->url, call->raw_path);
    if (call->dry_run && call->verb != PL_VERB_DELETE)
        add_query_z(&wire->url, "dryRun", "All");
    write_body(wire, call);
    add_headers(wire, call);
}

static void add_option(struct pl_buf *url, const char *name, struct pl_node value)
{
    struct pl_scratch scratch;
    add_separator(url);
    pl_buf_add_f(url, "%s=", name);
    if (pl_node_type(value) == PL_STRING)
        pl_url_escape(pl_node_str(value, &scratch), url);
    else
        pl_buf_add_z(url, pl_node_bool(value) ? "true" : "false");
}

/* A handshake has no body: the options are its query. The key is the caller's to add. */
static void write_exec(struct pl_wire *wire, const struct pl_call *call)
{
    static const char names[][12] = {"container", "stdin", "stdout", "stderr"};
    static const char headers[] = "connection\0Upgrade\0"
                                  "upgrade\0websocket\0"
                                  "sec-websocket-version\0"
                                  "13\0"
                                  "sec-websocket-protocol\0" PL_EXEC_PROTOCOLS;
    struct pl_node options = pl_doc_root(call->body);
    struct pl_iter it = pl_iter(pl_node_getz(options, "command"));
    while (pl_iter_next(&it))
        add_option(&wire->url, "command", it.value);
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++)
        if (!pl_node_is_missing(pl_node_getz(options, names[i])))
            add_option(&wire->url, names[i], pl_node_getz(options, names[i]));
    wire->method = "GET";
    pl_buf_add(&wire->headers, headers, sizeof headers);
    add_headers(wire, call);
}

static int write_wire(struct pl_wire *wire, const struct pl_call *call, struct pl_err *err)
{
    if (call->resource == NULL) {
        write_raw(wire, call);
        return 0;
    }
    int code = request_check_call(call, err);
    if (code != 0)
        return code;
    /* A new object is posted to its collection; its name is in the document. */
    bool posts_to_collection = call->verb == PL_VERB_CREATE && call->subresource.len == 0;
    request_add_path(&wire->url, call->resource, call->ns,
                     posts_to_collection ? pl_slice(NULL, 0) : call->name, call->subresource);
    if (call->exec) {
        write_exec(wire, call);
        return 0;
    }
    switch (call->verb) {
    case PL_VERB_GET:
    case PL_VERB_LIST:
    case PL_VERB_DELETE_COLLECTION:
        add_read_query(&wire->url, call);
        break;
    case PL_VERB_CREATE:
    case PL_VERB_UPDATE:
    case PL_VERB_PATCH:
        add_write_query(&wire->url, call);
        break;
    case PL_VERB_DELETE:
        break;
    }
    write_body(wire, call);
    add_headers(wire, call);
    return 0;
}

int pl_wire_of_call(struct pl_wire *wire, const char *server, const struct pl_call *call,
                    struct pl_err *err)
{
    *wire = (struct pl_wire){.method = method_of(call->verb), .accept = accept_of(call)};
    pl_buf_add_z(&wire->url, server);
    size_t before = wire->url.len;
    int code = write_wire(wire, call, err);
    if (code == 0 && wire->url.len - before > TARGET_MAX)
        return pl_err_set(err, PL_EINVAL,
                          "the request's path and query have %zu bytes; they may have %d",
                          wire->url.len - before, TARGET_MAX);
    return code;
}

/* A parameter for a single page; these come after all others. */
static bool is_of_one_page(const char *parameter)
{
    return strncmp(parameter, "continue=", 9) == 0 ||
           strncmp(parameter, "resourceVersion", 15) == 0;
}

void pl_wire_of_next_page(struct pl_wire *next, const struct pl_wire *wire, struct pl_slice token)
{
    const char *url = pl_buf_z(&wire->url), *at = url;
    while ((at = strpbrk(at, "?&")) != NULL && !is_of_one_page(at + 1))
        at++;
    *next = *wire;
    next->url = next->body = next->headers = PL_BUF_INIT;
    pl_buf_add_slice(&next->headers, pl_buf_slice(&wire->headers));
    pl_buf_add(&next->url, url, at != NULL ? (size_t)(at - url) : wire->url.len);
    add_query(&next->url, "continue", token);
}

int pl_wire_of_watch(struct pl_wire *wire, const char *server, const struct pl_watch_call *call,
                     struct pl_err *err)
{
    *wire = (struct pl_wire){.method = "GET",
                             .accept = call->metadata_only ? ACCEPT_PARTIAL : ACCEPT_JSON};
    int code = request_check_path(call->resource, call->ns, pl_slice(NULL, 0), err);
    if (code != 0)
        return code;
    struct pl_buf *url = &wire->url;
    pl_buf_add_z(url, server);
    request_add_path(url, call->resource, call->ns, pl_slice(NULL, 0), pl_slice(NULL, 0));
    add_query_z(url, "watch", "true");
    add_query_z(url, "allowWatchBookmarks", "true");
    add_query(url, "labelSelector", call->labels);
    add_query(url, "fieldSelector", call->fields);
    add_query(url, "shardSelector", call->shards);
    add_query(url, "resourceVersion", call->rv);
    if (call->initial_events) {
        add_query_z(url, "sendInitialEvents", "true");
        add_query_z(url, "resourceVersionMatch", "NotOlderThan");
    }
    if (call->timeout_seconds > 0)
        add_query_int(url, "timeoutSeconds", call->timeout_seconds);
    return 0;
}
