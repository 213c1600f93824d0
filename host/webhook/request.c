/* One review, from the request to its answer.
 *
 * A request is answered exactly once: when its handler has ended, or at its deadline, whichever
 * comes first. After the deadline the run is cancelled and counts until it ends; its answer is
 * dropped. A handler's failure is HTTP 500 for admission, so that the failurePolicy decides. For
 * conversion it is a review with Failure, since the API server reads no other answer. The same
 * error is logged in full once a minute. */
#include "webhook/hooks_impl.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "net/http.h"
#include "object/meta.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define CONVERT_NS   (30 * PL_SECOND)
#define SAY_AGAIN    (60 * PL_SECOND)
#define MOST_MESSAGE 1024 /* limit of the message in an answer, in bytes */

struct request {
    struct pl_link link;   /* hooks->requests */
    struct pl_link queued; /* set->waiting */
    struct pl_hooks *hooks;
    struct pl_hook_client client; /* reply NULL: answered */
    struct pl_hook_route *route;
    struct pl_hook_set *set;         /* counted */
    const struct pl_hook_kind *kind; /* of its spec */
    struct pl_review review;
    struct pl_run run;
    struct pl_timer deadline;
    int64_t began_ns, limit_ns;
    bool running, late;
};

static int64_t request_now_of(const struct pl_hooks *hooks)
{
    return pl_clock_mono(hooks->timers->clock);
}

/* ---- answers ---- */

static void request_count(struct pl_hooks *hooks, const char *path, int status)
{
    char code[16];
    const char *labels[] = {path, code};
    snprintf(code, sizeof code, "%d", status);
    if (hooks->totals != NULL)
        pl_series_add(pl_metric_series(hooks->totals, labels), 1);
}

/* Nearly every request ends with 200, so that series is looked up once. */
static void count_answer(struct pl_hooks *hooks, struct pl_hook_route *route, int status)
{
    const char *labels[] = {route->path, "200"};
    if (status != 200 || hooks->totals == NULL) {
        request_count(hooks, route->path, status);
        return;
    }
    if (route->shown.answered == NULL)
        route->shown.answered = pl_metric_series(hooks->totals, labels);
    pl_series_add(route->shown.answered, 1);
}

static void request_reply(struct pl_hook_client client, int status, const char *content_type,
                          struct pl_slice body)
{
    const struct pl_http_header header = {"content-type", content_type};
    client.reply(client.arg, status, &header, 1, body);
}

/* One line of text, for readers of the API server's log. */
static void request_refuse(struct pl_hook_client client, int status, const char *text)
{
    struct pl_buf line = PL_BUF_INIT;
    for (const char *c = text; *c != '\0' && line.len < MOST_MESSAGE; c++)
        pl_buf_add_char(&line, (unsigned char)*c < ' ' || *c == 127 ? ' ' : *c);
    pl_buf_add_char(&line, '\n');
    request_reply(client, status, "text/plain; charset=utf-8", pl_buf_slice(&line));
    pl_buf_deinit(&line);
}

static void request_answer(struct request *request, int status, struct pl_slice body)
{
    struct pl_hook_client client = request->client;
    struct pl_hook_route *route = request->route;
    request->client.reply = NULL;
    count_answer(request->hooks, route, status);
    pl_series_observe(route->shown.latency,
                      (double)(request_now_of(request->hooks) - request->began_ns) /
                          (double)PL_SECOND);
    if (status == 200)
        request_reply(client, status, "application/json", body);
    else
        request_refuse(client, status, body.ptr);
}

static void answer_handled(struct request *request)
{
    struct pl_buf body = PL_BUF_INIT;
    if (pl_review_is_denied(&request->review)) {
        request->route->denied++;
        pl_series_add(request->route->shown.denied, 1);
    }
    pl_review_answer(&request->review, &body);
    request_answer(request, 200, pl_buf_slice(&body));
    pl_buf_deinit(&body);
}

/* "NAME: MESSAGE" */
static char *failure_text(const struct request *request, const char *message)
{
    char *text = NULL, *name = NULL;
    if (request->review.call->sort == PL_HOOK_CONVERT)
        name = pl_review_failed_name(&request->review);
    if (name == NULL || *name == '\0') {
        pl_free(name);
        name = pl_strdup(request->kind->name);
    }
    text = pl_format("%s: %s", name, message);
    pl_free(name);
    return text;
}

