/* A set may be filled on any thread, even while that thread is stuck in a file system that does not
 * answer: it has its own descriptor for the same inotify instance. Events that are read before the
 * loop uses the set are kept, so that no event is lost between an old set and a new one. */
#include "net/files.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/file.h"
#include "base/map.h"
#include "base/text.h"

#include <uv.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define MAX_NAMES  32768           /* limit of one set */
#define MAX_LINKS  40              /* limit of links to links */
#define KEPT_LIMIT ((size_t)65536) /* bytes of events that came while a set is being filled */

/* Not IN_MODIFY: between an editor's truncate and its last write the file is incomplete. */
#define EVENTS                                                                                     \
    (IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF |       \
     IN_MOVE_SELF | IN_ONLYDIR)

struct folder {
    char *path;   /* owned */
    int wd;       /* -1: not watched any more */
    char *suffix; /* owned; any file with this suffix is watched; NULL: none */
    struct pl_map names;
};

struct pl_files_set {
    int fd;                  /* its own descriptor of the inotify instance */
    struct folder **folders; /* owned */
    size_t folder_count, name_count;
    struct pl_map by_path; /* path -> struct folder */
};

struct pl_files {
    pl_files_fn on_event;
    void *arg;
    int fd; /* inotify */
    uv_poll_t poll;
    struct pl_files_set *used; /* owned; NULL: nothing is watched */
    bool filling;              /* another set is being filled */
    bool kept_too_many;        /* more events than `kept` has room for */
    struct pl_buf kept;        /* events that were read meanwhile */
};

/* ---- a set ---- */

struct pl_files_set *pl_files_set_create(struct pl_files *files)
{
    struct pl_files_set *set = PL_NEW(struct pl_files_set);
    set->fd = fcntl(files->fd, F_DUPFD_CLOEXEC, 0);
    files->filling = true;
    return set;
}

static void free_folder(struct folder *folder)
{
    pl_map_deinit(&folder->names);
    pl_free(folder->path);
    pl_free(folder->suffix);
    pl_free(folder);
}

void pl_files_set_free(struct pl_files_set *set)
{
    if (set == NULL)
        return;
    for (size_t i = 0; i < set->folder_count; i++)
        free_folder(set->folders[i]);
    pl_free(set->folders);
    pl_map_deinit(&set->by_path);
    if (set->fd >= 0)
        close(set->fd);
    pl_free(set);
}

/* NULL and err when it cannot be watched. */
static struct folder *folder_at(struct pl_files_set *set, struct pl_slice path, struct pl_err *err)
{
    struct folder *folder = pl_map_get(&set->by_path, path);
    if (folder != NULL)
        return folder;
    char *name = pl_text_copy(path);
    int wd = inotify_add_watch(set->fd, name, EVENTS);
    if (wd < 0) {
        pl_err_set(err, PL_EIO, "%s cannot be watched: %s", name, strerror(errno));
        pl_free(name);
        return NULL;
    }
    folder = PL_NEW(struct folder);
    folder->path = name;
    folder->wd = wd;
    set->folders = pl_reallocarray(set->folders, set->folder_count + 1, sizeof *set->folders);
    set->folders[set->folder_count++] = folder;
    pl_map_put(&set->by_path, path, folder);
    return folder;
}

int pl_files_set_add(struct pl_files_set *set, const char *path, struct pl_err *err)
{
    const char *slash = strrchr(path, '/');
    struct pl_slice where = slash == NULL   ? pl_slice_z(".")
                            : slash == path ? pl_slice_z("/")
                                            : pl_slice(path, (size_t)(slash - path));
    if (set->name_count >= MAX_NAMES)
        return pl_err_set(err, PL_ELIMIT, "more than %d files to watch", MAX_NAMES);
    struct folder *folder = folder_at(set, where, err);
    if (folder == NULL)
        return PL_EIO;
    if (pl_map_put(&folder->names, pl_slice_z(slash != NULL ? slash + 1 : path), folder) == NULL)
        set->name_count++;
    return 0;
}

int pl_files_set_add_folder(struct pl_files_set *set, const char *path, const char *suffix,
                            struct pl_err *err)
{
    struct folder *folder = folder_at(set, pl_slice_z(path), err);
    if (folder == NULL)
        return PL_EIO;
    pl_free(folder->suffix);
    folder->suffix = pl_strdup(suffix);
    return 0;
}

/* ---- paths ---- */

/* The path or, if it does not exist, its first missing step below an existing folder. Owned. */
static char *watchable(const char *path)
{
    char *part = pl_strdup(path);
    for (;;) {
        char *slash = strrchr(part, '/');
        if (slash == NULL || slash == part)
            return part;
        *slash = '\0';
        bool there = pl_file_is_folder(part);
        *slash = '/';
        if (there)
            return part;
        *slash = '\0';
    }
}

/* What a symbolic link names, as seen from where the link's path is seen; NULL: it is none. */
static char *link_target(const char *path)
{
    char to[PATH_MAX];
    ssize_t len = readlink(path, to, sizeof to);
    if (len <= 0 || (size_t)len == sizeof to)
        return NULL;
    const char *slash = strrchr(path, '/');
    if (to[0] == '/' || slash == NULL)
        return pl_memdup0(to, (size_t)len);
    return pl_format("%.*s/%.*s", (int)(slash - path), path, (int)len, to);
}

/* Links among the folders of the path: another target changes the file as well. Best effort, since
 * the folder that has the link need not be readable. */
static void add_folder_links(struct pl_files_set *set, const char *path)
{
    char *part = pl_strdup(path);
    char *slash = *part != '\0' ? strchr(part + 1, '/') : NULL;
    for (; slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        char *target = link_target(part);
        if (target != NULL)
            PL_IGNORE(pl_files_set_add(set, part, NULL));
        pl_free(target);
        *slash = '/';
    }
    pl_free(part);
}

