/* The way of one request: it is copied when it starts, handed to the server in a step of its own,
 * and what the server says is given to the host in further steps, an event of a watch at a time.
 * The server's side and the host's side of a call end each for itself; the call is freed when both
 * have.
 *
 * Between those steps lie the points at which a world can be disturbed. Nothing here decides: what
 * is to happen is the chooser's, or a rule's, and the default is that everything goes well. */
#include "world/wire.h"

#include "base/alloc.h"
#include "base/check.h"
#include "net/fence.h"
#include "world/headers.h"
#include "world/target.h"

#include <stdio.h>
#include <string.h>

struct piece {
    struct pl_link link;
    size_t len;
    char text[];
};

struct wire_call {
    struct pl_link link; /* wire->calls */
    struct pl_wire *wire;
    const struct pl_http_ops *ops;
    void *arg;
    struct pl_http_request request; /* texts below */
    char *method, *url;
    char *query; /* owned: instead of the URL's; NULL: that */
    uint64_t id;
    struct pl_http_header *headers;
    struct pl_buf body;
    struct pl_target target;
    struct pl_task next;
    struct pl_timer later, deadline, silence;
    bool sent, canceled, host_done, server_done;
    bool lost;                 /* the answer goes nowhere */
    bool asked[PL_POINT_PICK]; /* the chooser, at that point of this call */
    /* what the server said */
    bool responded, is_stream, ended;
    int status;
    struct pl_http_header *answer_headers;
    size_t answer_header_count, received;
    struct pl_list pieces;
    size_t unread;
    void (*on_close)(void *arg);
    void *on_close_arg;
    void (*on_drained)(void *arg);
    struct pl_err err; /* why it ends; code 0: in order */
};

struct pl_wire {
    struct pl_wire_options o;
    struct pl_list calls;
    uint64_t started;
    bool cut, destroying;
};

static void go_on(struct pl_task *task);

static struct pl_timers *timers_of(const struct wire_call *call)
{
    return pl_loop_timers(call->wire->o.loop);
}

static void step_later(struct wire_call *call)
{
    if (call->wire != NULL)
        pl_loop_defer(call->wire->o.loop, &call->next, go_on);
}

/* ---- a call's life ---- */

static void drop_pieces(struct wire_call *call)
{
    struct pl_link *link;
    while ((link = pl_list_pop(&call->pieces)) != NULL)
        pl_free(PL_CONTAINER_OF(link, struct piece, link));
    call->unread = 0;
}

static void free_when_over(struct wire_call *call)
{
    if (!call->host_done || !call->server_done)
        return;
    pl_link_unlink(&call->link);
    pl_loop_undefer(&call->next);
    drop_pieces(call);
    pl_headers_free(call->headers, call->request.header_count);
    pl_headers_free(call->answer_headers, call->answer_header_count);
    pl_target_deinit(&call->target);
    pl_buf_deinit(&call->body);
    pl_free(call->method);
    pl_free(call->query);
    pl_free(call->url);
    pl_free(call);
}

/* The server need not say any more. */
static void leave_server(struct wire_call *call)
{
    if (!call->sent) {
        call->server_done = true;
    } else if (call->is_stream && !call->server_done) {
        call->server_done = true;
        call->on_close(call->on_close_arg);
    }
}

static void finish(struct wire_call *call)
{
    if (call->host_done)
        return;
    call->host_done = true;
    pl_timer_stop(timers_of(call), &call->later);
    pl_timer_stop(timers_of(call), &call->deadline);
    pl_timer_stop(timers_of(call), &call->silence);
    leave_server(call);
    call->ops->on_done(call->arg, call->err.code != 0 ? &call->err : NULL);
    free_when_over(call);
}

/* A little later; the first reason counts. */
static void end_with(struct wire_call *call, int code, const char *reason, const char *message)
{
    if (call->err.code != 0 || call->host_done)
        return;
    pl_err_set(&call->err, code, "%s", message);
    snprintf(call->err.reason, sizeof call->err.reason, "%s", reason);
    step_later(call);
}

static void lose_connection(struct wire_call *call)
{
    end_with(call, PL_ENETWORK, "ConnectionReset", "the connection was lost");
}

static void on_deadline(struct pl_timer *timer)
{
    end_with(PL_CONTAINER_OF(timer, struct wire_call, deadline), PL_ETIMEOUT, "Timeout",
             "no answer in time");
}

