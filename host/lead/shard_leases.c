/* Leases of members and shards over the client. The last known version of each Lease is kept, so
 * that a write replaces exactly that one. This file decides nothing: refused, late and unclear
 * answers are passed on unchanged. */
#include "lead/shard_leases.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "base/map.h"
#include "kube/status.h"
#include "lead/lease.h"
#include "lead/shard_lease.h"
#include "object/meta.h"
#include "sync/trouble.h"

#define WATCH_SECONDS 300
#define LATELY        (60 * PL_SECOND) /* a failure that was not followed by another is over */
#define ALL_UIDS      "shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000000')"

static const struct pl_resource resource = {
    .kind = {"coordination.k8s.io", "v1", "Lease"},
    .plural = "leases",
    .namespaced = true,
    .can_watch = true,
};

/* One list with its watch: of all Leases with the label, or of the one named NAME. */
struct stream {
    struct pl_shard_leases *leases;
    bool of_name;
    char *selector; /* owned */
    struct pl_op *op;
    struct pl_watch *watch;
    struct pl_err err; /* of an ERROR event */
    struct pl_timer again;
    uint64_t highest;   /* the greatest version that was seen */
    uint64_t asked;     /* `highest` when the list was asked for */
    unsigned era;       /* the number of times that versions went back */
    int64_t hurried_ns; /* mono: when a watch was last ended because versions went back */
    bool hurries, listed;
    struct pl_trouble trouble;
};

/* Requests about one kind of Lease: those about others may succeed meanwhile. */
enum sort { READS, WRITES, DELETIONS, SORTS };
struct failing {
    struct pl_trouble trouble;
    int64_t last_ns; /* mono: of the last failure */
};

struct pl_shard_leases {
    struct pl_shard_leases_options o;
    char *ns, *name;
    struct pl_membership *m; /* NULL: no watch has started */
    struct pl_map docs;      /* by name: counted documents */
    struct stream all, main_lease;
    struct failing failing[PL_LEASE_OF_NAME + 1][SORTS];
    bool asked_filters;
    int64_t written_us;
};

static const char *const went_back = "resourceVersions went back: was the server restored?";

static struct stream *stream_of(struct pl_shard_leases *l, enum pl_shard_lease_kind kind)
{
    return kind == PL_LEASE_OF_NAME ? &l->main_lease : &l->all;
}

static void saw_version(struct stream *stream, uint64_t version)
{
    if (version > stream->highest)
        stream->highest = version;
}

/* ---- reports to the membership ---- */

static void shard_leases_remember(struct pl_shard_leases *l, struct pl_slice name,
                                  struct pl_doc *doc)
{
    struct pl_doc *before =
        doc != NULL ? pl_map_put(&l->docs, name, pl_doc_ref(doc)) : pl_map_remove(&l->docs, name);
    pl_doc_unref(before);
}

static uint64_t shard_leases_version_of(const struct pl_shard_leases *l, struct pl_slice name)
{
    struct pl_shard_lease lease;
    struct pl_shard_lease_room room;
    struct pl_doc *doc = pl_map_get(&l->docs, name);
    return doc != NULL && pl_shard_lease_read(pl_doc_root(doc), l->name, &room, &lease)
               ? lease.version
               : 0;
}

/* True when it is older than a known answer: the watch lags behind. */
static bool is_old(const struct pl_shard_leases *l, struct pl_slice name,
                   const struct pl_shard_lease *lease)
{
    return lease->version < shard_leases_version_of(l, name);
}

/* The membership ignores old states itself: that they come says how far the watch is. */
static void see(struct pl_shard_leases *l, struct stream *stream, struct pl_doc *doc)
{
    struct pl_shard_lease lease;
    struct pl_shard_lease_room room;
    struct pl_scratch name;
    if (!pl_shard_lease_read(pl_doc_root(doc), l->name, &room, &lease) ||
        stream->of_name != (lease.kind == PL_LEASE_OF_NAME))
        return;
    if (!is_old(l, pl_meta_name(pl_doc_root(doc), &name), &lease))
        shard_leases_remember(l, pl_meta_name(pl_doc_root(doc), &name), doc);
    saw_version(stream, lease.version);
    pl_membership_see(l->m, &lease);
}

