/* Updates and deletions by the server itself, at a rate or as fast as watchers read them.
 *
 * libuv's timers count milliseconds, which is too coarse for these measurements. So an alarm thread
 * sleeps until the next event is due and wakes the loop through a mailbox. The loop sends
 * whatever is due by then and notes how late it was. */
#include "load.h"

#include "base/alloc.h"
#include "net/mailbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { BATCH = 64, BURST_UNREAD = 64 << 10, IDLE_TICK_NS = 1000000 };

struct load_emitter {
    struct load *load;
    struct load_emission now;
    bool running, waiting;
    uint32_t emitted, answered, writes;
    uint32_t from;   /* the object to begin with; continues where the last emission ended */
    uint32_t stride; /* how the next object is chosen: neighbours in time are not in the list */
    uint64_t first;  /* revision of the first event */
    uint64_t revision;
    int64_t start_ns, end_ns, sentinel_ns, sentinel_answered_ns, late_max_ns;
    int64_t *written_ns, *answered_ns; /* owned; by event */
    struct pl_mailbox *box;
    pthread_t alarm;
    atomic_bool alarm_stop, ringing;
    bool alarm_started;
    uint32_t alarm_count; /* events it rings for; not changed while it runs */
    struct pl_msg ring;
};

/* ---- one event ---- */

static struct load_object *choose(struct load_emitter *e)
{
    struct load_kind *kind = &e->load->kinds[e->now.kind];
    for (uint32_t tries = 0; tries < kind->count; tries++) {
        struct load_object *object = &kind->objects[e->from];
        e->from = (uint32_t)(((uint64_t)e->from + e->stride) % kind->count);
        if (!object->deleted)
            return object;
    }
    return NULL;
}

static void finish(struct load_emitter *e)
{
    e->running = false;
    e->end_ns = pl_loop_now(e->load->loop);
    atomic_store(&e->alarm_stop, true);
}

/* False when there is no object left. */
static bool emit(struct load_emitter *e)
{
    struct load_kind *kind = &e->load->kinds[e->now.kind];
    struct load_object *object = choose(e);
    if (object == NULL)
        return false;
    bool last = e->emitted + 1 == e->now.count;
    load_touch(e->load, e->now.kind, object);
    if (e->now.deletes) {
        object->deleted = true;
    } else {
        uint64_t revision = last && e->now.sentinel ? LOAD_SENTINEL : e->revision;
        load_put(kind, object, object->revision, revision);
    }
    e->revision++;
    load_watch_add(e->load, e->now.kind, e->now.deletes ? "DELETED" : "MODIFIED", object);
    e->written_ns[e->emitted++] = pl_loop_now(e->load->loop);
    if (last && e->now.sentinel)
        e->sentinel_ns = e->written_ns[e->emitted - 1];
    return true;
}

/* ---- as fast as watchers read ---- */

static void burst(struct load *load)
{
    struct load_emitter *e = load->emitter;
    e->waiting = false;
    while (e->running) {
        for (int i = 0; i < BATCH && e->emitted < e->now.count; i++) {
            if (!emit(e))
                e->now.count = e->emitted;
        }
        load_watch_flush(load, e->now.kind);
        int64_t unread = load_watch_unread(load, e->now.kind);
        if (e->emitted == e->now.count || unread < 0) {
            finish(e);
        } else if (unread > BURST_UNREAD) {
            e->waiting = load_watch_on_drained(load, e->now.kind, burst);
            if (e->waiting)
                return;
        }
    }
}

/* ---- at a rate ---- */

static int64_t due_ns(const struct load_emitter *e, uint32_t event)
{
    return e->start_ns + (int64_t)((double)event * 1e9 / e->now.rate);
}

static bool is_held_back(const struct load_emitter *e)
{
    return e->now.most_unread > 0 &&
           load_watch_unread(e->load, e->now.kind) > (int64_t)e->now.most_unread;
}

static void on_ring(void *arg, struct pl_list *messages)
{
    struct load_emitter *e = arg;
    while (pl_list_pop(messages) != NULL)
        ;
    atomic_store(&e->ringing, false);
    int64_t now_ns = pl_loop_now(e->load->loop);
    while (e->running && e->now.rate > 0 && e->emitted < e->now.count && !is_held_back(e)) {
        int64_t late_ns = now_ns - due_ns(e, e->emitted);
        if (late_ns < 0)
            return;
        e->late_max_ns = late_ns > e->late_max_ns ? late_ns : e->late_max_ns;
        if (!emit(e))
            e->now.count = e->emitted;
        load_watch_flush(e->load, e->now.kind);
    }
    if (e->running && e->now.rate > 0 && e->emitted == e->now.count)
        finish(e);
}

