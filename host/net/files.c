/* Watching files for other content, by inotify on their directories.
 *
 * An event only starts the quiet time; what decides is a hash of the content afterwards, so that an
 * editor that writes twice or a mere touch does not count. Each file is read after its watch began,
 * so that no change falls between. A lost queue of events counts as an event of every file.
 *
 * A directory that is moved or removed takes its watch along; until it is back it is tried again
 * each second. */
#include "net/files.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/file.h"
#include "base/hash.h"

#include <uv.h>

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define MAX_FILE    ((size_t)16 * 1024 * 1024)
#define MAX_WATCHED 4096
#define RETRY_NS    PL_SECOND

/* Not IN_MODIFY: between an editor's truncate and its last write the file is half. */
#define EVENTS                                                                                     \
    (IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF |       \
     IN_MOVE_SELF | IN_ONLYDIR)

struct watched {
    struct pl_link link; /* in files->watched */
    char *dir, *name;    /* owned; name is a file's, or a suffix when is_suffix */
    char *path;          /* owned; for messages and for reading */
    bool is_suffix;
    int wd;           /* -1: the directory is not watched at the moment */
    uint64_t content; /* hash of what is in use */
};

struct pl_files {
    struct pl_loop *loop; /* borrowed */
    pl_files_fn on_changed;
    void *arg;
    int64_t quiet_ns, cap_ns;
    int fd; /* inotify */
    uv_poll_t poll;
    struct pl_list watched; /* struct watched */
    size_t count;
    struct pl_timer settle;
    int64_t first_ns; /* of the burst that is settling */
};

/* ---- content ---- */

static uint64_t hash_file(const char *path)
{
    struct pl_buf bytes = PL_BUF_INIT;
    uint64_t hash;
    if (pl_file_read(path, MAX_FILE, &bytes, NULL) == 0) {
        hash = pl_hash(bytes.ptr, bytes.len, 1);
    } else {
        /* Missing or too large to read each time: then what the directory says must do. */
        struct pl_file_stamp stamp = pl_file_stamp(path);
        hash = pl_hash(&stamp, sizeof stamp, 2);
    }
    pl_buf_deinit(&bytes);
    return hash;
}

static bool ends_with(const char *text, const char *suffix)
{
    size_t len = strlen(text), suffix_len = strlen(suffix);
    return len >= suffix_len && strcmp(text + len - suffix_len, suffix) == 0;
}

static uint64_t hash_dir(const struct watched *watched)
{
    uint64_t sum = 0; /* a sum, as the order of readdir means nothing */
    struct dirent *entry;
    DIR *dir = opendir(watched->dir);
    if (dir == NULL)
        return 0;
    while ((entry = readdir(dir)) != NULL) {
        if (!ends_with(entry->d_name, watched->name))
            continue;
        char *path = pl_format("%s/%s", watched->dir, entry->d_name);
        sum += pl_hash(entry->d_name, strlen(entry->d_name), hash_file(path));
        pl_free(path);
    }
    closedir(dir);
    return sum;
}

static uint64_t content_of(const struct watched *watched)
{
    return watched->is_suffix ? hash_dir(watched) : hash_file(watched->path);
}

/* ---- settling ---- */

static void on_settled(struct pl_timer *timer);

static void settle_in(struct pl_files *files, int64_t delay_ns)
{
    pl_timer_start(pl_loop_timers(files->loop), &files->settle, delay_ns, on_settled);
}

static void stir(struct pl_files *files)
{
    int64_t now = pl_loop_now(files->loop);
    if (files->first_ns == 0)
        files->first_ns = now;
    int64_t rest = files->first_ns + files->cap_ns - now;
    settle_in(files, rest < files->quiet_ns ? rest : files->quiet_ns);
}

/* Directories that went away are watched again once they are back. */
static bool watch_lost_dirs(struct pl_files *files)
{
    bool any_lost = false;
    PL_LIST_FOR (link, &files->watched) {
        struct watched *watched = PL_CONTAINER_OF(link, struct watched, link);
        if (watched->wd < 0)
            watched->wd = inotify_add_watch(files->fd, watched->dir, EVENTS);
        any_lost = any_lost || watched->wd < 0;
    }
    return any_lost;
}

static void on_settled(struct pl_timer *timer)
{
    struct pl_files *files = PL_CONTAINER_OF(timer, struct pl_files, settle);
    char *changed = NULL;
    files->first_ns = 0;
    bool any_lost = watch_lost_dirs(files);
    PL_LIST_FOR (link, &files->watched) {
        struct watched *watched = PL_CONTAINER_OF(link, struct watched, link);
        uint64_t content = content_of(watched);
        if (content != watched->content && changed == NULL)
            changed = pl_strdup(watched->path);
        watched->content = content;
    }
    if (any_lost)
        settle_in(files, RETRY_NS);
    if (changed != NULL)
        files->on_changed(files->arg, changed);
    pl_free(changed);
}

/* ---- events ---- */

