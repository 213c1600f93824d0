/* Connects the parts of a host's webhooks: decides whether to listen, and with which certificate.
 *
 * The listener is opened during the switch to a generation that declares handlers, before any cache
 * of that generation is listed: the list of a kind that is converted here waits for it. Once open
 * it stays, even after a reload without handlers. */
#include "webhook/webhooks.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "crypto/authority.h"
#include "webhook/certificates.h"
#include "webhook/pair_files.h"
#include "webhook/registrar.h"
#include "webhook/shared_secret.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define AGAIN_NS  (5 * PL_SECOND) /* interval of attempts to get the address */
#define MOST_CA   ((size_t)1 << 20)
#define REMOVE_NS (5 * PL_SECOND) /* time to remove the registration at a stop */
#define NAMES     5

struct pl_webhooks {
    struct pl_webhooks_options o;
    struct pl_timers *timers;
    struct pl_hooks *hooks;
    struct pl_pair_files *files;     /* --webhook-cert-dir; NULL: none */
    struct pl_certificates own;      /* otherwise; made when they are first needed */
    struct pl_shared_secret *secret; /* the Secret that shares them; NULL: none, or not yet */
    bool secret_read;
    char *names[NAMES + 1];         /* owned: names of the certificate, NULL-terminated */
    struct pl_registrar *registrar; /* NULL: nothing is registered */
    void (*stopped)(void *arg);
    void *stopped_arg;
    char *client_ca_pem; /* owned; NULL: none */
    char address[300];   /* "" while it does not listen */
    char *trouble;       /* owned: why it does not listen; NULL: it has not tried */
    struct pl_timer again, renew;
    struct pl_series *expiry; /* NULL: not shown yet */
    bool stopping;
};

static int64_t wall_s(const struct pl_webhooks *w)
{
    return pl_clock_wall(w->timers->clock) / PL_SECOND;
}

/* ---- the certificate ---- */

static const char *cert_of(const struct pl_webhooks *w)
{
    return w->files != NULL ? pl_pair_files_cert(w->files) : w->own.cert_pem;
}

static const char *webhooks_key_of(const struct pl_webhooks *w)
{
    return w->files != NULL ? pl_pair_files_key(w->files) : w->own.key_pem;
}

int64_t pl_webhooks_expiry(const struct pl_webhooks *w)
{
    struct pl_validity validity;
    const char *cert = cert_of(w);
    return cert != NULL && pl_certificate_validity(cert, &validity) ? validity.until_s : 0;
}

static void show_expiry(struct pl_webhooks *w)
{
    static const struct pl_metric_spec spec = {
        .name = "perilune_webhook_certificate_expiry_timestamp_seconds",
        .help = "When the certificate of the webhook server ends, in seconds since 1970.",
        .type = PL_METRIC_GAUGE};
    if (w->expiry == NULL)
        w->expiry = pl_metric_series(pl_metrics_add(w->o.metrics, &spec), NULL);
    pl_series_set(w->expiry, (double)pl_webhooks_expiry(w));
}

static void serve_certificate(struct pl_webhooks *w)
{
    struct pl_err err;
    pl_err_clear(&err);
    if (pl_hooks_set_certificate(w->hooks, cert_of(w), webhooks_key_of(w), &err) != 0) {
        pl_log(PL_LOG_ERROR, "the webhooks' certificate can't be served",
               pl_str("error", err.message));
        return;
    }
    if (!pl_hooks_is_listening(w->hooks))
        return;
    show_expiry(w);
    pl_log(PL_LOG_INFO, "the webhooks use a new certificate",
           pl_int("ends_in_hours", (pl_webhooks_expiry(w) - wall_s(w)) / 3600));
}

static void tell_ca(struct pl_webhooks *w);

static void on_pair(void *arg, const char *cert_pem, const char *key_pem)
{
    PL_UNUSED(cert_pem);
    PL_UNUSED(key_pem);
    serve_certificate(arg);
    tell_ca(arg);
}

static void webhooks_add_name(struct pl_webhooks *w, char *name)
{
    size_t count = 0;
    while (w->names[count] != NULL)
        count++;
    PL_REQUIRE(count < NAMES);
    w->names[count] = name;
}

