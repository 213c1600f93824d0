/* Traces for OpenTelemetry: a span for each run and each call, sent as OTLP over HTTP in JSON.
 * Spans have the data of `perilune why`, so they contain no values of Secrets. The tracer never
 * delays a run: spans that the collector does not take in time are dropped and counted. I/O thread.
 */
#pragma once

#include "base/metrics.h"
#include "base/rand.h"
#include "base/timer.h"
#include "cluster/trace_env.h"
#include "net/http.h"

struct pl_tracer;

struct pl_tracer_options {
    struct pl_transport transport; /* borrowed until its end; the following fields for life */
    struct pl_timers *timers;
    struct pl_rand *rand;
    struct pl_metrics *metrics; /* NULL: none */
};

/* env: with a URL; its content moves into the tracer. The caller owns the tracer. */
struct pl_tracer *pl_tracer_create(const struct pl_tracer_options *options,
                                   struct pl_trace_env *env);
/* Sends the spans that wait, and calls finished(arg) once: when the collector has answered, or
 * after two seconds; inside this call if no span waits. No span is added afterwards. */
void pl_tracer_finish(struct pl_tracer *tracer, void (*finished)(void *arg), void *arg);
/* Unsent spans are lost. Destroy it after the transport, so that no request is under way. Accepts
 * NULL. */
void pl_tracer_destroy(struct pl_tracer *tracer);

/* A call of a run has ended, or the run itself. run: its id, 16 hexadecimal digits. Both end now,
 * after took_ns. failed: an error. All texts are copied, up to 1 KiB each. */
void pl_tracer_call(struct pl_tracer *tracer, const char *run, struct pl_slice what,
                    struct pl_slice result, bool failed, int64_t took_ns);
void pl_tracer_run(struct pl_tracer *tracer, const char *run, const char *controller,
                   struct pl_slice key, const char *outcome, struct pl_slice message, bool failed,
                   int64_t took_ns);
