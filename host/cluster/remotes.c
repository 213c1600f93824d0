/* Reads the addresses and credentials of other clusters, and keeps reading: a kubeconfig file until
 * it was read, a Secret for ever, as its credentials may be replaced. A thread of the pool reads
 * the file, since its disk may not answer; the host's own client reads the Secret. A Secret is not
 * trusted to name files or programs of this machine. */
#include "cluster/remotes.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "net/blocking_work.h"
#include "sync/read.h"

#include <string.h>

#define TRY_AGAIN  (10 * PL_SECOND)
#define LOOK_AGAIN (60 * PL_SECOND) /* interval of reading a Secret again */
#define SECRET_MAX ((size_t)1 << 20)

/* Data of the thread that reads the file. */
struct reading {
    struct remote *remote; /* NULL: no one waits any more */
    struct pl_kubeconfig_options options;
    char *file, *context; /* owned, behind options */
    struct pl_kubeconfig config;
    struct pl_err err; /* code 0: config is there */
};

struct remote {
    struct pl_remotes *remotes;   /* back-pointer */
    struct pl_remote_spec spec;   /* owned */
    char *from;                   /* owned, for people */
    struct pl_kubeconfig nowhere; /* used before the configuration is known */
    struct pl_kubeconfig *config; /* owned; NULL: not known yet */
    struct pl_client *client;
    struct pl_cluster *cluster;
    struct pl_timer again;
    struct pl_blocking_work *work; /* under way; NULL: none */
    struct reading *reading;       /* its data */
    struct pl_read_op *read;       /* of the Secret, under way; NULL: none */
    char *text;                    /* owned: the last text of the Secret; NULL: none yet */
    char *trouble;                 /* owned; NULL: none */
    struct pl_series *up;
};

struct pl_remotes {
    struct pl_remotes_options o;
    char *user_agent, *instance; /* owned: of o */
    struct remote **items;       /* owned */
    size_t count;
    bool stopping;
    struct pl_metric *up;
};

/* ---- specs ---- */

static void copy_spec(struct pl_remote_spec *to, const struct pl_remote_spec *from)
{
    *to = (struct pl_remote_spec){.name = pl_strdup_or_null(from->name),
                                  .kubeconfig = pl_strdup_or_null(from->kubeconfig),
                                  .context = pl_strdup_or_null(from->context),
                                  .secret_ns = pl_strdup_or_null(from->secret_ns),
                                  .secret_name = pl_strdup_or_null(from->secret_name),
                                  .secret_key = pl_strdup_or_null(from->secret_key)};
}

static bool is_spec(const struct pl_remote_spec *a, const struct pl_remote_spec *b)
{
    return pl_text_eq(a->name, b->name) && pl_text_eq(a->kubeconfig, b->kubeconfig) &&
           pl_text_eq(a->context, b->context) && pl_text_eq(a->secret_ns, b->secret_ns) &&
           pl_text_eq(a->secret_name, b->secret_name) && pl_text_eq(a->secret_key, b->secret_key);
}

/* ---- results of an attempt ---- */

static struct pl_timers *remotes_timers_of(const struct remote *remote)
{
    return remote->remotes->o.client.timers;
}

static void remotes_look(struct remote *remote);

static void on_remotes_again(struct pl_timer *timer)
{
    remotes_look(PL_CONTAINER_OF(timer, struct remote, again));
}

static void look_again(struct remote *remote, int64_t delay_ns)
{
    if (!remote->remotes->stopping)
        pl_timer_start(remotes_timers_of(remote), &remote->again, delay_ns, on_remotes_again);
}

/* Logged once, until the reason changes. If the cluster was reachable before, the last credentials
 * stay in use. */
static void remotes_fail(struct remote *remote, const struct pl_err *why)
{
    struct pl_err held;
    pl_err_clear(&held);
    pl_err_set(&held, PL_ENETWORK, "cluster %s: %s", remote->spec.name, why->message);
    if (remote->config == NULL)
        pl_client_hold(remote->client, &held);
    if (!pl_text_eq(remote->trouble, why->message))
        pl_log(PL_LOG_ERROR, "cannot find out how to reach a cluster; trying again",
               pl_str("cluster", remote->spec.name), pl_str("from", remote->from),
               pl_str("error", why->message));
    pl_free(remote->trouble);
    remote->trouble = pl_strdup(why->message);
    pl_series_set(remote->up, remote->config != NULL);
    look_again(remote, TRY_AGAIN);
}

/* Takes the config's content. */
static void use(struct remote *remote, struct pl_kubeconfig *config)
{
    struct pl_err err;
    struct pl_kubeconfig *next = PL_NEW(struct pl_kubeconfig);
    *next = *config;
    pl_err_clear(&err);
    if (pl_client_configure(remote->client, next, &err) != 0) {
        pl_kubeconfig_deinit(next);
        pl_free(next);
        remotes_fail(remote, &err);
        return;
    }
    pl_log(PL_LOG_INFO,
           remote->config == NULL ? "cluster configured" : "cluster configuration changed",
           pl_str("cluster", remote->spec.name), pl_str("server", next->server),
           pl_str("from", remote->from));
    if (remote->config != NULL) {
        pl_kubeconfig_deinit(remote->config);
        pl_free(remote->config);
    }
    remote->config = next;
    pl_free(remote->trouble);
    remote->trouble = NULL;
    pl_series_set(remote->up, 1);
}

