/* From a request under /api to a question to the host, and back.
 *
 * Most questions are the admin socket's, so page and terminal agree; only the listed ones pass. A
 * call that is open when the host stops is answered, too, since its exchange exists until then. */
#include "page/calls.h"

#include "base/alloc.h"
#include "cluster/remotes.h"
#include "page/owners.h"
#include "value/build.h"
#include "value/scan.h"
#include "value/write.h"

#include <stdlib.h>
#include <string.h>

#define JSON "application/json"

void pl_page_reply(struct pl_exchange *exchange, int status, const char *type, struct pl_slice body)
{
    pl_page_reply_with(exchange, status, type, body, NULL);
}

void pl_page_reply_with(struct pl_exchange *exchange, int status, const char *type,
                        struct pl_slice body, const char *cookie)
{
    const struct pl_http_header headers[] = {
        {"Content-Type", type},
        {"Content-Security-Policy", "default-src 'self'"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cache-Control", "no-store"},
        {"Set-Cookie", cookie}, /* the last: left out when there is none */
    };
    size_t count = PL_ARRAY_LEN(headers) - (cookie == NULL);
    pl_exchange_reply_with(exchange, status, headers, count, body);
}

static void calls_fail(struct pl_exchange *exchange, int status, const char *message)
{
    struct pl_buf body = PL_BUF_INIT;
    pl_buf_add_f(&body, "{\"ok\":false,\"error\":\"%s\"}", message);
    pl_page_reply(exchange, status, JSON, pl_buf_slice(&body));
    pl_buf_deinit(&body);
}

static void reply_result(struct pl_exchange *exchange, struct pl_slice result)
{
    struct pl_buf body = PL_BUF_INIT;
    pl_buf_add_f(&body, "{\"ok\":true,\"result\":%.*s}", PL_FMT(result));
    pl_page_reply(exchange, 200, JSON, pl_buf_slice(&body));
    pl_buf_deinit(&body);
}

/* ---- asking the admin ---- */

struct asked {
    struct pl_exchange *exchange;
    struct pl_buf answer;
    bool ok;
};

static void on_calls_line(void *arg, struct pl_slice line, bool ok)
{
    struct asked *asked = arg;
    asked->ok = ok;
    pl_buf_clear(&asked->answer); /* one line is the whole answer to these questions */
    pl_buf_add_slice(&asked->answer, line);
}

static void on_calls_ended(void *arg)
{
    struct asked *asked = arg;
    pl_page_reply(asked->exchange, asked->ok ? 200 : 422, JSON, pl_buf_slice(&asked->answer));
    pl_buf_deinit(&asked->answer);
    pl_free(asked);
}

/* Takes the builder; its object has the command's members. */
static void calls_ask(struct pl_page_calls *calls, struct pl_exchange *exchange, struct pl_build *b,
                      const char *command)
{
    struct asked *asked = PL_NEW(struct asked);
    asked->exchange = exchange;
    pl_build_put_int(b, "v", PL_ADMIN_VERSION);
    pl_build_put_strz(b, "command", command);
    pl_build_end(b);
    struct pl_doc *request = pl_build_close(b);
    const struct pl_admin_ear ear = {on_calls_line, on_calls_ended, asked};
    pl_admin_run(calls->o.admin, request, &ear);
}

static struct pl_build *begin_request(void)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    return b;
}

static void put_query(struct pl_build *b, const struct pl_exchange *exchange, const char *name)
{
    struct pl_buf value = PL_BUF_INIT;
    if (pl_query_get(pl_exchange_query(exchange), name, &value))
        pl_build_put_text(b, name, pl_buf_slice(&value));
    pl_buf_deinit(&value);
}

static void get_status(struct pl_page_calls *calls, struct pl_exchange *exchange)
{
    calls_ask(calls, exchange, begin_request(), "status");
}

static void get_queue(struct pl_page_calls *calls, struct pl_exchange *exchange)
{
    struct pl_build *b = begin_request();
    put_query(b, exchange, "controller");
    calls_ask(calls, exchange, b, "queue");
}

