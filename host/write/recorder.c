/* Keeps the series of Events in memory: shares (a controller's room), groups (an object and a
 * reason) and their series, with limits on each. recorder_send.c writes them to the server.
 * Recording must never wait and never fail: without room, Normal series are dropped before
 * Warnings, and dropped ones are counted. */
#include "write/recorder_impl.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "base/text.h"

/* Limits of the API server, in bytes. */
static const size_t limits[PL_EVENT_TEXTS] = {
    [PL_EVENT_API_VERSION] = 512, [PL_EVENT_KIND] = 256,  [PL_EVENT_NS] = 253,
    [PL_EVENT_NAME] = 512,        [PL_EVENT_UID] = 128,   [PL_EVENT_RV] = 64,
    [PL_EVENT_REASON] = 128,      [PL_EVENT_NOTE] = 1024, [PL_EVENT_ACTION] = 128,
    [PL_EVENT_CONTROLLER] = 63,
};

/* ---- memory: shares, groups, series ---- */

static struct pl_slice copy_of(struct pl_slice key)
{
    return pl_slice(pl_text_copy(key), key.len);
}

static struct pl_event_share *share_of(struct pl_recorder *r, struct pl_slice key)
{
    struct pl_event_share *share = pl_map_get(&r->shares, key);
    if (share == NULL) {
        share = PL_NEW(struct pl_event_share);
        share->key = copy_of(key);
        pl_map_put(&r->shares, key, share);
    }
    return share;
}

static struct pl_event_group *recorder_group_of(struct pl_recorder *r, struct pl_slice key,
                                                struct pl_slice share)
{
    struct pl_event_group *group = pl_map_get(&r->groups, key);
    if (group == NULL) {
        group = PL_NEW(struct pl_event_group);
        group->key = copy_of(key);
        group->share = share_of(r, share);
        group->share->groups++;
        group->tokens = PL_EVENT_NOTES;
        group->filled_ns = pl_recorder_now(r);
        pl_map_put(&r->groups, key, group);
    }
    return group;
}

static void leave_group(struct pl_recorder *r, struct pl_event_group *group)
{
    if (group->series > 0)
        return;
    struct pl_event_share *share = group->share;
    pl_map_remove(&r->groups, group->key);
    pl_free((char *)group->key.ptr);
    pl_free(group);
    if (--share->groups > 0)
        return;
    pl_map_remove(&r->shares, share->key);
    pl_free((char *)share->key.ptr);
    pl_free(share);
}

void pl_recorder_set_state(struct pl_event_series *s, int state)
{
    struct pl_recorder *r = s->recorder;
    bool was = s->state == PL_SERIES_WAITING && pl_link_is_linked(&s->link);
    bool is = state == PL_SERIES_WAITING;
    if (was) {
        r->waiting--;
        s->group->share->waiting--;
    }
    if (is) {
        r->waiting++;
        s->group->share->waiting++;
    }
    pl_timer_stop(r->timers, &s->timer);
    pl_link_unlink(&s->link);
    s->state = state;
}

void pl_recorder_forget(struct pl_event_series *s)
{
    struct pl_recorder *r = s->recorder;
    pl_recorder_set_state(s, PL_SERIES_RESTING);
    pl_map_remove(&r->by_key, s->key);
    s->group->series--;
    leave_group(r, s->group);
    for (size_t i = 0; i < PL_EVENT_TEXTS; i++)
        pl_free(s->texts[i]);
    pl_free(s->event_name);
    pl_free((char *)s->key.ptr);
    pl_free(s);
}

static void count_dropped(struct pl_recorder *r, bool warning, const char *why, int64_t count)
{
    r->dropped += (uint64_t)count;
    if (r->dropped_metric == NULL)
        return;
    const char *labels[] = {warning ? "Warning" : "Normal", why};
    pl_series_add(pl_metric_series(r->dropped_metric, labels), (double)count);
}

void pl_recorder_drop(struct pl_event_series *s, const char *why)
{
    count_dropped(s->recorder, s->warning, why, s->count - s->written);
    pl_recorder_forget(s);
}

/* ---- recording ---- */

static void recorder_add_part(struct pl_buf *key, struct pl_slice part)
{
    pl_buf_add_f(key, "%zu:", part.len);
    pl_buf_add_slice(key, part);
}

static void recorder_again(struct pl_event_series *s, int64_t wall_ns)
{
    bool was_told = s->count == s->written;
    s->count++;
    s->last_ns = wall_ns;
    if (s->state == PL_SERIES_RESTING && was_told)
        pl_recorder_rest(s);
    if (s->recorder->draining)
        pl_recorder_pump(s->recorder);
}

