/* Asks the API server twice for each unknown token: for its user, and for the user's right. Only
 * digests of tokens are kept, few of them and for a short time, and few requests are under way at
 * once, since any client may send any number. When the API server does not answer, no one is let
 * in. */
#include "serve/metrics_guard.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "crypto/sha256.h"
#include "value/build.h"

#include <string.h>
#include <strings.h>

#define KNOWN      64
#define ASKING_MAX 16
#define ALLOWED_NS (60 * PL_SECOND)
#define REFUSED_NS (10 * PL_SECOND)
#define TIMEOUT_NS (5 * PL_SECOND)
#define TOKEN_MAX  16384
#define TEXT       "text/plain; charset=utf-8"

struct known {
    char digest[2 * PL_SHA256_BYTES + 1]; /* of the token; "": free */
    int status;                           /* 200, 401, 403 */
    int64_t until_ns;
};

struct pl_metrics_guard {
    struct pl_timers *timers;
    struct pl_client *client; /* borrowed; NULL: none */
    struct known known[KNOWN];
    size_t asking;
};

/* One request that waits for the API server. */
struct check {
    struct pl_metrics_guard *guard;
    struct pl_exchange *exchange;
    void (*show)(void *arg, struct pl_exchange *exchange);
    void *arg;
    char digest[2 * PL_SHA256_BYTES + 1];
};

struct pl_metrics_guard *pl_metrics_guard_create(struct pl_timers *timers)
{
    struct pl_metrics_guard *guard = PL_NEW(struct pl_metrics_guard);
    guard->timers = timers;
    return guard;
}

void pl_metrics_guard_destroy(struct pl_metrics_guard *guard)
{
    pl_free(guard);
}

void pl_metrics_guard_use(struct pl_metrics_guard *guard, struct pl_client *client)
{
    guard->client = client;
}

/* ---- answers ---- */

static void metrics_guard_refuse(struct pl_exchange *exchange, int status)
{
    const struct pl_http_header headers[] = {{"Content-Type", TEXT},
                                             {"WWW-Authenticate", "Bearer"}};
    const char *text = status == 401   ? "this needs a bearer token that the API server accepts\n"
                       : status == 403 ? "this needs the right to get the path /metrics\n"
                                       : "the API server cannot be asked\n";
    pl_exchange_reply_with(exchange, status, headers, status == 401 ? 2 : 1, pl_slice_z(text));
}

static int64_t metrics_guard_now(const struct pl_metrics_guard *guard)
{
    return pl_clock_mono(guard->timers->clock);
}

static struct known *metrics_guard_place_of(struct pl_metrics_guard *guard, const char *digest)
{
    return &guard->known[pl_hash(digest, strlen(digest), 0) % KNOWN];
}

/* status 503 is not cached: the next request asks again. */
static void conclude(struct check *check, int status)
{
    struct pl_metrics_guard *guard = check->guard;
    if (status != 503) {
        struct known *known = metrics_guard_place_of(guard, check->digest);
        memcpy(known->digest, check->digest, sizeof known->digest);
        known->status = status;
        known->until_ns = metrics_guard_now(guard) + (status == 200 ? ALLOWED_NS : REFUSED_NS);
    }
    guard->asking--;
    if (status == 200)
        check->show(check->arg, check->exchange);
    else
        metrics_guard_refuse(check->exchange, status);
    pl_free(check);
}

static void metrics_guard_ask(struct check *check, const char *path, struct pl_build *b,
                              pl_answer_fn on_answer)
{
    struct pl_doc *body = pl_build_close(b);
    const struct pl_call call = {.verb = PL_VERB_CREATE,
                                 .raw_path = pl_slice_z(path),
                                 .body = body,
                                 .grace_period = -1,
                                 .timeout_ns = TIMEOUT_NS};
    (void)pl_client_start(check->guard->client, &call, on_answer, check); /* it ends by itself */
    pl_doc_unref(body);
}

static void metrics_guard_failed(struct check *check, const char *what, const struct pl_err *err)
{
    if (err->code != PL_ECANCELED)
        pl_log(PL_LOG_WARN, "metrics: the API server could not be asked who may read them",
               pl_str("asked", what), pl_str("error", err->message));
    conclude(check, 503);
}

