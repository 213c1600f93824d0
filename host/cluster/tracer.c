/* Spans are written into a buffer of JSON when they end, and sent a few seconds later, one request
 * at a time. A run's trace id contains its reconcile id, so that logs and traces can be matched,
 * and decides whether the run and its calls are traced. */
#include "cluster/tracer.h"

#include "base/alloc.h"
#include "base/log.h"
#include "value/build.h"
#include "value/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEND_EVERY (2 * PL_SECOND)
#define FINISH_MAX (2 * PL_SECOND) /* how long a stop waits for the collector */
#define SPANS_MAX  4096            /* limit of waiting spans */
#define TEXT_MAX   1024
#define SAY_AGAIN  (300 * PL_SECOND)

struct pl_tracer {
    struct pl_tracer_options o;
    struct pl_trace_env env;        /* owned */
    struct pl_tls_options tls;      /* borrows from env */
    struct pl_http_header *headers; /* owned; the texts are in env */
    struct pl_build *b;             /* owned: an array of spans; NULL: none waits */
    size_t spans;
    struct pl_timer send;
    struct pl_http_call *call; /* under way */
    size_t in_flight;
    int status;
    int64_t said_ns;
    void (*finished)(void *arg); /* NULL: nobody waits for the end */
    void *finished_arg;
    struct pl_series *sent, *dropped; /* NULL: no metrics */
};

/* ---- spans ---- */

static void put_attribute(struct pl_build *b, const char *key, struct pl_slice value)
{
    pl_build_object(b);
    pl_build_put_strz(b, "key", key);
    pl_build_keyz(b, "value");
    pl_build_object(b);
    pl_build_put_text(b, "stringValue",
                      pl_slice(value.ptr, value.len < TEXT_MAX ? value.len : TEXT_MAX));
    pl_build_end(b);
    pl_build_end(b);
}

static void tracer_put_time(struct pl_build *b, const char *key, int64_t ns)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, ns);
    pl_build_put_strz(b, key, text);
}

static void on_send(struct pl_timer *timer);

static bool is_sampled(const struct pl_tracer *tracer, const char *run)
{
    char digits[17];
    snprintf(digits, sizeof digits, "%.16s", run);
    return tracer->env.ratio >= 1 ||
           (double)strtoull(digits, NULL, 16) < tracer->env.ratio * 0x1p64;
}

/* NULL: the run is not traced, or there is no room. The caller adds the span's members; end_span
 * ends it. */
static struct pl_build *begin_span(struct pl_tracer *tracer, const char *run, struct pl_slice name,
                                   int kind, int64_t took_ns)
{
    char trace[33];
    if (!is_sampled(tracer, run))
        return NULL;
    if (tracer->spans >= SPANS_MAX) {
        if (tracer->dropped != NULL)
            pl_series_add(tracer->dropped, 1);
        return NULL;
    }
    if (tracer->b == NULL) {
        tracer->b = pl_build_create(NULL);
        pl_build_array(tracer->b);
    }
    tracer->spans++;
    int64_t now = pl_clock_wall(tracer->o.timers->clock);
    snprintf(trace, sizeof trace, "%.16s%.16s", run, run);
    pl_build_object(tracer->b);
    pl_build_put_strz(tracer->b, "traceId", trace);
    pl_build_put_text(tracer->b, "name",
                      pl_slice(name.ptr, name.len < TEXT_MAX ? name.len : TEXT_MAX));
    pl_build_put_int(tracer->b, "kind", kind);
    tracer_put_time(tracer->b, "startTimeUnixNano", now - took_ns);
    tracer_put_time(tracer->b, "endTimeUnixNano", now);
    return tracer->b;
}

static void end_span(struct pl_tracer *tracer, bool failed, struct pl_slice message)
{
    struct pl_build *b = tracer->b;
    pl_build_keyz(b, "status");
    pl_build_object(b);
    if (failed) {
        pl_build_put_int(b, "code", 2);
        pl_build_put_text(b, "message",
                          pl_slice(message.ptr, message.len < TEXT_MAX ? message.len : TEXT_MAX));
    }
    pl_build_end(b);
    pl_build_end(b);
    if (!pl_timer_is_active(&tracer->send) && tracer->call == NULL && tracer->finished == NULL)
        pl_timer_start(tracer->o.timers, &tracer->send, SEND_EVERY, on_send);
}

