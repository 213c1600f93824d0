/* One attempt of one request: credentials first, then the transport. op.c and watch.c decide about
 * retries.
 *
 * The owner is called exactly once and never inside the start. After a cancellation it is not
 * called at all: then the attempt frees itself at the transport's last call, perhaps after the
 * client is gone. So after a cancellation only its own memory and the transport may be touched.
 *
 * After a 401 the credentials are checked again. After a lost or silent connection its lane is
 * distrusted: the next request of that lane gets a fresh connection. */
#include "kube/client_impl.h"

#include "base/alloc.h"
#include "kube/kubeconfig_impl.h"

#include <stdio.h>

#define MAX_HEADERS 64

/* Three states: waiting for a plugin's credentials, under way in the transport, and cancelled. In
 * the last one owner is NULL and the transport's last call frees it, perhaps after the client. */
struct pl_attempt {
    struct pl_client *client; /* NULL once cancelled */
    struct pl_attempt_spec spec;
    const struct pl_attempt_ops *ops;
    void *owner;
    struct pl_transport transport;
    struct pl_http_call *call; /* NULL: not under way */
    struct pl_identity *identity;
    struct pl_credentials_wait wait;
    struct pl_timer timer; /* reports a failure later, or ends the wait for credentials */
    struct pl_err err;
    int status;
    bool renewed, counted;
};

static void attempt_destroy(struct pl_attempt *attempt)
{
    pl_identity_unref(attempt->identity);
    pl_free(attempt);
}

/* Counts a request when its answer begins, as a watch goes on for minutes; without an answer, at
 * its end. */
static void attempt_count(struct pl_client *client, struct pl_attempt *attempt)
{
    char code[16] = "<error>";
    const char *method = attempt->spec.wire->method;
    if (client->requests == NULL || attempt->counted)
        return;
    attempt->counted = true;
    /* Most are like the last one, and looking up a series takes time. */
    if (client->counted.series == NULL || client->counted.status != attempt->status ||
        strcmp(client->counted.method, method) != 0) {
        if (attempt->status != 0)
            snprintf(code, sizeof code, "%d", attempt->status);
        const char *const labels[] = {code, method, client->host};
        client->counted.series = pl_metric_series(client->requests, labels);
        client->counted.status = attempt->status;
        snprintf(client->counted.method, sizeof client->counted.method, "%s", method);
    }
    pl_series_add(client->counted.series, 1);
}

/* A connection without any byte in time may be dead unnoticed. */
static void judge_connection(struct pl_client *client, const struct pl_attempt *attempt,
                             const struct pl_err *err)
{
    unsigned bit = 1u << attempt->spec.lane;
    if (err != NULL && (err->code == PL_ETIMEOUT || err->code == PL_ENETWORK))
        client->distrusted_lanes |= bit;
}

static void attempt_finish(struct pl_attempt *attempt, const struct pl_err *err)
{
    if (attempt->owner == NULL) {
        attempt_destroy(attempt);
        return;
    }
    attempt_count(attempt->client, attempt);
    judge_connection(attempt->client, attempt, err);
    struct pl_err copy;
    if (err != NULL)
        copy = *err;
    const struct pl_attempt_ops *ops = attempt->ops;
    void *owner = attempt->owner;
    bool renewed = attempt->renewed;
    attempt_destroy(attempt);
    ops->on_done(owner, err != NULL ? &copy : NULL, renewed);
}

/* ---- the transport's callbacks ---- */

static void on_attempt_response(void *arg, const struct pl_http_response *response)
{
    struct pl_attempt *attempt = arg;
    attempt->status = response->status;
    if (attempt->owner == NULL)
        return;
    attempt_count(attempt->client, attempt);
    if (response->status == 401)
        attempt->renewed = pl_credentials_reject(attempt->client->credentials, attempt->identity);
    attempt->ops->on_response(attempt->owner, response);
}

static int on_attempt_body(void *arg, struct pl_slice piece)
{
    struct pl_attempt *attempt = arg;
    if (attempt->owner == NULL)
        return PL_ECANCELED;
    return attempt->ops->on_body(attempt->owner, piece);
}

static void on_attempt_done(void *arg, const struct pl_err *err)
{
    struct pl_attempt *attempt = arg;
    attempt->call = NULL;
    attempt_finish(attempt, err);
}

static const struct pl_http_ops http_ops = {on_attempt_response, on_attempt_body, on_attempt_done};

static bool attempt_may_send(void *arg)
{
    struct pl_attempt *attempt = arg;
    return attempt->owner != NULL &&
           (attempt->spec.may_send == NULL || attempt->spec.may_send(attempt->spec.may_send_arg));
}

/* ---- sending ---- */

static void on_failed(struct pl_timer *timer)
{
    struct pl_attempt *attempt = PL_CONTAINER_OF(timer, struct pl_attempt, timer);
    attempt_finish(attempt, &attempt->err);
}

static void fail_later(struct pl_attempt *attempt)
{
    pl_timer_start(attempt->client->timers, &attempt->timer, 0, on_failed);
}

struct headers {
    struct pl_http_header at[MAX_HEADERS];
    size_t count;
};

static void attempt_add_header(struct headers *headers, const char *name, const char *value)
{
    if (value != NULL && headers->count < MAX_HEADERS)
        headers->at[headers->count++] = (struct pl_http_header){name, value};
}

/* Steps through "name\0value\0...". */
static bool next_header(const struct pl_buf *more, size_t *at, struct pl_http_header *header)
{
    if (*at >= more->len)
        return false;
    header->name = more->ptr + *at;
    header->value = header->name + strlen(header->name) + 1;
    *at = (size_t)(header->value + strlen(header->value) + 1 - more->ptr);
    return true;
}

