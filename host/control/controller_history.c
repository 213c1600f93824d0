/* Writes a controller's entries in the history of its keys. */
#include "base/buf.h"
#include "cluster/tracer.h"
#include "control/controller_impl.h"
#include "object/meta.h"

#define PARTS_MAX 24

static void controller_history_note(struct pl_controller *c, struct pl_slice key,
                                    enum pl_happening what, int64_t amount,
                                    const struct pl_slice *parts, size_t count)
{
    pl_history_add(pl_cluster_history(c->cluster), pl_slice_z(c->name), key, pl_controller_now(c),
                   what, amount, parts, count);
}

void pl_controller_note(struct pl_controller *c, struct pl_slice key, enum pl_happening what,
                        int64_t amount, const char *detail)
{
    struct pl_slice part = pl_slice_z(detail);
    controller_history_note(c, key, what, amount, &part, 1);
}

/* "MODIFIED v1/Pod default/a: spec.replicas, status.phase"; cause: the event's, where it is one. */
static void note_event(struct pl_subscription *subscription, struct pl_slice key,
                       enum pl_happening what, const struct pl_event *event,
                       const struct pl_cause *cause)
{
    struct pl_slice parts[PARTS_MAX * 2];
    struct pl_buf object = PL_BUF_INIT;
    char **changed = cause != NULL ? cause->changed : NULL;
    size_t count = 0;
    if (cause == NULL)
        pl_meta_put_key(pl_doc_root(event->object), &object);
    parts[count++] = pl_slice_z(pl_cause_type_name(pl_cause_type_of(event)));
    parts[count++] = pl_slice_z(" ");
    parts[count++] = pl_slice_z(subscription->kind);
    parts[count++] = pl_slice_z(" ");
    parts[count++] = cause != NULL ? pl_slice_z(cause->key) : pl_buf_slice(&object);
    for (size_t i = 0; changed != NULL && changed[i] != NULL && count + 2 < PARTS_MAX * 2; i++) {
        parts[count++] = pl_slice_z(i == 0 ? ": " : ", ");
        parts[count++] = pl_slice_z(changed[i]);
    }
    controller_history_note(subscription->controller, key, what, 0, parts, count);
    pl_buf_deinit(&object);
}

void pl_controller_note_event(struct pl_subscription *subscription, struct pl_slice key,
                              const struct pl_event *event, const struct pl_cause *cause)
{
    note_event(subscription, key, PL_HAPPENED_EVENT, event, cause);
}

void pl_controller_note_dropped(struct pl_subscription *subscription, const struct pl_event *event)
{
    struct pl_controller *c = subscription->controller;
    pl_requests_clear(&c->requests);
    if (!pl_handler_requests(&subscription->handler, event, &c->requests))
        return; /* a script's map function is not asked about dropped events */
    for (size_t i = 0; i < c->requests.count; i++)
        note_event(subscription, pl_requests_key(&c->requests, i), PL_HAPPENED_DROPPED, event,
                   NULL);
}

void pl_controller_note_outcome(struct pl_controller *c, const struct pl_run *run,
                                const struct pl_outcome_of_run *outcome, int64_t took_ns)
{
    const char *name = pl_outcome_name(outcome->outcome);
    bool says_why = outcome->message != NULL && outcome->message[0] != '\0';
    struct pl_slice parts[] = {pl_slice_z(outcome->gone ? "gone" : name),
                               pl_slice_z(says_why ? ": " : ""),
                               pl_slice_z(says_why ? outcome->message : "")};
    controller_history_note(c, run->key, PL_HAPPENED_ENDED, took_ns, parts, PL_ARRAY_LEN(parts));
    struct pl_tracer *tracer = pl_cluster_tracer(c->cluster);
    bool failed = pl_outcome_is_error(outcome->outcome);
    if (tracer != NULL)
        pl_tracer_run(tracer, run->id, c->name, run->key, name, parts[2], failed, took_ns);
}

/* By the wording of results in lane/op_io.c. */
static bool went_well(struct pl_slice result)
{
    return pl_slice_eqz(result, "ok") || pl_slice_eqz(result, "it was gone") ||
           pl_slice_eqz(result, "nothing to change, not sent");
}

void pl_controller_run_called(struct pl_run *run, struct pl_slice what, struct pl_slice result,
                              int64_t took_ns)
{
    struct pl_slice parts[] = {what, pl_slice_z(": "), result};
    controller_history_note(run->controller, run->key, PL_HAPPENED_CALLED, took_ns, parts,
                            PL_ARRAY_LEN(parts));
    struct pl_tracer *tracer = pl_cluster_tracer(run->controller->cluster);
    if (tracer != NULL)
        pl_tracer_call(tracer, run->id, what, result, !went_well(result), took_ns);
    pl_history_note_call(pl_cluster_history(run->controller->cluster),
                         pl_slice_z(pl_controller_spec(run->controller)->name), what);
}
