/* The admin command "status": the state of the host. */
#include "admin/admin.h"
#include "cluster/remotes.h"
#include "control/leadership.h"
#include "control/report.h"
#include "control/shard_key_count.h"
#include "control/shard_member.h"
#include "control/tuning.h"
#include "control/write_loops.h"
#include "serve/version.h"
#include "write/recorder.h"

#include <string.h>
#include <unistd.h>

#define WAITS_MAX 1000

static void build_controller_source(void *arg, const struct pl_source_spec *source,
                                    struct pl_informer *informer)
{
    struct pl_build *b = arg;
    bool synced = pl_source_is_family(source) || /* it has no cache of its own */
                  (informer != NULL && pl_informer_has_synced(informer));
    char kind[PL_KIND_TEXT];
    pl_build_object(b);
    pl_build_put_text(b, "role", pl_slice_z(pl_source_role_name(source->role)));
    pl_build_put_text(b, "kind", pl_slice_z(pl_kind_text(&source->kind, kind)));
    if (source->cluster_name != NULL)
        pl_build_put_text(b, "cluster", pl_slice_z(source->cluster_name));
    pl_build_put_bool(b, "synced", synced);
    pl_build_end(b);
}

static void build_controller_sources(struct pl_build *b, const struct pl_controller *controller)
{
    const struct pl_controller_spec *spec = pl_controller_spec(controller);
    pl_build_keyz(b, "sources");
    pl_build_array(b);
    for (size_t i = 0; i < spec->source_count; i++)
        build_controller_source(b, &spec->sources[i], pl_controller_informer(controller, i));
    pl_edition_each_member(pl_controller_edition(controller), build_controller_source, b);
    pl_build_end(b);
}

static void build_loop(void *arg, const char *key, const struct pl_loop *loop)
{
    struct pl_build *b = arg;
    pl_build_object(b);
    pl_build_put_text(b, "key", pl_slice_z(key));
    pl_build_put_text(b, "what", pl_slice_z(loop->is_fight ? "fight" : "hot loop"));
    pl_build_put_int(b, "times", loop->times);
    pl_build_put_text(b, "fields", pl_slice_z(loop->fields));
    if (loop->is_fight) {
        pl_build_put_text(b, "object_kind", pl_slice_z(loop->kind));
        pl_build_put_text(b, "object", pl_slice_z(loop->object));
    }
    pl_build_end(b);
}

static void build_loops(struct pl_build *b, const struct pl_controller *controller)
{
    pl_build_keyz(b, "loops");
    pl_build_array(b);
    pl_controller_each_loop(controller, build_loop, b);
    pl_build_end(b);
}

static void build_tuning(struct pl_build *b, const struct pl_controller *controller)
{
    struct pl_tuning tuning;
    int64_t left_ns;
    if (!pl_controller_tuned(controller, &tuning, &left_ns))
        return;
    pl_build_keyz(b, "tuned");
    pl_build_object(b);
    if (tuning.workers > 0)
        pl_build_put_int(b, "workers", tuning.workers);
    if (tuning.base_ns > 0)
        pl_admin_build_seconds(b, "retry_base_seconds", tuning.base_ns);
    if (tuning.max_ns > 0)
        pl_admin_build_seconds(b, "retry_max_seconds", tuning.max_ns);
    if (tuning.qps > 0) {
        pl_build_keyz(b, "retry_qps");
        pl_build_double(b, tuning.qps);
    }
    pl_admin_build_seconds(b, "left_seconds", left_ns);
    pl_build_end(b);
}

static void status_build_controller(struct pl_build *b, const struct pl_controller *controller,
                                    int64_t now_ns)
{
    struct pl_controller_report report;
    pl_controller_report(controller, &report);
    pl_build_object(b);
    pl_build_put_text(b, "name", pl_slice_z(pl_controller_spec(controller)->name));
    enum pl_task_form form = pl_controller_spec(controller)->task.form;
    if (form != PL_NO_TASK)
        pl_build_put_text(b, "task", pl_slice_z(form == PL_TASK_EVERY ? "every" : "run"));
    pl_build_put_text(b, "state", pl_slice_z(pl_controller_state_name(report.state)));
    pl_build_put_int(b, "in_flight", (int64_t)report.in_flight);
    pl_build_put_int(b, "ready", (int64_t)report.ready);
    pl_build_put_int(b, "delayed", (int64_t)report.delayed);
    pl_build_put_int(b, "paused", (int64_t)report.paused);
    pl_build_put_int(b, "waiting", (int64_t)report.waiting);
    pl_build_put_int(b, "failing", (int64_t)report.failing);
    pl_build_put_int(b, "runs", report.runs);
    pl_build_put_int(b, "errors", report.errors);
    build_controller_sources(b, controller);
    build_loops(b, controller);
    build_tuning(b, controller);
    if (report.last_error != NULL) {
        pl_build_keyz(b, "last_error");
        pl_build_object(b);
        pl_build_put_text(b, "key", report.last_key);
        pl_build_put_text(b, "message", pl_slice_z(report.last_error));
        pl_admin_build_seconds(b, "seconds_ago", now_ns - report.last_error_ns);
        pl_build_end(b);
    }
    pl_build_end(b);
}