static void on_silence(struct pl_timer *timer)
{
    end_with(PL_CONTAINER_OF(timer, struct wire_call, silence), PL_ETIMEOUT, "Silence",
             "nothing was heard for too long");
}

static void heard(struct wire_call *call)
{
    if (call->request.silence_ms > 0)
        pl_timer_start(timers_of(call), &call->silence, call->request.silence_ms * PL_MS,
                       on_silence);
}

/* ---- what the server says ---- */

static void add_piece(struct wire_call *call, struct pl_slice text)
{
    if (call->host_done || call->lost)
        return;
    struct piece *piece = pl_calloc(1, sizeof *piece + text.len + 1);
    piece->len = text.len;
    memcpy(piece->text, text.ptr, text.len);
    pl_list_push(&call->pieces, &piece->link);
    call->unread += text.len;
}

static void tell_seen(struct wire_call *call, struct pl_slice answer)
{
    const struct pl_wire_options *o = &call->wire->o;
    if (o->seen == NULL)
        return;
    const struct pl_wire_seen seen = {.host = o->host,
                                      .method = call->method,
                                      .verb = call->target.verb,
                                      .path = call->target.path,
                                      .query = call->target.query,
                                      .body = pl_buf_slice(&call->body),
                                      .status = call->status,
                                      .lost = call->lost,
                                      .answer = answer};
    o->seen(o->arg, &seen);
}

static void begin_answer(struct wire_call *call, int status, const struct pl_http_header *headers,
                         size_t count)
{
    call->status = status;
    call->answer_headers = pl_headers_copy(headers, count);
    call->answer_header_count = count;
}

static void reply(void *self, int status, const struct pl_http_header *headers, size_t count,
                  struct pl_slice body)
{
    struct wire_call *call = self;
    if (call->wire != NULL) {
        begin_answer(call, status, headers, count);
        tell_seen(call, body);
    }
    call->server_done = call->ended = true;
    if (call->host_done) {
        free_when_over(call);
        return;
    }
    if (body.len > 0)
        add_piece(call, body);
    step_later(call);
}

static void begin(void *self, int status, const char *content_type, void (*on_close)(void *arg),
                  void *arg)
{
    struct wire_call *call = self;
    const struct pl_http_header header = {"content-type", content_type};
    call->is_stream = true;
    call->on_close = on_close;
    call->on_close_arg = arg;
    if (call->wire == NULL)
        return;
    begin_answer(call, status, &header, 1);
    tell_seen(call, pl_slice("", 0));
    step_later(call);
}

static void write_piece(void *self, struct pl_slice text)
{
    struct wire_call *call = self;
    add_piece(call, text);
    step_later(call);
}

static void end(void *self)
{
    struct wire_call *call = self;
    call->server_done = call->ended = true;
    step_later(call);
    if (call->wire == NULL)
        free_when_over(call);
}

static size_t unread(void *self)
{
    return ((struct wire_call *)self)->unread;
}

static void on_drained(void *self, void (*then)(void *arg))
{
    struct wire_call *call = self;
    call->on_drained = then;
    step_later(call);
}

static void cut(void *self)
{
    struct wire_call *call = self;
    call->server_done = true;
    lose_connection(call);
    if (call->wire == NULL)
        free_when_over(call);
}

static const struct pl_api_responder_ops responder = {reply,  begin,      write_piece, end,
                                                      unread, on_drained, cut};

/* ---- points ---- */

static struct pl_point point_of(const struct wire_call *call, enum pl_point_kind kind)
{
    return (struct pl_point){.kind = kind,
                             .host = call->wire->o.host,
                             .controller = "",
                             .key = "",
                             .run_id = "",
                             .line = "",
                             .api_kind = "",
                             .name = "",
                             .version = "",
                             .call_id = call->id,
                             .verb = call->target.verb,
                             .object = call->target.object,
                             .subresource = call->target.subresource,
                             .writes = call->target.writes,
                             .status = kind == PL_POINT_REQUEST ? 0 : call->status};
}

static void refuse(struct wire_call *call, const struct pl_disturbance *what);

static void on_later(struct pl_timer *timer)
{
    step_later(PL_CONTAINER_OF(timer, struct wire_call, later));
}

