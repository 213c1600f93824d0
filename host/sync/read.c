/* Live reads: discovery, scope check, one request. */
#include "sync/read.h"

#include "base/alloc.h"
#include "sync/site.h"

struct pl_read_op {
    struct pl_site *site; /* borrowed */
    struct pl_read read;  /* its texts are in `texts` */
    char *texts[9];       /* owned */
    pl_answer_fn on_answer;
    void *arg;
    struct pl_op *op; /* under way, or NULL */
    bool resolving;
    struct pl_task task; /* for an end without a request */
    struct pl_err err;
};

static void read_finish(struct pl_read_op *read, const struct pl_answer *answer)
{
    struct pl_site *site = read->site;
    pl_answer_fn on_answer = read->on_answer;
    void *arg = read->arg;
    on_answer(arg, answer);
    for (size_t i = 0; i < PL_ARRAY_LEN(read->texts); i++)
        pl_free(read->texts[i]);
    pl_free(read);
    pl_site_release(site);
}

static void read_fail(struct pl_read_op *read)
{
    struct pl_answer answer = {.err = &read->err};
    read_finish(read, &answer);
}

static void fail_later(struct pl_task *task)
{
    read_fail(PL_CONTAINER_OF(task, struct pl_read_op, task));
}

static void on_read_answer(void *arg, const struct pl_answer *answer)
{
    read_finish(arg, answer);
}

static void read_start(struct pl_read_op *read, const struct pl_resource *resource,
                       int64_t timeout_ns)
{
    const struct pl_read *r = &read->read;
    struct pl_call call = {
        .verb = r->verb,
        .resource = resource,
        .raw_path = r->raw_path,
        .headers = r->headers,
        .ns = r->ns,
        .name = r->name,
        .subresource = r->subresource,
        .query = r->query,
        .takes_text = r->takes_text,
        .labels = r->labels,
        .fields = r->fields,
        .limit = r->limit,
        .continue_token = r->continue_token,
        .metadata_only = r->metadata_only,
        .keep_managed_fields = r->keep_managed_fields,
        .grace_period = -1,
        .timeout_ns = timeout_ns,
    };
    read->op = pl_client_start(pl_site_client(read->site), &call, on_read_answer, read);
}

static void on_read_resource(void *arg, const struct pl_resource *resource,
                             const struct pl_err *err)
{
    struct pl_read_op *read = arg;
    const struct pl_read *r = &read->read;
    read->resolving = false;
    int64_t timeout_ns;
    if (resource == NULL)
        read->err = *err;
    if (resource == NULL || pl_resource_check_scope(resource, r->ns, r->name, &read->err) != 0 ||
        pl_site_time_left(read->site, read->read.deadline_ns, &timeout_ns, &read->err) != 0) {
        read_fail(read);
        return;
    }
    read_start(read, resource, timeout_ns);
}

static void start_raw(struct pl_read_op *read)
{
    int64_t timeout_ns;
    if (pl_site_time_left(read->site, read->read.deadline_ns, &timeout_ns, &read->err) != 0)
        pl_site_defer(read->site, &read->task, fail_later);
    else
        read_start(read, NULL, timeout_ns);
}

struct pl_read_op *pl_read_start(struct pl_site *site, const struct pl_read *read,
                                 pl_answer_fn call, void *arg)
{
    pl_timers_require(pl_site_timers(site));
    struct pl_read_op *op = PL_NEW(struct pl_read_op);
    op->site = site;
    op->read = *read;
    struct pl_slice *texts[] = {
        &op->read.ns,     &op->read.name,   &op->read.subresource,    &op->read.query,
        &op->read.labels, &op->read.fields, &op->read.continue_token, &op->read.raw_path,
        &op->read.headers};
    for (size_t i = 0; i < PL_ARRAY_LEN(texts); i++) {
        op->texts[i] = pl_memdup0(texts[i]->ptr, texts[i]->len);
        texts[i]->ptr = op->texts[i];
    }
    op->on_answer = call;
    op->arg = arg;
    pl_site_hold(site);
    if (read->raw_path.len > 0) {
        start_raw(op);
        return op;
    }
    op->resolving = true;
    pl_discovery_find(pl_site_discovery(site), &read->kind, on_read_resource, op);
    return op;
}

void pl_read_op_cancel(struct pl_read_op *op)
{
    if (op->op != NULL) {
        pl_op_cancel(op->op);
        return;
    }
    if (!op->resolving)
        return;
    op->resolving = false;
    pl_discovery_forget(pl_site_discovery(op->site), op);
    pl_err_set(&op->err, PL_ECANCELED, "the read was cancelled");
    pl_site_defer(op->site, &op->task, fail_later);
}