static struct pl_node status_of(const struct pl_answer *answer)
{
    return pl_node_getz(pl_doc_root(answer->doc), "status");
}

static void on_access(void *arg, const struct pl_answer *answer)
{
    struct check *check = arg;
    if (answer->err != NULL)
        metrics_guard_failed(check, "SubjectAccessReview", answer->err);
    else
        conclude(check, pl_node_bool(pl_node_getz(status_of(answer), "allowed")) ? 200 : 403);
}

static void put_node(struct pl_build *b, const char *key, struct pl_node node)
{
    if (pl_node_is_missing(node))
        return;
    pl_build_keyz(b, key);
    pl_build_node(b, node);
}

static struct pl_build *metrics_guard_begin(const char *api_version, const char *kind)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_put_strz(b, "apiVersion", api_version);
    pl_build_put_strz(b, "kind", kind);
    pl_build_keyz(b, "spec");
    pl_build_object(b);
    return b;
}

static void on_identity(void *arg, const struct pl_answer *answer)
{
    struct check *check = arg;
    if (answer->err != NULL) {
        metrics_guard_failed(check, "TokenReview", answer->err);
        return;
    }
    struct pl_node status = status_of(answer), user = pl_node_getz(status, "user");
    if (!pl_node_bool(pl_node_getz(status, "authenticated"))) {
        conclude(check, 401);
        return;
    }
    if (check->guard->client == NULL) {
        conclude(check, 503);
        return;
    }
    struct pl_build *b = metrics_guard_begin("authorization.k8s.io/v1", "SubjectAccessReview");
    put_node(b, "user", pl_node_getz(user, "username"));
    put_node(b, "uid", pl_node_getz(user, "uid"));
    put_node(b, "groups", pl_node_getz(user, "groups"));
    put_node(b, "extra", pl_node_getz(user, "extra"));
    pl_build_keyz(b, "nonResourceAttributes");
    pl_build_object(b);
    pl_build_put_strz(b, "path", "/metrics");
    pl_build_put_strz(b, "verb", "get");
    pl_build_end(b);
    pl_build_end(b);
    pl_build_end(b);
    metrics_guard_ask(check, "/apis/authorization.k8s.io/v1/subjectaccessreviews", b, on_access);
}

/* ---- the request ---- */

/* Empty: it has none. */
static struct pl_slice token_of(const struct pl_exchange *exchange)
{
    const char *value = pl_exchange_header(exchange, "authorization");
    if (value == NULL || strncasecmp(value, "Bearer ", 7) != 0)
        return pl_slice("", 0);
    value += 7 + strspn(value + 7, " ");
    size_t len = strlen(value);
    bool fits = len <= TOKEN_MAX && pl_is_utf8(pl_slice(value, len));
    return pl_slice(value, fits ? len : 0);
}

void pl_metrics_guard_check(struct pl_metrics_guard *guard, struct pl_exchange *exchange,
                            void (*show)(void *arg, struct pl_exchange *exchange), void *arg)
{
    struct pl_slice token = token_of(exchange);
    char digest[2 * PL_SHA256_BYTES + 1];
    if (token.len == 0) {
        metrics_guard_refuse(exchange, 401);
        return;
    }
    pl_sha256_hex(token, digest);
    const struct known *known = metrics_guard_place_of(guard, digest);
    if (strcmp(known->digest, digest) == 0 && known->until_ns > metrics_guard_now(guard)) {
        if (known->status == 200)
            show(arg, exchange);
        else
            metrics_guard_refuse(exchange, known->status);
        return;
    }
    if (guard->client == NULL || guard->asking >= ASKING_MAX) {
        metrics_guard_refuse(exchange, 503);
        return;
    }
    struct check *check = PL_NEW(struct check);
    *check = (struct check){.guard = guard, .exchange = exchange, .show = show, .arg = arg};
    memcpy(check->digest, digest, sizeof digest);
    guard->asking++;
    struct pl_build *b = metrics_guard_begin("authentication.k8s.io/v1", "TokenReview");
    pl_build_put_str(b, "token", token);
    pl_build_end(b);
    pl_build_end(b);
    metrics_guard_ask(check, "/apis/authentication.k8s.io/v1/tokenreviews", b, on_identity);
}