/* The list of long ago, by the server's own history. */
static void list_as_of(struct wire_call *call, const char *version)
{
    static const char version_words[] = "resourceVersion";
    struct pl_slice query = call->target.query;
    struct pl_buf text = PL_BUF_INIT;
    for (size_t at = 0; at < query.len;) {
        size_t len = 0;
        while (at + len < query.len && query.ptr[at + len] != '&')
            len++;
        if (len < strlen(version_words) ||
            memcmp(query.ptr + at, version_words, strlen(version_words)) != 0)
            pl_buf_add_f(&text, "%.*s&", (int)len, query.ptr + at);
        at += len + 1;
    }
    pl_buf_add_f(&text, "resourceVersion=%s&resourceVersionMatch=Exact", version);
    pl_free(call->query);
    call->query = pl_buf_take(&text);
    call->target.query = pl_slice_z(call->query);
}

/* What the chooser says of a point. */
static void choose(struct wire_call *call, struct pl_point *point, struct pl_disturbance *what)
{
    const struct pl_wire_options *o = &call->wire->o;
    struct pl_about about = {.name = NULL};
    if (point->kind == PL_POINT_REQUEST)
        pl_about_request(&about, point, &call->target, pl_buf_slice(&call->body), o->who,
                         o->who_arg);
    else if (point->kind == PL_POINT_EVENT) {
        const struct piece *piece =
            PL_CONTAINER_OF(pl_list_first(&call->pieces), struct piece, link);
        pl_about_event(&about, point, pl_slice(piece->text, piece->len));
    }
    if (point->kind == PL_POINT_APPLIED && !call->is_stream && !pl_list_empty(&call->pieces)) {
        const struct piece *answer =
            PL_CONTAINER_OF(pl_list_first(&call->pieces), struct piece, link);
        point->body = pl_slice(answer->text, answer->len);
    }
    o->chooser->at(o->chooser->arg, point, what);
    pl_about_deinit(&about);
}

/* Asks once at each point of a call. False: it does not go on now. */
static bool passes(struct wire_call *call, enum pl_point_kind kind)
{
    const struct pl_wire_options *o = &call->wire->o;
    struct pl_disturbance what = {PL_ACT_GO, 0, NULL, 0, 0};
    if (call->asked[kind])
        return true;
    call->asked[kind] = true;
    struct pl_point point = point_of(call, kind);
    bool ruled = o->rule != NULL && kind == PL_POINT_REQUEST && o->rule(o->arg, &point, &what);
    if (!ruled && o->chooser != NULL)
        choose(call, &point, &what);
    switch (what.act) {
    case PL_ACT_CRASH:
        o->crash(o->crash_arg);
        return false;
    case PL_ACT_REFUSE:
        refuse(call, &what);
        return false;
    case PL_ACT_LOSE:
        call->lost = true;
        return true;
    case PL_ACT_LATER:
        pl_timer_start(timers_of(call), &call->later, what.delay_ns, on_later);
        return false;
    case PL_ACT_STALE:
        if (what.reason != NULL)
            list_as_of(call, what.reason);
        return true;
    case PL_ACT_CUT:
        drop_pieces(call);
        lose_connection(call);
        return false;
    default:
        return true;
    }
}

/* ---- the steps ---- */

static const char *reason_of(int status)
{
    switch (status) {
    case 403:
        return "Forbidden";
    case 404:
        return "NotFound";
    case 409:
        return "Conflict";
    case 422:
        return "Invalid";
    case 429:
        return "TooManyRequests";
    case 503:
        return "ServiceUnavailable";
    case 504:
        return "Timeout";
    default:
        return "InternalError";
    }
}

/* It never reaches the server. */
static void refuse(struct wire_call *call, const struct pl_disturbance *what)
{
    call->server_done = true;
    if (what->status == 0) {
        tell_seen(call, pl_slice("", 0));
        end_with(call, PL_ENETWORK, "ConnectionRefused", "the connection was refused");
        return;
    }
    const struct pl_http_header header = {"content-type", "application/json"};
    const char *reason = what->reason != NULL ? what->reason : reason_of(what->status);
    char *body = pl_format(
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
        "\"Failure\",\"message\":\"%s (the test says so)\",\"reason\":\"%s\",\"code\":%d}",
        reason, reason, what->status);
    call->sent = true;
    call->server_done = false;
    reply(call, what->status, &header, 1, pl_slice_z(body));
    pl_free(body);
}