static void answer_failed(struct request *request, const char *message)
{
    char *text = failure_text(request, message);
    if (request->review.call->sort == PL_HOOK_CONVERT) {
        struct pl_buf body = PL_BUF_INIT;
        pl_review_refuse(&request->review, text, &body);
        request_answer(request, 200, pl_buf_slice(&body));
        pl_buf_deinit(&body);
    } else {
        request_answer(request, 500, pl_slice_z(text));
    }
    pl_free(text);
}

static void log_failure(struct request *request, const char *message, const char *traceback)
{
    struct pl_hook_route *route = request->route;
    int64_t now = request_now_of(request->hooks);
    route->errors++;
    if (route->error != NULL && strcmp(route->error, message) == 0 &&
        now - route->error_ns < SAY_AGAIN) {
        route->repeated++;
        return;
    }
    char *key = pl_review_failed_key(&request->review);
    struct pl_field fields[] = {
        pl_str("webhook", request->kind->name),
        pl_str("key", key),
        pl_str("operation", request->review.operation),
        pl_str("uid", request->review.uid),
        pl_str("error", message),
        pl_int("repeated", route->repeated),
        pl_str("traceback", traceback),
    };
    pl_log_fields(PL_LOG_ERROR, "webhook failed", fields,
                  PL_ARRAY_LEN(fields) - (traceback == NULL));
    pl_free(key);
    pl_free(route->error);
    route->error = pl_strdup(message);
    route->error_ns = now;
    route->repeated = 0;
}

/* ---- the end ---- */

static void free_request(struct request *request)
{
    struct pl_hooks *hooks = request->hooks;
    PL_REQUIRE(request->client.reply == NULL);
    pl_timer_stop(hooks->timers, &request->deadline);
    pl_link_unlink(&request->link);
    pl_link_unlink(&request->queued);
    request->route->in_flight--;
    pl_series_add(request->route->shown.in_flight, -1);
    pl_hook_set_unref(request->set);
    pl_review_deinit(&request->review);
    pl_free(request);
    pl_hooks_check_end(hooks);
}

static void start_next(struct pl_hook_set *set);

/* For the guard: an error of the script, a limit or a missed deadline counts; an error of the API
 * server does not. */
static void tell_ran(struct request *request, const struct pl_outcome_of_run *outcome, bool failed)
{
    struct pl_hook_route *route = request->route;
    struct pl_hook_set *set = request->set;
    struct pl_outcome_of_run told = *outcome;
    if (outcome->outcome == PL_OUTCOME_CANCELED && !request->late)
        return;
    if (request->late) {
        told.outcome = PL_OUTCOME_ERROR;
        told.by_script = true;
    }
    pl_edition_tell_ran(
        set->edition,
        &(struct pl_ran){.run = &request->run,
                         .outcome = &told,
                         .failed_before = route->failing && route->failing_since < set->serial});
    if (failed && !route->failing)
        route->failing_since = set->serial;
    route->failing = failed;
}

static char *late_text(const struct request *request)
{
    return pl_format("the deadline of %g s has passed",
                     (double)request->limit_ns / (double)PL_SECOND);
}

static void on_finished(struct pl_run *run, const struct pl_outcome_of_run *outcome)
{
    struct request *request = PL_CONTAINER_OF(run, struct request, run);
    struct pl_hook_set *set = request->set;
    struct pl_site *site = pl_cluster_site(request->hooks->o.cluster);
    bool done = outcome->outcome == PL_OUTCOME_DONE;
    const char *message = outcome->message != NULL ? outcome->message : "it has failed";
    /* The lane's watchdog ends a handler that computes, possibly before the timer here. */
    if (!done && request_now_of(request->hooks) >= run->deadline_ns)
        request->late = true;
    char *late = request->late ? late_text(request) : NULL;
    set->running--;
    if (late != NULL || !done)
        log_failure(request, late != NULL ? late : message, outcome->traceback);
    tell_ran(request, outcome, late != NULL || !done);
    if (request->client.reply != NULL && done)
        answer_handled(request);
    else if (request->client.reply != NULL)
        answer_failed(request, late != NULL ? late : message);
    pl_free(late);
    pl_edition_unref(request->run.edition);
    pl_hook_call_unref(request->run.hook);
    set->refs++; /* while the next one begins */
    free_request(request);
    start_next(set);
    pl_hook_set_unref(set);
    pl_site_release(site);
}

