/* The lock on a coordination.k8s.io/v1 Lease: get, create and update with the resourceVersion that
 * was read, so that the server refuses one of two concurrent replicas. Requests have a deadline
 * that is shorter than the lease. */
#include "lead/lease.h"

#include "base/alloc.h"
#include "base/check.h"
#include "format/units.h"
#include "kube/status.h"
#include "object/meta.h"
#include "object/patch.h"
#include "value/build.h"

#include <stdio.h>

#define WATCH_SECONDS 300

static const struct pl_resource leases = {
    .kind = {"coordination.k8s.io", "v1", "Lease"},
    .plural = "leases",
    .namespaced = true,
    .can_watch = true,
};

struct pl_lease {
    struct pl_client *client;
    char *ns, *name, *selector; /* owned */
    struct pl_doc *labels;      /* counted; NULL: none */
    int64_t request_timeout_ns, silence_ns;
    struct pl_doc *object; /* counted: of the last successful answer; NULL: none */

    struct pl_op *op; /* under way, or NULL */
    enum pl_lease_verb verb;
    pl_lease_answer_fn on_answer;
    void *arg;

    struct pl_watch *watch; /* under way, or NULL */
    bool unwatched;
    const struct pl_lease_watch_ops *watch_ops;
    void *watch_arg;
    struct pl_err watch_err; /* of an ERROR event */
};

int64_t pl_lease_request_timeout(int64_t renew_deadline_ns)
{
    return renew_deadline_ns / 4;
}

/* ---- documents ---- */

static int64_t lease_time_of(struct pl_node node)
{
    struct pl_scratch room;
    int64_t ns;
    return pl_time_parse(pl_node_str(node, &room), &ns) ? ns / PL_US : PL_LEASE_NO_TIME;
}

static int64_t lease_count_of(struct pl_node node)
{
    int64_t value;
    if (!pl_node_int(node, &value) || value < 0)
        return 0;
    return value < INT32_MAX ? value : INT32_MAX;
}

static bool is_lease(struct pl_node object, struct pl_slice name)
{
    struct pl_scratch room;
    return pl_node_str_eq(pl_node_getz(object, "kind"), pl_slice_z("Lease")) &&
           pl_slice_eq(pl_meta_name(object, &room), name) && pl_meta_rv(object, &room).len > 0;
}

int pl_lease_read(struct pl_node object, struct pl_slice name, struct pl_lease_record *record,
                  struct pl_err *err)
{
    if (!is_lease(object, name))
        return pl_err_set(err, PL_ESYNTAX, "the answer is not a Lease named \"%.*s\"",
                          PL_FMT(name));
    struct pl_node spec = pl_node_getz(object, "spec");
    struct pl_scratch room;
    struct pl_slice holder = pl_node_str(pl_node_getz(spec, "holderIdentity"), &room);
    *record = (struct pl_lease_record){
        .duration_s = lease_count_of(pl_node_getz(spec, "leaseDurationSeconds")),
        .acquire_us = lease_time_of(pl_node_getz(spec, "acquireTime")),
        .renew_us = lease_time_of(pl_node_getz(spec, "renewTime")),
        .transitions = lease_count_of(pl_node_getz(spec, "leaseTransitions")),
    };
    snprintf(record->holder, sizeof record->holder, "%.*s", PL_FMT(holder));
    return 0;
}

static void lease_put_time(struct pl_build *b, const char *name, int64_t us)
{
    char text[40];
    pl_build_keyz(b, name);
    if (us == PL_LEASE_NO_TIME) {
        pl_build_null(b);
        return;
    }
    pl_time_text(us * PL_US, 6, text); /* metav1.MicroTime */
    pl_build_strz(b, text);
}

static void put_spec(struct pl_build *b, const struct pl_lease_record *record)
{
    pl_build_keyz(b, "spec");
    pl_build_object(b);
    pl_build_put_strz(b, "holderIdentity", record->holder);
    pl_build_put_int(b, "leaseDurationSeconds", record->duration_s);
    lease_put_time(b, "acquireTime", record->acquire_us);
    lease_put_time(b, "renewTime", record->renew_us);
    pl_build_put_int(b, "leaseTransitions", record->transitions);
    pl_build_end(b);
}

/* `object` (PL_NODE_MISSING: a new one of that name) with the record in its spec and the labels
 * added; all other members stay (rule 123). A new reference. */
static struct pl_doc *lease_with(struct pl_node object, const char *ns, const char *name,
                                 struct pl_node labels, const struct pl_lease_record *record)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_put_strz(b, "apiVersion", "coordination.k8s.io/v1");
    pl_build_put_strz(b, "kind", "Lease");
    pl_build_keyz(b, "metadata");
    pl_build_object(b);
    pl_build_put_strz(b, "name", name);
    pl_build_put_strz(b, "namespace", ns);
    if (pl_node_len(labels) > 0) {
        pl_build_keyz(b, "labels");
        pl_build_node(b, labels);
    }
    pl_build_end(b);
    put_spec(b, record);
    pl_build_end(b);
    struct pl_doc *patch = pl_build_close(b);
    if (pl_node_is_missing(object))
        return patch;
    struct pl_doc *doc = pl_patch_merge(object, pl_doc_root(patch), NULL);
    PL_REQUIRE(doc != NULL); /* our own patch cannot fail */
    pl_doc_unref(patch);
    return doc;
}

/* ---- requests ---- */

static void lease_remember(struct pl_lease *lease, struct pl_doc *object)
{
    pl_doc_unref(lease->object);
    lease->object = pl_doc_ref(object);
}

