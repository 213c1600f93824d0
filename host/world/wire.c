/* The path of one request: it is copied when it starts, delivered to the server in a separate step,
 * and the answer is given to the host in further steps, one event of a watch at a time. The
 * server's side and the host's side of a call end separately; the call is freed when both have
 * ended (wire_call.c). Between those steps are the points where a world can be disturbed
 * (wire_points.c). */
#include "world/wire_impl.h"

#include "base/alloc.h"
#include "base/check.h"
#include "net/fence.h"
#include "net/headers.h"

#include <string.h>

/* ---- the steps ---- */

static const char *header_of(const struct wire_call *call, const char *name)
{
    for (size_t i = 0; i < call->request.header_count; i++)
        if (strcmp(call->headers[i].name, name) == 0)
            return call->headers[i].value;
    return NULL;
}

static void wire_send(struct wire_call *call)
{
    const struct pl_http_request *request = &call->request;
    bool may = request->may_send == NULL || request->may_send(request->may_send_arg);
    if (!may || !pl_fence_is_open(request->fence)) {
        pl_wire_end_with(call, PL_EREFUSED, "", "it may no longer be sent");
        return;
    }
    if (!pl_wire_passes(call, PL_POINT_REQUEST))
        return;
    struct pl_api_call api = {
        .method = call->method,
        .path = call->target.path,
        .query = call->target.query,
        .accept = header_of(call, "accept"),
        .content_type = header_of(call, "content-type"),
        .user_agent = header_of(call, "user-agent"),
        .authorization = header_of(call, "authorization"),
        .upgrade = header_of(call, "upgrade"),
        .ws_key = header_of(call, "sec-websocket-key"),
        .ws_protocol = header_of(call, "sec-websocket-protocol"),
        .body = pl_buf_slice(&call->body),
    };
    call->sent = true;
    pl_api_handle(call->wire->o.api, &api, (struct pl_api_responder){&pl_wire_responder, call});
}

static bool wire_is_held(const struct wire_call *call)
{
    const struct pl_wire_options *o = &call->wire->o;
    const char *resource = call->target.resource;
    if (!pl_wire_is_watch(call))
        return false;
    return (o->is_held != NULL && o->is_held(o->arg, resource)) ||
           (o->chooser != NULL && o->chooser->is_held != NULL &&
            o->chooser->is_held(o->chooser->arg, resource));
}

static void give_piece(struct wire_call *call)
{
    if (pl_wire_is_watch(call) && !pl_wire_passes(call, PL_POINT_EVENT))
        return;
    call->asked[PL_POINT_EVENT] = false; /* the next event is another point */
    struct wire_piece *piece = PL_CONTAINER_OF(pl_list_pop(&call->pieces), struct wire_piece, link);
    call->unread -= piece->len;
    call->received += piece->len;
    pl_wire_heard(call);
    size_t most = call->request.max_response;
    int code = most > 0 && call->received > most
                   ? PL_ELIMIT
                   : call->ops->on_body(call->arg, pl_slice(piece->text, piece->len));
    pl_free(piece);
    if (code != 0)
        pl_wire_end_with(call, code, "", "the client refused the answer");
}

