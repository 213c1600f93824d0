/* Reads the variables once, at start. An empty variable is as one that is not set. Values of
 * headers may be secrets: no message contains them. */
#include "cluster/trace_env.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "crypto/pem.h"
#include "format/url.h"
#include "net/http_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TIMEOUT_MS     10000
#define TIMEOUT_MAX_MS 600000
#define HEADERS_MAX    16
#define ATTRIBUTES_MAX 128
#define PEM_MAX        ((size_t)1 << 20)
#define NAME_MAX_BYTES 64

typedef const char *trace_get(const char *name);

/* NULL: the variable is empty or not set. */
static const char *value_of(trace_get *get, const char *name)
{
    const char *value = get(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

/* The exporter's variable for traces, or else that for everything; `name` becomes the one that was
 * found. */
static const char *exporter_value(trace_get *get, const char *what, char name[NAME_MAX_BYTES])
{
    snprintf(name, NAME_MAX_BYTES, "OTEL_EXPORTER_OTLP_TRACES_%s", what);
    const char *value = value_of(get, name);
    if (value != NULL)
        return value;
    snprintf(name, NAME_MAX_BYTES, "OTEL_EXPORTER_OTLP_%s", what);
    return value_of(get, name);
}

static void ignore(const char *name, const char *why)
{
    pl_log(PL_LOG_WARN, "a variable of OpenTelemetry is ignored", pl_str("variable", name),
           pl_str("error", why));
}

/* ---- "name=value,name=value" ---- */

static struct pl_slice without_blanks(struct pl_slice text)
{
    while (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[0] == '\t'))
        text = pl_slice(text.ptr + 1, text.len - 1);
    while (text.len > 0 && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    return text;
}

/* NULL, or why such a header can't be sent. */
static const char *header_problem(struct pl_slice name, struct pl_slice value)
{
    static const char marks[] = "!#$%&'*+-.^_`|~"; /* RFC 9110, 5.6.2 */
    static const char own[][20] = {"content-length", "transfer-encoding", "content-type", "host"};
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (!pl_is_alnum(c) && (c == '\0' || strchr(marks, c) == NULL))
            return "the name of a header must consist of letters, digits and -";
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(own); i++)
        if (name.len == strlen(own[i]) && strncasecmp(name.ptr, own[i], name.len) == 0)
            return "the host sets this header itself";
    if (pl_slice_has_break(value) || pl_slice_chr(value, '\0') != NULL)
        return "the value of a header must be one line";
    return NULL;
}

/* NULL, or why this is no pair. `value`: with its escapes replaced. */
static const char *read_pair(struct pl_slice text, bool header, struct pl_slice *name,
                             struct pl_buf *value)
{
    const char *equals = pl_slice_chr(text, '=');
    if (equals == NULL || equals == text.ptr)
        return "it must have the form name=value,name=value";
    size_t at = (size_t)(equals - text.ptr);
    struct pl_slice escaped = without_blanks(pl_slice(equals + 1, text.len - at - 1));
    *name = without_blanks(pl_slice(text.ptr, at));
    if (pl_url_check_escapes(escaped, NULL) != 0)
        return "a % in it must be followed by two hexadecimal digits";
    pl_url_unescape(escaped, false, value);
    return header ? header_problem(*name, pl_buf_slice(value)) : NULL;
}

/* Pairs that make no sense, or that are too many, are left out. */
static void read_pairs(const char *variable, const char *text, bool header,
                       struct pl_trace_pairs *out)
{
    size_t most = header ? HEADERS_MAX : ATTRIBUTES_MAX;
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, ",");
        struct pl_slice name, pair = without_blanks(pl_slice(text, len));
        struct pl_buf value = PL_BUF_INIT;
        const char *problem = pair.len > 0 ? read_pair(pair, header, &name, &value) : NULL;
        if (problem == NULL && pair.len > 0 && out->count == most)
            problem = header ? "of the headers only the first 16 are sent"
                             : "of the attributes only the first 128 are sent";
        if (problem != NULL) {
            ignore(variable, problem);
        } else if (pair.len > 0) {
            out->items = pl_reallocarray(out->items, out->count + 1, sizeof *out->items);
            out->items[out->count++] =
                (struct pl_trace_pair){pl_text_copy(name), pl_strdup(pl_buf_z(&value))};
        }
        pl_buf_deinit(&value);
        text += len + (text[len] == ',');
    }
}

