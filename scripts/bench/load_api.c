/* The API that clients see: discovery, lists, watches and writes of the available kinds. A write
 * changes only an object's version and its `seen` number. There is no authentication and no
 * validation. */
#include "load.h"
#include "load_protobuf.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct call {
    struct load *load;
    struct pl_exchange *exchange;
    size_t request;
    enum load_kind_id id;
    struct load_object *object; /* NULL: the collection, or none of that name */
    struct pl_buf key;          /* empty: the collection */
    int64_t came_ns;
};

static void reply(struct call *call, int status, struct pl_slice body)
{
    load_record_sent(&call->load->record, call->request, body.len);
    pl_exchange_reply(call->exchange, status, "application/json", body);
    load_record_end(&call->load->record, call->request, status, pl_loop_now(call->load->loop));
}

static void refuse(struct call *call, int status, const char *reason, const char *message)
{
    char *text = pl_format("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
                           "\"Failure\",\"message\":\"%s\",\"reason\":\"%s\",\"code\":%d}",
                           message, reason, status);
    reply(call, status, pl_slice_z(text));
    pl_free(text);
}

/* ---- the request ---- */

static bool cut_prefix(struct pl_slice *text, const char *prefix)
{
    size_t len = strlen(prefix);
    if (text->len < len || memcmp(text->ptr, prefix, len) != 0)
        return false;
    *text = pl_slice(text->ptr + len, text->len - len);
    return true;
}

/* The next step of a path, without its slash. */
static struct pl_slice cut_step(struct pl_slice *path)
{
    const char *slash = path->len > 0 ? memchr(path->ptr, '/', path->len) : NULL;
    struct pl_slice step = pl_slice(path->ptr, slash ? (size_t)(slash - path->ptr) : path->len);
    size_t used = step.len + (slash != NULL);
    *path = pl_slice(path->ptr + used, path->len - used);
    return step;
}

static bool find_in(struct call *call, enum load_kind_id id, struct pl_slice path)
{
    const struct load_kind *kind = &call->load->kinds[id];
    call->id = id;
    if (pl_slice_eqz(path, kind->path))
        return true;
    if (!cut_prefix(&path, kind->root) || !cut_prefix(&path, "/namespaces/"))
        return false;
    struct pl_slice ns = cut_step(&path), plural = cut_step(&path), name = cut_step(&path);
    if (!pl_slice_eqz(plural, kind->plural) || name.len == 0)
        return false;
    pl_buf_add_slice(&call->key, ns);
    pl_buf_add_char(&call->key, '/');
    pl_buf_add_slice(&call->key, name);
    call->object = pl_map_get(&kind->by_key, pl_buf_slice(&call->key));
    return path.len == 0 || pl_slice_eqz(path, "status");
}

static bool find(struct call *call)
{
    for (int id = 0; id < LOAD_KINDS; id++) {
        pl_buf_clear(&call->key);
        if (find_in(call, (enum load_kind_id)id, pl_exchange_path(call->exchange)))
            return true;
    }
    return false;
}

/* Protobuf if the client prefers it and it is available. */
static bool choose_form(const struct call *call, enum load_form *form)
{
    static const char protobuf[] = LOAD_PROTOBUF_TYPE;
    const char *accept = pl_exchange_header(call->exchange, "accept");
    *form = LOAD_JSON;
    if (accept == NULL)
        return true;
    size_t len = strcspn(accept, ",");
    if (strstr(accept, "application/json;as=PartialObjectMetadata") != NULL)
        *form = LOAD_PARTIAL;
    else if (load_protobuf_is_ready(&call->load->kinds[call->id]) && len >= sizeof protobuf - 1 &&
             memcmp(accept, protobuf, sizeof protobuf - 1) == 0 &&
             memmem(accept, len, "as=", 3) == NULL)
        *form = LOAD_PROTOBUF;
    return *form != LOAD_JSON || strstr(accept, "application/json") != NULL ||
           strstr(accept, "*/*") != NULL;
}

/* ---- writes ---- */