static void shard_leases_forget(struct pl_shard_leases *l, struct pl_doc *doc)
{
    struct pl_shard_lease lease;
    struct pl_shard_lease_room room;
    struct pl_scratch name;
    if (!pl_shard_lease_read(pl_doc_root(doc), l->name, &room, &lease) ||
        is_old(l, pl_meta_name(pl_doc_root(doc), &name), &lease))
        return;
    shard_leases_remember(l, pl_meta_name(pl_doc_root(doc), &name), NULL);
    pl_membership_gone(l->m, &lease);
}

static bool is_listed(const struct pl_docs *items, struct pl_slice name)
{
    struct pl_scratch room;
    for (size_t i = 0; i < items->count; i++)
        if (pl_slice_eq(pl_meta_name(pl_doc_root(items->items[i]), &room), name))
            return true;
    return false;
}

/* Removes Leases that a list lacks, unless they were written after it: those are reported later. */
static void forget_missing(struct pl_shard_leases *l, const struct stream *stream,
                           const struct pl_docs *items, uint64_t version)
{
    struct pl_docs gone = {0};
    size_t at = 0;
    struct pl_slice key;
    void *doc;
    while (pl_map_next(&l->docs, &at, &key, &doc))
        if (stream->of_name == pl_slice_eqz(key, l->name) && !is_listed(items, key) &&
            shard_leases_version_of(l, key) <= version)
            pl_docs_add(&gone, pl_doc_ref(doc));
    for (size_t i = 0; i < gone.count; i++)
        shard_leases_forget(l, gone.items[i]);
    pl_docs_deinit(&gone);
}

/* ---- a server that was restored ---- */

/* The list has another state of the Lease than was known, although it is as new as the list. */
static bool contradicts(const struct pl_shard_leases *l, struct pl_doc *doc, uint64_t version)
{
    struct pl_shard_lease known, lease;
    struct pl_shard_lease_room rooms[2];
    struct pl_scratch room;
    struct pl_doc *before = pl_map_get(&l->docs, pl_meta_name(pl_doc_root(doc), &room));
    if (before == NULL || !pl_shard_lease_read(pl_doc_root(before), l->name, &rooms[0], &known) ||
        !pl_shard_lease_read(pl_doc_root(doc), l->name, &rooms[1], &lease) ||
        known.version > version || lease.version > known.version)
        return false;
    return lease.version < known.version || lease.stamp != known.stamp ||
           !pl_slice_eq(lease.holder, known.holder);
}

/* True when the list shows that the server has lost what it had said before. */
static bool is_restored(const struct stream *stream, const struct pl_docs *items, uint64_t version)
{
    if (version < stream->asked)
        return true;
    for (size_t i = 0; i < items->count; i++)
        if (contradicts(stream->leases, items->items[i], version))
            return true;
    return false;
}

/* The list replaces what is known. */
static void begin_anew(struct stream *stream, const struct pl_docs *items, uint64_t version)
{
    struct pl_shard_leases *l = stream->leases;
    struct pl_scratch room;
    forget_missing(l, stream, items, UINT64_MAX);
    for (size_t i = 0; i < items->count; i++)
        shard_leases_remember(l, pl_meta_name(pl_doc_root(items->items[i]), &room), NULL);
    stream->highest = version;
    stream->era++;
    pl_membership_restored(l->m, stream->of_name);
}

/* ---- lists and watches ---- */

static void shard_leases_list(struct stream *stream);

static void on_shard_leases_again(struct pl_timer *timer)
{
    shard_leases_list(PL_CONTAINER_OF(timer, struct stream, again));
}