/* ---- the variables ---- */

static bool is_off(trace_get *get)
{
    const char *disabled = value_of(get, "OTEL_SDK_DISABLED");
    const char *exporter = value_of(get, "OTEL_TRACES_EXPORTER");
    if (disabled != NULL && strcasecmp(disabled, "true") == 0)
        return true;
    if (disabled != NULL && strcasecmp(disabled, "false") != 0)
        ignore("OTEL_SDK_DISABLED", "it must be true or false");
    if (exporter == NULL || strcmp(exporter, "otlp") == 0)
        return false;
    if (strcmp(exporter, "none") != 0)
        pl_log(PL_LOG_WARN, "there are no traces: OTEL_TRACES_EXPORTER must be otlp or none",
               pl_str("value", exporter));
    return true;
}

static bool speaks_http(trace_get *get)
{
    char name[NAME_MAX_BYTES];
    const char *protocol = exporter_value(get, "PROTOCOL", name);
    if (protocol == NULL || strcmp(protocol, "http/json") == 0 ||
        strcmp(protocol, "http/protobuf") == 0)
        return true;
    if (strcmp(protocol, "grpc") != 0) {
        ignore(name, "it must be http/json");
        return true;
    }
    pl_log(PL_LOG_WARN,
           "there are no traces: they can be sent over HTTP, not over gRPC; use http/json and the "
           "collector's port for HTTP, which is usually 4318",
           pl_str("variable", name));
    return false;
}

/* Leaves env->url NULL where no endpoint is set. */
static int read_endpoint(struct pl_trace_env *env, trace_get *get, struct pl_err *err)
{
    static const char general[] = "OTEL_EXPORTER_OTLP_ENDPOINT";
    static const char traces[] = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
    const char *whole = value_of(get, traces), *base = value_of(get, general);
    struct pl_url url;
    if (whole == NULL && base == NULL)
        return 0;
    struct pl_slice text = pl_slice_z(whole != NULL ? whole : base);
    if (pl_url_parse(text, &url, err) != 0) {
        pl_err_prefix(err, "%s", whole != NULL ? traces : general);
        return PL_EINVAL;
    }
    if ((!pl_slice_eqz(url.scheme, "http") && !pl_slice_eqz(url.scheme, "https")) ||
        url.host.len == 0)
        return pl_err_set(err, PL_EINVAL, "%s must begin with http:// or https:// and have a host",
                          whole != NULL ? traces : general);
    if (url.user.ptr != NULL)
        return pl_err_set(err, PL_EINVAL,
                          "%s must not have a user and a password in it: set "
                          "OTEL_EXPORTER_OTLP_HEADERS=authorization=...",
                          whole != NULL ? traces : general);
    while (whole == NULL && text.ptr[text.len - 1] == '/')
        text.len--;
    env->url = whole != NULL ? pl_strdup(whole) : pl_format("%.*s/v1/traces", PL_FMT(text));
    return 0;
}

static int read_certificate(struct pl_trace_env *env, trace_get *get, struct pl_err *err)
{
    char name[NAME_MAX_BYTES];
    const char *path = exporter_value(get, "CERTIFICATE", name);
    struct pl_buf pem = PL_BUF_INIT;
    if (path == NULL)
        return 0;
    int rc = pl_file_read(path, PEM_MAX, &pem, err);
    if (rc == 0 && !pl_pem_is_bundle(pl_buf_z(&pem)))
        rc = pl_err_set(err, PL_EINVAL, "%s has no certificate in PEM", path);
    if (rc != 0)
        pl_err_prefix(err, "%s", name);
    else
        env->ca_pem = pl_strdup(pl_buf_z(&pem));
    pl_buf_deinit(&pem);
    return rc;
}