static void sleep_until(int64_t ns)
{
    struct timespec until = {.tv_sec = ns / PL_SECOND, .tv_nsec = ns % PL_SECOND};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static void *alarm_main(void *arg)
{
    struct load_emitter *e = arg;
    const struct pl_clock *clock = pl_clock_system();
    uint32_t count = e->alarm_count;
    for (uint32_t event = 0; !atomic_load(&e->alarm_stop);) {
        int64_t now_ns = pl_clock_mono(clock);
        /* Behind the schedule, the loop catches up by itself: one ring is enough. */
        while (event < count && due_ns(e, event) <= now_ns)
            event++;
        if (!atomic_exchange(&e->ringing, true))
            pl_mailbox_send(e->box, &e->ring);
        sleep_until(event < count ? due_ns(e, event) : now_ns + IDLE_TICK_NS);
    }
    return NULL;
}

static void join_alarm(struct load_emitter *e)
{
    if (!e->alarm_started)
        return;
    atomic_store(&e->alarm_stop, true);
    pthread_join(e->alarm, NULL);
    e->alarm_started = false;
}

/* ---- interface ---- */

struct load_emitter *load_emitter_create(struct load *load)
{
    struct load_emitter *e = PL_NEW(struct load_emitter);
    e->load = load;
    e->revision = LOAD_FIRST_NUMBER + 1;
    e->box = pl_mailbox_create_for_loop(load->loop, on_ring, e);
    return e;
}

void load_emitter_destroy(struct load_emitter *e)
{
    join_alarm(e);
    pl_mailbox_destroy(e->box, NULL);
    pl_free(e->written_ns);
    pl_free(e->answered_ns);
    pl_free(e);
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
    return b == 0 ? a : gcd(b, a % b);
}

static uint32_t stride_for(uint32_t count)
{
    uint32_t stride = 7919;
    while (count > 1 && gcd(stride, count) != 1)
        stride++;
    return stride;
}

bool load_emitter_start(struct load_emitter *e, const struct load_emission *emission)
{
    if (e->running || e->waiting || load_watch_unread(e->load, emission->kind) < 0)
        return false;
    join_alarm(e);
    e->now = *emission;
    e->emitted = e->answered = e->writes = 0;
    e->late_max_ns = e->end_ns = e->sentinel_ns = e->sentinel_answered_ns = 0;
    e->first = e->revision;
    e->stride = stride_for(e->load->kinds[emission->kind].count);
    e->from = e->from % e->load->kinds[emission->kind].count;
    pl_free(e->written_ns);
    pl_free(e->answered_ns);
    e->written_ns = pl_calloc(emission->count + 1, sizeof *e->written_ns);
    e->answered_ns = pl_calloc(emission->count + 1, sizeof *e->answered_ns);
    e->start_ns = pl_loop_now(e->load->loop);
    e->running = true;
    if (emission->rate == 0) {
        burst(e->load);
        return true;
    }
    atomic_store(&e->alarm_stop, false);
    e->alarm_count = emission->count;
    e->alarm_started = pthread_create(&e->alarm, NULL, alarm_main, e) == 0;
    if (!e->alarm_started)
        finish(e);
    return e->alarm_started;
}

void load_emitter_stop(struct load_emitter *e)
{
    if (e->running)
        finish(e);
    join_alarm(e);
}

void load_emitter_answered(struct load_emitter *e, enum load_kind_id kind, uint64_t seen,
                           int64_t now_ns)
{
    if (kind != e->now.kind)
        return;
    e->writes++;
    if (seen == LOAD_SENTINEL && e->sentinel_answered_ns == 0)
        e->sentinel_answered_ns = now_ns;
    if (seen < e->first || seen - e->first >= e->emitted || e->answered_ns[seen - e->first] != 0)
        return;
    e->answered_ns[seen - e->first] = now_ns;
    e->answered++;
}

void load_emitter_report(const struct load_emitter *e, struct pl_buf *out, bool latencies)
{
    pl_buf_add_f(out,
                 "{\"running\":%s,\"emitted\":%u,\"answered\":%u,\"writes\":%u,"
                 "\"start_ns\":%lld,\"end_ns\":%lld,\"late_max_ns\":%lld,"
                 "\"sentinel_ns\":%lld,\"sentinel_answered_ns\":%lld,\"latencies_ns\":[",
                 e->running ? "true" : "false", e->emitted, e->answered, e->writes,
                 (long long)e->start_ns, (long long)e->end_ns, (long long)e->late_max_ns,
                 (long long)e->sentinel_ns, (long long)e->sentinel_answered_ns);
    bool first = true;
    for (uint32_t i = 0; latencies && i < e->emitted; i++) {
        if (e->answered_ns[i] == 0)
            continue;
        pl_buf_add_f(out, "%s%lld", first ? "" : ",",
                     (long long)(e->answered_ns[i] - e->written_ns[i]));
        first = false;
    }
    pl_buf_add_z(out, "]}");
}
