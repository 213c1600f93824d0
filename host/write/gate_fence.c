/* Whether a write may leave this process now: a leader's only while the fence is open, a run's only
 * while the shard of its key is held. It is asked before each attempt. A server's answer that has
 * come is never changed into a refusal. */
#include "write/gate_op.h"

static const struct pl_shards *fencing_shards(const struct pl_gate *gate)
{
    return pl_site_shards(gate->parent != NULL ? gate->parent->site : gate->site);
}

static bool has_shard(const struct pl_gate_op *op)
{
    const struct pl_shards *shards = fencing_shards(op->gate);
    return shards == NULL || op->w.shard == 0 ||
           pl_shards_state(shards, op->w.shard - 1) != PL_SHARD_ELSEWHERE;
}

bool pl_gate_is_fenced(const struct pl_gate *gate, const struct pl_write *write)
{
    if (gate->fence == NULL || write->any_replica || write->held)
        return false;
    if (write->edition != NULL && write->edition->spec->leader_election)
        return true; /* even if the current scripts would let it run on any replica */
    return write->controller == NULL || write->controller->spec->leader_election;
}

bool pl_gate_is_allowed(const struct pl_gate_op *op)
{
    return !op->gate->closed && !op->cut &&
           (!op->fenced || (pl_fence_is_open(op->gate->fence) && has_shard(op)));
}

/* ---- the reason ---- */

void pl_gate_refuse_closed(struct pl_gate_op *op)
{
    const struct pl_gate *gate = op->gate;
    bool sent = op->stage == PL_GATE_SENDING, held = has_shard(op);
    if (gate->closed) {
        pl_gate_refuse(&op->err, gate->rule, "%s", gate->message);
        return;
    }
    const char *why = sent   ? held ? "this replica's lead ended" : "the run's shard was lost"
                      : held ? "this replica is not the leader"
                             : "this replica does not hold the shard of the run's key";
    pl_gate_refuse(&op->err, "leader", "%s of %s: %s%s", pl_verb_name(op->w.verb), op->key, why,
                   sent ? " while it was on its way; it is not known whether the server has "
                          "carried it out"
                        : "");
}

void pl_gate_explain(struct pl_gate_op *op)
{
    int code = op->err.code;
    bool refused = code == PL_EREFUSED && op->err.reason[0] == '\0';
    bool ended = op->cut || op->gate->closed;
    bool broken = code == PL_ENETWORK || code == PL_ETIMEOUT;
    if (refused || (ended && code == PL_ECANCELED) ||
        (broken && op->fenced && !pl_fence_is_open(op->gate->fence)))
        pl_gate_refuse_closed(op);
}