void pl_tracer_call(struct pl_tracer *tracer, const char *run, struct pl_slice what,
                    struct pl_slice result, bool failed, int64_t took_ns)
{
    char id[17];
    struct pl_build *b = begin_span(tracer, run, what, 3, took_ns); /* CLIENT */
    if (b == NULL)
        return;
    snprintf(id, sizeof id, "%016" PRIx64, pl_rand_u64(tracer->o.rand) | 1);
    pl_build_put_strz(b, "spanId", id);
    pl_build_put_strz(b, "parentSpanId", run);
    pl_build_keyz(b, "attributes");
    pl_build_array(b);
    put_attribute(b, "perilune.result", result);
    pl_build_end(b);
    end_span(tracer, failed, result);
}

void pl_tracer_run(struct pl_tracer *tracer, const char *run, const char *controller,
                   struct pl_slice key, const char *outcome, struct pl_slice message, bool failed,
                   int64_t took_ns)
{
    struct pl_build *b = begin_span(tracer, run, pl_slice_z(controller), 1, took_ns); /* INTERNAL */
    if (b == NULL)
        return;
    pl_build_put_strz(b, "spanId", run);
    pl_build_keyz(b, "attributes");
    pl_build_array(b);
    put_attribute(b, "perilune.controller", pl_slice_z(controller));
    put_attribute(b, "perilune.key", key);
    put_attribute(b, "perilune.outcome", pl_slice_z(outcome));
    pl_build_end(b);
    end_span(tracer, failed, message);
}

/* ---- sending ---- */

static void on_tracer_response(void *arg, const struct pl_http_response *response)
{
    ((struct pl_tracer *)arg)->status = response->status;
}

static int on_tracer_body(void *arg, struct pl_slice piece)
{
    PL_UNUSED(arg), PL_UNUSED(piece);
    return 0;
}

static void go_on_finishing(struct pl_tracer *tracer);

static void on_tracer_done(void *arg, const struct pl_err *err)
{
    struct pl_tracer *tracer = arg;
    bool taken = err == NULL && tracer->status >= 200 && tracer->status < 300;
    int64_t now = pl_clock_mono(tracer->o.timers->clock);
    struct pl_series *series = taken ? tracer->sent : tracer->dropped;
    tracer->call = NULL;
    if (series != NULL)
        pl_series_add(series, (double)tracer->in_flight);
    if (!taken && (tracer->said_ns == 0 || now - tracer->said_ns > SAY_AGAIN)) {
        tracer->said_ns = now;
        pl_log(PL_LOG_WARN, "traces are lost: the collector did not accept them",
               pl_str("error", err != NULL ? err->message : "its answer"),
               pl_int("status", tracer->status));
    }
    if (tracer->finished != NULL)
        go_on_finishing(tracer);
    else if (tracer->spans > 0)
        pl_timer_start(tracer->o.timers, &tracer->send, SEND_EVERY, on_send);
}

static const struct pl_http_ops http_ops = {on_tracer_response, on_tracer_body, on_tracer_done};

static struct pl_doc *envelope(const struct pl_tracer *tracer, struct pl_node spans)
{
    struct pl_build *b = pl_build_create(NULL);
    static const char outer[][16] = {"resourceSpans", "scopeSpans"};
    const struct pl_trace_pairs *attributes = &tracer->env.attributes;
    for (size_t i = 0; i < PL_ARRAY_LEN(outer); i++) {
        if (i == 0)
            pl_build_object(b);
        pl_build_keyz(b, outer[i]);
        pl_build_array(b);
        pl_build_object(b);
        pl_build_keyz(b, i == 0 ? "resource" : "scope");
        pl_build_object(b);
        if (i == 0) {
            pl_build_keyz(b, "attributes");
            pl_build_array(b);
            put_attribute(b, "service.name", pl_slice_z(tracer->env.service));
            for (size_t j = 0; j < attributes->count; j++)
                put_attribute(b, attributes->items[j].name, pl_slice_z(attributes->items[j].value));
            pl_build_end(b);
        } else {
            pl_build_put_strz(b, "name", "perilune");
        }
        pl_build_end(b);
    }
    pl_build_keyz(b, "spans");
    pl_build_node(b, spans);
    for (int i = 0; i < 5; i++) /* the scope's object and array, the resource's, and the whole */
        pl_build_end(b);
    return pl_build_close(b);
}