/* HOST of "https://HOST[:PORT]" or "https://[HOST]:PORT". */
static char *host_of(const char *url)
{
    const char *host = url + strlen("https://");
    size_t len = *host == '[' ? strcspn(host, "]") : strcspn(host, ":/");
    return *host == '[' ? pl_memdup0(host + 1, len - 1) : pl_memdup0(host, len);
}

static void set_names(struct pl_webhooks *w)
{
    const char *ns = w->o.service_ns, *name = w->o.service_name;
    if (w->o.url != NULL) {
        webhooks_add_name(w, host_of(w->o.url));
    } else if (name != NULL) {
        webhooks_add_name(w, pl_format("%s.%s.svc", name, ns));
        webhooks_add_name(w, pl_format("%s.%s.svc.cluster.local", name, ns));
        webhooks_add_name(w, pl_format("%s.%s", name, ns));
    } else {
        webhooks_add_name(w, pl_strdup("localhost"));
        webhooks_add_name(w, pl_strdup("127.0.0.1"));
        webhooks_add_name(w, pl_strdup("::1"));
    }
}

static const char *const *names_of(const struct pl_webhooks *w)
{
    return (const char *const *)w->names;
}

static const char *ca_of(const struct pl_webhooks *w)
{
    return w->files != NULL ? pl_pair_files_ca(w->files) : w->own.ca_pem;
}

static void tell_ca(struct pl_webhooks *w)
{
    bool waits = w->secret != NULL && !w->secret_read;
    if (w->registrar != NULL && !waits && pl_hooks_is_listening(w->hooks))
        pl_registrar_set_ca(w->registrar, ca_of(w));
}

static void on_shared(void *arg, const struct pl_certificates *now)
{
    struct pl_webhooks *w = arg;
    bool same = pl_certificates_eq(&w->own, now);
    struct pl_certificates next = pl_certificates_copy(now);
    pl_certificates_deinit(&w->own);
    w->own = next;
    w->secret_read = true;
    pl_timer_stop(w->timers, &w->renew);
    if (!same)
        serve_certificate(w);
    tell_ca(w);
}

static void share(struct pl_webhooks *w)
{
    struct pl_site *site = pl_cluster_site(w->o.cluster);
    const struct pl_shared_secret_options options = {.client = pl_site_client(site),
                                                     .timers = w->timers,
                                                     .ns = w->o.secret_ns,
                                                     .name = w->o.secret_name,
                                                     .names = names_of(w),
                                                     .changed = on_shared,
                                                     .arg = w};
    if (w->o.secret_name != NULL && w->files == NULL && w->secret == NULL)
        w->secret = pl_shared_secret_create(&options);
}

static void on_renew(struct pl_timer *timer);

/* Makes or renews due certificates, in as many steps as needed; 0 when there is a certificate. */
static int renew_own(struct pl_webhooks *w, struct pl_err *err)
{
    enum pl_certificates_step step;
    int64_t at_s, now_s = wall_s(w);
    while ((step = pl_certificates_plan(&w->own, names_of(w), now_s, &at_s)) !=
           PL_CERTIFICATES_KEEP) {
        struct pl_certificates next;
        int rc = pl_certificates_renew(&w->own, step, names_of(w), now_s, &next, err);
        if (rc != 0)
            return rc;
        pl_certificates_deinit(&w->own);
        w->own = next;
    }
    pl_timer_start(w->timers, &w->renew, (at_s - now_s) * PL_SECOND, on_renew);
    return 0;
}

static void on_renew(struct pl_timer *timer)
{
    struct pl_webhooks *w = PL_CONTAINER_OF(timer, struct pl_webhooks, renew);
    struct pl_err err;
    pl_err_clear(&err);
    char *before = pl_strdup(w->own.cert_pem);
    if (renew_own(w, &err) != 0)
        pl_log(PL_LOG_ERROR, "the webhooks' certificate can't be renewed",
               pl_str("error", err.message));
    else if (strcmp(before, w->own.cert_pem) != 0)
        serve_certificate(w);
    tell_ca(w);
    pl_free(before);
}

/* ---- the listener ---- */

static void webhooks_set_address(struct pl_webhooks *w)
{
    const char *host = w->o.host;
    bool brackets = strchr(host, ':') != NULL;
    snprintf(w->address, sizeof w->address, "%s%s%s:%d", brackets ? "[" : "", host,
             brackets ? "]" : "", pl_hooks_port(w->hooks));
}