/* ---- a file ---- */

static void remotes_read_file(void *arg)
{
    struct reading *reading = arg;
    pl_err_clear(&reading->err);
    /* what went wrong is in err */
    PL_IGNORE(pl_kubeconfig_load(&reading->options, &reading->config, &reading->err));
}

static void free_reading(void *arg)
{
    struct reading *reading = arg;
    pl_kubeconfig_deinit(&reading->config);
    pl_free(reading->file);
    pl_free(reading->context);
    pl_free(reading);
}

static void on_file(void *arg)
{
    struct reading *reading = arg;
    struct remote *remote = reading->remote;
    remote->work = NULL;
    remote->reading = NULL;
    if (reading->err.code != 0) {
        remotes_fail(remote, &reading->err);
    } else {
        use(remote, &reading->config);
        reading->config = (struct pl_kubeconfig){0};
    }
    free_reading(reading);
}

static void look_at_file(struct remote *remote)
{
    struct reading *reading = PL_NEW(struct reading);
    reading->remote = remote;
    reading->file = pl_strdup_or_null(remote->spec.kubeconfig);
    reading->context = pl_strdup_or_null(remote->spec.context);
    reading->options = remote->remotes->o.files;
    reading->options.server = NULL;
    if (reading->file != NULL)
        reading->options.files = reading->file;
    reading->options.context = reading->context;
    const struct pl_blocking_work_options work = {
        .run = remotes_read_file, .done = on_file, .drop = free_reading, .arg = reading};
    remote->reading = reading;
    remote->work = pl_blocking_work_start(remote->remotes->o.loop, &work);
}

/* ---- a Secret ---- */

/* The member's bytes as text; NULL with err. */
static char *remotes_text_of(const struct remote *remote, struct pl_doc *secret, struct pl_err *err)
{
    struct pl_scratch scratch;
    struct pl_node data = pl_node_getz(pl_doc_root(secret), "data");
    struct pl_slice encoded = pl_node_str(pl_node_getz(data, remote->spec.secret_key), &scratch);
    struct pl_buf text = PL_BUF_INIT;
    if (encoded.len == 0)
        pl_err_set(err, PL_EINVAL, "%s has no key \"%s\"", remote->from, remote->spec.secret_key);
    else if (encoded.len > SECRET_MAX || !pl_base64_decode(encoded, &text))
        pl_err_set(err, PL_EINVAL, "%s: \"%s\" is not base64", remote->from,
                   remote->spec.secret_key);
    else
        return pl_buf_take(&text);
    pl_buf_deinit(&text);
    return NULL;
}

static void use_secret(struct remote *remote, struct pl_doc *secret)
{
    struct pl_err err;
    struct pl_kubeconfig config;
    struct pl_kubeconfig_options options = remote->remotes->o.files;
    pl_err_clear(&err);
    char *text = remotes_text_of(remote, secret, &err);
    if (text == NULL) {
        remotes_fail(remote, &err);
        return;
    }
    if (pl_text_eq(text, remote->text) && remote->trouble == NULL) {
        pl_free(text);
        look_again(remote, LOOK_AGAIN);
        return;
    }
    options.context = remote->spec.context;
    options.server = NULL;
    if (pl_kubeconfig_parse(pl_slice_z(text), remote->from, &options, &config, &err) == 0) {
        use(remote, &config);
        look_again(remote, LOOK_AGAIN);
    } else {
        pl_kubeconfig_deinit(&config);
        remotes_fail(remote, &err);
    }
    pl_free(remote->text);
    remote->text = text;
}

static void on_secret(void *arg, const struct pl_answer *answer)
{
    struct remote *remote = arg;
    remote->read = NULL;
    if (remote->remotes->stopping)
        return;
    if (answer->err != NULL) {
        struct pl_err err = *answer->err;
        pl_err_prefix(&err, "%s", remote->from);
        remotes_fail(remote, &err);
    } else {
        use_secret(remote, answer->doc);
    }
}

static void remotes_look(struct remote *remote)
{
    if (remote->remotes->stopping)
        return;
    if (remote->spec.secret_name == NULL) {
        look_at_file(remote);
        return;
    }
    const struct pl_read read = {.verb = PL_VERB_GET,
                                 .kind = {.version = "v1", .kind = "Secret"},
                                 .ns = pl_slice_z(remote->spec.secret_ns),
                                 .name = pl_slice_z(remote->spec.secret_name)};
    remote->read =
        pl_read_start(pl_cluster_site(remote->remotes->o.home), &read, on_secret, remote);
}

/* ---- lifetime ---- */