static bool concerns(struct pl_files *files, const struct inotify_event *event)
{
    bool any = (event->mask & IN_Q_OVERFLOW) != 0;
    PL_LIST_FOR (link, &files->watched) {
        struct watched *watched = PL_CONTAINER_OF(link, struct watched, link);
        if (watched->wd != event->wd)
            continue;
        if (event->mask & IN_MOVE_SELF) /* the watch would go with the directory */
            inotify_rm_watch(files->fd, event->wd);
        if (event->mask & (IN_IGNORED | IN_MOVE_SELF | IN_DELETE_SELF))
            watched->wd = -1;
        if (event->len == 0 || strcmp(event->name, "..data") == 0)
            any = true; /* the directory itself, or all of a ConfigMap volume */
        else if (watched->is_suffix)
            any = any || ends_with(event->name, watched->name);
        else
            any = any || strcmp(event->name, watched->name) == 0;
    }
    return any;
}

static void on_readable_cb(uv_poll_t *poll, int status, int events)
{
    PL_UNUSED(status), PL_UNUSED(events);
    struct pl_files *files = poll->data;
    _Alignas(struct inotify_event) char bytes[8192];
    ssize_t n;
    bool stirred = false;
    while ((n = read(files->fd, bytes, sizeof bytes)) > 0) {
        for (char *at = bytes; at < bytes + n;) {
            const struct inotify_event *event = (const struct inotify_event *)at;
            stirred = concerns(files, event) || stirred;
            at += sizeof *event + event->len;
        }
    }
    if (stirred)
        stir(files);
}

/* ---- life ---- */

struct pl_files *pl_files_create(struct pl_loop *loop, const struct pl_files_options *options,
                                 pl_files_fn on_changed, void *arg, struct pl_err *err)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) {
        pl_err_set(err, PL_EIO, "files cannot be watched: %s", strerror(errno));
        return NULL;
    }
    struct pl_files *files = PL_NEW(struct pl_files);
    files->loop = loop;
    files->fd = fd;
    files->on_changed = on_changed;
    files->arg = arg;
    files->quiet_ns = (options && options->quiet_ms ? options->quiet_ms : 100) * PL_MS;
    files->cap_ns = (options && options->cap_ms ? options->cap_ms : 1000) * PL_MS;
    pl_list_init(&files->watched);
    PL_REQUIRE(uv_poll_init(pl_loop_uv(loop), &files->poll, fd) == 0);
    files->poll.data = files;
    uv_poll_start(&files->poll, UV_READABLE, on_readable_cb);
    return files;
}

static void on_closed_cb(uv_handle_t *handle)
{
    struct pl_files *files = handle->data;
    close(files->fd);
    pl_free(files);
}

void pl_files_destroy(struct pl_files *files)
{
    if (files == NULL)
        return;
    pl_files_clear(files);
    uv_close((uv_handle_t *)&files->poll, on_closed_cb);
}

static void free_watched(struct watched *watched)
{
    pl_free(watched->dir);
    pl_free(watched->name);
    pl_free(watched->path);
    pl_free(watched);
}

void pl_files_clear(struct pl_files *files)
{
    struct pl_link *link;
    while ((link = pl_list_pop(&files->watched)) != NULL) {
        struct watched *watched = PL_CONTAINER_OF(link, struct watched, link);
        if (watched->wd >= 0)
            inotify_rm_watch(files->fd, watched->wd); /* may be gone with another of its dir */
        free_watched(watched);
    }
    files->count = 0;
    files->first_ns = 0;
    pl_timer_stop(pl_loop_timers(files->loop), &files->settle);
}

static int add(struct pl_files *files, struct watched *watched, struct pl_err *err)
{
    int rc = 0;
    watched->wd = inotify_add_watch(files->fd, watched->dir, EVENTS);
    if (files->count == MAX_WATCHED)
        rc = pl_err_set(err, PL_ELIMIT, "more than %d files to watch", MAX_WATCHED);
    else if (watched->wd < 0)
        rc = pl_err_set(err, PL_EIO, "%s cannot be watched: %s", watched->dir, strerror(errno));
    if (rc != 0) {
        free_watched(watched);
        return rc;
    }
    /* After the watch began, so that no change falls between. */
    watched->content = content_of(watched);
    pl_list_push(&files->watched, &watched->link);
    files->count++;
    return 0;
}

int pl_files_watch(struct pl_files *files, const char *path, const struct pl_slice *content,
                   struct pl_err *err)
{
    struct watched *watched = PL_NEW(struct watched);
    const char *slash = strrchr(path, '/');
    watched->path = pl_strdup(path);
    watched->name = pl_strdup(slash != NULL ? slash + 1 : path);
    if (slash == NULL)
        watched->dir = pl_strdup(".");
    else
        watched->dir = slash == path ? pl_strdup("/") : pl_memdup0(path, (size_t)(slash - path));
    int rc = add(files, watched, err);
    if (rc != 0 || content == NULL)
        return rc;
    uint64_t in_use = pl_hash(content->ptr, content->len, 1);
    if (in_use != watched->content) {
        watched->content = in_use;
        stir(files);
    }
    return 0;
}

int pl_files_watch_dir(struct pl_files *files, const char *path, const char *suffix,
                       struct pl_err *err)
{
    struct watched *watched = PL_NEW(struct watched);
    watched->path = pl_strdup(path);
    watched->dir = pl_strdup(path);
    watched->name = pl_strdup(suffix);
    watched->is_suffix = true;
    return add(files, watched, err);
}