static int webhooks_listen_at(struct pl_webhooks *w, int port, struct pl_err *err)
{
    const struct pl_hooks_listen where = {.host = *w->o.host != '\0' ? w->o.host : NULL,
                                          .port = port,
                                          .cert_pem = cert_of(w),
                                          .key_pem = webhooks_key_of(w),
                                          .client_ca_pem = w->client_ca_pem};
    pl_err_clear(err);
    return pl_hooks_listen(w->hooks, &where, err);
}

static void on_webhooks_again(struct pl_timer *timer);

/* Sets the address for API servers on this machine. */
static void tell_url(struct pl_webhooks *w)
{
    char *url = pl_format("https://127.0.0.1:%d", pl_hooks_port(w->hooks));
    if (w->o.port_told != NULL)
        atomic_store(w->o.port_told, pl_hooks_port(w->hooks));
    if (w->o.own_url && w->registrar != NULL)
        pl_registrar_set_url(w->registrar, url);
    pl_free(url);
}

static int open_listener(struct pl_webhooks *w, struct pl_err *err)
{
    int rc = w->files == NULL ? renew_own(w, err) : 0;
    if (rc == 0)
        rc = webhooks_listen_at(w, w->o.port, err);
    if (rc != 0 && w->o.any_port)
        rc = webhooks_listen_at(w, 0, err);
    pl_free(w->trouble);
    w->trouble = NULL;
    if (rc == 0) {
        webhooks_set_address(w);
        show_expiry(w);
        pl_log(PL_LOG_INFO, "serving webhooks", pl_str("address", w->address));
        if (w->registrar == NULL && w->o.tell_unregistered)
            pl_log(PL_LOG_INFO, "webhooks are served but not registered: --webhook-service or "
                                "--webhook-url must say where API servers reach them");
        tell_url(w);
        share(w);
        tell_ca(w);
        return 0;
    }
    w->trouble = pl_strdup(err->message);
    pl_timer_start(w->timers, &w->again, AGAIN_NS, on_webhooks_again);
    return rc;
}

static void on_webhooks_again(struct pl_timer *timer)
{
    struct pl_webhooks *w = PL_CONTAINER_OF(timer, struct pl_webhooks, again);
    struct pl_err err;
    if (!w->stopping && !pl_hooks_is_listening(w->hooks))
        open_listener(w, &err);
}

int pl_webhooks_switch(struct pl_webhooks *w, struct pl_edition *const *editions, size_t count,
                       struct pl_err *err)
{
    pl_hooks_switch(w->hooks, editions, count);
    if (w->registrar != NULL && !w->stopping)
        pl_registrar_set(w->registrar, editions, count);
    if (!pl_webhooks_is_used(w) || w->stopping || pl_hooks_is_listening(w->hooks) ||
        pl_timer_is_active(&w->again))
        return 0;
    struct pl_err why;
    if (open_listener(w, &why) == 0)
        return 0;
    if (!w->o.is_default) {
        if (err != NULL)
            *err = why;
        pl_err_prefix(err, "--webhook-bind-address");
        return why.code;
    }
    pl_log(PL_LOG_WARN, "webhooks are not served: their default address is not available",
           pl_str("flag", "--webhook-bind-address"), pl_str("error", why.message));
    return 0;
}

/* ---- questions about it ---- */

bool pl_webhooks_is_used(const struct pl_webhooks *w)
{
    return !w->o.off && pl_hooks_any(w->hooks);
}

bool pl_webhooks_is_ready(const struct pl_webhooks *w, struct pl_buf *why)
{
    bool listens = pl_hooks_is_listening(w->hooks);
    if (listens && (w->secret == NULL || w->secret_read))
        return true;
    if (listens && pl_shared_secret_is_foreign(w->secret))
        pl_buf_add_f(why, "the Secret %s/%s belongs to somebody else and is not used",
                     w->o.secret_ns, w->o.secret_name);
    else if (listens)
        pl_buf_add_f(why, "the certificate in the Secret %s/%s has not been read", w->o.secret_ns,
                     w->o.secret_name);
    else
        pl_buf_add_f(why, "webhooks are not served%s%s", w->trouble != NULL ? ": " : "",
                     w->trouble != NULL ? w->trouble : "");
    return false;
}