/* ---- its run ---- */

static const struct pl_run_owner owner = {.finish = on_finished};

static void request_start(struct request *request)
{
    struct pl_run *run = &request->run;
    struct pl_site *site = pl_cluster_site(request->hooks->o.cluster);
    const struct pl_controller_options *by = pl_edition_options(request->set->edition);
    run->owner = &owner;
    run->edition = pl_edition_ref(request->set->edition);
    run->key = pl_slice_z(request->review.key);
    pl_key_split(run->key, &run->ns, &run->name);
    pl_run_set_id(run, pl_rand_u64(pl_site_rand(site)));
    run->deadline_ns = request->began_ns + request->limit_ns;
    run->hook = pl_hook_call_ref(request->review.call);
    run->hook->name = pl_strdup(request->kind->name);
    request->running = true;
    request->set->running++;
    pl_site_hold(site);
    by->ops->start(by->self, run);
}

static void start_next(struct pl_hook_set *set)
{
    struct pl_link *link;
    while (set->running < pl_edition_spec(set->edition)->max_concurrent &&
           (link = pl_list_pop(&set->waiting)) != NULL)
        request_start(PL_CONTAINER_OF(link, struct request, queued));
}

static void request_cancel(struct request *request, const char *text)
{
    const struct pl_controller_options *by = pl_edition_options(request->run.edition);
    struct pl_err why;
    pl_err_clear(&why);
    pl_err_set(&why, PL_ETIMEOUT, "%s", text);
    by->ops->cancel(by->self, &request->run, &why);
}

static void on_request_deadline(struct pl_timer *timer)
{
    struct request *request = PL_CONTAINER_OF(timer, struct request, deadline);
    char *text = late_text(request);
    if (request->running) {
        request->late = true;
        answer_failed(request, text);
        request_cancel(request, text);
    } else {
        char *waited =
            pl_format("%s while %d others ran (max_concurrent)", text, request->set->running);
        log_failure(request, waited, NULL);
        answer_failed(request, waited);
        free_request(request);
        pl_free(waited);
    }
    pl_free(text);
}

/* ---- the beginning ---- */

static bool is_json(const char *type)
{
    static const char json[] = "application/json";
    if (type == NULL || strncasecmp(type, json, sizeof json - 1) != 0)
        return false;
    char next = type[sizeof json - 1];
    return next == '\0' || next == ';' || next == ' ' || next == '\t';
}

static bool is_convert(struct pl_slice path)
{
    return pl_slice_eqz(path, "/convert");
}

static int refuse_early(struct pl_hooks *hooks, struct pl_hook_client client, const char *path,
                        int status, const char *text)
{
    if (path != NULL)
        request_count(hooks, path, status);
    request_refuse(client, status, text);
    return status;
}

/* The status of the refusal; 0: it continues. */
static int check_head(struct pl_hooks *hooks, const struct pl_hook_question *question,
                      struct pl_hook_client client, const char *path)
{
    const struct pl_http_header allow[] = {{"allow", "POST"}, {"content-type", "text/plain"}};
    if (path == NULL)
        return refuse_early(hooks, client, NULL, 404, "no webhook is served at this path");
    if (strcmp(question->method, "POST") != 0) {
        request_count(hooks, path, 405);
        client.reply(client.arg, 405, allow, PL_ARRAY_LEN(allow),
                     pl_slice_z("a webhook takes only POST\n"));
        return 405;
    }
    if (!is_json(question->content_type))
        return refuse_early(hooks, client, path, 415,
                            "a webhook takes reviews of the type application/json");
    return 0;
}

static struct request *request_create(struct pl_hooks *hooks, struct pl_slice query,
                                      struct pl_hook_client client, struct pl_hook_route *route,
                                      const struct pl_review *review)
{
    struct request *request = PL_NEW(struct request);
    const struct pl_hook_spec *spec = pl_edition_spec(route->set->edition)->hook;
    bool converts = spec->sort == PL_HOOK_CONVERT;
    request->hooks = hooks;
    request->client = client;
    request->route = route;
    request->set = route->set;
    request->set->refs++;
    request->kind = route->kind;
    request->review = *review;
    request->review.call->parameters = spec->parameters;
    request->began_ns = request_now_of(hooks);
    if (pl_review_timeout(query, &request->limit_ns))
        request->limit_ns = pl_review_deadline(request->limit_ns);
    else
        request->limit_ns = converts ? CONVERT_NS : spec->timeout_s * PL_SECOND;
    route->requests++;
    route->in_flight++;
    pl_series_add(route->shown.in_flight, 1);
    pl_list_push(&hooks->requests, &request->link);
    pl_timer_start(hooks->timers, &request->deadline, request->limit_ns, on_request_deadline);
    return request;
}

