/* The admin command "profile": looks for some seconds where scripts compute.
 *
 *   {"command":"profile","seconds":10}
 *
 * The answer comes when the time is over: {"samples":N,"interval_ms":2,"stacks":"folded text"}. One
 * at a time; it ends by itself, when its client goes, and with the host. Nothing is looked at, and
 * nothing kept, while nobody asks. */
#include "admin/admin.h"

#include "base/alloc.h"
#include "lua/watchdog.h"

struct pl_profiler {
    struct pl_timers *timers; /* borrowed for life, as the next one */
    struct pl_watchdog *dog;
    struct pl_timer over;
    struct pl_admin_call *call; /* NULL: nobody asks now */
};

static void finish_profile(struct pl_profiler *profiler)
{
    struct pl_admin_call *call = profiler->call;
    struct pl_buf stacks = PL_BUF_INIT;
    pl_timer_stop(profiler->timers, &profiler->over);
    profiler->call = NULL;
    size_t samples = pl_watchdog_profile_end(profiler->dog, &stacks);
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_keyz(b, "samples");
    pl_build_int(b, (int64_t)samples);
    pl_build_keyz(b, "interval_ms");
    pl_build_int(b, PL_PROFILE_MS);
    pl_build_put_text(b, "stacks", pl_buf_slice(&stacks));
    pl_build_end(b);
    struct pl_doc *result = pl_build_close(b);
    pl_buf_deinit(&stacks);
    pl_admin_reply(call, result);
}

static void on_profile_over(struct pl_timer *timer)
{
    finish_profile(PL_CONTAINER_OF(timer, struct pl_profiler, over));
}

static void on_profile_gone(void *arg)
{
    struct pl_profiler *profiler = arg;
    pl_timer_start(profiler->timers, &profiler->over, 0, on_profile_over);
}

static void profile_run(void *arg, struct pl_admin_call *call)
{
    struct pl_profiler *profiler = arg;
    int64_t seconds = 10;
    struct pl_node given = pl_node_getz(pl_admin_request(call), "seconds");
    if (!pl_node_is_missing(given) &&
        (!pl_node_int(given, &seconds) || seconds < 1 || seconds > PL_PROFILE_SECONDS_MAX)) {
        pl_admin_fail(call, "seconds must be a whole number from 1 to %d", PL_PROFILE_SECONDS_MAX);
        return;
    }
    if (profiler->call != NULL) {
        pl_admin_fail(call, "another profile of this host is running: try again when it has ended");
        return;
    }
    profiler->call = call;
    pl_admin_on_gone(call, on_profile_gone, profiler);
    pl_watchdog_profile_begin(profiler->dog);
    pl_timer_start(profiler->timers, &profiler->over, seconds * PL_SECOND, on_profile_over);
}

struct pl_profiler *pl_admin_add_profile(struct pl_admin *admin, struct pl_timers *timers,
                                         struct pl_watchdog *dog)
{
    static const struct pl_admin_command command = {"profile", profile_run};
    struct pl_profiler *profiler = PL_NEW(struct pl_profiler);
    profiler->timers = timers;
    profiler->dog = dog;
    pl_admin_add(admin, &command, profiler);
    return profiler;
}

void pl_profiler_destroy(struct pl_profiler *profiler)
{
    if (profiler != NULL && profiler->call != NULL)
        finish_profile(profiler);
    pl_free(profiler);
}