static const char *header_of(const struct wire_call *call, const char *name)
{
    for (size_t i = 0; i < call->request.header_count; i++)
        if (strcmp(call->headers[i].name, name) == 0)
            return call->headers[i].value;
    return NULL;
}

static void send(struct wire_call *call)
{
    const struct pl_http_request *request = &call->request;
    bool may = request->may_send == NULL || request->may_send(request->may_send_arg);
    if (!may || !pl_fence_is_open(request->fence)) {
        end_with(call, PL_EREFUSED, "", "it may not be sent any more");
        return;
    }
    if (!passes(call, PL_POINT_REQUEST))
        return;
    struct pl_api_call api = {
        .method = call->method,
        .path = call->target.path,
        .query = call->target.query,
        .accept = header_of(call, "accept"),
        .content_type = header_of(call, "content-type"),
        .user_agent = header_of(call, "user-agent"),
        .authorization = header_of(call, "authorization"),
        .body = pl_buf_slice(&call->body),
    };
    call->sent = true;
    pl_api_handle(call->wire->o.api, &api, (struct pl_api_responder){&responder, call});
}

static bool is_held(const struct wire_call *call)
{
    const struct pl_wire_options *o = &call->wire->o;
    const char *resource = call->target.resource;
    if (!call->is_stream)
        return false;
    return (o->is_held != NULL && o->is_held(o->arg, resource)) ||
           (o->chooser != NULL && o->chooser->is_held != NULL &&
            o->chooser->is_held(o->chooser->arg, resource));
}

static void give_piece(struct wire_call *call)
{
    if (call->is_stream && !passes(call, PL_POINT_EVENT))
        return;
    call->asked[PL_POINT_EVENT] = false; /* the next one is another one */
    struct piece *piece = PL_CONTAINER_OF(pl_list_pop(&call->pieces), struct piece, link);
    call->unread -= piece->len;
    call->received += piece->len;
    heard(call);
    size_t most = call->request.max_response;
    int code = most > 0 && call->received > most
                   ? PL_ELIMIT
                   : call->ops->on_body(call->arg, pl_slice(piece->text, piece->len));
    pl_free(piece);
    if (code != 0)
        end_with(call, code, "", "the answer was not taken");
}

static void respond(struct wire_call *call)
{
    const struct pl_http_response response = {call->status, call->answer_headers,
                                              call->answer_header_count};
    call->responded = true;
    heard(call);
    if (call->ops->on_response != NULL)
        call->ops->on_response(call->arg, &response);
}

static void drained(struct wire_call *call)
{
    void (*then)(void *arg) = call->on_drained;
    call->on_drained = NULL;
    if (then != NULL && !call->server_done)
        then(call->on_close_arg);
}

/* One thing; what is left comes in the next step. */
static void give(struct wire_call *call)
{
    if (!call->responded) {
        if (!passes(call, PL_POINT_APPLIED))
            return;
        if (call->lost) {
            lose_connection(call);
            return;
        }
        if (!passes(call, PL_POINT_ANSWERED))
            return;
        respond(call);
    } else if (!pl_list_empty(&call->pieces)) {
        if (is_held(call))
            return;
        give_piece(call);
    } else if (call->ended) {
        finish(call);
        return;
    } else {
        drained(call);
        return;
    }
    step_later(call);
}

static void go_on(struct pl_task *task)
{
    struct wire_call *call = PL_CONTAINER_OF(task, struct wire_call, next);
    if (call->host_done) {
        leave_server(call); /* it may be a stream by now */
        free_when_over(call);
        return;
    }
    if (pl_timer_is_active(&call->later) && call->err.code == 0)
        return;
    if (call->wire->cut && call->err.code == 0)
        end_with(call, PL_ENETWORK, "ConnectionRefused", "the host has ended");
    if (call->err.code != 0)
        finish(call);
    else if (!call->sent)
        send(call);
    else if (call->status != 0)
        give(call);
}

/* ---- the transport ---- */