static void request_begin(struct pl_hooks *hooks, struct pl_slice query,
                          struct pl_hook_client client, struct pl_hook_route *route,
                          const struct pl_review *review)
{
    struct request *request = request_create(hooks, query, client, route, review);
    pl_list_push(&request->set->waiting, &request->queued);
    start_next(request->set);
}

/* "NAME: MESSAGE" by the first object that is not converted. */
static char *early_failure(const struct pl_review *review, const char *message)
{
    char *name = pl_review_failed_name(review);
    char *text =
        name != NULL && *name != '\0' ? pl_format("%s: %s", name, message) : pl_strdup(message);
    pl_free(name);
    return text;
}

/* A review with the failure, since the API server reads no other answer of a conversion. */
static void answer_early(struct pl_hooks *hooks, struct pl_hook_client client,
                         struct pl_review *review, const char *failure)
{
    struct pl_buf body = PL_BUF_INIT;
    char *text = failure != NULL ? early_failure(review, failure) : NULL;
    if (text != NULL)
        pl_review_refuse(review, text, &body);
    else
        pl_review_answer(review, &body);
    pl_free(text);
    request_count(hooks, "/convert", 200);
    request_reply(client, 200, "application/json", pl_buf_slice(&body));
    pl_buf_deinit(&body);
    pl_review_deinit(review);
}

static void begin_conversion(struct pl_hooks *hooks, struct pl_slice query,
                             struct pl_hook_client client, struct pl_review *review)
{
    struct pl_err err;
    struct pl_kind kind;
    pl_err_clear(&err);
    int rc = pl_review_kind(review, &kind, &err);
    struct pl_hook_route *route = rc == 0 ? pl_hooks_find_convert(hooks, &kind) : NULL;
    if (rc == 0 && route == NULL)
        pl_err_set(&err, PL_EINVAL, "no handler converts %s/%s", kind.group, kind.kind);
    if (route != NULL)
        request_begin(hooks, query, client, route, review);
    else
        answer_early(hooks, client, review, rc == PL_ENOTFOUND ? NULL : err.message);
}

void pl_hooks_ask(struct pl_hooks *hooks, const struct pl_hook_question *question,
                  struct pl_hook_client client)
{
    pl_loop_require(hooks->o.loop);
    struct pl_slice path = question->path;
    bool converts = is_convert(path) && pl_hooks_converts(hooks);
    struct pl_hook_route *route = converts ? NULL : pl_hooks_find(hooks, path);
    const char *known = converts ? "/convert" : route != NULL ? route->path : NULL;
    struct pl_review review;
    struct pl_err err;
    pl_err_clear(&err);
    if (check_head(hooks, question, client, known) != 0)
        return;
    enum pl_hook_sort sort =
        converts ? PL_HOOK_CONVERT : pl_edition_spec(route->set->edition)->hook->sort;
    if (pl_review_read(question->body, sort, &review, &err) != 0)
        refuse_early(hooks, client, known, 400, err.message);
    else if (converts)
        begin_conversion(hooks, question->query, client, &review);
    else
        request_begin(hooks, question->query, client, route, &review);
}

/* ---- over a connection ---- */

static void reply_to_exchange(void *arg, int status, const struct pl_http_header *headers,
                              size_t count, struct pl_slice body)
{
    pl_exchange_reply_with(arg, status, headers, count, body);
}

void pl_hook_request(void *hooks, struct pl_exchange *exchange)
{
    const struct pl_hook_question question = {.method = pl_exchange_method(exchange),
                                              .path = pl_exchange_path(exchange),
                                              .query = pl_exchange_query(exchange),
                                              .content_type =
                                                  pl_exchange_header(exchange, "content-type"),
                                              .body = pl_exchange_body(exchange)};
    pl_hooks_ask(hooks, &question, (struct pl_hook_client){reply_to_exchange, exchange});
}
