/* A call has two sides that end separately: the server, which may stop waiting, and the host, which
 * answers each question once, however late. The call is freed when both have ended. For the server,
 * a killed host never answers: answers that it sends while it is being destroyed are dropped. */
#include "world/reviews.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct review_call {
    struct pl_link link;
    struct pl_reviews *reviews;
    const struct pl_http_ops *ops;
    void *arg;
    struct pl_task next;
    struct pl_timer deadline;
    char *method, *url, *content_type; /* owned */
    struct pl_buf body, answer;
    int status;                   /* of the answer; 0: none yet */
    const struct pl_hooks *hooks; /* the host that has not answered yet; NULL: none */
    bool sent, done;              /* on_done was called */
    struct pl_err err;            /* reason for the end; code 0: regular */
};

struct pl_reviews {
    struct pl_reviews_options o;
    struct pl_list calls;
};

static void reviews_go_on(struct pl_task *task);

static void free_when_over(struct review_call *call)
{
    if (!call->done || call->hooks != NULL)
        return;
    pl_link_unlink(&call->link);
    pl_loop_undefer(&call->next);
    pl_buf_deinit(&call->body);
    pl_buf_deinit(&call->answer);
    pl_free(call->method);
    pl_free(call->url);
    pl_free(call->content_type);
    pl_free(call);
}

static void step_later(struct review_call *call)
{
    pl_loop_defer(call->reviews->o.loop, &call->next, reviews_go_on);
}

/* Ends the call a little later; the first reason counts. */
static void end_with(struct review_call *call, int code, const char *reason, const char *message)
{
    if (call->done || call->err.code != 0)
        return;
    pl_err_set(&call->err, code, "%s", message);
    snprintf(call->err.reason, sizeof call->err.reason, "%s", reason);
    step_later(call);
}

static void on_reviews_deadline(struct pl_timer *timer)
{
    end_with(PL_CONTAINER_OF(timer, struct review_call, deadline), PL_ETIMEOUT, "Timeout",
             "no answer in time");
}

/* ---- the host's side ---- */

static void reviews_reply(void *arg, int status, const struct pl_http_header *headers, size_t count,
                          struct pl_slice body)
{
    struct review_call *call = arg;
    PL_UNUSED(headers);
    PL_UNUSED(count);
    call->hooks = NULL;
    if (call->done) {
        free_when_over(call);
        return;
    }
    call->status = status;
    pl_buf_add_slice(&call->answer, body);
    step_later(call);
}

static void reviews_ask(struct review_call *call)
{
    size_t head = strlen(PL_REVIEWS_URL);
    bool ours = strncmp(call->url, PL_REVIEWS_URL "/", head + 1) == 0;
    struct pl_reviews *reviews = call->reviews;
    struct pl_hooks *hooks = ours ? reviews->o.find(reviews->o.arg) : NULL;
    call->sent = true;
    if (hooks == NULL) {
        end_with(call, PL_ENETWORK, "ConnectionRefused",
                 ours ? "connection refused: no host runs"
                      : "connection refused: in a world only webhooks of its scripts are reached");
        return;
    }
    const char *path = call->url + head;
    size_t len = strcspn(path, "?");
    const struct pl_hook_question question = {
        .method = call->method,
        .path = pl_slice(path, len),
        .query = pl_slice_z(path[len] == '?' ? path + len + 1 : ""),
        .content_type = call->content_type,
        .body = pl_buf_slice(&call->body)};
    call->hooks = hooks;
    pl_hooks_ask(hooks, &question, (struct pl_hook_client){reviews_reply, call});
}

/* ---- the server's side ---- */

static void reviews_finish(struct review_call *call)
{
    call->done = true;
    pl_timer_stop(pl_loop_timers(call->reviews->o.loop), &call->deadline);
    call->ops->on_done(call->arg, call->err.code != 0 ? &call->err : NULL);
    free_when_over(call);
}

static void reviews_give(struct review_call *call)
{
    const struct pl_http_response response = {.status = call->status};
    int code = 0;
    if (call->ops->on_response != NULL)
        call->ops->on_response(call->arg, &response);
    if (call->answer.len > 0)
        code = call->ops->on_body(call->arg, pl_buf_slice(&call->answer));
    if (code != 0)
        pl_err_set(&call->err, code, "the client refused the answer");
    reviews_finish(call);
}

static void reviews_go_on(struct pl_task *task)
{
    struct review_call *call = PL_CONTAINER_OF(task, struct review_call, next);
    if (call->err.code != 0)
        reviews_finish(call);
    else if (!call->sent)
        reviews_ask(call);
    else if (call->status != 0)
        reviews_give(call);
}

static char *content_type_of(const struct pl_http_request *request)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (strcasecmp(request->headers[i].name, "content-type") == 0)
            return pl_strdup(request->headers[i].value);
    return NULL;
}

static struct pl_http_call *reviews_start(void *self, const struct pl_http_request *request,
                                          const struct pl_http_ops *ops, void *arg)
{
    struct pl_reviews *reviews = self;
    struct review_call *call = PL_NEW(struct review_call);
    call->reviews = reviews;
    call->ops = ops;
    call->arg = arg;
    call->method = pl_strdup(request->method);
    call->url = pl_strdup(request->url);
    call->content_type = content_type_of(request);
    pl_buf_add_slice(&call->body, request->body);
    pl_err_clear(&call->err);
    pl_list_push(&reviews->calls, &call->link);
    if (request->timeout_ms > 0)
        pl_timer_start(pl_loop_timers(reviews->o.loop), &call->deadline,
                       request->timeout_ms * PL_MS, on_reviews_deadline);
    step_later(call);
    return (struct pl_http_call *)call;
}

static void reviews_cancel(void *self, struct pl_http_call *http)
{
    PL_UNUSED(self);
    end_with((struct review_call *)http, PL_ECANCELED, "", "canceled");
}

struct pl_transport pl_reviews_transport(struct pl_reviews *reviews)
{
    static const struct pl_transport_ops ops = {.start = reviews_start, .cancel = reviews_cancel};
    return (struct pl_transport){&ops, reviews};
}

/* ---- the end of a host or of the world ---- */

void pl_reviews_leave(struct pl_reviews *reviews, const struct pl_hooks *hooks)
{
    PL_LIST_FOR (link, &reviews->calls) {
        struct review_call *call = PL_CONTAINER_OF(link, struct review_call, link);
        if (hooks == NULL || call->hooks == hooks)
            end_with(call, PL_ENETWORK, "ConnectionReset", "connection reset by peer");
    }
}

struct pl_reviews *pl_reviews_create(const struct pl_reviews_options *options)
{
    struct pl_reviews *reviews = PL_NEW(struct pl_reviews);
    reviews->o = *options;
    pl_list_init(&reviews->calls);
    return reviews;
}

void pl_reviews_destroy(struct pl_reviews *reviews)
{
    /* A script that does not end after a cancellation has not answered yet, so the memory stays. */
    if (reviews != NULL && pl_list_empty(&reviews->calls))
        pl_free(reviews);
}
