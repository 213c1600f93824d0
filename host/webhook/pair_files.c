/* Follows two files. An event causes a look a moment later, since certificate and key are written
 * one after the other. A look at an invalid pair is followed by another, in case there are no more
 * events. Each look watches the paths anew, since the folder may be another one by now; and there
 * is one from time to time without an event, for what no watch tells (a folder further up was
 * moved). At most one look at a time, however long the disk takes. */
#include "webhook/pair_files.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/log.h"
#include "crypto/authority.h"
#include "net/blocking_work.h"
#include "net/files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES ((size_t)1 << 20)
#define SOON_NS    (50 * PL_MS)
#define AGAIN_NS   (5 * PL_SECOND)  /* after a broken pair, or when it cannot be watched */
#define CHECK_NS   (60 * PL_SECOND) /* otherwise */

/* One look at the disk; owned by the files, or by itself after they are destroyed. */
struct look {
    char *paths[3]; /* owned: certificate, key, and the CA's, which may be missing */
    struct pl_buf texts[3];
    struct pl_err err;
    struct pl_files_set *set;    /* owned; NULL: nothing is watched */
    bool unwatched;              /* a path could not be watched */
    struct pl_pair_files *files; /* back-pointer, the loop's */
};

struct pl_pair_files {
    struct pl_loop *loop;
    char *folder;
    char *cert_pem, *key_pem, *ca_pem; /* owned; ca_pem NULL: none */
    pl_pair_fn changed;
    void *arg;
    struct pl_files *watched; /* NULL: nothing can be watched */
    struct pl_timer timer;
    struct pl_blocking_work *work; /* NULL: no look is under way */
    bool again;                    /* there was an event since it began */
    char *told;                    /* owned: the last logged trouble */
};

/* ---- looking ---- */

static int pair_files_read_file(const char *path, struct pl_buf *out, struct pl_err *err)
{
    char chunk[4096];
    size_t got;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return pl_err_set(err, PL_EIO, "%s: %s", path, strerror(errno));
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0 && out->len + got <= MOST_BYTES)
        pl_buf_add(out, chunk, got);
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed)
        return pl_err_set(err, PL_EIO, "%s can't be read", path);
    return got > 0 ? pl_err_set(err, PL_ELIMIT, "%s is larger than 1 MiB", path) : 0;
}

/* The CA's file may be missing or empty. */
static void read_authority(struct look *look)
{
    const char *path = look->paths[2];
    if (access(path, F_OK) != 0 || pair_files_read_file(path, &look->texts[2], &look->err) != 0)
        return;
    if (look->texts[2].len > 0 && pl_certificates_count(pl_buf_z(&look->texts[2])) == 0)
        pl_err_set(&look->err, PL_EINVAL, "%s is not a list of certificates", path);
}

/* Watches first, so that no change is missed. */
static void run_look(void *arg)
{
    struct look *look = arg;
    pl_err_clear(&look->err);
    look->unwatched = look->set == NULL;
    for (size_t i = 0; i < 3 && !look->unwatched; i++)
        look->unwatched = pl_files_set_add_path(look->set, look->paths[i], NULL) != 0;
    for (size_t i = 0; i < 2 && look->err.code == 0; i++)
        pair_files_read_file(look->paths[i], &look->texts[i], &look->err);
    if (look->err.code == 0 &&
        !pl_certificate_has_key(pl_buf_z(&look->texts[0]), pl_buf_z(&look->texts[1])))
        pl_err_set(&look->err, PL_EINVAL, "%s and %s are not a certificate and its key",
                   look->paths[0], look->paths[1]);
    if (look->err.code == 0)
        read_authority(look);
}

static struct look *create_look(struct pl_pair_files *files)
{
    struct look *look = PL_NEW(struct look);
    look->files = files;
    look->paths[0] = pl_format("%s/tls.crt", files->folder);
    look->paths[1] = pl_format("%s/tls.key", files->folder);
    look->paths[2] = pl_format("%s/ca.crt", files->folder);
    look->set = files->watched != NULL ? pl_files_set_create(files->watched) : NULL;
    return look;
}

static void free_look(void *arg)
{
    struct look *look = arg;
    for (size_t i = 0; i < 3; i++) {
        pl_free(look->paths[i]);
        pl_buf_deinit(&look->texts[i]);
    }
    pl_files_set_free(look->set);
    pl_free(look);
}

/* ---- the result ---- */