/* The number that a patch (merge or JSON) or a whole object gives to `seen`; 0: none. */
static uint64_t seen_in(struct pl_slice body)
{
    static const char *const marks[] = {"observedRevision\"", "bench.example.com/seen\"",
                                        "bench.example.com~1seen\""};
    const char *end = body.ptr + body.len, *at = NULL;
    for (size_t i = 0; at == NULL && i < PL_ARRAY_LEN(marks); i++)
        at = body.len > 0 ? memmem(body.ptr, body.len, marks[i], strlen(marks[i])) : NULL;
    while (at != NULL && at < end && (*at < '0' || *at > '9'))
        at++;
    uint64_t number = 0;
    for (; at != NULL && at < end && *at >= '0' && *at <= '9' && number < UINT32_MAX; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    return number >= LOAD_FIRST_NUMBER && number <= LOAD_SENTINEL ? number : 0;
}

static void change(struct call *call)
{
    struct load *load = call->load;
    struct load_kind *kind = &load->kinds[call->id];
    uint64_t seen = seen_in(pl_exchange_body(call->exchange));
    if (seen > 0) {
        load_emitter_answered(load->emitter, call->id, seen, call->came_ns);
        load_put(kind, call->object, call->object->seen, seen);
    }
    load_touch(load, call->id, call->object);
    reply(call, 200, load_text(kind, call->object));
    if (load->echo) {
        load_watch_add(load, call->id, "MODIFIED", call->object);
        load_watch_flush(load, call->id);
    }
}

static void remove_object(struct call *call)
{
    struct load *load = call->load;
    call->object->deleted = true;
    load_touch(load, call->id, call->object);
    reply(call, 200,
          pl_slice_z("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                     "\"status\":\"Success\"}"));
    load_watch_add(load, call->id, "DELETED", call->object);
    load_watch_flush(load, call->id);
}

/* A posted object is not stored: it is returned with the fields that a server would add. */
static void create(struct call *call)
{
    static const char mark[] = "\"metadata\":{";
    struct pl_slice body = pl_exchange_body(call->exchange);
    const char *at = body.len > 0 ? memmem(body.ptr, body.len, mark, sizeof mark - 1) : NULL;
    if (at == NULL) {
        refuse(call, 422, "Invalid", "an object has metadata");
        return;
    }
    struct pl_buf out = PL_BUF_INIT;
    size_t head = (size_t)(at - body.ptr) + sizeof mark - 1;
    pl_buf_add(&out, body.ptr, head);
    pl_buf_add_f(&out, "\"uid\":\"00000000-0000-4000-8000-%012llx\",\"resourceVersion\":\"%llu\"%s",
                 (unsigned long long)call->request, (unsigned long long)++call->load->rv,
                 body.ptr[head] == '}' ? "" : ",");
    pl_buf_add(&out, body.ptr + head, body.len - head);
    reply(call, 201, pl_buf_slice(&out));
    pl_buf_deinit(&out);
}

/* ---- dispatch ---- */

static void read_collection(struct call *call, enum load_form form)
{
    struct pl_buf value = PL_BUF_INIT;
    struct pl_slice query = pl_exchange_query(call->exchange);
    bool watch = pl_query_get(query, "watch", &value) &&
                 (strcmp(pl_buf_z(&value), "true") == 0 || strcmp(pl_buf_z(&value), "1") == 0);
    pl_buf_clear(&value);
    bool initial = pl_query_get(query, "sendInitialEvents", &value);
    pl_buf_deinit(&value);
    if (initial && !call->load->watch_list)
        refuse(call, 422, "Invalid",
               "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the "
               "WatchList feature gate is enabled");
    else if (watch)
        load_watch(call->load, call->id, call->exchange, call->request, form);
    else
        load_list(call->load, call->id, call->exchange, call->request, form);
}

static void dispatch(struct call *call)
{
    const char *method = pl_exchange_method(call->exchange);
    enum load_form form;
    bool is_get = strcmp(method, "GET") == 0;
    if (is_get && load_discovery(call->load, call->exchange, call->request))
        return;
    if (strcmp(method, "POST") == 0) { /* of any kind: Events too */
        create(call);
        return;
    }
    if (!find(call))
        refuse(call, 404, "NotFound", "the server could not find the requested resource");
    else if (!choose_form(call, &form))
        refuse(call, 406, "NotAcceptable",
               "only JSON is spoken here, and protobuf where the settings say so");
    else if (call->key.len == 0 && is_get)
        read_collection(call, form);
    else if (call->key.len == 0)
        refuse(call, 405, "MethodNotAllowed", "collections are only read");
    else if (call->object == NULL || call->object->deleted)
        refuse(call, 404, "NotFound", "there is no object of that name");
    else if (is_get)
        reply(call, 200, load_text(&call->load->kinds[call->id], call->object));
    else if (strcmp(method, "PATCH") == 0 || strcmp(method, "PUT") == 0)
        change(call);
    else if (strcmp(method, "DELETE") == 0)
        remove_object(call);
    else
        refuse(call, 405, "MethodNotAllowed", "no such method");
}

static void on_request(void *arg, struct pl_exchange *exchange)
{
    struct load *load = arg;
    int64_t now_ns = pl_loop_now(load->loop);
    struct call call = {
        .load = load,
        .exchange = exchange,
        .came_ns = now_ns,
        .request = load_record_begin(&load->record, exchange, now_ns),
    };
    dispatch(&call);
    pl_buf_deinit(&call.key);
}

const struct pl_server_ops load_api_ops = {.on_request = on_request};