static void get_why(struct pl_page_calls *calls, struct pl_exchange *exchange)
{
    struct pl_build *b = begin_request();
    put_query(b, exchange, "kind");
    put_query(b, exchange, "key");
    calls_ask(calls, exchange, b, "why");
}

/* ---- the record ---- */

static void reply_ring(struct pl_exchange *exchange, struct pl_ring *ring)
{
    struct pl_buf from = PL_BUF_INIT, result = PL_BUF_INIT;
    pl_query_get(pl_exchange_query(exchange), "from", &from);
    pl_ring_write(ring, strtoull(pl_buf_z(&from), NULL, 10), &result);
    reply_result(exchange, pl_buf_slice(&result));
    pl_buf_deinit(&from);
    pl_buf_deinit(&result);
}

static void get_log(struct pl_page_calls *calls, struct pl_exchange *exchange)
{
    reply_ring(exchange, calls->record.log);
}

static void get_reloads(struct pl_page_calls *calls, struct pl_exchange *exchange)
{
    reply_ring(exchange, calls->record.reloads);
}

static void get_shadow(struct pl_page_calls *calls, struct pl_exchange *exchange)
{
    reply_ring(exchange, calls->record.shadow);
}

/* ---- objects ---- */

struct walking {
    struct pl_link link; /* in the calls' trees */
    struct pl_exchange *exchange;
    struct pl_owners *tree;
};

static void on_tree(void *arg, struct pl_doc *result)
{
    struct walking *walking = arg;
    struct pl_buf text = PL_BUF_INIT;
    pl_link_unlink(&walking->link);
    if (result != NULL) {
        pl_write(&text, pl_doc_root(result), PL_WRITE_COMPACT);
        reply_result(walking->exchange, pl_buf_slice(&text));
    } else {
        calls_fail(walking->exchange, 503, "the host is stopping");
    }
    pl_buf_deinit(&text);
    pl_doc_unref(result);
    pl_free(walking);
}

/* The cluster of its For objects. */
static struct pl_cluster *cluster_of(const struct pl_page_calls *calls,
                                     const struct pl_controller *controller)
{
    const struct pl_controller_spec *spec = pl_controller_spec(controller);
    struct pl_remotes *remotes = pl_cluster_remotes(calls->o.cluster);
    for (size_t i = 0; i < spec->source_count; i++) {
        const char *name = spec->sources[i].cluster_name;
        if (spec->sources[i].role != PL_SOURCE_FOR || name == NULL)
            continue;
        for (size_t at = 0; at < pl_remotes_count(remotes); at++) {
            struct pl_remote_state state;
            pl_remotes_state(remotes, at, &state);
            if (strcmp(state.name, name) == 0)
                return state.cluster;
        }
    }
    return calls->o.cluster;
}

static void get_objects(struct pl_page_calls *calls, struct pl_exchange *exchange)
{
    struct pl_buf name = PL_BUF_INIT, filter = PL_BUF_INIT, after = PL_BUF_INIT;
    struct pl_slice query = pl_exchange_query(exchange);
    pl_query_get(query, "controller", &name);
    pl_query_get(query, "filter", &filter);
    pl_query_get(query, "after", &after);
    struct pl_controller *controller = pl_manager_find(calls->o.manager, pl_buf_slice(&name));
    struct walking *walking = PL_NEW(struct walking);
    walking->exchange = exchange;
    pl_list_push(&calls->trees, &walking->link);
    if (controller != NULL) {
        const struct pl_owners_request request = {.loop = calls->o.loop,
                                                  .manager = calls->o.manager,
                                                  .cluster = cluster_of(calls, controller),
                                                  .controller = controller,
                                                  .filter = pl_buf_slice(&filter),
                                                  .after = pl_buf_slice(&after),
                                                  .done = on_tree,
                                                  .arg = walking};
        walking->tree = pl_owners_begin(&request);
    }
    if (walking->tree == NULL) {
        calls_fail(exchange, 404, "there is no such controller, or it has no For objects");
        pl_link_unlink(&walking->link);
        pl_free(walking);
    }
    pl_buf_deinit(&name);
    pl_buf_deinit(&filter);
    pl_buf_deinit(&after);
}

