/* A job is a copy of a call and the replies so far. When no reply is open any more, the request
 * runs again. The client may leave at any time: the job then ends with its last reply and answers
 * nobody. */
#include "apicall/ask.h"

#include "apicall/webhook_address.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/check.h"

#include <stdio.h>
#include <string.h>

#define MOST_RUNS     200
#define MOST_RESPONSE ((size_t)32 << 20)

/* A request that has asked a webhook. */
struct pl_api_job {
    struct pl_api *api;
    struct pl_api_call call; /* texts in the arena */
    struct pl_arena arena;
    struct pl_api_responder responder;
    struct pl_list replies;
    size_t count, open; /* replies; those that have not arrived */
    int runs;
    uint64_t seed;
    int64_t now_ns;
    bool orphan;               /* pl_api_job_drop */
    void (*resume)(void *arg); /* NULL: the request is run again */
    void *resume_arg;
    bool running; /* inside a run: replies that arrive now do not start another run */
    struct pl_timer again;
};

/* ---- copies ---- */

static const char *copy_z(struct pl_arena *arena, const char *text)
{
    return text != NULL ? pl_arena_copy(arena, pl_slice_z(text)).ptr : NULL;
}

static void copy_call(struct pl_api_job *job, const struct pl_api_call *call)
{
    struct pl_arena *arena = &job->arena;
    struct pl_api_call *copy = &job->call;
    *copy = *call;
    copy->method = copy_z(arena, call->method);
    copy->path = pl_arena_copy(arena, call->path);
    copy->query = pl_arena_copy(arena, call->query);
    copy->accept = copy_z(arena, call->accept);
    copy->content_type = copy_z(arena, call->content_type);
    copy->user_agent = copy_z(arena, call->user_agent);
    copy->authorization = copy_z(arena, call->authorization);
    copy->host = copy_z(arena, call->host);
    copy->origin = copy_z(arena, call->origin);
    copy->if_none_match = copy_z(arena, call->if_none_match);
    copy->body = pl_arena_copy(arena, call->body);
    struct pl_http_header *headers =
        pl_arena_alloc(arena, (call->impersonate_count + 1) * sizeof(*headers));
    for (size_t i = 0; i < call->impersonate_count; i++)
        headers[i] = (struct pl_http_header){copy_z(arena, call->impersonate[i].name),
                                             copy_z(arena, call->impersonate[i].value)};
    copy->impersonate = headers;
}

static struct pl_api_job *job_of(struct pl_api_ctx *ctx)
{
    if (ctx->job != NULL)
        return ctx->job;
    struct pl_api_job *job = PL_NEW(struct pl_api_job);
    job->api = ctx->api;
    job->responder = ctx->outside;
    job->seed = ctx->seed;
    job->now_ns = ctx->now_ns;
    job->running = true;
    pl_list_init(&job->replies);
    copy_call(job, &ctx->request.call);
    ctx->job = job;
    return job;
}

/* ---- replies ---- */

static struct pl_api_reply *ask_find(const struct pl_api_job *job, uint64_t key)
{
    for (struct pl_link *link = job != NULL ? job->replies.head.next : NULL;
         link != NULL && link != &job->replies.head; link = link->next) {
        struct pl_api_reply *reply = PL_CONTAINER_OF(link, struct pl_api_reply, link);
        if (reply->key == key)
            return reply;
    }
    return NULL;
}

bool pl_api_is_asked(const struct pl_api_ctx *ctx, uint64_t key)
{
    return ask_find(ctx->job, key) != NULL;
}

static void run_again(struct pl_timer *timer)
{
    struct pl_api_job *job = PL_CONTAINER_OF(timer, struct pl_api_job, again);
    job->running = true;
    if (job->resume != NULL)
        job->resume(job->resume_arg);
    else if (!job->api->run(job->api, &job->call, job->responder, job))
        pl_api_job_end(job);
}

static void on_ask_response(void *arg, const struct pl_http_response *response)
{
    struct pl_api_reply *reply = arg;
    reply->status = response->status;
}

static int on_ask_body(void *arg, struct pl_slice piece)
{
    struct pl_api_reply *reply = arg;
    pl_buf_add_slice(&reply->body, piece);
    return 0;
}

static void on_ask_done(void *arg, const struct pl_err *err)
{
    struct pl_api_reply *reply = arg;
    struct pl_api_job *job = reply->job;
    if (err != NULL)
        reply->err = *err;
    reply->done = true;
    reply->call = NULL;
    job->open--;
    if (job->orphan && job->open == 0)
        pl_api_job_end(job);
    else if (job->open == 0 && !job->running)
        pl_timer_start(job->api->timers, &job->again, 0, run_again);
}

static const struct pl_http_ops ops = {on_ask_response, on_ask_body, on_ask_done};

/* ---- where the webhook is ---- */

static int choose_place(struct pl_api_reply *reply, const struct pl_tree *client,
                        struct pl_err *err)
{
    struct pl_api_webhook_address reach;
    int rc = pl_api_webhook_address(reply->job->api, client, &reach, err);
    reply->url = reach.url;
    reply->server_name = reach.server_name;
    reply->tls.server_name = reach.server_name;
    return rc;
}