static void list_after(struct stream *stream, int64_t delay_ns)
{
    pl_timer_start(stream->leases->o.timers, &stream->again, delay_ns, on_shard_leases_again);
}

static void shard_leases_note(struct stream *stream, const struct pl_err *err, const char *what)
{
    struct pl_shard_leases *l = stream->leases;
    struct pl_field field = pl_str("lease", l->name);
    if (err != NULL && err->code != PL_ECANCELED)
        pl_trouble_note(&stream->trouble, err, pl_clock_mono(l->o.clock), what, &field, 1);
}

static void on_shard_leases_open(void *arg)
{
    struct stream *stream = arg;
    struct pl_field field = pl_str("lease", stream->leases->name);
    pl_trouble_end(&stream->trouble, pl_clock_mono(stream->leases->o.clock),
                   "the Leases of the shards can be watched again", &field, 1);
}

static void on_shard_leases_event(void *arg, enum pl_watch_type type, struct pl_doc *object)
{
    struct stream *stream = arg;
    struct pl_shard_leases *l = stream->leases;
    if (type == PL_WATCH_ERROR) {
        pl_status_event_to_err(pl_doc_root(object), &stream->err);
        pl_watch_cancel(stream->watch);
    } else if (type == PL_WATCH_ADDED || type == PL_WATCH_MODIFIED) {
        see(l, stream, object);
    } else if (type == PL_WATCH_DELETED) {
        shard_leases_forget(l, object);
    }
    pl_doc_unref(object);
}

/* Events in between are covered by a new list, as there are few Leases. */
static void on_shard_leases_end(void *arg, const struct pl_err *err)
{
    struct stream *stream = arg;
    stream->watch = NULL;
    if (stream->err.code != 0)
        err = &stream->err;
    shard_leases_note(stream, err, "cannot watch the Leases of the shards, so they are listed");
    list_after(stream, err != NULL && !stream->hurries ? stream->leases->o.retry_period_ns : 0);
    stream->hurries = false;
    pl_err_clear(&stream->err);
}

static void shard_leases_watch(struct stream *stream, struct pl_slice version)
{
    static const struct pl_watch_ops ops = {on_shard_leases_open, on_shard_leases_event,
                                            on_shard_leases_end};
    struct pl_shard_leases *l = stream->leases;
    struct pl_watch_call call = {
        .resource = &resource,
        .ns = pl_slice_z(l->ns),
        .labels = pl_slice_z(stream->of_name ? NULL : stream->selector),
        .fields = pl_slice_z(stream->of_name ? stream->selector : NULL),
        .rv = version,
        .timeout_seconds = WATCH_SECONDS,
        .silence_ns = stream->of_name ? 0 : l->o.silence_ns,
    };
    stream->watch = pl_client_watch(l->o.client, &call, &ops, stream);
}

static void say_filters(struct pl_shard_leases *l, struct pl_node list)
{
    struct pl_node info = pl_node_getz(pl_node_getz(list, "metadata"), "shardInfo");
    bool filters = pl_node_str_eq(pl_node_getz(info, "selector"), pl_slice_z(ALL_UIDS));
    l->asked_filters = true;
    if (l->o.filters != NULL)
        l->o.filters(l->o.arg, filters);
}

static void take_list(struct stream *stream, const struct pl_docs *items, struct pl_slice rv)
{
    struct pl_shard_leases *l = stream->leases;
    struct pl_err err = {0};
    uint64_t version = pl_rv_number(rv);
    if (is_restored(stream, items, version)) {
        pl_err_set(&err, PL_EAPI, "%s", went_back);
        shard_leases_note(stream, &err, "the Leases of the shards are read anew");
        begin_anew(stream, items, version);
    }
    saw_version(stream, version);
    for (size_t i = 0; i < items->count; i++)
        see(l, stream, items->items[i]);
    forget_missing(l, stream, items, version);
}