/* A call that impersonates by itself does not also impersonate the kubeconfig's user. */
static bool impersonates(const struct pl_buf *more)
{
    struct pl_http_header header;
    for (size_t at = 0; next_header(more, &at, &header);)
        if (strcmp(header.name, "impersonate-user") == 0)
            return true;
    return false;
}

static void add_impersonation(struct headers *headers, const struct pl_kubeconfig *config)
{
    attempt_add_header(headers, "Impersonate-User", config->impersonate_user);
    attempt_add_header(headers, "Impersonate-Uid", config->impersonate_uid);
    for (size_t i = 0; config->impersonate_groups && config->impersonate_groups[i]; i++)
        attempt_add_header(headers, "Impersonate-Group", config->impersonate_groups[i]);
}

static void add_headers(struct headers *headers, const struct pl_attempt *attempt)
{
    const struct pl_kubeconfig *config = attempt->client->config;
    attempt_add_header(headers, "Accept", attempt->spec.wire->accept);
    attempt_add_header(headers, "User-Agent", attempt->client->user_agent);
    attempt_add_header(headers, "Content-Type", attempt->spec.wire->content_type);
    attempt_add_header(headers, "Authorization", attempt->identity->authorization);
    const struct pl_buf *more = &attempt->spec.wire->headers;
    if (!impersonates(more))
        add_impersonation(headers, config);
    struct pl_http_header header;
    for (size_t at = 0; next_header(more, &at, &header);)
        if (strcmp(header.name, "accept") != 0 && strcmp(header.name, "content-type") != 0)
            attempt_add_header(headers, header.name, header.value);
}

/* Rounded up: a time-out of 0 ms would mean none. */
static int64_t left_ms(const struct pl_attempt *attempt)
{
    if (attempt->spec.deadline_ns == 0)
        return 0;
    int64_t left = attempt->spec.deadline_ns - pl_client_now(attempt->client);
    return left <= 0 ? 1 : (left + PL_MS - 1) / PL_MS;
}

static void send_request(struct pl_attempt *attempt)
{
    const struct pl_attempt_spec *spec = &attempt->spec;
    struct pl_client *client = attempt->client;
    unsigned bit = 1u << spec->lane;
    struct headers headers = {.count = 0};
    add_headers(&headers, attempt);
    struct pl_http_request request = {
        .method = spec->wire->method,
        .url = pl_buf_z(&spec->wire->url),
        .headers = headers.at,
        .header_count = headers.count,
        .body = pl_buf_slice(&spec->wire->body),
        .tls = attempt->identity->tls,
        .proxy = client->config->proxy,
        .user_password = attempt->identity->user_password,
        .timeout_ms = left_ms(attempt),
        .silence_ms = spec->silence_ns / PL_MS,
        .max_response = spec->max_response,
        .long_response = spec->long_response,
        .fresh_connection = spec->fresh_connection || (client->distrusted_lanes & bit) != 0,
        .lane = spec->lane,
        .may_send = attempt_may_send,
        .may_send_arg = attempt,
        .fence = spec->fence,
        .upgrade = spec->upgrade,
    };
    client->distrusted_lanes &= ~bit;
    attempt->call =
        attempt->transport.ops->start(attempt->transport.self, &request, &http_ops, attempt);
}

/* ---- credentials ---- */

static void on_credentials(struct pl_credentials_wait *wait, struct pl_identity *identity,
                           const struct pl_err *err)
{
    struct pl_attempt *attempt = PL_CONTAINER_OF(wait, struct pl_attempt, wait);
    pl_timer_stop(attempt->client->timers, &attempt->timer);
    attempt->identity = identity;
    if (identity != NULL) {
        send_request(attempt);
        return;
    }
    attempt->err = *err;
    fail_later(attempt);
}

static void on_no_credentials(struct pl_timer *timer)
{
    struct pl_attempt *attempt = PL_CONTAINER_OF(timer, struct pl_attempt, timer);
    pl_credentials_unwait(&attempt->wait);
    pl_err_set(&attempt->err, PL_ETIMEOUT, "the exec plugin gave no credentials in time");
    attempt_finish(attempt, &attempt->err);
}

struct pl_attempt *pl_attempt_start(struct pl_client *client, const struct pl_attempt_spec *spec,
                                    const struct pl_attempt_ops *ops, void *owner)
{
    struct pl_attempt *attempt = PL_NEW(struct pl_attempt);
    attempt->client = client;
    attempt->spec = *spec;
    attempt->ops = ops;
    attempt->owner = owner;
    attempt->transport = client->transport;
    attempt->wait.ready = on_credentials;
    if (client->held != NULL) {
        attempt->err = *client->held;
        fail_later(attempt);
        return attempt;
    }
    int code =
        pl_credentials_get(client->credentials, &attempt->identity, &attempt->wait, &attempt->err);
    if (code == 0) {
        send_request(attempt);
    } else if (code == PL_EAGAIN) {
        if (spec->deadline_ns != 0)
            pl_timer_start(client->timers, &attempt->timer,
                           spec->deadline_ns - pl_client_now(client), on_no_credentials);
    } else {
        fail_later(attempt);
    }
    return attempt;
}

void pl_attempt_send(struct pl_attempt *attempt, struct pl_slice bytes)
{
    attempt->transport.ops->send(attempt->transport.self, attempt->call, bytes);
}

void pl_attempt_cancel(struct pl_attempt *attempt)
{
    if (attempt == NULL || attempt->owner == NULL)
        return;
    pl_timer_stop(attempt->client->timers, &attempt->timer);
    pl_credentials_unwait(&attempt->wait);
    attempt->owner = NULL;
    attempt->client = NULL;
    if (attempt->call != NULL)
        attempt->transport.ops->cancel(attempt->transport.self, attempt->call);
    else
        attempt_destroy(attempt);
}
