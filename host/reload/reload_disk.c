/* The scripts' files: receives file events, and compares the files on another thread. One look at a
 * time, as the state requests; no function here waits for one. */
#include "reload/reload_impl.h"

#include "base/alloc.h"
#include "base/log.h"

#define FILE_CHANGED "a file changed"

struct pl_origin *pl_reload_ref_origin(struct pl_origin *origin)
{
    return origin != NULL ? pl_origin_ref(origin) : NULL;
}

void pl_reload_on_event(void *arg, const char *path)
{
    struct pl_reload *reload = arg;
    pl_log(PL_LOG_DEBUG, "a watched file changed", pl_str("path", path));
    if (reload->began_ns == 0)
        reload->began_ns = pl_loop_now(reload->o.loop);
    pl_reload_tell(reload, PL_RELOAD_CHANGED);
}

static struct pl_disk_scan *new_look(const struct pl_reload *reload)
{
    struct pl_disk_scan *look = PL_NEW(struct pl_disk_scan);
    look->running = pl_origin_ref(pl_generation_origin(reload->current));
    look->refused = pl_reload_ref_origin(reload->refused);
    look->next = reload->next != NULL ? pl_origin_ref(pl_generation_origin(reload->next)) : NULL;
    look->set = reload->files != NULL ? pl_files_set_create(reload->files) : NULL;
    return look;
}

/* Keeps it for the load that may follow. */
static void keep_config(struct pl_reload *reload, struct pl_disk_scan *look)
{
    pl_buf_deinit(&reload->config.text);
    pl_origin_unref(reload->config.origin);
    reload->config.text = look->config_text;
    reload->config.err = look->config_err;
    reload->config.origin = look->config_origin;
    look->config_text = (struct pl_buf)PL_BUF_INIT;
    look->config_origin = NULL;
}

static enum pl_reload_event event_of(const struct pl_disk_scan *look)
{
    if (look->check)
        return look->is_next ? PL_RELOAD_UNMIXED : PL_RELOAD_MIXED;
    return look->is_next      ? PL_RELOAD_IS_NEXT
           : look->is_running ? PL_RELOAD_IS_RUNNING
           : look->is_refused ? PL_RELOAD_IS_REFUSED
                              : PL_RELOAD_IS_NEW;
}

/* New files are watched before the state gets the result. */
static void on_reload_disk_looked(void *arg)
{
    struct pl_disk_scan *look = arg;
    struct pl_reload *reload = look->owner;
    reload->looking = NULL;
    pl_wait_end(&reload->disk);
    enum pl_reload_event event = event_of(look);
    if (look->unwatched != NULL && !reload->said_unwatched) {
        reload->said_unwatched = true;
        pl_log(PL_LOG_WARN, "a file can't be watched: its changes will not be noticed",
               pl_str("path", look->unwatched), pl_str("error", look->unwatched_why.message));
    }
    if (look->was_rolled_back && reload->wrong.code == 0)
        pl_err_set(&reload->wrong, PL_ESCRIPT,
                   "these scripts were tried and rolled back; change them");
    if (look->set != NULL)
        pl_files_use(reload->files, look->set);
    look->set = NULL;
    if (!look->check)
        keep_config(reload, look);
    pl_disk_scan_free(look);
    pl_reload_tell(reload, event);
}

static void reload_disk_run(void *look)
{
    pl_disk_scan_run(look);
}

static void drop_look(void *look)
{
    pl_disk_scan_free(look);
}

static void begin_look(struct pl_reload *reload, struct pl_disk_scan *look)
{
    struct pl_waits *waits = pl_site_waits(pl_cluster_site(reload->o.cluster));
    const struct pl_blocking_work_options work = {
        .run = reload_disk_run, .done = on_reload_disk_looked, .drop = drop_look, .arg = look};
    look->owner = reload;
    if (waits != NULL)
        pl_wait_begin_open(waits, &reload->disk, "the files of the scripts", "reload",
                           "a disk answers when it can");
    reload->looking = pl_blocking_work_start(reload->o.loop, &work);
}

void pl_reload_look(void *arg)
{
    struct pl_reload *reload = arg;
    if (!reload->state.asked)
        reload->why = FILE_CHANGED;
    struct pl_disk_scan *look = new_look(reload);
    look->config = pl_strdup_or_null(reload->o.config);
    begin_look(reload, look);
}

void pl_reload_check(void *arg)
{
    struct pl_reload *reload = arg;
    struct pl_disk_scan *look = new_look(reload);
    look->check = true;
    look->carry = reload->wrong.code == 0;
    for (size_t i = 0; i < PL_DISK_SCAN_ROLLED_BACK; i++)
        look->rolled_back[i] = pl_reload_ref_origin(reload->rolled_back[i]);
    begin_look(reload, look);
}
