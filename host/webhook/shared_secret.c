/* One step at a time: read the Secret, decide, write it or use it. Every write has the version that
 * was seen, so of two replicas one gets 409 and reads again. Certificates are used only after they
 * are stored. */
#include "webhook/shared_secret.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/log.h"
#include "object/patch.h"
#include "value/build.h"
#include "webhook/kept_object.h"

#include <string.h>

static const struct pl_resource secrets = {
    .kind = {"", "v1", "Secret"},
    .plural = "secrets",
    .namespaced = true,
    .can_watch = true,
};

struct pl_shared_secret {
    struct pl_shared_secret_options o;
    char *ns, *name; /* owned */
    struct pl_kept *kept;
    struct pl_certificates have; /* as stored, or about to be stored */
    bool stored;                 /* `have` was in the Secret */
    bool foreign;                /* it belongs to somebody else */
};

static const char member_names[][8] = {"tls.crt", "tls.key", "ca.crt", "ca.key"};

/* ---- documents ---- */

static char *read_member(struct pl_node data, const char *key)
{
    struct pl_scratch scratch;
    struct pl_buf text = PL_BUF_INIT;
    struct pl_slice coded = pl_node_str(pl_node_getz(data, key), &scratch);
    if (coded.len > 0 && pl_base64_decode(coded, &text) && text.len > 0 &&
        memchr(text.ptr, '\0', text.len) == NULL)
        return pl_buf_take(&text);
    pl_buf_deinit(&text);
    return NULL;
}

struct pl_certificates pl_shared_secret_read(struct pl_node secret)
{
    struct pl_node data = pl_node_getz(secret, "data");
    return (struct pl_certificates){.cert_pem = read_member(data, "tls.crt"),
                                    .key_pem = read_member(data, "tls.key"),
                                    .ca_pem = read_member(data, "ca.crt"),
                                    .ca_key_pem = read_member(data, "ca.key")};
}

static bool is_member_name(struct pl_slice key)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(member_names); i++)
        if (pl_slice_eqz(key, member_names[i]))
            return true;
    return false;
}

/* For a Secret that cannot be used: whether somebody else has made it. */
static bool is_of_others(struct pl_node secret)
{
    struct pl_scratch scratch;
    struct pl_slice type = pl_node_str(pl_node_getz(secret, "type"), &scratch);
    struct pl_node data = pl_node_getz(secret, "data");
    struct pl_iter it = pl_iter(data);
    if (type.len > 0 && !pl_slice_eqz(type, "Opaque"))
        return true;
    while (pl_iter_next(&it))
        if (is_member_name(it.key))
            return false;
    return pl_node_len(data) > 0;
}

static void put_member(struct pl_build *b, const char *key, const char *pem)
{
    struct pl_buf coded = PL_BUF_INIT;
    pl_base64_encode(pl_slice_z(pem), &coded);
    pl_build_put_str(b, key, pl_buf_slice(&coded));
    pl_buf_deinit(&coded);
}

/* before: the current data, whose other keys stay; may be missing. */
static void put_data(struct pl_build *b, struct pl_node before,
                     const struct pl_certificates *certificates)
{
    struct pl_iter it = pl_iter(before);
    pl_build_object(b);
    while (pl_iter_next(&it)) {
        if (is_member_name(it.key))
            continue;
        pl_build_key(b, it.key);
        pl_build_node(b, it.value);
    }
    put_member(b, "tls.crt", certificates->cert_pem);
    put_member(b, "tls.key", certificates->key_pem);
    put_member(b, "ca.crt", certificates->ca_pem);
    put_member(b, "ca.key", certificates->ca_key_pem);
    pl_build_end(b);
}

struct pl_doc *pl_shared_secret_make(struct pl_node before, const char *ns, const char *name,
                                     const struct pl_certificates *certificates)
{
    static const char *const path[] = {"data"};
    struct pl_build *b = pl_build_create(NULL);
    struct pl_doc *doc;
    if (!pl_node_is_missing(before)) {
        put_data(b, pl_node_getz(before, "data"), certificates);
        struct pl_doc *data = pl_build_finish(b);
        doc = pl_doc_with(before, path, 1, pl_doc_root(data));
        pl_doc_unref(data);
    } else {
        pl_build_object(b);
        pl_build_put_strz(b, "apiVersion", "v1");
        pl_build_put_strz(b, "kind", "Secret");
        pl_build_keyz(b, "metadata");
        pl_build_object(b);
        pl_build_put_strz(b, "name", name);
        pl_build_put_strz(b, "namespace", ns);
        pl_build_end(b);
        pl_build_put_strz(b, "type", "Opaque");
        pl_build_keyz(b, "data");
        put_data(b, pl_node_getz(before, "data"), certificates);
        pl_build_end(b);
        doc = pl_build_finish(b);
    }
    pl_build_destroy(b);
    return doc;
}

/* ---- keeping it ---- */

static int64_t wall_s(const struct pl_shared_secret *secret)
{
    return pl_clock_wall(secret->o.timers->clock) / PL_SECOND;
}