static void on_shard_leases_list(void *arg, const struct pl_answer *answer)
{
    struct stream *stream = arg;
    struct pl_shard_leases *l = stream->leases;
    struct pl_scratch room;
    bool asked = !stream->of_name && !l->asked_filters;
    stream->op = NULL;
    if (answer->err != NULL) {
        if (asked && pl_err_is_no_shard_selector(answer->err)) {
            say_filters(l, PL_NODE_MISSING);
            list_after(stream, 0);
            return;
        }
        shard_leases_note(stream, answer->err, "cannot list the Leases of the shards");
        list_after(stream, l->o.retry_period_ns);
        return;
    }
    if (asked)
        say_filters(l, pl_doc_root(answer->doc));
    struct pl_slice version = pl_meta_rv(pl_doc_root(answer->doc), &room);
    take_list(stream, answer->items, version);
    stream->listed = true;
    if (l->all.listed && l->main_lease.listed)
        pl_membership_synced(l->m);
    shard_leases_watch(stream, version);
}

static void shard_leases_list(struct stream *stream)
{
    struct pl_shard_leases *l = stream->leases;
    bool asks = !stream->of_name && !l->asked_filters;
    stream->asked = stream->highest;
    struct pl_call call = {
        .verb = PL_VERB_LIST,
        .resource = &resource,
        .ns = pl_slice_z(l->ns),
        .labels = pl_slice_z(stream->of_name ? NULL : stream->selector),
        .fields = pl_slice_z(stream->of_name ? stream->selector : NULL),
        .shards = pl_slice_z(asks ? ALL_UIDS : NULL),
        .grace_period = -1,
        .timeout_ns = l->o.request_timeout_ns,
        .connection_lane = PL_LEASE_LANE,
    };
    stream->op = pl_client_start(l->o.client, &call, on_shard_leases_list, stream);
}

void pl_shard_leases_watch(struct pl_shard_leases *l, struct pl_membership *m)
{
    PL_REQUIRE(l->m == NULL);
    l->m = m;
    shard_leases_list(&l->all);
    shard_leases_list(&l->main_lease);
}

/* ---- writing ---- */

/* Others see a renewal as a change: a clock that stands still or steps back must not hide it. */
static int64_t now_us(struct pl_shard_leases *l)
{
    int64_t us = pl_clock_wall(l->o.clock) / PL_US;
    if (us <= l->written_us && l->written_us - us < PL_SECOND / PL_US)
        us = l->written_us + 1;
    l->written_us = us;
    return us;
}

static struct pl_doc *document(struct pl_shard_leases *l, const char *name, struct pl_doc *before,
                               const struct pl_shard_lease *lease)
{
    const struct pl_shard_lease_draft draft = {l->ns, l->name, name, lease, now_us(l)};
    return pl_shard_lease_document(&draft, before);
}

struct request {
    struct pl_shard_leases *leases;
    char *name; /* owned */
    enum pl_shard_lease_kind kind;
    enum pl_shard_verb verb;
    bool creates;
    uint64_t known; /* an answer with an earlier version shows that the server was restored */
    unsigned era;   /* the era of the stream when the request began */
    pl_shard_answer_fn on_answer;
    void *arg;
};

/* ---- failures ---- */

static enum sort sort_of(enum pl_shard_verb verb)
{
    return verb == PL_SHARD_GET ? READS : verb == PL_SHARD_DELETE ? DELETIONS : WRITES;
}

/* Another client was first, or has deleted it; or the request was given up here. */
static bool is_usual(const struct request *request, const struct pl_err *err)
{
    return err->code == PL_ECANCELED || pl_err_is_conflict(err) || pl_err_is_already_exists(err) ||
           (pl_err_is_not_found(err) && !request->creates);
}