/* Makes room for a new series. Returns NULL, or the reason why there is none. */
static const char *recorder_make_room(struct pl_recorder *r, struct pl_event_group *group,
                                      bool warning)
{
    pl_recorder_fill(&group->tokens, &group->filled_ns, pl_recorder_now(r),
                     (double)PL_SECOND / PL_EVENT_NOTE_EVERY, PL_EVENT_NOTES);
    if (group->tokens < 1)
        return "rate";
    if (group->share->waiting >= PL_EVENT_SHARE)
        return "memory";
    bool full = r->waiting + r->in_flight >= PL_EVENT_WAITING;
    if (full || r->by_key.count >= PL_EVENT_SERIES) {
        struct pl_link *oldest = full ? NULL : pl_list_first(&r->resting);
        struct pl_event_series *victim =
            oldest != NULL ? PL_CONTAINER_OF(oldest, struct pl_event_series, link) : NULL;
        if (victim == NULL && warning && !pl_list_empty(&r->normals))
            victim = PL_CONTAINER_OF(pl_list_first(&r->normals), struct pl_event_series, link);
        if (victim == NULL)
            return "memory";
        group->series++; /* the dropped series may be its last */
        pl_recorder_drop(victim, "memory");
        group->series--;
    }
    group->tokens -= 1;
    return NULL;
}

static struct pl_event_series *create_series(struct pl_recorder *r, const struct pl_report *report,
                                             const struct pl_slice *texts)
{
    struct pl_event_series *s = PL_NEW(struct pl_event_series);
    s->recorder = r;
    s->warning = report->warning;
    s->state = PL_SERIES_RESTING;
    for (size_t i = 0; i < PL_EVENT_TEXTS; i++)
        s->texts[i] = pl_event_text(texts[i], limits[i]);
    s->count = 1;
    s->first_ns = s->last_ns = pl_clock_wall(r->timers->clock);
    return s;
}

/* The share's key is a prefix of the group's, which is a prefix of the series'. */
static void add_keys(struct pl_recorder *r, const struct pl_report *report,
                     const struct pl_slice *texts, size_t ends[3])
{
    static const enum pl_event_text parts[] = {
        PL_EVENT_CONTROLLER, PL_EVENT_REASON, PL_EVENT_API_VERSION, PL_EVENT_KIND, PL_EVENT_NS,
        PL_EVENT_NAME,       PL_EVENT_UID,    PL_EVENT_ACTION,      PL_EVENT_NOTE};
    pl_buf_clear(&r->scratch);
    pl_buf_add_char(&r->scratch, report->warning ? 'W' : 'N');
    for (size_t i = 0; i < PL_ARRAY_LEN(parts); i++) {
        recorder_add_part(&r->scratch, texts[parts[i]]);
        if (i == 1)
            ends[0] = r->scratch.len;
        else if (i == 6)
            ends[1] = r->scratch.len;
    }
    ends[2] = r->scratch.len;
}

static void record(struct pl_recorder *r, const struct pl_report *report,
                   const struct pl_slice *texts)
{
    size_t ends[3] = {0};
    add_keys(r, report, texts, ends);
    const char *keys = r->scratch.ptr;
    struct pl_event_series *s = pl_map_get(&r->by_key, pl_slice(keys, ends[2]));
    if (s != NULL) {
        recorder_again(s, pl_clock_wall(r->timers->clock));
        return;
    }
    struct pl_event_group *group =
        recorder_group_of(r, pl_slice(keys, ends[1]), pl_slice(keys, ends[0]));
    const char *why = recorder_make_room(r, group, report->warning);
    if (why != NULL) {
        count_dropped(r, report->warning, why, 1);
        leave_group(r, group);
        return;
    }
    s = create_series(r, report, texts);
    s->key = copy_of(pl_slice(keys, ends[2]));
    s->group = group;
    group->series++;
    pl_map_put(&r->by_key, pl_slice(keys, ends[2]), s);
    pl_recorder_wait_for_turn(s, false);
    pl_recorder_pump(r);
}

void pl_recorder_event(struct pl_recorder *r, const struct pl_report *report)
{
    pl_timers_require(r->timers);
    const struct pl_object_ref *of = &report->regarding;
    PL_REQUIRE(of->api_version.len > 0 && of->kind.len > 0 && of->name.len > 0);
    PL_REQUIRE(report->reason.len > 0);
    struct pl_slice texts[PL_EVENT_TEXTS] = {
        of->api_version,
        of->kind,
        of->ns,
        of->name,
        of->uid,
        of->rv,
        report->reason,
        report->note,
        report->action.len > 0 ? report->action : pl_slice_z("Reconcile"),
        report->controller.len > 0 ? report->controller : pl_slice_z("perilune"),
    };
    if (r->recorded[report->warning] != NULL)
        pl_series_add(r->recorded[report->warning], 1);
    if (r->dry_run || report->dry_run)
        pl_log(
            PL_LOG_INFO, "dry run: Event", pl_str("type", report->warning ? "Warning" : "Normal"),
            pl_strn("reason", report->reason), pl_strn("kind", of->kind),
            pl_strn("namespace", of->ns), pl_strn("name", of->name), pl_strn("note", report->note));
    else if (pl_recorder_is_closed(r, of->ns))
        count_dropped(r, report->warning, "forbidden", 1);
    else
        record(r, report, texts);
}

