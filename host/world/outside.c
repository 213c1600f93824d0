/* A request is copied when it starts, and answered as a whole in a separate step. */
#include "world/outside.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "world/headers.h"

#include <stdio.h>

struct outside_call {
    struct pl_link link;
    struct pl_outside *outside;
    const struct pl_http_ops *ops;
    void *arg;
    struct pl_task task;
    char *method, *url;
    struct pl_http_header *headers; /* owned, as their texts */
    size_t header_count;
    struct pl_buf body;
    bool canceled;
};

struct pl_outside {
    struct pl_loop *loop;
    struct pl_outside_options o;
    struct pl_list calls;
};

static void outside_finish(struct outside_call *call, const struct pl_err *err)
{
    pl_link_unlink(&call->link);
    pl_loop_undefer(&call->task);
    call->ops->on_done(call->arg, err);
    pl_headers_free(call->headers, call->header_count);
    pl_buf_deinit(&call->body);
    pl_free(call->method);
    pl_free(call->url);
    pl_free(call);
}

static void cancel_now(struct outside_call *call)
{
    struct pl_err err;
    pl_err_clear(&err);
    pl_err_set(&err, PL_ECANCELED, "canceled");
    outside_finish(call, &err);
}

static void outside_give(struct outside_call *call, const struct pl_outside_answer *answer)
{
    struct pl_err err;
    pl_err_clear(&err);
    if (answer->status == 0) {
        pl_err_set(&err, PL_ENETWORK, "%s",
                   answer->message != NULL ? answer->message : "nobody answers");
        snprintf(err.reason, sizeof err.reason, "ConnectionRefused");
        outside_finish(call, &err);
        return;
    }
    const struct pl_http_response response = {answer->status, answer->headers,
                                              answer->header_count};
    if (call->ops->on_response != NULL)
        call->ops->on_response(call->arg, &response);
    if (answer->body_len > 0)
        call->ops->on_body(call->arg, pl_slice(answer->body, answer->body_len));
    outside_finish(call, NULL);
}

static void outside_go_on(struct pl_task *task)
{
    struct outside_call *call = PL_CONTAINER_OF(task, struct outside_call, task);
    struct pl_outside_answer answer = {.status = 0};
    const struct pl_outside_request request = {call->method, call->url, call->headers,
                                               call->header_count, pl_buf_slice(&call->body)};
    if (call->canceled) {
        cancel_now(call);
        return;
    }
    if (call->outside->o.answer != NULL)
        call->outside->o.answer(call->outside->o.arg, &request, &answer);
    outside_give(call, &answer);
    pl_headers_free(answer.headers, answer.header_count);
    pl_free(answer.body);
    pl_free(answer.message);
}

static struct pl_http_call *outside_start(void *self, const struct pl_http_request *request,
                                          const struct pl_http_ops *ops, void *arg)
{
    struct pl_outside *outside = self;
    struct outside_call *call = PL_NEW(struct outside_call);
    call->outside = outside;
    call->ops = ops;
    call->arg = arg;
    call->method = pl_strdup(request->method);
    call->url = pl_strdup(request->url);
    call->headers = pl_calloc(request->header_count + 1, sizeof *call->headers);
    call->header_count = request->header_count;
    for (size_t i = 0; i < request->header_count; i++)
        call->headers[i] = (struct pl_http_header){pl_strdup(request->headers[i].name),
                                                   pl_strdup(request->headers[i].value)};
    pl_buf_add_slice(&call->body, request->body);
    pl_list_push(&outside->calls, &call->link);
    pl_loop_defer(outside->loop, &call->task, outside_go_on);
    return (struct pl_http_call *)call;
}

static void outside_cancel(void *self, struct pl_http_call *http)
{
    struct pl_outside *outside = self;
    struct outside_call *call = (struct outside_call *)http;
    call->canceled = true;
    pl_loop_defer(outside->loop, &call->task, outside_go_on);
}

struct pl_transport pl_outside_transport(struct pl_outside *outside)
{
    static const struct pl_transport_ops ops = {.start = outside_start, .cancel = outside_cancel};
    return (struct pl_transport){&ops, outside};
}

struct pl_outside *pl_outside_create(struct pl_loop *loop, const struct pl_outside_options *options)
{
    struct pl_outside *outside = PL_NEW(struct pl_outside);
    outside->loop = loop;
    outside->o = *options;
    pl_list_init(&outside->calls);
    return outside;
}

void pl_outside_cut(struct pl_outside *outside)
{
    outside->o.answer = NULL;
}

void pl_outside_destroy(struct pl_outside *outside)
{
    if (outside == NULL)
        return;
    struct pl_link *link;
    while ((link = pl_list_first(&outside->calls)) != NULL)
        cancel_now(PL_CONTAINER_OF(link, struct outside_call, link));
    pl_free(outside);
}