static void read_timeout(struct pl_trace_env *env, trace_get *get)
{
    char name[NAME_MAX_BYTES], *end;
    const char *text = exporter_value(get, "TIMEOUT", name);
    env->timeout_ms = TIMEOUT_MS;
    if (text == NULL)
        return;
    long value = strtol(text, &end, 10);
    if (*end != '\0' || value < 1 || value > TIMEOUT_MAX_MS)
        ignore(name, "it must be a whole number of milliseconds from 1 to 600000");
    else
        env->timeout_ms = value;
}

static double read_ratio(trace_get *get)
{
    char *end;
    const char *text = value_of(get, "OTEL_TRACES_SAMPLER_ARG");
    if (text == NULL)
        return 1;
    double ratio = strtod(text, &end);
    if (*end == '\0' && ratio >= 0 && ratio <= 1)
        return ratio;
    ignore("OTEL_TRACES_SAMPLER_ARG", "it must be a number from 0 to 1");
    return 1;
}

/* A run has no parent, so a sampler that asks the parent is as the one below it. */
static void read_sampler(struct pl_trace_env *env, trace_get *get)
{
    static const char parent[] = "parentbased_";
    const char *name = value_of(get, "OTEL_TRACES_SAMPLER");
    env->ratio = 1;
    if (name != NULL && strncmp(name, parent, strlen(parent)) == 0)
        name += strlen(parent);
    if (name == NULL || strcmp(name, "always_on") == 0)
        return;
    if (strcmp(name, "always_off") == 0)
        env->ratio = 0;
    else if (strcmp(name, "traceidratio") == 0)
        env->ratio = read_ratio(get);
    else
        ignore(
            "OTEL_TRACES_SAMPLER",
            "it must be always_on, always_off or traceidratio, or one of them with parentbased_");
}

/* OTEL_SERVICE_NAME is preferred to the attribute service.name. */
static void read_service(struct pl_trace_env *env, trace_get *get)
{
    const char *service = value_of(get, "OTEL_SERVICE_NAME");
    struct pl_trace_pairs *all = &env->attributes;
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        struct pl_trace_pair pair = all->items[i];
        if (strcmp(pair.name, "service.name") != 0) {
            all->items[kept++] = pair;
            continue;
        }
        pl_free(env->service);
        env->service = pair.value;
        pl_free(pair.name);
    }
    all->count = kept;
    if (service != NULL || env->service == NULL) {
        pl_free(env->service);
        env->service = pl_strdup(service != NULL ? service : "perilune");
    }
}

int pl_trace_env_read(struct pl_trace_env *env, trace_get *get, struct pl_err *err)
{
    char name[NAME_MAX_BYTES];
    *env = (struct pl_trace_env){.url = NULL};
    if (value_of(get, "OTEL_EXPORTER_OTLP_ENDPOINT") == NULL &&
        value_of(get, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == NULL)
        return 0;
    if (is_off(get) || !speaks_http(get))
        return 0;
    int rc = read_endpoint(env, get, err);
    if (rc == 0)
        rc = read_certificate(env, get, err);
    if (rc != 0)
        return rc;
    const char *headers = exporter_value(get, "HEADERS", name);
    read_pairs(name, headers, true, &env->headers);
    read_pairs("OTEL_RESOURCE_ATTRIBUTES", value_of(get, "OTEL_RESOURCE_ATTRIBUTES"), false,
               &env->attributes);
    read_service(env, get);
    read_timeout(env, get);
    read_sampler(env, get);
    return 0;
}

static void free_pairs(struct pl_trace_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        pl_free(pairs->items[i].name);
        pl_free(pairs->items[i].value);
    }
    pl_free(pairs->items);
}

void pl_trace_env_deinit(struct pl_trace_env *env)
{
    pl_free(env->url);
    pl_free(env->service);
    pl_free(env->ca_pem);
    free_pairs(&env->headers);
    free_pairs(&env->attributes);
    *env = (struct pl_trace_env){.url = NULL};
}
