/* One call: its creation and end, and the server's answer. The answer waits in pieces until a step
 * gives it to the host. The call is freed when both sides have finished. */
#include "world/wire_impl.h"

#include "base/alloc.h"
#include "net/headers.h"

#include <stdio.h>
#include <string.h>

struct pl_timers *pl_wire_timers(const struct wire_call *call)
{
    return pl_loop_timers(call->wire->o.loop);
}

void pl_wire_step_later(struct wire_call *call)
{
    if (call->wire != NULL)
        pl_loop_defer(call->wire->o.loop, &call->next, call->wire->go_on);
}

/* ---- creation and end ---- */

void pl_wire_drop_pieces(struct wire_call *call)
{
    struct pl_link *link;
    while ((link = pl_list_pop(&call->pieces)) != NULL)
        pl_free(PL_CONTAINER_OF(link, struct wire_piece, link));
    call->unread = 0;
}

void pl_wire_free_when_over(struct wire_call *call)
{
    if (!call->host_done || !call->server_done)
        return;
    pl_link_unlink(&call->link);
    pl_loop_undefer(&call->next);
    pl_wire_drop_pieces(call);
    pl_headers_free(call->headers, call->request.header_count);
    pl_headers_free(call->answer_headers, call->answer_header_count);
    pl_target_deinit(&call->target);
    pl_buf_deinit(&call->body);
    pl_buf_deinit(&call->said);
    pl_free(call->method);
    pl_free(call->query);
    pl_free(call->url);
    pl_free(call);
}

void pl_wire_leave_server(struct wire_call *call)
{
    if (!call->sent) {
        call->server_done = true;
    } else if (call->is_stream && !call->server_done) {
        call->server_done = true;
        call->on_close(call->on_close_arg);
    }
}

void pl_wire_finish(struct wire_call *call)
{
    if (call->host_done)
        return;
    call->host_done = true;
    pl_timer_stop(pl_wire_timers(call), &call->later);
    pl_timer_stop(pl_wire_timers(call), &call->deadline);
    pl_timer_stop(pl_wire_timers(call), &call->silence);
    pl_wire_leave_server(call);
    call->ops->on_done(call->arg, call->err.code != 0 ? &call->err : NULL);
    pl_wire_free_when_over(call);
}

void pl_wire_end_with(struct wire_call *call, int code, const char *reason, const char *message)
{
    if (call->err.code != 0 || call->host_done)
        return;
    pl_err_set(&call->err, code, "%s", message);
    snprintf(call->err.reason, sizeof call->err.reason, "%s", reason);
    pl_wire_step_later(call);
}

void pl_wire_lose(struct wire_call *call)
{
    pl_wire_end_with(call, PL_ENETWORK, "ConnectionReset", "the connection was lost");
}

static void on_wire_call_silence(struct pl_timer *timer)
{
    pl_wire_end_with(PL_CONTAINER_OF(timer, struct wire_call, silence), PL_ETIMEOUT, "Silence",
                     "nothing was heard for too long");
}

void pl_wire_heard(struct wire_call *call)
{
    if (call->request.silence_ms > 0)
        pl_timer_start(pl_wire_timers(call), &call->silence, call->request.silence_ms * PL_MS,
                       on_wire_call_silence);
}

/* ---- the server's answer ---- */

void pl_wire_add_piece(struct wire_call *call, struct pl_slice text)
{
    if (call->host_done)
        return;
    struct wire_piece *piece = pl_calloc(1, sizeof *piece + text.len + 1);
    piece->len = text.len;
    memcpy(piece->text, text.ptr, text.len);
    pl_list_push(&call->pieces, &piece->link);
    call->unread += text.len;
}

void pl_wire_tell_seen(struct wire_call *call, struct pl_slice answer)
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

void pl_wire_reply(void *self, int status, const struct pl_http_header *headers, size_t count,
                   struct pl_slice body)
{
    struct wire_call *call = self;
    if (call->wire != NULL) {
        begin_answer(call, status, headers, count);
        pl_wire_tell_seen(call, body);
    }
    call->server_done = call->ended = true;
    if (call->host_done) {
        pl_wire_free_when_over(call);
        return;
    }
    if (body.len > 0)
        pl_wire_add_piece(call, body);
    pl_wire_step_later(call);
}

static void wire_call_begin(void *self, int status, const char *content_type,
                            void (*on_close)(void *arg), void *arg)
{
    struct wire_call *call = self;
    const struct pl_http_header header = {"content-type", content_type};
    call->is_stream = true;
    call->on_close = on_close;
    call->on_close_arg = arg;
    if (call->wire == NULL)
        return;
    begin_answer(call, status, &header, 1);
    pl_wire_tell_seen(call, pl_slice("", 0));
    pl_wire_step_later(call);
}

static void wire_call_upgrade(void *self, const struct pl_http_header *headers, size_t count,
                              void (*on_bytes)(void *arg, struct pl_slice bytes),
                              void (*on_close)(void *arg), void *arg)
{
    struct wire_call *call = self;
    call->is_stream = true;
    call->on_bytes = on_bytes;
    call->on_close = on_close;
    call->on_close_arg = arg;
    if (call->wire == NULL)
        return;
    begin_answer(call, 101, headers, count);
    pl_wire_tell_seen(call, pl_slice("", 0));
    pl_wire_step_later(call);
}

static void wire_call_write_piece(void *self, struct pl_slice text)
{
    struct wire_call *call = self;
    pl_wire_add_piece(call, text);
    pl_wire_step_later(call);
}

static void wire_call_end(void *self)
{
    struct wire_call *call = self;
    call->server_done = call->ended = true;
    pl_wire_step_later(call);
    if (call->wire == NULL)
        pl_wire_free_when_over(call);
}

static size_t unread(void *self)
{
    return ((struct wire_call *)self)->unread;
}

static void on_wire_call_drained(void *self, void (*then)(void *arg))
{
    struct wire_call *call = self;
    call->on_drained = then;
    pl_wire_step_later(call);
}

static void wire_call_cut(void *self)
{
    struct wire_call *call = self;
    call->server_done = true;
    pl_wire_lose(call);
    if (call->wire == NULL)
        pl_wire_free_when_over(call);
}

const struct pl_api_responder_ops pl_wire_responder = {
    pl_wire_reply,     wire_call_begin, wire_call_write_piece, wire_call_end,
    wire_call_upgrade, unread,          on_wire_call_drained,  wire_call_cut};
