#include "cli/watch_files.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "net/files.h"

#include <string.h>
#include <sys/stat.h>

#define QUIET_MS 20  /* one reload a burst of changes, */
#define CAP_MS   500 /* but not later than this */

struct pl_watch_files {
    struct pl_loop *loop; /* borrowed for life */
    struct pl_files *files;
    struct pl_map watched; /* paths */
    bool is_partial, said;
    void (*changed)(void *arg, int64_t began_ns);
    void *arg;
};

static void on_changed(void *arg, const char *path)
{
    struct pl_watch_files *files = arg;
    pl_log(PL_LOG_DEBUG, "a watched file changed", pl_str("path", path));
    files->changed(files->arg, pl_loop_now(files->loop) - QUIET_MS * PL_MS);
}

struct pl_watch_files *pl_watch_files_create(struct pl_loop *loop,
                                             void (*changed)(void *arg, int64_t began_ns),
                                             void *arg, struct pl_err *err)
{
    struct pl_watch_files *files = PL_NEW(struct pl_watch_files);
    files->loop = loop;
    files->changed = changed;
    files->arg = arg;
    struct pl_files_options options = {.quiet_ms = QUIET_MS, .cap_ms = CAP_MS};
    files->files = pl_files_create(loop, &options, on_changed, files, err);
    if (files->files != NULL)
        return files;
    pl_free(files);
    return NULL;
}

void pl_watch_files_destroy(struct pl_watch_files *files)
{
    if (files == NULL)
        return;
    pl_files_destroy(files->files);
    pl_map_deinit(&files->watched);
    pl_free(files);
}

void pl_watch_files_begin(struct pl_watch_files *files)
{
    pl_files_clear(files->files);
    pl_map_deinit(&files->watched);
    files->watched = PL_MAP_INIT;
    files->is_partial = false;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The path, or what is missing of it: the first step below a folder that is there. Owned. */
static char *watchable(struct pl_watch_files *files, const char *path)
{
    char *part = pl_strdup(path);
    for (;;) {
        char *slash = strrchr(part, '/');
        if (slash == NULL || slash == part)
            return part;
        *slash = '\0';
        bool there = is_folder(part);
        *slash = '/';
        if (there)
            return part;
        *slash = '\0';
        files->is_partial = true;
    }
}

static void add(void *arg, const char *path, bool folder)
{
    struct pl_watch_files *files = arg;
    struct pl_err err;
    pl_err_clear(&err);
    char *what = watchable(files, path);
    char *name = pl_format("%s%s", folder ? "/*" : "", what);
    if (!pl_map_has(&files->watched, pl_slice_z(name))) {
        pl_map_put(&files->watched, pl_slice_z(name), files);
        int rc = folder && is_folder(path) ? pl_files_watch_dir(files->files, path, ".lua", &err)
                                           : pl_files_watch(files->files, what, NULL, &err);
        if (rc != 0 && !files->said)
            pl_log(PL_LOG_WARN, "changes of a file will not be seen", pl_str("path", path),
                   pl_str("error", err.message));
        files->said = files->said || rc != 0;
    }
    pl_free(name);
    pl_free(what);
}

void pl_watch_files_add(struct pl_watch_files *files, struct pl_origin *origin)
{
    pl_origin_each(origin, add, files);
}

bool pl_watch_files_is_partial(const struct pl_watch_files *files)
{
    return files->is_partial;
}