static void respond(struct wire_call *call)
{
    const struct pl_http_response response = {call->status, call->answer_headers,
                                              call->answer_header_count};
    call->responded = true;
    pl_wire_heard(call);
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

/* Passes on bytes that the host has sent over an upgraded connection. True: the server has got some
 * now. */
static bool tell_server(struct wire_call *call)
{
    if (call->said.len == 0 || call->server_done || call->on_bytes == NULL)
        return false;
    struct pl_buf said = call->said;
    call->said = PL_BUF_INIT;
    call->on_bytes(call->on_close_arg, pl_buf_slice(&said));
    pl_buf_deinit(&said);
    return true;
}

/* Gives one piece to the host; the others follow in the next steps. */
static void wire_give(struct wire_call *call)
{
    if (!call->responded) {
        if (!pl_wire_passes(call, PL_POINT_APPLIED))
            return;
        if (call->lost && call->lost_in_time) {
            pl_wire_end_with(call, PL_ETIMEOUT, "Timeout", "no answer in time");
            return;
        }
        if (call->lost) {
            pl_wire_lose(call);
            return;
        }
        if (!pl_wire_passes(call, PL_POINT_ANSWERED))
            return;
        respond(call);
    } else if (tell_server(call)) {
        ; /* its answer comes in further steps */
    } else if (!pl_list_empty(&call->pieces)) {
        if (wire_is_held(call))
            return;
        give_piece(call);
    } else if (call->ended) {
        pl_wire_finish(call);
        return;
    } else {
        drained(call);
        return;
    }
    pl_wire_step_later(call);
}

static void wire_go_on(struct pl_task *task)
{
    struct wire_call *call = PL_CONTAINER_OF(task, struct wire_call, next);
    if (call->host_done) {
        pl_wire_leave_server(call); /* it may be a stream by now */
        pl_wire_free_when_over(call);
        return;
    }
    if (pl_timer_is_active(&call->later) && call->err.code == 0)
        return;
    if (call->wire->cut && call->err.code == 0)
        pl_wire_end_with(call, PL_ENETWORK, "ConnectionRefused", "the host has ended");
    if (call->err.code != 0)
        pl_wire_finish(call);
    else if (!call->sent)
        wire_send(call);
    else if (call->status != 0)
        wire_give(call);
}

/* ---- the transport ---- */

static void on_wire_deadline(struct pl_timer *timer)
{
    pl_wire_end_with(PL_CONTAINER_OF(timer, struct wire_call, deadline), PL_ETIMEOUT, "Timeout",
                     "no answer in time");
}

static struct pl_http_call *wire_start(void *self, const struct pl_http_request *request,
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
        pl_timer_start(pl_wire_timers(call), &call->deadline, request->timeout_ms * PL_MS,
                       on_wire_deadline);
    pl_wire_heard(call);
    pl_wire_step_later(call);
    return (struct pl_http_call *)call;
}

static void wire_cancel(void *self, struct pl_http_call *http)
{
    PL_UNUSED(self);
    struct wire_call *call = (struct wire_call *)http;
    PL_REQUIRE(!call->host_done);
    call->canceled = true;
    call->err.code = 0; /* replaces an end that was not reported yet */
    pl_wire_end_with(call, PL_ECANCELED, "", "canceled");
}

static void wire_send_more(void *self, struct pl_http_call *http, struct pl_slice bytes)
{
    PL_UNUSED(self);
    struct wire_call *call = (struct wire_call *)http;
    pl_buf_add_slice(&call->said, bytes);
    pl_wire_step_later(call);
}

struct pl_transport pl_wire_transport(struct pl_wire *wire)
{
    static const struct pl_transport_ops ops = {wire_start, wire_cancel, wire_send_more};
    return (struct pl_transport){&ops, wire};
}

struct pl_wire *pl_wire_create(const struct pl_wire_options *options)
{
    struct pl_wire *wire = PL_NEW(struct pl_wire);
    wire->o = *options;
    wire->go_on = wire_go_on;
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
            pl_wire_finish(call);
        else if (!waits)
            wire_go_on(&call->next);
        if (waits)
            orphan(call);
    }
    pl_free(wire);
}

void pl_wire_abandon(struct pl_wire *wire)
{
    struct pl_link *link;
    while ((link = pl_list_pop(&wire->calls)) != NULL) {
        struct wire_call *call = PL_CONTAINER_OF(link, struct wire_call, link);
        if (call->sent && !call->server_done && !call->is_stream)
            orphan(call);
        else
            pl_wire_leave_server(call);
    }
}

void pl_wire_cut(struct pl_wire *wire)
{
    wire->cut = true;
    pl_wire_look(wire);
}

void pl_wire_look(struct pl_wire *wire)
{
    PL_LIST_FOR (link, &wire->calls) {
        pl_wire_step_later(PL_CONTAINER_OF(link, struct wire_call, link));
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
        if (pl_wire_is_watch(call) && !call->host_done && !pl_list_empty(&call->pieces) &&
            !wire_is_held(call))
            return true;
    }
    return false;
}

void pl_wire_expire_watches(struct pl_wire *wire, const char *resource)
{
    static const char expired[] =
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
        "\"status\":\"Failure\",\"message\":\"too old resource version\",\"reason\":\"Expired\","
        "\"code\":410}}\n";
    PL_LIST_FOR (link, &wire->calls) {
        struct wire_call *call = PL_CONTAINER_OF(link, struct wire_call, link);
        if (!pl_wire_is_watch(call) || call->host_done ||
            strcmp(resource, call->target.resource) != 0)
            continue;
        pl_wire_drop_pieces(call);
        pl_wire_add_piece(call, pl_slice(expired, sizeof expired - 1));
        pl_wire_step_later(call);
    }
}
