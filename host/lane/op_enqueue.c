/* The I/O thread's half of perilune.enqueue and of channels. */
#include "lane/op_impl.h"

#include "base/alloc.h"
#include "base/nearest.h"
#include "control/key_shards.h"
#include "lane/lane.h"

#include <stdio.h>

static bool keeps(struct pl_lop *op)
{
    char *name = pl_format("%s %.*s %.*s", op->verb, PL_FMT(op->in.enqueue.controller),
                           PL_FMT(op->in.enqueue.key));
    bool kept = pl_lop_keeps(op, name, pl_slice("", 0));
    pl_free(name);
    return kept;
}

static void fail_unknown(struct pl_lop *op)
{
    struct pl_lanes *lanes = op->lane->lanes;
    const char **names = pl_calloc(lanes->controller_count + 1, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < lanes->controller_count; i++)
        if (!lanes->controllers[i].is_task && lanes->controllers[i].controller != NULL)
            names[count++] = lanes->controllers[i].name;
    const char *nearest = pl_nearest(op->in.enqueue.controller, names, count);
    struct pl_err err;
    pl_err_clear(&err);
    pl_err_set(&err, PL_EINVAL, "enqueue: there is no controller \"%.*s\"%s%s%s",
               PL_FMT(op->in.enqueue.controller), nearest != NULL ? "; did you mean \"" : "",
               nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
    pl_free(names);
    pl_lop_fail(op, &err);
}

/* Whether the key is valid for the controller's For kind. Completes the operation if not. */
static bool is_in_scope(struct pl_lop *op, const struct pl_known_controller *known)
{
    struct pl_err err;
    pl_err_clear(&err);
    if (pl_edition_check_key(known->edition, op->verb, op->in.enqueue.key, &err) == 0)
        return true;
    pl_lop_fail(op, &err);
    return false;
}

/* True when another replica owns the key and has to queue it. Then it completes the operation. */
static bool is_foreign(struct pl_lop *op, const struct pl_known_controller *known)
{
    struct pl_err err;
    if (!pl_controller_is_foreign(known->controller, op->in.enqueue.key))
        return false;
    pl_err_clear(&err);
    pl_err_set(&err, PL_EREFUSED,
               "%s to controller \"%s\": the key %.*s is in another replica's shard", op->verb,
               known->name, PL_FMT(op->in.enqueue.key));
    snprintf(err.reason, sizeof err.reason, "shard");
    pl_lop_fail(op, &err);
    return true;
}

static void enqueue_key(struct pl_lop *op)
{
    struct pl_lanes *lanes = op->lane->lanes;
    const struct pl_known_controller *known = NULL;
    for (size_t i = 0; i < lanes->controller_count; i++)
        if (!lanes->controllers[i].is_task &&
            pl_slice_eqz(op->in.enqueue.controller, lanes->controllers[i].name))
            known = &lanes->controllers[i];
    if (known != NULL && !is_in_scope(op, known))
        return;
    if (known != NULL && keeps(op)) {
        pl_lop_complete(op);
        return;
    }
    if (known == NULL || known->controller == NULL) {
        fail_unknown(op);
        return;
    }
    if (is_foreign(op, known))
        return;
    struct pl_add how = {.after_ns = op->delay_ns, .priority = op->in.enqueue.priority};
    pl_controller_enqueue(known->controller, op->in.enqueue.key, &how, PL_CAUSE_REQUEUE);
    pl_lop_complete(op);
}

static bool watches(const struct pl_known_controller *known, struct pl_slice channel)
{
    return known->controller != NULL && pl_controller_watches_channel(known->controller, channel);
}

/* Sends to all watchers of the channel. The Lua half has checked that there are some. */
static void send_to_channel(struct pl_lop *op)
{
    struct pl_lanes *lanes = op->lane->lanes;
    struct pl_slice channel = op->in.enqueue.controller;
    for (size_t i = 0; i < lanes->controller_count; i++)
        if (watches(&lanes->controllers[i], channel) && !is_in_scope(op, &lanes->controllers[i]))
            return;
    if (keeps(op)) {
        pl_lop_complete(op);
        return;
    }
    for (size_t i = 0; i < lanes->controller_count; i++)
        if (watches(&lanes->controllers[i], channel) && is_foreign(op, &lanes->controllers[i]))
            return;
    for (size_t i = 0; i < lanes->controller_count; i++)
        if (watches(&lanes->controllers[i], channel))
            pl_controller_send(lanes->controllers[i].controller, channel.ptr, op->in.enqueue.key);
    pl_lop_complete(op);
}

void pl_lop_start_enqueue(struct pl_lop *op)
{
    if (op->in.enqueue.is_channel)
        send_to_channel(op);
    else
        enqueue_key(op);
}