int pl_files_set_add_path(struct pl_files_set *set, const char *path, struct pl_err *err)
{
    int failed = 0;
    char *at = pl_strdup(path);
    for (int i = 0; at != NULL && failed == 0 && i < MAX_LINKS; i++) {
        char *what = watchable(at);
        add_folder_links(set, at);
        failed = pl_files_set_add(set, what, err);
        pl_free(what);
        char *target = link_target(at);
        pl_free(at);
        at = target;
    }
    pl_free(at);
    return failed;
}

/* ---- events ---- */

static bool concerns(struct pl_files *files, struct folder *folder,
                     const struct inotify_event *event)
{
    if (event->mask & IN_MOVE_SELF) /* the watch would move with the folder */
        inotify_rm_watch(files->fd, event->wd);
    if (event->mask & (IN_IGNORED | IN_MOVE_SELF | IN_DELETE_SELF))
        folder->wd = -1;
    if (event->len == 0 || strcmp(event->name, "..data") == 0)
        return true; /* concerns the folder itself, or all of a ConfigMap volume */
    return (folder->suffix != NULL && pl_text_ends(pl_slice_z(event->name), folder->suffix)) ||
           pl_map_has(&folder->names, pl_slice_z(event->name));
}

/* Returns the path, owned, when a watched file is concerned. One folder may have been added by two
 * paths. */
static char *files_look_at(struct pl_files *files, const struct inotify_event *event)
{
    char *path = NULL;
    if (event->mask & IN_Q_OVERFLOW)
        return pl_strdup("(more events than there is room for)");
    for (size_t i = 0; files->used != NULL && i < files->used->folder_count; i++) {
        struct folder *folder = files->used->folders[i];
        if (folder->wd != event->wd || !concerns(files, folder, event) || path != NULL)
            continue;
        path = event->len > 0 ? pl_format("%s/%s", folder->path, event->name)
                              : pl_strdup(folder->path);
    }
    return path;
}

/* The same for several events: the first path. */
static char *look_at_all(struct pl_files *files, const char *bytes, size_t len)
{
    char *first = NULL;
    for (const char *at = bytes; at < bytes + len;) {
        const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
        char *path = files_look_at(files, event);
        if (first == NULL)
            first = path;
        else
            pl_free(path);
        at += sizeof *event + event->len;
    }
    return first;
}

static void files_keep(struct pl_files *files, const char *bytes, size_t len)
{
    if (!files->filling)
        return;
    if (files->kept.len + len <= KEPT_LIMIT)
        pl_buf_add(&files->kept, bytes, len);
    else
        files->kept_too_many = true;
}

static void files_tell(struct pl_files *files, char *path)
{
    if (path != NULL)
        files->on_event(files->arg, path);
    pl_free(path);
}

static void on_readable_cb(uv_poll_t *poll, int status, int events)
{
    PL_UNUSED(status), PL_UNUSED(events);
    struct pl_files *files = poll->data;
    _Alignas(struct inotify_event) char bytes[8192];
    ssize_t n;
    char *first = NULL;
    while ((n = read(files->fd, bytes, sizeof bytes)) > 0) {
        files_keep(files, bytes, (size_t)n);
        char *path = look_at_all(files, bytes, (size_t)n);
        if (first == NULL)
            first = path;
        else
            pl_free(path);
    }
    files_tell(files, first);
}

/* ---- life ---- */

struct pl_files *pl_files_create(struct pl_loop *loop, pl_files_fn on_event, void *arg,
                                 struct pl_err *err)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) {
        pl_err_set(err, PL_EIO, "files cannot be watched: %s", strerror(errno));
        return NULL;
    }
    struct pl_files *files = PL_NEW(struct pl_files);
    files->fd = fd;
    files->on_event = on_event;
    files->arg = arg;
    PL_REQUIRE(uv_poll_init(pl_loop_uv(loop), &files->poll, fd) == 0);
    files->poll.data = files;
    uv_poll_start(&files->poll, UV_READABLE, on_readable_cb);
    return files;
}

static void on_files_closed_cb(uv_handle_t *handle)
{
    struct pl_files *files = handle->data;
    close(files->fd);
    pl_files_set_free(files->used);
    pl_buf_deinit(&files->kept);
    pl_free(files);
}

void pl_files_destroy(struct pl_files *files)
{
    if (files != NULL)
        uv_close((uv_handle_t *)&files->poll, on_files_closed_cb);
}

static bool has_watch(const struct pl_files_set *set, int wd)
{
    for (size_t i = 0; i < set->folder_count; i++)
        if (set->folders[i]->wd == wd)
            return true;
    return false;
}

void pl_files_use(struct pl_files *files, struct pl_files_set *set)
{
    struct pl_files_set *before = files->used;
    files->used = set;
    for (size_t i = 0; before != NULL && i < before->folder_count; i++)
        if (before->folders[i]->wd >= 0 && !has_watch(set, before->folders[i]->wd))
            inotify_rm_watch(files->fd, before->folders[i]->wd);
    pl_files_set_free(before);
    /* A copy, as the callback may use yet another set. */
    struct pl_buf kept = files->kept;
    bool too_many = files->kept_too_many;
    files->kept = (struct pl_buf)PL_BUF_INIT;
    files->filling = files->kept_too_many = false;
    char *path = kept.len > 0 ? look_at_all(files, kept.ptr, kept.len) : NULL;
    pl_buf_deinit(&kept);
    if (path == NULL && too_many)
        path = pl_strdup("(more events than there is room for)");
    files_tell(files, path);
}
