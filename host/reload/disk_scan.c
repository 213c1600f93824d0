/* All functions may block for ever, on a file system that does not answer: they touch only the
 * look, and origins, which have their own locks. */
#include "reload/disk_scan.h"

#include "base/alloc.h"
#include "base/file.h"
#include "reload/config.h"

/* ---- watching ---- */

static void watch_path(void *arg, const char *path, bool folder)
{
    struct pl_disk_scan *look = arg;
    struct pl_err err;
    pl_err_clear(&err);
    int rc = folder && pl_file_is_folder(path)
                 ? pl_files_set_add_folder(look->set, path, ".lua", &err)
                 : pl_files_set_add_path(look->set, path, &err);
    if (rc != 0 && look->unwatched == NULL) {
        look->unwatched = pl_strdup(path);
        look->unwatched_why = err;
    }
}

static void scan_watch(struct pl_disk_scan *look, struct pl_origin *origin)
{
    if (look->set != NULL && origin != NULL)
        pl_origin_each(origin, watch_path, look);
}

/* ---- comparing ---- */

static bool is_current(struct pl_origin *origin)
{
    return origin != NULL && pl_origin_is_current(origin, NULL);
}

static void check_next(struct pl_disk_scan *look)
{
    look->is_next = is_current(look->next);
    for (size_t i = 0; i < PL_DISK_SCAN_ROLLED_BACK && look->is_next; i++)
        look->was_rolled_back = look->was_rolled_back || is_current(look->rolled_back[i]);
    if (look->carry && !look->was_rolled_back)
        pl_origin_carry_over(look->next, look->running);
}

static void scan_read_config(struct pl_disk_scan *look)
{
    pl_err_clear(&look->config_err);
    if (look->config == NULL ||
        pl_config_read(look->config, &look->config_text, &look->config_err) == 0)
        return;
    look->config_origin = pl_origin_create();
    pl_origin_is_file(look->config_origin, NULL, look->config);
}

/* Starts watching first, so that no change is missed. */
void pl_disk_scan_run(struct pl_disk_scan *look)
{
    scan_watch(look, look->running);
    scan_watch(look, look->refused);
    scan_watch(look, look->next);
    if (look->check) {
        check_next(look);
        return;
    }
    scan_read_config(look);
    look->is_next = is_current(look->next);
    look->is_running = !look->is_next && is_current(look->running);
    look->is_refused = !look->is_next && !look->is_running && is_current(look->refused);
}

void pl_disk_scan_free(struct pl_disk_scan *look)
{
    pl_origin_unref(look->running);
    pl_origin_unref(look->refused);
    pl_origin_unref(look->next);
    for (size_t i = 0; i < PL_DISK_SCAN_ROLLED_BACK; i++)
        pl_origin_unref(look->rolled_back[i]);
    pl_files_set_free(look->set);
    pl_origin_unref(look->config_origin);
    pl_buf_deinit(&look->config_text);
    pl_free(look->config);
    pl_free(look->unwatched);
    pl_free(look);
}
