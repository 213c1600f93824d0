/* What OpenTelemetry's environment variables say about traces: where they go, with which headers,
 * how many. The names and their meaning are from OpenTelemetry's specification of environment
 * variables and of the OTLP exporter; a variable OTEL_EXPORTER_OTLP_TRACES_X is preferred to
 * OTEL_EXPORTER_OTLP_X. A value that makes no sense is ignored with a warning in the log, as that
 * specification asks for; only an endpoint or a certificate that can't be used is an error. */
#pragma once

#include "base/err.h"

#include <stddef.h>

struct pl_trace_pair {
    char *name, *value; /* owned */
};

struct pl_trace_pairs {
    struct pl_trace_pair *items; /* owned */
    size_t count;
};

struct pl_trace_env {
    char *url;                        /* owned; NULL: there are no traces */
    char *service;                    /* owned: service.name */
    struct pl_trace_pairs headers;    /* at most 16 */
    struct pl_trace_pairs attributes; /* of the resource, without service.name; at most 128 */
    char *ca_pem;                     /* owned; NULL: the system's CAs */
    int64_t timeout_ms;               /* of a request */
    double ratio;                     /* part of the runs that are traced, 0 to 1 */
};

/* get: getenv, or a test's own. 0; PL_EINVAL or PL_EIO with the variable's name in the message. The
 * caller calls deinit, also after an error. */
PL_MUST_USE int pl_trace_env_read(struct pl_trace_env *env, const char *(*get)(const char *name),
                                  struct pl_err *err);
void pl_trace_env_deinit(struct pl_trace_env *env);