static void build_source(struct pl_build *b, struct pl_informer *informer)
{
    const struct pl_err *trouble = pl_informer_trouble(informer);
    pl_build_object(b);
    pl_build_put_text(b, "source", pl_slice_z(pl_informer_owner(informer)));
    pl_build_put_bool(b, "synced", pl_informer_has_synced(informer));
    pl_build_put_int(b, "objects", (int64_t)pl_store_count(pl_informer_store(informer)));
    if (trouble != NULL)
        pl_build_put_text(b, "trouble", pl_slice_z(trouble->message));
    pl_build_end(b);
}

static void build_sources(struct pl_build *b, struct pl_informers *informers)
{
    for (size_t i = 0; i < pl_informers_count(informers); i++)
        build_source(b, pl_informers_at(informers, i));
}

/* The clusters besides the host's own; nothing if there are none. */
static void build_clusters(struct pl_build *b, const struct pl_remotes *remotes)
{
    if (pl_remotes_count(remotes) == 0)
        return;
    pl_build_keyz(b, "clusters");
    pl_build_array(b);
    for (size_t i = 0; i < pl_remotes_count(remotes); i++) {
        struct pl_remote_state state;
        struct pl_gate_stats writes;
        pl_remotes_state(remotes, i, &state);
        pl_gate_stats(pl_cluster_gate(state.cluster), &writes);
        pl_build_object(b);
        pl_build_put_text(b, "name", pl_slice_z(state.name));
        pl_build_put_text(b, "from", pl_slice_z(state.from));
        if (state.server != NULL)
            pl_build_put_text(b, "server", pl_slice_z(state.server));
        if (state.trouble != NULL)
            pl_build_put_text(b, "trouble", pl_slice_z(state.trouble));
        pl_build_put_int(b, "writes_sent", (int64_t)writes.sent);
        pl_build_put_int(b, "writes_refused", (int64_t)writes.refused);
        pl_build_end(b);
    }
    pl_build_end(b);
}

static void build_waits(struct pl_build *b, const struct pl_waits *waits)
{
    size_t count = 0;
    pl_build_keyz(b, "waits");
    pl_build_array(b);
    for (const struct pl_wait *wait = waits != NULL ? pl_waits_next(waits, NULL) : NULL;
         wait != NULL && count < WAITS_MAX; wait = pl_waits_next(waits, wait), count++) {
        pl_build_object(b);
        pl_build_put_text(b, "name", pl_slice_z(wait->name));
        pl_build_put_text(b, "owner", pl_slice_z(wait->owner));
        pl_admin_build_seconds(b, "seconds", pl_wait_age_ns(wait));
        if (wait->no_deadline != NULL)
            pl_build_put_text(b, "no_deadline", pl_slice_z(wait->no_deadline));
        else
            pl_admin_build_seconds(b, "at_most_seconds", wait->deadline_ns - wait->since_ns);
        pl_build_end(b);
    }
    pl_build_end(b);
}

static void build_lead(struct pl_build *b, const struct pl_leadership *leadership)
{
    struct pl_buf text = PL_BUF_INIT;
    if (leadership == NULL)
        return;
    pl_leadership_describe(leadership, &text);
    pl_build_keyz(b, "lead");
    pl_build_object(b);
    pl_build_put_bool(b, "leading", pl_leadership_is_leading(leadership));
    pl_build_put_text(b, "description", pl_buf_slice(&text));
    pl_build_end(b);
    pl_buf_deinit(&text);
}

/* ---- shards ---- */

static void build_shard(struct pl_build *b, const struct pl_shard_member *member,
                        const struct pl_shard_key_count *key_count, unsigned i)
{
    static const char states[][12] = {[PL_SHARD_ELSEWHERE] = "elsewhere",
                                      [PL_SHARD_COMING] = "coming",
                                      [PL_SHARD_OURS] = "ours",
                                      [PL_SHARD_GOING] = "going"};
    int64_t for_ns, keys = pl_shard_key_count_keys(key_count, i);
    const char *holder = pl_membership_holder(pl_shard_member_membership(member), i, &for_ns);
    pl_build_object(b);
    pl_build_put_int(b, "shard", i);
    pl_build_put_text(b, "holder", pl_slice_z(holder));
    pl_build_put_text(b, "state",
                      pl_slice_z(states[pl_shards_state(pl_shard_member_shards(member), i)]));
    pl_admin_build_seconds(b, "seconds", for_ns);
    if (keys >= 0)
        pl_build_put_int(b, "keys", keys);
    pl_build_end(b);
}