static struct pl_http_call *start(void *self, const struct pl_http_request *request,
                                  const struct pl_http_ops *ops, void *arg)
{
    struct pl_wire *wire = self;
    struct wire_call *call = PL_NEW(struct wire_call);
    call->wire = wire;
    call->id = ++wire->started;
    call->ops = ops;
    call->arg = arg;
    call->request = *request;
    call->method = pl_strdup(request->method);
    call->url = pl_strdup(request->url);
    call->headers = pl_headers_copy(request->headers, request->header_count);
    pl_buf_add_slice(&call->body, request->body);
    pl_list_init(&call->pieces);
    pl_err_clear(&call->err);
    pl_target_parse(&call->target, call->method, call->url);
    pl_list_push(&wire->calls, &call->link);
    if (request->timeout_ms > 0)
        pl_timer_start(timers_of(call), &call->deadline, request->timeout_ms * PL_MS, on_deadline);
    heard(call);
    step_later(call);
    return (struct pl_http_call *)call;
}

static void cancel(void *self, struct pl_http_call *http)
{
    PL_UNUSED(self);
    struct wire_call *call = (struct wire_call *)http;
    PL_REQUIRE(!call->host_done);
    call->canceled = true;
    call->err.code = 0; /* it wins over an ending that was not told yet */
    end_with(call, PL_ECANCELED, "", "canceled");
}

struct pl_transport pl_wire_transport(struct pl_wire *wire)
{
    static const struct pl_transport_ops ops = {start, cancel};
    return (struct pl_transport){&ops, wire};
}

struct pl_wire *pl_wire_create(const struct pl_wire_options *options)
{
    struct pl_wire *wire = PL_NEW(struct pl_wire);
    wire->o = *options;
    pl_list_init(&wire->calls);
    return wire;
}

/* The server still waits for a webhook: it will end the call. */
static void orphan(struct wire_call *call)
{
    call->wire = NULL;
    pl_loop_undefer(&call->next);
}

void pl_wire_destroy(struct pl_wire *wire)
{
    if (wire == NULL)
        return;
    wire->destroying = true;
    struct pl_link *link;
    while ((link = pl_list_pop(&wire->calls)) != NULL) {
        struct wire_call *call = PL_CONTAINER_OF(link, struct wire_call, link);
        if (!call->host_done && call->err.code == 0)
            pl_err_set(&call->err, PL_ECANCELED, "canceled");
        bool waits = call->sent && !call->server_done && !call->is_stream;
        if (!call->host_done)
            finish(call);
        else if (!waits)
            go_on(&call->next);
        if (waits)
            orphan(call);
    }
    pl_free(wire);
}

void pl_wire_cut(struct pl_wire *wire)
{
    wire->cut = true;
    pl_wire_look(wire);
}

void pl_wire_look(struct pl_wire *wire)
{
    PL_LIST_FOR (link, &wire->calls) {
        step_later(PL_CONTAINER_OF(link, struct wire_call, link));
    }
}

size_t pl_wire_open(const struct pl_wire *wire)
{
    size_t open = 0;
    PL_LIST_FOR (link, &wire->calls) {
        const struct wire_call *call = PL_CONTAINER_OF(link, struct wire_call, link);
        open += !call->host_done && strcmp(call->target.verb, "watch") != 0;
    }
    return open;
}

bool pl_wire_is_behind(const struct pl_wire *wire)
{
    PL_LIST_FOR (link, &wire->calls) {
        const struct wire_call *call = PL_CONTAINER_OF(link, struct wire_call, link);
        if (call->is_stream && !call->host_done && !pl_list_empty(&call->pieces) && !is_held(call))
            return true;
    }
    return false;
}

void pl_wire_drop_watches(struct pl_wire *wire)
{
    PL_LIST_FOR (link, &wire->calls) {
        struct wire_call *call = PL_CONTAINER_OF(link, struct wire_call, link);
        if (call->is_stream)
            lose_connection(call);
    }
}

void pl_wire_expire_watches(struct pl_wire *wire, const char *resource)
{
    static const char expired[] =
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
        "\"status\":\"Failure\",\"message\":\"too old resource version\",\"reason\":\"Expired\","
        "\"code\":410}}\n";
    PL_LIST_FOR (link, &wire->calls) {
        struct wire_call *call = PL_CONTAINER_OF(link, struct wire_call, link);
        if (!call->is_stream || call->host_done || strcmp(resource, call->target.resource) != 0)
            continue;
        drop_pieces(call);
        add_piece(call, pl_slice(expired, sizeof expired - 1));
        step_later(call);
    }
}
