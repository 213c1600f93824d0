/* Spans are written into a buffer of JSON when they end, and sent a few seconds later, one request
 * at a time. A run's trace id contains its reconcile id, so that logs and traces can be matched. */
#include "cluster/tracer.h"

#include "base/alloc.h"
#include "base/log.h"
#include "net/http_server.h"
#include "value/build.h"
#include "value/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SEND_EVERY  (2 * PL_SECOND)
#define SPANS_MAX   4096 /* limit of waiting spans */
#define TEXT_MAX    1024
#define HEADERS_MAX 16
#define TIMEOUT_MS  10000
#define SAY_AGAIN   (300 * PL_SECOND)

struct pl_tracer {
    struct pl_tracer_options o;
    char *url, *service; /* owned */
    char *texts;         /* owned: of headers */
    struct pl_http_header headers[HEADERS_MAX + 1];
    size_t header_count;
    struct pl_build *b; /* owned: an array of spans; NULL: none waits */
    size_t spans;
    struct pl_timer send;
    struct pl_http_call *call; /* under way */
    size_t in_flight;
    int status;
    int64_t said_ns;
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

/* NULL: there is no room. The caller adds the span's members; end_span ends it. */
static struct pl_build *begin_span(struct pl_tracer *tracer, const char *run, struct pl_slice name,
                                   int kind, int64_t took_ns)
{
    char trace[33];
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
    if (!pl_timer_is_active(&tracer->send) && tracer->call == NULL)
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
    if (tracer->spans > 0)
        pl_timer_start(tracer->o.timers, &tracer->send, SEND_EVERY, on_send);
}

static const struct pl_http_ops http_ops = {on_tracer_response, on_tracer_body, on_tracer_done};

static struct pl_doc *envelope(const struct pl_tracer *tracer, struct pl_node spans)
{
    struct pl_build *b = pl_build_create(NULL);
    static const char *const outer[] = {"resourceSpans", "scopeSpans"};
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
            put_attribute(b, "service.name", pl_slice_z(tracer->service));
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

static void on_send(struct pl_timer *timer)
{
    struct pl_tracer *tracer = PL_CONTAINER_OF(timer, struct pl_tracer, send);
    static const struct pl_tls_options system_trust = {.ca_pem = NULL};
    struct pl_buf body = PL_BUF_INIT;
    pl_build_end(tracer->b);
    struct pl_doc *spans = pl_build_finish(tracer->b);
    struct pl_doc *whole = envelope(tracer, pl_doc_root(spans));
    pl_write(&body, pl_doc_root(whole), PL_WRITE_COMPACT);
    const struct pl_http_request request = {
        .method = "POST",
        .url = tracer->url,
        .headers = tracer->headers,
        .header_count = tracer->header_count,
        .body = pl_buf_slice(&body),
        .tls = strncmp(tracer->url, "https:", 6) == 0 ? &system_trust : NULL,
        .timeout_ms = TIMEOUT_MS,
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

/* ---- lifetime ---- */

/* "name=value,name=value", values escaped. Invalid pairs are left out. */
static void read_headers(struct pl_tracer *tracer, const char *text)
{
    tracer->texts = pl_strdup(text != NULL ? text : "");
    tracer->headers[tracer->header_count++] =
        (struct pl_http_header){"Content-Type", "application/json"};
    for (char *at = tracer->texts; *at != '\0' && tracer->header_count < HEADERS_MAX;) {
        char *end = at + strcspn(at, ",");
        bool last = *end == '\0';
        *end = '\0';
        char *value = strchr(at, '=');
        if (value != NULL && value != at && strpbrk(at, "\r\n") == NULL) {
            struct pl_buf plain = PL_BUF_INIT;
            *value++ = '\0';
            pl_url_unescape(pl_slice_z(value), false, &plain);
            if (strlen(pl_buf_z(&plain)) <= strlen(value) &&
                strpbrk(pl_buf_z(&plain), "\r\n") == NULL) {
                memcpy(value, pl_buf_z(&plain), strlen(pl_buf_z(&plain)) + 1);
                tracer->headers[tracer->header_count++] =
                    (struct pl_http_header){at + strspn(at, " "), value};
            }
            pl_buf_deinit(&plain);
        }
        at = last ? end : end + 1;
    }
}

static struct pl_series *counter(struct pl_metrics *metrics, const char *name, const char *help)
{
    const struct pl_metric_spec spec = {.name = name, .help = help, .type = PL_METRIC_COUNTER};
    return metrics != NULL ? pl_metric_series(pl_metrics_add(metrics, &spec), NULL) : NULL;
}

struct pl_tracer *pl_tracer_create(const struct pl_tracer_options *options, struct pl_err *err)
{
    if (strncmp(options->url, "http://", 7) != 0 && strncmp(options->url, "https://", 8) != 0) {
        pl_err_set(err, PL_EINVAL,
                   "OTEL_EXPORTER_OTLP_ENDPOINT must begin with http:// or https://");
        return NULL;
    }
    struct pl_tracer *tracer = PL_NEW(struct pl_tracer);
    tracer->o = *options;
    tracer->url = pl_strdup(options->url);
    tracer->service = pl_strdup(options->service);
    read_headers(tracer, options->headers);
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
    pl_free(tracer->url);
    pl_free(tracer->service);
    pl_free(tracer->texts);
    pl_free(tracer);
}