static void shared_secret_take(struct pl_shared_secret *secret, struct pl_certificates *next)
{
    pl_certificates_deinit(&secret->have);
    secret->have = *next;
    *next = (struct pl_certificates){.cert_pem = NULL};
}

static void shared_secret_tell(struct pl_shared_secret *secret)
{
    secret->stored = true;
    secret->o.changed(secret->o.arg, &secret->have);
}

/* New certificates are written, and used when that has succeeded. */
static void write_them(struct pl_shared_secret *secret, struct pl_doc *object,
                       struct pl_certificates *next)
{
    struct pl_doc *doc = pl_shared_secret_make(pl_doc_root(object), secret->ns, secret->name, next);
    shared_secret_take(secret, next);
    secret->stored = false;
    if (object != NULL)
        pl_kept_update(secret->kept, doc);
    else
        pl_kept_create_object(secret->kept, doc);
    pl_doc_unref(doc);
}

static void shared_secret_renew(struct pl_shared_secret *secret, struct pl_doc *object,
                                enum pl_certificates_step step,
                                const struct pl_certificates *stored)
{
    struct pl_certificates next;
    struct pl_err err;
    pl_err_clear(&err);
    if (pl_certificates_renew(stored, step, secret->o.names, wall_s(secret), &next, &err) == 0)
        write_them(secret, object, &next);
    else
        pl_log(PL_LOG_ERROR, "the webhooks' certificate can't be made",
               pl_str("error", err.message));
}

/* Says it once. */
static void note_foreign(struct pl_shared_secret *secret, bool foreign)
{
    if (foreign && !secret->foreign)
        pl_log(PL_LOG_ERROR,
               "the Secret of the webhooks belongs to somebody else and is not changed: "
               "--webhook-secret must name another one, or this one must be deleted",
               pl_str("namespace", secret->ns), pl_str("name", secret->name));
    secret->foreign = foreign;
}

bool pl_shared_secret_is_foreign(const struct pl_shared_secret *secret)
{
    return secret->foreign;
}

/* stored: what was seen; may be taken. */
static void follow_plan(struct pl_shared_secret *secret, struct pl_doc *object,
                        struct pl_certificates *stored)
{
    int64_t at_s, now_s = wall_s(secret);
    enum pl_certificates_step step = pl_certificates_plan(stored, secret->o.names, now_s, &at_s);
    bool unusable = step == PL_CERTIFICATES_ALL && object != NULL;
    note_foreign(secret, unusable && is_of_others(pl_doc_root(object)));
    if (secret->foreign)
        return; /* it is read again when it changes, and each minute */
    if (unusable)
        pl_log(PL_LOG_WARN, "the Secret of the webhooks can't be used: it is made again",
               pl_str("namespace", secret->ns), pl_str("name", secret->name));
    if (step != PL_CERTIFICATES_KEEP) {
        shared_secret_renew(secret, object, step, stored);
    } else if (object == NULL) {
        write_them(secret, NULL, stored);
    } else {
        bool same = secret->stored && pl_certificates_eq(&secret->have, stored);
        pl_kept_look(secret->kept, (at_s - now_s) * PL_SECOND);
        shared_secret_take(secret, stored);
        if (!same)
            shared_secret_tell(secret);
    }
}

static void on_shared_secret_seen(void *arg, struct pl_doc *object)
{
    struct pl_shared_secret *secret = arg;
    if (pl_kept_is_writing(secret->kept))
        return;
    struct pl_certificates stored = pl_shared_secret_read(pl_doc_root(object));
    if (object == NULL && secret->stored) /* it was deleted: clients know our certificates */
        stored = pl_certificates_copy(&secret->have);
    follow_plan(secret, object, &stored);
    pl_certificates_deinit(&stored);
}

static void on_shared_secret_written(void *arg, struct pl_doc *object, const struct pl_err *err)
{
    struct pl_shared_secret *secret = arg;
    PL_UNUSED(object);
    if (err != NULL)
        return; /* it is read again */
    shared_secret_tell(secret);
    pl_kept_look(secret->kept, 0); /* there may be another step */
}

struct pl_shared_secret *pl_shared_secret_create(const struct pl_shared_secret_options *options)
{
    struct pl_shared_secret *secret = PL_NEW(struct pl_shared_secret);
    secret->o = *options;
    secret->ns = pl_strdup(options->ns);
    secret->name = pl_strdup(options->name);
    const struct pl_kept_options kept = {.client = options->client,
                                         .timers = options->timers,
                                         .resource = &secrets,
                                         .ns = secret->ns,
                                         .name = secret->name,
                                         .seen = on_shared_secret_seen,
                                         .written = on_shared_secret_written,
                                         .arg = secret};
    secret->kept = pl_kept_create(&kept);
    return secret;
}

void pl_shared_secret_close(struct pl_shared_secret *secret)
{
    if (secret == NULL)
        return;
    pl_kept_close(secret->kept);
    pl_certificates_deinit(&secret->have);
    pl_free(secret->ns);
    pl_free(secret->name);
    pl_free(secret);
}