static void note_outcome(const struct request *request, const struct pl_err *err)
{
    static const char *const cannot[] = {[READS] = "cannot read a Lease of the shards",
                                         [WRITES] = "cannot write a Lease of the shards",
                                         [DELETIONS] = "cannot delete a Lease of the shards"};
    static const char *const can[] = {[READS] = "the Leases of the shards can be read again",
                                      [WRITES] = "the Leases of the shards can be written again",
                                      [DELETIONS] =
                                          "the Leases of the shards can be deleted again"};
    struct pl_shard_leases *l = request->leases;
    enum sort sort = sort_of(request->verb);
    struct failing *failing = &l->failing[request->kind][sort];
    struct pl_field field = pl_str("lease", request->name);
    int64_t now_ns = pl_clock_mono(l->o.clock);
    if (err == NULL) {
        pl_trouble_end(&failing->trouble, now_ns, can[sort], &field, 1);
    } else if (!is_usual(request, err)) {
        failing->last_ns = now_ns;
        pl_trouble_note(&failing->trouble, err, now_ns, cannot[sort], &field, 1);
    }
}

const char *pl_shard_leases_trouble(const struct pl_shard_leases *l)
{
    int64_t since_ns = pl_clock_mono(l->o.clock) - LATELY;
    if (pl_trouble_is_on(&l->all.trouble))
        return l->all.trouble.err.message;
    if (pl_trouble_is_on(&l->main_lease.trouble))
        return l->main_lease.trouble.err.message;
    for (int kind = 0; kind <= PL_LEASE_OF_NAME; kind++)
        for (int sort = 0; sort < SORTS; sort++)
            if (pl_trouble_is_on(&l->failing[kind][sort].trouble) &&
                l->failing[kind][sort].last_ns > since_ns)
                return l->failing[kind][sort].trouble.err.message;
    return NULL;
}

/* Lists it again: at once, or soon if that was done just now. */
static void list_restored(struct stream *stream)
{
    int64_t now_ns = pl_clock_mono(stream->leases->o.clock);
    if (stream->watch == NULL || stream->hurries)
        return; /* it will be listed anyway */
    stream->hurries =
        stream->hurried_ns == 0 || now_ns >= stream->hurried_ns + stream->leases->o.retry_period_ns;
    if (stream->hurries)
        stream->hurried_ns = now_ns;
    pl_watch_cancel(stream->watch);
}

/* True when the answer is from before a restore of the server, or shows that there was one. */
static bool is_of_another_time(const struct request *request, const struct pl_shard_lease *lease)
{
    struct stream *stream = stream_of(request->leases, request->kind);
    if (request->era == stream->era && lease->version >= request->known)
        return false;
    if (request->era == stream->era)
        list_restored(stream);
    return true;
}

static void on_shard_leases_answer(void *arg, const struct pl_answer *answer)
{
    struct request *request = arg;
    struct pl_shard_leases *l = request->leases;
    struct pl_shard_lease lease;
    struct pl_shard_lease_room room;
    struct pl_slice name = pl_slice_z(request->name);
    struct pl_err err = {0};
    note_outcome(request, answer->err);
    if (answer->err != NULL) {
        if (pl_err_is_not_found(answer->err) && request->verb != PL_SHARD_CREATE)
            shard_leases_remember(l, name, NULL);
        request->on_answer(request->arg, answer->err, NULL);
    } else if (request->verb == PL_SHARD_DELETE) {
        shard_leases_remember(l, name, NULL);
        request->on_answer(request->arg, NULL, NULL);
    } else if (!pl_shard_lease_read(pl_doc_root(answer->doc), l->name, &room, &lease)) {
        pl_err_set(&err, PL_ESYNTAX, "the answer is not a Lease named \"%s\"", request->name);
        request->on_answer(request->arg, &err, NULL);
    } else if (is_of_another_time(request, &lease)) {
        pl_err_set(&err, PL_ENETWORK, "%s", went_back);
        request->on_answer(request->arg, &err, NULL);
    } else {
        saw_version(stream_of(l, lease.kind), lease.version);
        if (!is_old(l, name, &lease))
            shard_leases_remember(l, name, answer->doc);
        request->on_answer(request->arg, NULL, &lease);
    }
    pl_free(request->name);
    pl_free(request);
}

