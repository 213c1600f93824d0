/* Leader election: the product's candidate, election and Lease lock on the real client; the
 * transport is answered by a server for one Lease. */
#include "driver.h"

#include "base/alloc.h"
#include "base/check.h"
#include "lead/candidate.h"
#include "lead/election.h"
#include "control/leadership.h"
#include "lead/lease.h"
#include "support/fake_transport.h"
#include "object/meta.h"
#include "object/patch.h"
#include "value/scan.h"
#include "value/write.h"

#include <stdio.h>
#include <stdlib.h>

#define EPOCH    (INT64_C(946684800) * PL_SECOND) /* 2000-01-01T00:00:00Z */
#define PATIENCE (3600 * PL_SECOND) /* scenarios let requests hang until the loop gives up */
#define NAMES    64

struct fault {
    char *verb, *error; /* owned */
    int64_t times;      /* -1: for ever */
    bool applied;
};

struct elector {
    struct pl_clock clock;
    struct pl_timers timers;
    struct pl_rand rand;
    struct fake_transport net;
    struct pl_kubeconfig config;
    struct pl_client *client;
    struct pl_lease *lease;
    struct pl_lease_lock_ops
        polling; /* the lease's without its watch, as the originals have none */
    struct pl_candidate candidate;
    struct pl_election_options options;
    struct pl_election *election; /* NULL until start */
    char *identity;               /* owned */
    bool release, running;
    struct pl_candidate_result result; /* of the last try; err without its text */
    bool finished;
    /* The server. */
    struct pl_doc *stored; /* NULL: no Lease */
    int64_t rv;
    struct fault faults[NAMES];
    size_t fault_count;
    struct pl_list hanging;                               /* struct hanging */
    char *calls[NAMES], *events[NAMES], *recorded[NAMES]; /* owned */
    size_t call_count, event_count, recorded_count;
};

struct hanging {
    struct pl_link link;
    struct fake_request *request;
    const char *verb;
};

static void settle(void *arg);

/* ---- time ---- */

static int64_t read_clock(void *arg)
{
    return ((struct clock *)arg)->now_ns;
}

static int64_t read_wall(void *arg)
{
    return EPOCH + ((struct clock *)arg)->now_ns;
}

/* ---- notes ---- */

static void note(char **names, size_t *count, const char *a, const char *b)
{
    PL_REQUIRE(*count < NAMES);
    struct pl_buf text = PL_BUF_INIT;
    pl_buf_add_z(&text, a);
    pl_buf_add_z(&text, b);
    names[(*count)++] = pl_buf_take(&text);
}

static void note_event(struct elector *self, const char *event, const char *more)
{
    note(self->events, &self->event_count, event, more);
}

static void note_call(struct elector *self, const char *verb, const char *outcome)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_buf_add_f(&text, "%s:", verb);
    note(self->calls, &self->call_count, pl_buf_z(&text), outcome);
    pl_buf_deinit(&text);
}