static void on_lease_answer(void *arg, const struct pl_answer *answer)
{
    struct pl_lease *lease = arg;
    struct pl_lease_record record;
    struct pl_err err;
    lease->op = NULL;
    if (answer->err != NULL) {
        lease->on_answer(lease->arg, answer->err, NULL);
    } else if (pl_lease_read(pl_doc_root(answer->doc), pl_slice_z(lease->name), &record, &err) !=
               0) {
        lease->on_answer(lease->arg, &err, NULL);
    } else {
        lease_remember(lease, answer->doc);
        lease->on_answer(lease->arg, NULL, &record);
    }
}

static void lease_start(void *self, enum pl_lease_verb verb, const struct pl_lease_record *record,
                        pl_lease_answer_fn done, void *arg)
{
    struct pl_lease *lease = self;
    PL_REQUIRE(lease->op == NULL);
    lease->verb = verb;
    lease->on_answer = done;
    lease->arg = arg;
    struct pl_node base = PL_NODE_MISSING;
    if (verb == PL_LEASE_UPDATE) {
        PL_REQUIRE(lease->object != NULL);
        base = pl_doc_root(lease->object);
    }
    struct pl_doc *body = NULL;
    if (verb != PL_LEASE_GET)
        body = lease_with(base, lease->ns, lease->name, pl_doc_root(lease->labels), record);
    struct pl_call call = {
        .verb = verb == PL_LEASE_GET      ? PL_VERB_GET
                : verb == PL_LEASE_CREATE ? PL_VERB_CREATE
                                          : PL_VERB_UPDATE,
        .resource = &leases,
        .ns = pl_slice_z(lease->ns),
        .name = pl_slice_z(verb != PL_LEASE_CREATE ? lease->name : NULL),
        .body = body,
        .grace_period = -1,
        .timeout_ns = lease->request_timeout_ns,
        .connection_lane = PL_LEASE_LANE,
    };
    lease->op = pl_client_start(lease->client, &call, on_lease_answer, lease);
    pl_doc_unref(body);
}

static void lease_cancel(void *self)
{
    struct pl_lease *lease = self;
    if (lease->op != NULL)
        pl_op_cancel(lease->op);
}

/* ---- the watch ---- */

static void on_watch_open(void *arg)
{
    struct pl_lease *lease = arg;
    if (!lease->unwatched)
        lease->watch_ops->on_open(lease->watch_arg);
}

static void on_watch_event(void *arg, enum pl_watch_type type, struct pl_doc *object)
{
    struct pl_lease *lease = arg;
    struct pl_lease_record record;
    struct pl_node root = pl_doc_root(object);
    bool is_object =
        type == PL_WATCH_ADDED || type == PL_WATCH_MODIFIED || type == PL_WATCH_DELETED;
    if (!lease->unwatched && type == PL_WATCH_ERROR) {
        pl_status_event_to_err(root, &lease->watch_err);
        pl_watch_cancel(lease->watch);
    } else if (!lease->unwatched && is_object &&
               pl_lease_read(root, pl_slice_z(lease->name), &record, NULL) == 0) {
        lease->watch_ops->on_change(lease->watch_arg, type == PL_WATCH_DELETED ? NULL : &record);
    }
    pl_doc_unref(object);
}

static void on_watch_end(void *arg, const struct pl_err *err)
{
    struct pl_lease *lease = arg;
    struct pl_err copy = lease->watch_err;
    lease->watch = NULL;
    lease->watch_ops->on_end(lease->watch_arg, copy.code != 0 && !lease->unwatched ? &copy : err);
}

static void lease_watch(void *self, const struct pl_lease_watch_ops *ops, void *arg)
{
    static const struct pl_watch_ops watch_ops = {on_watch_open, on_watch_event, on_watch_end};
    struct pl_lease *lease = self;
    PL_REQUIRE(lease->watch == NULL);
    lease->unwatched = false;
    lease->watch_ops = ops;
    lease->watch_arg = arg;
    pl_err_clear(&lease->watch_err);
    struct pl_watch_call call = {
        .resource = &leases,
        .ns = pl_slice_z(lease->ns),
        .fields = pl_slice_z(lease->selector),
        .timeout_seconds = WATCH_SECONDS,
        .silence_ns = lease->silence_ns,
    };
    lease->watch = pl_client_watch(lease->client, &call, &watch_ops, lease);
}

static void unwatch(void *self)
{
    struct pl_lease *lease = self;
    if (lease->watch == NULL || lease->unwatched)
        return;
    lease->unwatched = true;
    pl_watch_cancel(lease->watch);
}

/* ---- lifetime ---- */

struct pl_lease *pl_lease_create(const struct pl_lease_options *options)
{
    struct pl_lease *lease = PL_NEW(struct pl_lease);
    struct pl_buf selector = PL_BUF_INIT;
    pl_buf_add_f(&selector, "metadata.name=%s", options->name);
    lease->client = options->client;
    lease->ns = pl_strdup(options->ns);
    lease->name = pl_strdup(options->name);
    lease->selector = pl_buf_take(&selector);
    lease->labels = pl_doc_ref(options->labels);
    lease->request_timeout_ns = options->request_timeout_ns;
    lease->silence_ns = options->silence_ns;
    return lease;
}

void pl_lease_destroy(struct pl_lease *lease)
{
    if (lease == NULL)
        return;
    PL_REQUIRE(lease->op == NULL && lease->watch == NULL);
    pl_doc_unref(lease->object);
    pl_doc_unref(lease->labels);
    pl_free(lease->ns);
    pl_free(lease->name);
    pl_free(lease->selector);
    pl_free(lease);
}

struct pl_lease_lock pl_lease_lock(struct pl_lease *lease)
{
    static const struct pl_lease_lock_ops ops = {lease_start, lease_cancel, lease_watch, unwatch};
    return (struct pl_lease_lock){&ops, lease};
}