static void send_spans(struct pl_tracer *tracer)
{
    struct pl_buf body = PL_BUF_INIT;
    pl_build_end(tracer->b);
    struct pl_doc *spans = pl_build_finish(tracer->b);
    struct pl_doc *whole = envelope(tracer, pl_doc_root(spans));
    pl_write(&body, pl_doc_root(whole), PL_WRITE_COMPACT);
    const struct pl_http_request request = {
        .method = "POST",
        .url = tracer->env.url,
        .headers = tracer->headers,
        .header_count = tracer->env.headers.count + 1,
        .body = pl_buf_slice(&body),
        .tls = strncmp(tracer->env.url, "https:", 6) == 0 ? &tracer->tls : NULL,
        .timeout_ms = tracer->env.timeout_ms,
        .max_response = 65536,
        .lane = PL_HTTP_LANES - 1,
    };
    tracer->in_flight = tracer->spans;
    tracer->spans = 0;
    tracer->status = 0;
    tracer->call =
        tracer->o.transport.ops->start(tracer->o.transport.self, &request, &http_ops, tracer);
    pl_build_destroy(tracer->b);
    tracer->b = NULL;
    pl_doc_unref(whole);
    pl_doc_unref(spans);
    pl_buf_deinit(&body);
}

static void on_send(struct pl_timer *timer)
{
    send_spans(PL_CONTAINER_OF(timer, struct pl_tracer, send));
}

/* ---- the end ---- */

static void end_finishing(struct pl_tracer *tracer)
{
    void (*finished)(void *arg) = tracer->finished;
    tracer->finished = NULL;
    pl_timer_stop(tracer->o.timers, &tracer->send);
    finished(tracer->finished_arg);
}

static void on_finish_late(struct pl_timer *timer)
{
    struct pl_tracer *tracer = PL_CONTAINER_OF(timer, struct pl_tracer, send);
    tracer->said_ns = pl_clock_mono(tracer->o.timers->clock);
    pl_log(PL_LOG_WARN, "the last traces are lost: the collector has not answered in time",
           pl_int("spans", (int64_t)(tracer->in_flight + tracer->spans)));
    end_finishing(tracer);
}

static void go_on_finishing(struct pl_tracer *tracer)
{
    if (tracer->call == NULL && tracer->spans > 0)
        send_spans(tracer);
    if (tracer->call == NULL)
        end_finishing(tracer);
}

void pl_tracer_finish(struct pl_tracer *tracer, void (*finished)(void *arg), void *arg)
{
    tracer->finished = finished;
    tracer->finished_arg = arg;
    pl_timer_stop(tracer->o.timers, &tracer->send);
    pl_timer_start(tracer->o.timers, &tracer->send, FINISH_MAX, on_finish_late);
    go_on_finishing(tracer);
}

/* ---- lifetime ---- */

static struct pl_series *counter(struct pl_metrics *metrics, const char *name, const char *help)
{
    const struct pl_metric_spec spec = {.name = name, .help = help, .type = PL_METRIC_COUNTER};
    return metrics != NULL ? pl_metric_series(pl_metrics_add(metrics, &spec), NULL) : NULL;
}

struct pl_tracer *pl_tracer_create(const struct pl_tracer_options *options,
                                   struct pl_trace_env *env)
{
    struct pl_tracer *tracer = PL_NEW(struct pl_tracer);
    tracer->o = *options;
    tracer->env = *env;
    *env = (struct pl_trace_env){.url = NULL};
    tracer->tls = (struct pl_tls_options){.ca_pem = tracer->env.ca_pem};
    size_t count = tracer->env.headers.count;
    tracer->headers = pl_calloc(count + 1, sizeof *tracer->headers);
    tracer->headers[0] = (struct pl_http_header){"Content-Type", "application/json"};
    for (size_t i = 0; i < count; i++)
        tracer->headers[i + 1] = (struct pl_http_header){tracer->env.headers.items[i].name,
                                                         tracer->env.headers.items[i].value};
    tracer->sent = counter(options->metrics, "perilune_trace_spans_sent_total",
                           "Spans that a collector took.");
    tracer->dropped = counter(options->metrics, "perilune_trace_spans_dropped_total",
                              "Spans that no collector took in time.");
    return tracer;
}

void pl_tracer_destroy(struct pl_tracer *tracer)
{
    if (tracer == NULL)
        return;
    pl_timer_stop(tracer->o.timers, &tracer->send);
    pl_build_destroy(tracer->b);
    pl_trace_env_deinit(&tracer->env);
    pl_free(tracer->headers);
    pl_free(tracer);
}