static void pair_files_take(struct pl_pair_files *files, const struct look *look)
{
    pl_free(files->cert_pem);
    pl_free(files->key_pem);
    files->cert_pem = pl_strdup(pl_buf_z(&look->texts[0]));
    files->key_pem = pl_strdup(pl_buf_z(&look->texts[1]));
    pl_free(files->ca_pem);
    files->ca_pem = look->texts[2].len > 0 ? pl_strdup(pl_buf_z(&look->texts[2])) : NULL;
    if (files->ca_pem == NULL && pl_certificate_issuer(files->cert_pem, files->cert_pem) == 0)
        files->ca_pem = pl_strdup(files->cert_pem);
    pl_free(files->told);
    files->told = NULL;
}

static bool pair_files_is_known(const struct pl_pair_files *files, const struct look *look)
{
    const char *ca = files->ca_pem != NULL ? files->ca_pem : "";
    return strcmp(files->cert_pem, pl_buf_z(&look->texts[0])) == 0 &&
           strcmp(files->key_pem, pl_buf_z(&look->texts[1])) == 0 &&
           (look->texts[2].len == 0 || strcmp(ca, pl_buf_z(&look->texts[2])) == 0);
}

static void pair_files_complain(struct pl_pair_files *files, const char *why)
{
    if (files->told != NULL && strcmp(files->told, why) == 0)
        return;
    pl_log(PL_LOG_ERROR, "the webhooks' new certificate can't be used: the old one is kept",
           pl_str("error", why));
    pl_free(files->told);
    files->told = pl_strdup(why);
}

static void on_pair_files_timer(struct pl_timer *timer);

static void look_in(struct pl_pair_files *files, int64_t delay_ns)
{
    pl_timer_start(pl_loop_timers(files->loop), &files->timer, delay_ns, on_pair_files_timer);
}

static void pair_files_watch(struct pl_pair_files *files, struct look *look)
{
    if (look->set != NULL)
        pl_files_use(files->watched, look->set);
    look->set = NULL;
}

static void on_pair_files_looked(void *arg)
{
    struct look *look = arg;
    struct pl_pair_files *files = look->files;
    pair_files_watch(files, look);
    files->work = NULL;
    bool broken = look->err.code != 0;
    if (broken) {
        pair_files_complain(files, look->err.message);
    } else if (!pair_files_is_known(files, look)) {
        pair_files_take(files, look);
        files->changed(files->arg, files->cert_pem, files->key_pem);
    }
    look_in(files, files->again ? SOON_NS : broken || look->unwatched ? AGAIN_NS : CHECK_NS);
    files->again = false;
    free_look(look);
}

static void on_pair_files_timer(struct pl_timer *timer)
{
    struct pl_pair_files *files = PL_CONTAINER_OF(timer, struct pl_pair_files, timer);
    const struct pl_blocking_work_options work = {.run = run_look,
                                                  .done = on_pair_files_looked,
                                                  .drop = free_look,
                                                  .arg = create_look(files)};
    files->work = pl_blocking_work_start(files->loop, &work);
}

static void on_pair_files_event(void *arg, const char *path)
{
    struct pl_pair_files *files = arg;
    PL_UNUSED(path);
    if (files->work != NULL)
        files->again = true;
    else
        look_in(files, SOON_NS);
}

/* ---- life ---- */

struct pl_pair_files *pl_pair_files_create(struct pl_loop *loop, const char *folder,
                                           pl_pair_fn changed, void *arg, struct pl_err *err)
{
    struct pl_pair_files *files = PL_NEW(struct pl_pair_files);
    files->loop = loop;
    files->folder = pl_strdup(folder);
    files->changed = changed;
    files->arg = arg;
    files->watched = pl_files_create(loop, on_pair_files_event, files, NULL);
    struct look *look = create_look(files);
    run_look(look);
    if (look->err.code == 0) {
        pair_files_take(files, look);
        look_in(files, look->unwatched ? AGAIN_NS : CHECK_NS);
        pair_files_watch(files, look);
        free_look(look);
        return files;
    }
    if (err != NULL)
        *err = look->err;
    free_look(look);
    pl_pair_files_destroy(files);
    return NULL;
}

void pl_pair_files_destroy(struct pl_pair_files *files)
{
    if (files == NULL)
        return;
    pl_timer_stop(pl_loop_timers(files->loop), &files->timer);
    if (files->work != NULL)
        pl_blocking_work_abandon(files->work);
    pl_files_destroy(files->watched);
    pl_free(files->folder);
    pl_free(files->cert_pem);
    pl_free(files->key_pem);
    pl_free(files->ca_pem);
    pl_free(files->told);
    pl_free(files);
}

const char *pl_pair_files_cert(const struct pl_pair_files *files)
{
    return files->cert_pem;
}

const char *pl_pair_files_key(const struct pl_pair_files *files)
{
    return files->key_pem;
}

const char *pl_pair_files_ca(const struct pl_pair_files *files)
{
    return files->ca_pem;
}