static const enum pl_verb verbs[] = {
    [PL_SHARD_GET] = PL_VERB_GET,
    [PL_SHARD_CREATE] = PL_VERB_CREATE,
    [PL_SHARD_UPDATE] = PL_VERB_UPDATE,
    [PL_SHARD_DELETE] = PL_VERB_DELETE,
};

void pl_shard_leases_start(struct pl_shard_leases *l, enum pl_shard_verb verb,
                           const struct pl_shard_lease *lease, pl_shard_answer_fn done, void *arg)
{
    struct request *request = PL_NEW(struct request);
    struct pl_scratch room;
    *request = (struct request){.leases = l,
                                .name = pl_shard_lease_name(l->name, lease),
                                .kind = lease->kind,
                                .verb = verb,
                                .era = stream_of(l, lease->kind)->era,
                                .on_answer = done,
                                .arg = arg};
    struct pl_doc *before = pl_map_get(&l->docs, pl_slice_z(request->name)), *body = NULL;
    request->creates = verb == PL_SHARD_CREATE || (verb == PL_SHARD_UPDATE && before == NULL);
    request->known = verb == PL_SHARD_GET ? shard_leases_version_of(l, pl_slice_z(request->name))
                                          : stream_of(l, lease->kind)->highest;
    if (verb == PL_SHARD_CREATE || verb == PL_SHARD_UPDATE)
        body = document(l, request->name, verb == PL_SHARD_UPDATE ? before : NULL, lease);
    struct pl_call call = {
        .verb = request->creates ? PL_VERB_CREATE : verbs[verb],
        .resource = &resource,
        .ns = pl_slice_z(l->ns),
        .body = body,
        .grace_period = -1,
        .timeout_ns = l->o.request_timeout_ns,
        .connection_lane = PL_LEASE_LANE,
    };
    if (call.verb != PL_VERB_CREATE)
        call.name = pl_slice_z(request->name);
    if (verb == PL_SHARD_DELETE && before != NULL)
        call.precondition_rv = pl_meta_rv(pl_doc_root(before), &room);
    pl_client_start(l->o.client, &call, on_shard_leases_answer, request);
    pl_doc_unref(body);
}

/* ---- lifetime ---- */

struct pl_shard_leases *pl_shard_leases_create(const struct pl_shard_leases_options *options)
{
    struct pl_shard_leases *l = PL_NEW(struct pl_shard_leases);
    l->o = *options;
    l->ns = pl_strdup(options->ns);
    l->name = pl_strdup(options->name);
    l->all =
        (struct stream){.leases = l, .selector = pl_format(PL_SHARDS_LABEL "=%s", options->name)};
    l->main_lease = (struct stream){
        .leases = l, .of_name = true, .selector = pl_format("metadata.name=%s", options->name)};
    return l;
}

void pl_shard_leases_destroy(struct pl_shard_leases *l)
{
    if (l == NULL)
        return;
    size_t at = 0;
    struct pl_slice key;
    void *doc;
    PL_REQUIRE(l->all.op == NULL && l->main_lease.op == NULL && l->all.watch == NULL &&
               l->main_lease.watch == NULL);
    pl_timer_stop(l->o.timers, &l->all.again);
    pl_timer_stop(l->o.timers, &l->main_lease.again);
    while (pl_map_next(&l->docs, &at, &key, &doc))
        pl_doc_unref(doc);
    pl_map_deinit(&l->docs);
    pl_free(l->all.selector);
    pl_free(l->main_lease.selector);
    pl_free(l->ns);
    pl_free(l->name);
    pl_free(l);
}