static void build_members(struct pl_build *b, const struct pl_membership *membership)
{
    struct pl_member_look look;
    size_t at = 0;
    pl_build_keyz(b, "members");
    pl_build_array(b);
    while (pl_membership_next(membership, &at, &look)) {
        pl_build_object(b);
        pl_build_put_text(b, "id", pl_slice_z(look.id));
        pl_build_put_int(b, "shards", look.held);
        pl_build_put_bool(b, "this", strcmp(look.id, pl_membership_id(membership)) == 0);
        pl_build_put_bool(b, "leaving", look.leaving);
        pl_build_put_bool(b, "expired", look.dead);
        pl_admin_build_seconds(b, "seconds", look.age_ns);
        pl_build_end(b);
    }
    pl_build_end(b);
}

static void build_sharing(struct pl_build *b, const struct pl_admin_options *host)
{
    const struct pl_leadership *leadership = pl_manager_leadership(host->manager);
    const struct pl_shard_member *member =
        leadership != NULL ? pl_leadership_member(leadership) : NULL;
    struct pl_buf advice = PL_BUF_INIT;
    if (member == NULL)
        return;
    bool by_uid = pl_shards_by(pl_shard_member_shards(member)) == PL_SHARD_BY_UID;
    pl_build_put_text(b, "shard_by", pl_slice_z(by_uid ? "uid" : "namespace"));
    pl_build_keyz(b, "shards");
    pl_build_array(b);
    for (unsigned i = 0; i < pl_shards_count(pl_shard_member_shards(member)); i++)
        build_shard(b, member, host->key_count, i);
    pl_build_end(b);
    build_members(b, pl_shard_member_membership(member));
    pl_shard_key_count_advise(host->key_count, &advice);
    if (advice.len > 0)
        pl_build_put_text(b, "shard_advice", pl_buf_slice(&advice));
    pl_buf_deinit(&advice);
}

static void build_events(struct pl_build *b, struct pl_cluster *cluster)
{
    struct pl_recorder_stats stats;
    pl_recorder_stats(pl_cluster_recorder(cluster), &stats);
    pl_build_keyz(b, "events");
    pl_build_object(b);
    pl_build_put_int(b, "sent", (int64_t)stats.sent);
    pl_build_put_int(b, "waiting", (int64_t)stats.waiting);
    pl_build_put_int(b, "dropped", (int64_t)stats.dropped);
    pl_build_end(b);
}

static void build_host(struct pl_build *b, const struct pl_admin_call *call)
{
    const struct pl_admin_options *host = pl_admin_host(call);
    int64_t now_ns = pl_loop_now(host->loop);
    pl_build_object(b);
    pl_build_put_text(b, "version", pl_slice_z(pl_version()));
    pl_build_put_int(b, "pid", getpid());
    pl_build_put_text(b, "server", pl_slice_z(host->server));
    build_lead(b, pl_manager_leadership(host->manager));
    build_sharing(b, host);
    pl_admin_build_calls(call, b);
    pl_admin_build_more(call, b);
    pl_build_keyz(b, "controllers");
    pl_build_array(b);
    for (size_t i = 0; i < pl_manager_count(host->manager); i++)
        status_build_controller(b, pl_manager_at(host->manager, i), now_ns);
    pl_build_end(b);
    pl_build_keyz(b, "sources");
    pl_build_array(b);
    build_sources(b, pl_cluster_informers(host->cluster));
    for (size_t i = 0; i < pl_remotes_count(pl_cluster_remotes(host->cluster)); i++) {
        struct pl_remote_state state;
        pl_remotes_state(pl_cluster_remotes(host->cluster), i, &state);
        build_sources(b, pl_cluster_informers(state.cluster));
    }
    pl_build_end(b);
    build_clusters(b, pl_cluster_remotes(host->cluster));
    build_events(b, host->cluster);
    build_waits(b, pl_site_waits(pl_cluster_site(host->cluster)));
    pl_build_end(b);
}

void pl_admin_status(void *arg, struct pl_admin_call *call)
{
    PL_UNUSED(arg);
    struct pl_build *b = pl_build_create(NULL);
    build_host(b, call);
    struct pl_doc *result = pl_build_close(b);
    pl_admin_reply(call, result);
}