bool pl_webhooks_is_incomplete(const struct pl_webhooks *w, struct pl_buf *why)
{
    return w->registrar != NULL && pl_registrar_is_incomplete(w->registrar, why);
}

const struct pl_hooks *pl_webhooks_hooks(const struct pl_webhooks *w)
{
    return w->hooks;
}

const char *pl_webhooks_address(const struct pl_webhooks *w)
{
    return w->address;
}

/* ---- life ---- */

static int read_ca(struct pl_webhooks *w, struct pl_err *err)
{
    const char *path = w->o.client_ca;
    char chunk[4096];
    size_t got;
    struct pl_buf text = PL_BUF_INIT;
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    if (path == NULL)
        return 0;
    if (file == NULL)
        return pl_err_set(err, PL_EIO, "--webhook-client-ca: %s: %s", path, strerror(errno));
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0 && text.len < MOST_CA)
        pl_buf_add(&text, chunk, got);
    fclose(file);
    w->client_ca_pem = pl_buf_take(&text);
    if (pl_certificates_count(w->client_ca_pem) > 0)
        return 0;
    return pl_err_set(err, PL_EINVAL, "--webhook-client-ca: %s holds no certificate", path);
}

static int read_pair(struct pl_webhooks *w, struct pl_err *err)
{
    if (w->o.cert_dir == NULL)
        return 0;
    w->files = pl_pair_files_create(w->o.loop, w->o.cert_dir, on_pair, w, err);
    if (w->files != NULL)
        return 0;
    pl_err_prefix(err, "--webhook-cert-dir");
    return err->code;
}

static void register_them(struct pl_webhooks *w)
{
    const struct pl_registrar_options options = {.cluster = w->o.cluster,
                                                 .name = w->o.config_name,
                                                 .url = w->o.url,
                                                 .service_ns = w->o.service_ns,
                                                 .service_name = w->o.service_name,
                                                 .service_port = w->o.service_port};
    if (!w->o.off && (w->o.url != NULL || w->o.service_name != NULL || w->o.own_url))
        w->registrar = pl_registrar_create(&options);
}

struct pl_webhooks *pl_webhooks_create(const struct pl_webhooks_options *options,
                                       struct pl_err *err)
{
    struct pl_webhooks *w = PL_NEW(struct pl_webhooks);
    const struct pl_hooks_options hooks = {
        .loop = options->loop, .cluster = options->cluster, .metrics = options->metrics};
    w->o = *options;
    w->timers = pl_loop_timers(options->loop);
    w->hooks = pl_hooks_create(&hooks);
    set_names(w);
    register_them(w);
    if (w->o.off || (read_ca(w, err) == 0 && read_pair(w, err) == 0))
        return w;
    pl_webhooks_destroy(w);
    return NULL;
}

static void on_removed(void *arg)
{
    struct pl_webhooks *w = arg;
    pl_registrar_destroy(w->registrar);
    w->registrar = NULL;
    pl_hooks_stop(w->hooks, pl_webhooks_is_used(w) ? w->o.drain_ns : 0, w->stopped, w->stopped_arg);
}

void pl_webhooks_stop(struct pl_webhooks *w, void (*done)(void *arg), void *arg)
{
    w->stopping = true;
    w->stopped = done;
    w->stopped_arg = arg;
    pl_timer_stop(w->timers, &w->again);
    pl_shared_secret_close(w->secret);
    w->secret = NULL;
    if (w->registrar != NULL && w->o.remove)
        pl_registrar_remove(w->registrar, REMOVE_NS, on_removed, w);
    else
        on_removed(w);
}

void pl_webhooks_destroy(struct pl_webhooks *w)
{
    if (w == NULL)
        return;
    pl_timer_stop(w->timers, &w->again);
    pl_timer_stop(w->timers, &w->renew);
    pl_registrar_destroy(w->registrar);
    pl_shared_secret_close(w->secret);
    for (size_t i = 0; i < NAMES; i++)
        pl_free(w->names[i]);
    pl_pair_files_destroy(w->files);
    pl_hooks_destroy(w->hooks);
    pl_certificates_deinit(&w->own);
    pl_free(w->client_ca_pem);
    pl_free(w->trouble);
    pl_free(w);
}