/* ---- actions ---- */

/* A body of JSON with these texts; NULL when it was refused. */
static struct pl_build *read_texts(struct pl_exchange *exchange, const char *const *names)
{
    struct pl_err err;
    struct pl_doc *body = pl_scan_text(pl_exchange_body(exchange), NULL, &err);
    struct pl_build *b = begin_request();
    for (size_t i = 0; body != NULL && names[i] != NULL; i++) {
        struct pl_scratch scratch;
        struct pl_slice text = pl_node_str(pl_node_getz(pl_doc_root(body), names[i]), &scratch);
        if (text.ptr != NULL)
            pl_build_put_text(b, names[i], text);
    }
    if (body != NULL) {
        pl_doc_unref(body);
        return b;
    }
    pl_build_destroy(b);
    calls_fail(exchange, 400, "the body is not JSON");
    return NULL;
}

static void act(struct pl_page_calls *calls, struct pl_exchange *exchange, const char *command)
{
    static const char *const names[] = {"kind", "key", NULL};
    struct pl_build *b = read_texts(exchange, names);
    if (b != NULL)
        calls_ask(calls, exchange, b, command);
}

static void post_pause(struct pl_page_calls *calls, struct pl_exchange *exchange)
{
    act(calls, exchange, "pause");
}

static void post_resume(struct pl_page_calls *calls, struct pl_exchange *exchange)
{
    act(calls, exchange, "resume");
}

static void post_requeue(struct pl_page_calls *calls, struct pl_exchange *exchange)
{
    static const char *const names[] = {"controller", "key", NULL};
    struct pl_build *b = read_texts(exchange, names);
    if (b == NULL)
        return;
    pl_build_put_strz(b, "action", "requeue");
    calls_ask(calls, exchange, b, "queue");
}

static void post_reload(struct pl_page_calls *calls, struct pl_exchange *exchange)
{
    calls_ask(calls, exchange, begin_request(), "reload");
}

/* ---- routes ---- */

static const struct route {
    const char *path;
    bool acts;
    void (*run)(struct pl_page_calls *calls, struct pl_exchange *exchange);
} routes[] = {
    {"/api/status", false, get_status},   {"/api/queue", false, get_queue},
    {"/api/why", false, get_why},         {"/api/objects", false, get_objects},
    {"/api/log", false, get_log},         {"/api/reloads", false, get_reloads},
    {"/api/shadow", false, get_shadow},   {"/api/reload", true, post_reload},
    {"/api/requeue", true, post_requeue}, {"/api/pause", true, post_pause},
    {"/api/resume", true, post_resume},
};

static const struct route *find_route(struct pl_slice path)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(routes); i++)
        if (pl_slice_eqz(path, routes[i].path))
            return &routes[i];
    return NULL;
}

bool pl_page_call_acts(struct pl_slice path)
{
    const struct route *route = find_route(path);
    return route != NULL && route->acts;
}

void pl_page_call(struct pl_page_calls *calls, struct pl_exchange *exchange)
{
    const struct route *route = find_route(pl_exchange_path(exchange));
    bool reads = strcmp(pl_exchange_method(exchange), "GET") == 0 ||
                 strcmp(pl_exchange_method(exchange), "HEAD") == 0;
    if (route == NULL)
        calls_fail(exchange, 404, "there is no such page");
    else if (route->acts ? strcmp(pl_exchange_method(exchange), "POST") != 0 : !reads)
        calls_fail(exchange, 405, route->acts ? "an action is a POST" : "this is read with GET");
    else
        route->run(calls, exchange);
}

void pl_page_calls_init(struct pl_page_calls *calls, const struct pl_page_options *options)
{
    *calls = (struct pl_page_calls){.o = *options};
    pl_list_init(&calls->trees);
    pl_record_begin(&calls->record, options->reload, options->shadow);
}

void pl_page_calls_deinit(struct pl_page_calls *calls)
{
    PL_LIST_FOR (link, &calls->trees)
        pl_owners_give_up(PL_CONTAINER_OF(link, struct walking, link)->tree);
    pl_record_end(&calls->record);
}