static int choose_ca(struct pl_api_reply *reply, const struct pl_tree *client, struct pl_err *err)
{
    struct pl_slice coded = pl_tree_text_at(client, "caBundle");
    struct pl_buf text = PL_BUF_INIT;
    if (coded.len == 0)
        return 0;
    if (!pl_base64_decode(coded, &text)) {
        pl_buf_deinit(&text);
        return pl_err_set(err, PL_EINVAL, "the webhook's caBundle is not base64");
    }
    reply->ca_pem = pl_buf_take(&text);
    reply->tls.ca_pem = reply->ca_pem;
    return 0;
}

static void ask_send(struct pl_api_job *job, struct pl_api_reply *reply,
                     const struct pl_api_question *question)
{
    static const struct pl_http_header headers[] = {{"Content-Type", "application/json"},
                                                    {"Accept", "application/json"},
                                                    {"User-Agent", "kube-apiserver-admission"}};
    const char *mark = strchr(reply->url, '?') != NULL ? "&" : "?";
    char *url = pl_format("%s%stimeout=%lldms", reply->url, mark, (long long)question->timeout_ms);
    if (question->timeout_ms % 1000 == 0) {
        pl_free(url);
        url = pl_format("%s%stimeout=%llds", reply->url, mark,
                        (long long)(question->timeout_ms / 1000));
    }
    const struct pl_http_request request = {.method = "POST",
                                            .url = url,
                                            .headers = headers,
                                            .header_count = PL_ARRAY_LEN(headers),
                                            .body = question->body,
                                            .tls = &reply->tls,
                                            .timeout_ms = question->timeout_ms,
                                            .max_response = MOST_RESPONSE};
    pl_free(reply->url);
    reply->url = url; /* it must live until the reply ends */
    job->open++;
    struct pl_transport *transport = &job->api->transport;
    reply->call = transport->ops->start(transport->self, &request, &ops, reply);
}

const struct pl_api_reply *pl_api_ask(struct pl_api_ctx *ctx,
                                      const struct pl_api_question *question)
{
    struct pl_api_job *job = job_of(ctx);
    struct pl_api_reply *reply = ask_find(job, question->key);
    if (reply != NULL) {
        ctx->is_waiting = ctx->is_waiting || !reply->done;
        return reply->done ? reply : NULL;
    }
    reply = PL_NEW(struct pl_api_reply);
    reply->job = job;
    reply->key = question->key;
    if (question->uid != NULL)
        snprintf(reply->question_uid, sizeof reply->question_uid, "%s", question->uid);
    pl_err_clear(&reply->err);
    pl_list_push(&job->replies, &reply->link);
    bool can =
        job->api->transport.ops != NULL && ++job->count <= PL_API_ASKS_MAX && job->runs < MOST_RUNS;
    if (!can)
        pl_err_set(&reply->err, PL_ELIMIT, "webhooks can't be called now");
    if (can && choose_place(reply, question->client, &reply->err) == 0 &&
        choose_ca(reply, question->client, &reply->err) == 0)
        ask_send(job, reply, question);
    else
        reply->done = true;
    ctx->is_waiting = ctx->is_waiting || !reply->done;
    return reply->done ? reply : NULL;
}

/* ---- the request ---- */

void pl_api_job_wait(struct pl_api_ctx *ctx)
{
    struct pl_api_job *job = ctx->job;
    job->running = false;
    job->runs++;
    if (job->open == 0) /* only in tests may answers arrive inside start */
        pl_timer_start(job->api->timers, &job->again, 0, run_again);
}

void pl_api_job_seed(const struct pl_api_job *job, struct pl_api_ctx *ctx)
{
    ctx->now_ns = job->now_ns;
    ctx->seed = job->seed;
    pl_rand_seed(&ctx->rand, ctx->seed);
}

void pl_api_job_resume(struct pl_api_job *job, void (*again)(void *arg), void *arg)
{
    job->resume = again;
    job->resume_arg = arg;
}

void pl_api_job_drop(struct pl_api_job *job)
{
    if (job == NULL)
        return;
    pl_timer_stop(job->api->timers, &job->again);
    job->orphan = true;
    if (job->open == 0)
        pl_api_job_end(job);
}

void pl_api_job_end(struct pl_api_job *job)
{
    if (job == NULL)
        return;
    PL_REQUIRE(job->open == 0);
    struct pl_link *link;
    pl_timer_stop(job->api->timers, &job->again);
    while ((link = pl_list_pop(&job->replies)) != NULL) {
        struct pl_api_reply *reply = PL_CONTAINER_OF(link, struct pl_api_reply, link);
        pl_buf_deinit(&reply->body);
        pl_free(reply->ca_pem);
        pl_free(reply->url);
        pl_free(reply->server_name);
        pl_free(reply);
    }
    pl_arena_deinit(&job->arena);
    pl_free(job);
}
