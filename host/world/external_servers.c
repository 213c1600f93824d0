/* A request is copied when it starts, and answered as a whole in a separate step. In between are
 * the points where a chooser can disturb it: before it is sent, and when it has been done. */
#include "world/external_servers.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "net/headers.h"

#include <stdio.h>
#include <string.h>

#define FIRST_ID ((uint64_t)1 << 40) /* requests of the API have others */

struct external_call {
    struct pl_link link;
    struct pl_external_servers *outside;
    const struct pl_http_ops *ops;
    void *arg;
    struct pl_task task;
    char *method, *url;
    struct pl_http_header *headers; /* owned, as their texts */
    size_t header_count;
    struct pl_buf body;
    uint64_t id;
    bool canceled;
};

struct pl_external_servers {
    struct pl_loop *loop;
    struct pl_external_options o;
    struct pl_external_client client;
    uint64_t started;
    struct pl_list calls;
};

static void external_finish(struct external_call *call, const struct pl_err *err)
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

static void external_fail(struct external_call *call, int code, const char *reason,
                          const char *message)
{
    struct pl_err err;
    pl_err_clear(&err);
    pl_err_set(&err, code, "%s", message);
    snprintf(err.reason, sizeof err.reason, "%s", reason);
    external_finish(call, &err);
}

static void cancel_now(struct external_call *call)
{
    external_fail(call, PL_ECANCELED, "", "canceled");
}

static void external_give(struct external_call *call, const struct pl_external_answer *answer)
{
    if (answer->status == 0) {
        external_fail(call, PL_ENETWORK, "ConnectionRefused",
                      answer->message != NULL ? answer->message : "nobody answers");
        return;
    }
    const struct pl_http_response response = {answer->status, answer->headers,
                                              answer->header_count};
    if (call->ops->on_response != NULL)
        call->ops->on_response(call->arg, &response);
    if (answer->body_len > 0)
        call->ops->on_body(call->arg, pl_slice(answer->body, answer->body_len));
    external_finish(call, NULL);
}

/* ---- disturbances ---- */

/* Escapes spaces and commas, which separate words and parts of a plan. */
static void external_escape(struct pl_buf *out, const char *url)
{
    for (; *url != '\0'; url++) {
        if (*url == ' ' || *url == ',')
            pl_buf_add_f(out, "%%%02X", (unsigned)*url);
        else
            pl_buf_add_char(out, *url);
    }
}

static bool external_writes(const struct external_call *call)
{
    return strcmp(call->method, "GET") != 0 && strcmp(call->method, "HEAD") != 0;
}

/* Asks the chooser; status 0: before it is sent. */
static struct pl_disturbance external_choose(struct external_call *call, int status)
{
    const struct pl_external_client *client = &call->outside->client;
    struct pl_disturbance what = {PL_ACT_GO, 0, NULL, 0, 0};
    struct pl_asker asker = {.controller = "", .key = "", .run = "", .kind = ""};
    struct pl_buf url = PL_BUF_INIT;
    if (client->chooser == NULL)
        return what;
    if (client->who != NULL)
        client->who(client->arg, call->method, call->url, &asker);
    external_escape(&url, call->url);
    const struct pl_point point = {.kind = status == 0 ? PL_POINT_REQUEST : PL_POINT_APPLIED,
                                   .host = client->host,
                                   .controller = asker.controller,
                                   .key = asker.key,
                                   .run_id = asker.run,
                                   .line = asker.line,
                                   .api_kind = call->method,
                                   .call_id = call->id,
                                   .by_run = true,
                                   .verb = "http",
                                   .object = pl_buf_z(&url),
                                   .body = pl_buf_slice(&call->body),
                                   .writes = external_writes(call),
                                   .status = status};
    client->chooser->at(client->chooser->arg, &point, &what);
    pl_buf_deinit(&url);
    return what;
}

static void external_lose(struct external_call *call, bool is_timeout)
{
    if (is_timeout)
        external_fail(call, PL_ETIMEOUT, "Timeout", "no answer in time");
    else
        external_fail(call, PL_ENETWORK, "ConnectionReset", "the connection was lost");
}

/* The request does not reach the server. */
static void external_refuse(struct external_call *call, int status)
{
    const struct pl_external_answer answer = {.status = status};
    if (status == 0)
        external_fail(call, PL_ENETWORK, "ConnectionRefused", "the connection was refused");
    else
        external_give(call, &answer);
}

static void external_ask(struct external_call *call, struct pl_external_answer *answer)
{
    const struct pl_external_request request = {call->method, call->url, call->headers,
                                                call->header_count, pl_buf_slice(&call->body)};
    if (call->outside->o.answer != NULL)
        call->outside->o.answer(call->outside->o.arg, &request, answer);
}

static void external_crash(struct external_call *call)
{
    call->outside->client.crash(call->outside->client.arg);
}

static void external_go_on(struct pl_task *task)
{
    struct external_call *call = PL_CONTAINER_OF(task, struct external_call, task);
    struct pl_external_answer answer = {.status = 0};
    if (call->canceled) {
        cancel_now(call);
        return;
    }
    struct pl_disturbance what = external_choose(call, 0);
    bool lost = what.act == PL_ACT_LOSE;
    bool is_timeout = what.reason != NULL && strcmp(what.reason, "timeout") == 0;
    if (what.act == PL_ACT_CRASH) {
        external_crash(call);
        return;
    }
    if (what.act == PL_ACT_REFUSE) {
        external_refuse(call, what.status);
        return;
    }
    external_ask(call, &answer);
    what = external_choose(call, answer.status != 0 ? answer.status : 503);
    if (what.act == PL_ACT_CRASH)
        external_crash(call);
    else if (lost)
        external_lose(call, is_timeout);
    else
        external_give(call, &answer);
    pl_headers_free(answer.headers, answer.header_count);
    pl_free(answer.body);
    pl_free(answer.message);
}

/* ---- the transport ---- */

static struct pl_http_call *external_start(void *self, const struct pl_http_request *request,
                                           const struct pl_http_ops *ops, void *arg)
{
    struct pl_external_servers *outside = self;
    struct external_call *call = PL_NEW(struct external_call);
    call->outside = outside;
    call->id = FIRST_ID + ++outside->started;
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
    pl_loop_defer(outside->loop, &call->task, external_go_on);
    return (struct pl_http_call *)call;
}

static void external_cancel(void *self, struct pl_http_call *http)
{
    struct pl_external_servers *outside = self;
    struct external_call *call = (struct external_call *)http;
    call->canceled = true;
    pl_loop_defer(outside->loop, &call->task, external_go_on);
}

struct pl_transport pl_external_transport(struct pl_external_servers *outside)
{
    static const struct pl_transport_ops ops = {.start = external_start, .cancel = external_cancel};
    return (struct pl_transport){&ops, outside};
}

struct pl_external_servers *pl_external_create(struct pl_loop *loop,
                                               const struct pl_external_options *options,
                                               const struct pl_external_client *client)
{
    struct pl_external_servers *outside = PL_NEW(struct pl_external_servers);
    outside->loop = loop;
    outside->o = *options;
    outside->client = *client;
    pl_list_init(&outside->calls);
    return outside;
}

void pl_external_cut(struct pl_external_servers *outside)
{
    outside->o.answer = NULL;
    outside->client.chooser = NULL;
}

void pl_external_destroy(struct pl_external_servers *outside)
{
    if (outside == NULL)
        return;
    struct pl_link *link;
    while ((link = pl_list_first(&outside->calls)) != NULL)
        cancel_now(PL_CONTAINER_OF(link, struct external_call, link));
    pl_free(outside);
}