static char *remotes_describe(const struct pl_remote_spec *spec)
{
    const char *of = spec->context != NULL ? ", context " : "";
    const char *context = spec->context != NULL ? spec->context : "";
    if (spec->secret_name != NULL)
        return pl_format("Secret %s/%s%s%s", spec->secret_ns, spec->secret_name, of, context);
    return pl_format("%s%s%s",
                     spec->kubeconfig != NULL ? spec->kubeconfig : "the host's own kubeconfig", of,
                     context);
}

static void make_cluster(struct remote *remote)
{
    const struct pl_remotes_options *o = &remote->remotes->o;
    struct pl_client_options client = o->client;
    struct pl_cluster_options cluster = o->cluster;
    struct pl_err err;
    pl_err_clear(&err);
    remote->nowhere = (struct pl_kubeconfig){.source = (char *)"nowhere",
                                             .server = (char *)"https://unknown.invalid"};
    client.config = &remote->nowhere;
    remote->client = pl_client_create(&client, &err);
    PL_REQUIRE(remote->client != NULL);
    pl_err_set(&err, PL_ENETWORK, "cluster %s: %s has not been read yet", remote->spec.name,
               remote->from);
    pl_client_await(remote->client, &err);
    cluster.site.client = remote->client;
    cluster.name = remote->spec.name;
    cluster.home = o->home;
    remote->cluster = pl_cluster_create(&cluster);
}

static struct remote *remotes_make(struct pl_remotes *remotes, const struct pl_remote_spec *spec)
{
    struct remote *remote = PL_NEW(struct remote);
    const char *const values[] = {spec->name};
    remote->remotes = remotes;
    copy_spec(&remote->spec, spec);
    remote->from = remotes_describe(spec);
    make_cluster(remote);
    remote->up = pl_metric_series(remotes->up, values);
    pl_series_set(remote->up, 0);
    remotes_look(remote);
    return remote;
}

struct pl_cluster *pl_remotes_take(struct pl_remotes *remotes, const struct pl_remote_spec *spec)
{
    pl_loop_require(remotes->o.loop);
    for (size_t i = 0; i < remotes->count; i++)
        if (is_spec(&remotes->items[i]->spec, spec))
            return remotes->items[i]->cluster;
    remotes->items = pl_reallocarray(remotes->items, remotes->count + 1, sizeof(struct remote *));
    remotes->items[remotes->count++] = remotes_make(remotes, spec);
    return remotes->items[remotes->count - 1]->cluster;
}

struct pl_remotes *pl_remotes_create(const struct pl_remotes_options *options)
{
    struct pl_remotes *remotes = PL_NEW(struct pl_remotes);
    const struct pl_metric_spec up = {
        .name = "perilune_cluster_known",
        .help = "1 when the host knows how to reach the cluster that scripts name.",
        .type = PL_METRIC_GAUGE,
        .labels = {"cluster"}};
    remotes->o = *options;
    remotes->o.client.user_agent = remotes->user_agent =
        pl_strdup_or_null(options->client.user_agent);
    remotes->o.cluster.instance = remotes->instance = pl_strdup_or_null(options->cluster.instance);
    remotes->up = pl_metrics_add(options->client.metrics, &up);
    pl_cluster_set_remotes(options->home, remotes);
    return remotes;
}

void pl_remotes_stop(struct pl_remotes *remotes)
{
    if (remotes == NULL)
        return;
    remotes->stopping = true;
    for (size_t i = 0; i < remotes->count; i++) {
        struct remote *remote = remotes->items[i];
        pl_timer_stop(remotes_timers_of(remote), &remote->again);
        if (remote->work != NULL)
            pl_blocking_work_abandon(remote->work);
        remote->work = NULL;
        if (remote->read != NULL)
            pl_read_op_cancel(remote->read);
    }
}

static void remotes_destroy(struct remote *remote)
{
    pl_cluster_destroy(remote->cluster);
    pl_client_destroy(remote->client);
    if (remote->config != NULL)
        pl_kubeconfig_deinit(remote->config);
    pl_free(remote->config);
    pl_remote_spec_deinit(&remote->spec);
    pl_free(remote->from);
    pl_free(remote->text);
    pl_free(remote->trouble);
    pl_free(remote);
}

void pl_remotes_destroy(struct pl_remotes *remotes)
{
    if (remotes == NULL)
        return;
    pl_remotes_stop(remotes);
    for (size_t i = 0; i < remotes->count; i++)
        remotes_destroy(remotes->items[i]);
    pl_cluster_set_remotes(remotes->o.home, NULL);
    pl_free(remotes->items);
    pl_free(remotes->user_agent);
    pl_free(remotes->instance);
    pl_free(remotes);
}

/* ---- questions ---- */

size_t pl_remotes_count(const struct pl_remotes *remotes)
{
    return remotes != NULL ? remotes->count : 0;
}

void pl_remotes_state(const struct pl_remotes *remotes, size_t i, struct pl_remote_state *out)
{
    const struct remote *remote = remotes->items[i];
    *out =
        (struct pl_remote_state){.cluster = remote->cluster,
                                 .name = remote->spec.name,
                                 .server = remote->config != NULL ? remote->config->server : NULL,
                                 .from = remote->from,
                                 .trouble = remote->trouble};
}