/* An Event on the Lease; the originals say no reason. */
static void record(struct elector *self, enum pl_lead_change change)
{
    PL_REQUIRE(self->recorded_count < NAMES);
    self->recorded[self->recorded_count++] = pl_lead_note(change, self->identity, "");
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_notes(struct pl_build *out, char **names, size_t *count)
{
    pl_build_array(out);
    for (size_t i = 0; i < *count; i++) {
        pl_build_strz(out, names[i]);
        pl_free(names[i]);
    }
    pl_build_end(out);
    *count = 0;
}

static void put_recorded(struct elector *self, struct pl_build *out)
{
    pl_build_array(out);
    for (size_t i = 0; i < self->recorded_count; i++) {
        pl_build_array(out);
        pl_build_strz(out, "Normal");
        pl_build_strz(out, PL_LEAD_REASON);
        pl_build_strz(out, self->recorded[i]);
        pl_build_end(out);
        pl_free(self->recorded[i]);
    }
    pl_build_end(out);
    self->recorded_count = 0;
}

/* ---- the server ---- */

static struct pl_doc *parse(struct pl_slice text)
{
    struct pl_doc *doc = pl_scan_text(text, &(struct pl_scan_options){0}, NULL);
    PL_REQUIRE(doc != NULL);
    return doc;
}

/* Takes the document; gives it the next version. */
static void store(struct elector *self, struct pl_doc *doc)
{
    struct pl_build *b = pl_build_create(NULL);
    char rv[24];
    snprintf(rv, sizeof rv, "%lld", (long long)++self->rv);
    pl_build_strz(b, rv);
    struct pl_doc *text = pl_build_close(b);
    static const char *const path[] = {"metadata", "resourceVersion"};
    pl_doc_unref(self->stored);
    self->stored = pl_doc_with(pl_doc_root(doc), path, 2, pl_doc_root(text));
    pl_doc_unref(text);
    pl_doc_unref(doc);
}

static void store_part(struct elector *self, const char *const *path, size_t count,
                       struct pl_node part)
{
    static const char empty[] = "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
                                "\"metadata\":{\"name\":\"l\",\"namespace\":\"n\"},\"spec\":{}}";
    struct pl_doc *base =
        self->stored != NULL ? pl_doc_ref(self->stored) : parse(pl_slice_z(empty));
    store(self, pl_doc_with(pl_doc_root(base), path, count, part));
    pl_doc_unref(base);
}

static void set_lease(struct elector *self, struct pl_node spec)
{
    static const char *const path[] = {"spec"};
    if (pl_node_type(spec) == PL_OBJECT) {
        store_part(self, path, 1, spec);
        return;
    }
    pl_doc_unref(self->stored);
    self->stored = NULL;
}

/* What the server does with a request: "ok" or the error. */
static const char *carry_out(struct elector *self, const char *verb, struct pl_doc *body)
{
    struct pl_scratch asked, is;
    if (strcmp(verb, "create") == 0) {
        if (self->stored != NULL)
            return "alreadyExists";
        store(self, pl_doc_ref(body));
        return "ok";
    }
    if (self->stored == NULL)
        return "notFound";
    if (strcmp(verb, "get") == 0)
        return "ok";
    if (!pl_slice_eq(pl_meta_rv(pl_doc_root(body), &asked),
                     pl_meta_rv(pl_doc_root(self->stored), &is)))
        return "conflict";
    store(self, pl_doc_ref(body));
    return "ok";
}

static const struct {
    const char *error;
    int status;
    const char *reason;
} statuses[] = {
    {"conflict", 409, "Conflict"},   {"alreadyExists", 409, "AlreadyExists"},
    {"notFound", 404, "NotFound"},   {"forbidden", 403, "Forbidden"},
    {"serverError", 500, "Unknown"},
};

static void reply(struct elector *self, struct fake_request *request, const char *outcome)
{
    struct pl_buf text = PL_BUF_INIT;
    if (strcmp(outcome, "ok") == 0) {
        pl_write(&text, pl_doc_root(self->stored), PL_WRITE_COMPACT);
        fake_reply(request, 200, pl_buf_z(&text));
        pl_buf_deinit(&text);
        return;
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(statuses); i++) {
        if (strcmp(statuses[i].error, outcome) != 0)
            continue;
        pl_buf_add_f(&text, "{\"kind\":\"Status\",\"reason\":\"%s\",\"code\":%d}",
                     statuses[i].reason, statuses[i].status);
        fake_reply(request, statuses[i].status, pl_buf_z(&text));
        pl_buf_deinit(&text);
        return;
    }
    fake_fail(request, PL_ETIMEOUT, "Timeout");
}

static void drop_fault(struct elector *self, size_t i)
{
    pl_free(self->faults[i].verb);
    pl_free(self->faults[i].error);
    memmove(&self->faults[i], &self->faults[i + 1],
            (--self->fault_count - i) * sizeof(struct fault));
}

/* "" when the next such request meets no fault; *applied: it is carried out nevertheless. */
static void take_fault(struct elector *self, const char *verb, char error[32], bool *applied)
{
    error[0] = '\0';
    for (size_t i = 0; i < self->fault_count; i++) {
        struct fault *fault = &self->faults[i];
        if (strcmp(fault->verb, verb) != 0)
            continue;
        snprintf(error, 32, "%s", fault->error);
        *applied = fault->applied;
        if (fault->times > 0 && --fault->times == 0)
            drop_fault(self, i);
        return;
    }
}

static const char *verb_of(const char *method)
{
    if (strcmp(method, "GET") == 0)
        return "get";
    return strcmp(method, "POST") == 0 ? "create" : "update";
}

static void serve(struct elector *self, struct fake_request *request)
{
    const char *verb = verb_of(request->method);
    struct pl_doc *body = request->body.len > 0 ? parse(pl_buf_slice(&request->body)) : NULL;
    char error[32];
    bool applied = false;
    take_fault(self, verb, error, &applied);
    if (strcmp(error, "hang") == 0) {
        struct hanging *hanging = PL_NEW(struct hanging);
        hanging->request = request;
        hanging->verb = verb;
        pl_list_push(&self->hanging, &hanging->link);
    } else {
        const char *outcome = error;
        if (error[0] == '\0')
            outcome = carry_out(self, verb, body);
        else if (applied)
            carry_out(self, verb, body);
        note_call(self, verb, outcome);
        reply(self, request, outcome);
    }
    pl_doc_unref(body);
}

static void note_canceled(struct elector *self)
{
    PL_LIST_FOR (link, &self->hanging) {
        struct hanging *hanging = PL_CONTAINER_OF(link, struct hanging, link);
        if (!hanging->request->done)
            continue;
        note_call(self, hanging->verb, "canceled");
        pl_link_unlink(link);
        pl_free(hanging);
    }
}

/* ---- the loop ---- */

static void on_stopped(void *arg)
{
    struct elector *self = arg;
    self->running = false;
    note_event(self, "stoppedLeading", "");
}

static void on_started(void *arg)
{
    record(arg, PL_LEAD_GAINED);
    note_event(arg, "startedLeading", "");
}

static void on_lost(void *arg, const char *why)
{
    struct elector *self = arg;
    PL_UNUSED(why);
    record(self, PL_LEAD_LOST);
    note_event(self, "leadContextDone", "");
    pl_election_stop(self->election, self->release, on_stopped, self);
}

static void on_leader(void *arg, const char *identity)
{
    note_event(arg, "newLeader:", identity);
}

static const struct pl_election_ops election_ops = {
    .on_started = on_started, .on_lost = on_lost, .on_leader = on_leader};

static void start(struct elector *self)
{
    self->election = pl_election_create(&self->options);
    self->running = true;
    pl_election_campaign(self->election);
}

static void cancel(struct elector *self)
{
    if (pl_election_is_leading(self->election)) {
        record(self, PL_LEAD_RELEASED);
        note_event(self, "leadContextDone", "");
    }
    pl_election_stop(self->election, self->release, on_stopped, self);
}

/* ---- one try ---- */

static void on_done(void *arg, const struct pl_candidate_result *result)
{
    struct elector *self = arg;
    self->finished = true;
    self->result = *result;
}

static const char *action_of(const struct pl_candidate_result *result, bool before, bool after)
{
    if (result->done)
        return before ? "renew" : "acquire";
    if (before)
        return after ? "renewFailed" : "lost";
    return result->err == NULL ? "observe" : "acquireFailed";
}

static void put_flag_member(struct pl_build *out, const char *name, bool value)
{
    pl_build_keyz(out, name);
    pl_build_bool(out, value);
}

static void put_calls(struct elector *self, struct pl_build *out)
{
    pl_build_keyz(out, "calls");
    put_notes(out, self->calls, &self->call_count);
}

static void try_once(struct elector *self, struct pl_build *out)
{
    bool before = pl_candidate_is_holder(&self->candidate);
    self->finished = false;
    pl_candidate_try(&self->candidate, on_done, self);
    settle(self);
    PL_REQUIRE(self->finished);
    bool after = pl_candidate_is_holder(&self->candidate);
    const char *news = pl_candidate_news(&self->candidate);
    if (news != NULL)
        note_event(self, "newLeader:", news);
    pl_build_object(out);
    pl_build_keyz(out, "action");
    pl_build_strz(out, action_of(&self->result, before, after));
    put_flag_member(out, "isLeader", after);
    put_member_str(out, "leader", pl_slice_z(pl_candidate_holder(&self->candidate)));
    put_calls(self, out);
    pl_build_end(out);
}

static void release_once(struct elector *self, struct pl_build *out)
{
    self->finished = false;
    pl_candidate_release(&self->candidate, on_done, self);
    settle(self);
    PL_REQUIRE(self->finished);
    pl_build_object(out);
    put_flag_member(out, "ok", self->result.done);
    put_flag_member(out, "isLeader", pl_candidate_is_holder(&self->candidate));
    put_calls(self, out);
    pl_build_end(out);
}

/* ---- steps ---- */

static void add_fault(struct elector *self, struct pl_node step)
{
    PL_REQUIRE(self->fault_count < NAMES);
    self->faults[self->fault_count++] = (struct fault){
        .verb = text_of(pl_node_getz(step, "verb")),
        .error = text_of(pl_node_getz(step, "error")),
        .times = int_of(pl_node_getz(step, "times"), 1),
        .applied = bool_of(pl_node_getz(step, "applied"), false),
    };
}

static bool change(struct elector *self, struct pl_slice op, struct pl_node step)
{
    static const char *const labels[] = {"metadata", "labels"};
    if (pl_slice_eqz(op, "server"))
        set_lease(self, pl_node_getz(step, "set"));
    else if (pl_slice_eqz(op, "setLabels"))
        store_part(self, labels, 2, pl_node_getz(step, "labels"));
    else if (pl_slice_eqz(op, "fault"))
        add_fault(self, step);
    else if (pl_slice_eqz(op, "clearFaults"))
        while (self->fault_count > 0)
            drop_fault(self, 0);
    else if (pl_slice_eqz(op, "start"))
        start(self);
    else if (pl_slice_eqz(op, "cancel"))
        cancel(self);
    else
        return false;
    settle(self);
    return true;
}

static void put_labels(struct elector *self, struct pl_build *out)
{
    struct pl_node labels = pl_meta_labels(pl_doc_root(self->stored));
    if (self->stored != NULL && pl_node_is_missing(labels)) {
        pl_build_object(out);
        pl_build_end(out);
    } else {
        pl_build_node(out, labels);
    }
}

static bool is_leader(struct elector *self)
{
    return self->election != NULL ? pl_election_is_leading(self->election)
                                  : pl_candidate_is_holder(&self->candidate);
}

static void put_check(struct elector *self, struct pl_node step, struct pl_build *out)
{
    int64_t limit =
        self->options.lease_duration_ns + duration_of(pl_node_getz(step, "tolerance"), 0);
    bool overdue = pl_candidate_is_overdue(&self->candidate, limit);
    pl_build_strz(out, overdue ? "unhealthy" : "healthy");
}

static void put_validity(struct elector *self, struct pl_build *out)
{
    pl_build_object(out);
    put_flag_member(out, "valid", pl_election_check(&self->options, NULL) == 0);
    pl_build_end(out);
}

static void elector_step(void *arg, struct pl_slice op, struct pl_node step, struct pl_build *out)
{
    struct elector *self = arg;
    if (change(self, op, step)) {
        pl_build_null(out);
    } else if (pl_slice_eqz(op, "try")) {
        try_once(self, out);
    } else if (pl_slice_eqz(op, "release")) {
        release_once(self, out);
    } else if (pl_slice_eqz(op, "validate")) {
        put_validity(self, out);
    } else if (pl_slice_eqz(op, "lease")) {
        pl_build_node(out, pl_node_getz(pl_doc_root(self->stored), "spec"));
    } else if (pl_slice_eqz(op, "leaseLabels")) {
        put_labels(self, out);
    } else if (pl_slice_eqz(op, "calls")) {
        put_notes(out, self->calls, &self->call_count);
    } else if (pl_slice_eqz(op, "events")) {
        qsort(self->events, self->event_count, sizeof self->events[0], by_text);
        put_notes(out, self->events, &self->event_count);
    } else if (pl_slice_eqz(op, "recorded")) {
        put_recorded(self, out);
    } else if (pl_slice_eqz(op, "isLeader")) {
        pl_build_bool(out, is_leader(self));
    } else if (pl_slice_eqz(op, "leader")) {
        pl_build_strz(out, self->election != NULL ? pl_election_holder(self->election)
                                                  : pl_candidate_holder(&self->candidate));
    } else if (pl_slice_eqz(op, "check")) {
        put_check(self, step, out);
    } else if (pl_slice_eqz(op, "running")) {
        pl_build_bool(out, self->running);
    } else {
        put_error(out, "unknown op");
    }
}

static bool next_due(void *arg, int64_t *due_ns)
{
    return pl_timers_next(&((struct elector *)arg)->timers, due_ns);
}

static void settle(void *arg)
{
    struct elector *self = arg;
    int64_t due;
    for (;;) {
        struct fake_request *request = fake_next(&self->net);
        if (request != NULL)
            serve(self, request);
        else if (pl_timers_next(&self->timers, &due) && due <= pl_clock_mono(&self->clock))
            pl_timers_run(&self->timers);
        else
            break;
    }
    note_canceled(self);
}

/* ---- lifetime ---- */

static void init_client(struct elector *self)
{
    self->config = (struct pl_kubeconfig){.source = (char *)"test", .server = (char *)"http://k8s"};
    struct pl_client_options client = {
        .transport = fake_transport(&self->net),
        .timers = &self->timers,
        .rand = &self->rand,
        .config = &self->config,
        .user_agent = "vectors",
        .request_timeout_ns = PATIENCE,
    };
    self->client = pl_client_create(&client, NULL);
    PL_REQUIRE(self->client != NULL);
}

static void *elector_create(struct clock *clock, struct pl_node options, const char **skip)
{
    if (bool_of(pl_node_getz(options, "coordinated"), false)) {
        *skip = "coordinated leader election is an alpha feature";
        return NULL;
    }
    struct elector *self = PL_NEW(struct elector);
    self->clock = (struct pl_clock){read_clock, read_clock, read_wall, clock};
    pl_timers_init(&self->timers, &self->clock);
    pl_rand_seed(&self->rand, 1);
    fake_transport_init(&self->net, &self->timers);
    pl_list_init(&self->hanging);
    init_client(self);
    struct pl_doc *labels = doc_of(pl_node_getz(options, "labels"));
    self->lease = pl_lease_create(&(struct pl_lease_options){.client = self->client,
                                                             .ns = "n",
                                                             .name = "l",
                                                             .labels = labels,
                                                             .request_timeout_ns = PATIENCE});
    pl_doc_unref(labels);
    self->identity = text_of(pl_node_getz(options, "identity"));
    if (self->identity == NULL)
        self->identity = pl_strdup("me");
    self->release = bool_of(pl_node_getz(options, "releaseOnCancel"), false);
    struct pl_lease_lock lock = pl_lease_lock(self->lease);
    self->polling = *lock.ops;
    self->polling.watch = NULL;
    self->polling.unwatch = NULL;
    self->options = (struct pl_election_options){
        .lock = {&self->polling, lock.self},
        .timers = &self->timers,
        .clock = &self->clock,
        .rand = &self->rand,
        .owner = "n/l",
        .identity = self->identity,
        .lease_duration_ns = duration_of(pl_node_getz(options, "leaseDuration"), 15 * PL_SECOND),
        .renew_deadline_ns = duration_of(pl_node_getz(options, "renewDeadline"), 10 * PL_SECOND),
        .retry_period_ns = duration_of(pl_node_getz(options, "retryPeriod"), 2 * PL_SECOND),
        .release_on_exit = self->release,
        .ops = &election_ops,
        .arg = self,
    };
    pl_candidate_init(&self->candidate, &self->options.lock, &self->clock, self->identity,
                      self->options.lease_duration_ns);
    set_lease(self, pl_node_getz(options, "lease"));
    return self;
}

static void forget(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pl_free(names[i]);
}

static void elector_destroy(void *arg)
{
    struct elector *self = arg;
    int64_t due;
    while (self->fault_count > 0)
        drop_fault(self, 0);
    if (self->running)
        cancel(self);
    settle(self);
    while (self->running && next_due(self, &due)) { /* a release that hangs has its deadline */
        ((struct clock *)self->clock.arg)->now_ns = due;
        settle(self);
    }
    PL_REQUIRE(!self->running);
    pl_election_destroy(self->election);
    pl_lease_destroy(self->lease);
    pl_client_destroy(self->client);
    fake_transport_deinit(&self->net);
    pl_timers_deinit(&self->timers);
    forget(self->calls, self->call_count);
    forget(self->events, self->event_count);
    forget(self->recorded, self->recorded_count);
    pl_doc_unref(self->stored);
    pl_free(self->identity);
    pl_free(self);
}

const struct component leaderelection_component = {
    .name = "leaderelection",
    .create = elector_create,
    .step = elector_step,
    .destroy = elector_destroy,
    .next_due = next_due,
    .settle = settle,
};