void pl_recorder_lost(struct pl_recorder *r, uint64_t count)
{
    if (count > 0)
        count_dropped(r, false, "memory", (int64_t)count);
}

void pl_recorder_own_event(struct pl_recorder *r, bool warning, const char *reason,
                           const char *note)
{
    if (r->self[PL_EVENT_NAME] == NULL)
        return;
    struct pl_report report = {
        .regarding = {pl_slice_z(r->self[PL_EVENT_API_VERSION]), pl_slice_z(r->self[PL_EVENT_KIND]),
                      pl_slice_z(r->self[PL_EVENT_NS]), pl_slice_z(r->self[PL_EVENT_NAME]),
                      pl_slice_z(r->self[PL_EVENT_UID]), pl_slice_z(r->self[PL_EVENT_RV])},
        .warning = warning,
        .reason = pl_slice_z(reason),
        .note = pl_slice_z(note),
        .action = pl_slice_z("Run"),
    };
    pl_recorder_event(r, &report);
}

/* ---- lifetime ---- */

static void copy_self(struct pl_recorder *r, const struct pl_object_ref *self)
{
    if (self == NULL)
        return;
    const struct pl_slice texts[] = {self->api_version, self->kind, self->ns,
                                     self->name,        self->uid,  self->rv};
    for (size_t i = 0; i < PL_ARRAY_LEN(texts); i++)
        r->self[i] = pl_event_text(texts[i], limits[i]);
}

static void recorder_add_metrics(struct pl_recorder *r)
{
    struct pl_metrics *metrics = pl_site_metrics(r->site);
    if (metrics == NULL)
        return;
    struct pl_metric_spec recorded = {.name = "perilune_events_total",
                                      .help = "Events that were reported, by type.",
                                      .type = PL_METRIC_COUNTER,
                                      .labels = {"type"}};
    struct pl_metric_spec dropped = {
        .name = "perilune_events_dropped_total",
        .help = "Events that were not written: rate (too many notes), memory, forbidden, refused, "
                "stopping.",
        .type = PL_METRIC_COUNTER,
        .labels = {"type", "why"}};
    struct pl_metric *metric = pl_metrics_add(metrics, &recorded);
    for (int i = 0; i < 2; i++)
        r->recorded[i] = pl_metric_series(metric, (const char *[]){i ? "Warning" : "Normal"});
    r->dropped_metric = pl_metrics_add(metrics, &dropped);
}

struct pl_recorder *pl_recorder_create(const struct pl_recorder_options *options)
{
    struct pl_recorder *r = PL_NEW(struct pl_recorder);
    r->site = options->site;
    r->timers = pl_site_timers(options->site);
    r->instance =
        pl_event_text(pl_slice_z(options->instance != NULL ? options->instance : "perilune"), 128);
    copy_self(r, options->self);
    r->dry_run = options->dry_run;
    pl_list_init(&r->warnings);
    pl_list_init(&r->normals);
    pl_list_init(&r->resting);
    pl_list_init(&r->flying);
    r->tokens = PL_EVENT_BURST;
    r->filled_ns = pl_recorder_now(r);
    pl_backoff_init_with(&r->backoff, PL_SECOND, 30 * PL_SECOND, 120 * PL_SECOND,
                         pl_recorder_now(r));
    recorder_add_metrics(r);
    return r;
}

void pl_recorder_destroy(struct pl_recorder *r)
{
    if (r == NULL)
        return;
    PL_REQUIRE(r->in_flight == 0);
    pl_recorder_drop_waiting(r, "stopping");
    PL_LIST_FOR (link, &r->resting)
        pl_recorder_forget(PL_CONTAINER_OF(link, struct pl_event_series, link));
    pl_timer_stop(r->timers, &r->pace);
    pl_wait_end(&r->wait);
    pl_recorder_free_closed(r);
    pl_map_deinit(&r->by_key);
    pl_map_deinit(&r->groups);
    pl_map_deinit(&r->shares);
    pl_buf_deinit(&r->scratch);
    for (size_t i = 0; i < PL_ARRAY_LEN(r->self); i++)
        pl_free(r->self[i]);
    pl_free(r->instance);
    pl_free(r);
}

void pl_recorder_drain(struct pl_recorder *r)
{
    if (r->draining)
        return;
    r->draining = true;
    PL_LIST_FOR (link, &r->resting) {
        struct pl_event_series *s = PL_CONTAINER_OF(link, struct pl_event_series, link);
        if (s->count > s->written)
            pl_recorder_wait_for_turn(s, false);
    }
    pl_recorder_pump(r);
}

void pl_recorder_stats(const struct pl_recorder *r, struct pl_recorder_stats *stats)
{
    *stats = (struct pl_recorder_stats){.series = r->by_key.count,
                                        .waiting = r->waiting,
                                        .in_flight = r->in_flight,
                                        .sent = r->writes,
                                        .dropped = r->dropped};
}
