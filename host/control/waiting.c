/* A wait begins with the first run with that result and keeps its age while later runs have the
 * same result. It ends with the next run with another result, with the object, or with the
 * controller. */
#include "control/waiting.h"

#include "control/controller_impl.h"

#include "base/alloc.h"

struct waiting {
    struct pl_wait wait;
    int64_t since_ns;
    char *owner;  /* "controller key"; owned */
    char *reason; /* owned */
};

static void free_waiting(struct waiting *waiting)
{
    pl_wait_end(&waiting->wait);
    pl_free(waiting->owner);
    pl_free(waiting->reason);
    pl_free(waiting);
}

static struct waiting *waiting_begin(struct pl_controller *c, struct pl_slice key)
{
    struct waiting *waiting = PL_NEW(struct waiting);
    waiting->since_ns = pl_controller_now(c);
    waiting->owner = pl_format("%s %.*s", c->name, PL_FMT(key));
    pl_map_put(&c->waiting, key, waiting);
    return waiting;
}

/* The age stays; the reason is the last run's. */
static void waits(struct pl_controller *c, struct pl_slice key, const char *reason)
{
    struct waiting *waiting = pl_map_get(&c->waiting, key);
    if (waiting == NULL)
        waiting = waiting_begin(c, key);
    char *before = waiting->reason;
    waiting->reason = pl_strdup(reason != NULL ? reason : "");
    if (pl_wait_is_waiting(&waiting->wait))
        waiting->wait.no_deadline = waiting->reason;
    else if (pl_site_waits(c->site) != NULL)
        pl_wait_begin_open(pl_site_waits(c->site), &waiting->wait, "waiting", waiting->owner,
                           waiting->reason);
    pl_free(before);
}

void pl_controller_note_waiting(struct pl_controller *c, struct pl_slice key,
                                const struct pl_outcome_of_run *outcome)
{
    switch (outcome->outcome) {
    case PL_OUTCOME_WAITING:
        waits(c, key, outcome->message);
        break;
    case PL_OUTCOME_DONE:
    case PL_OUTCOME_REQUEUE_AFTER:
    case PL_OUTCOME_REQUEUE:
    case PL_OUTCOME_TERMINAL:
        pl_controller_waits_no_more(c, key);
        break;
    case PL_OUTCOME_ERROR:
    case PL_OUTCOME_CONFLICT:
    case PL_OUTCOME_TIMEOUT:
    case PL_OUTCOME_CANCELED:
        break;
    }
}

void pl_controller_waits_no_more(struct pl_controller *c, struct pl_slice key)
{
    struct waiting *waiting = pl_map_remove(&c->waiting, key);
    if (waiting != NULL)
        free_waiting(waiting);
}

const char *pl_controller_waits_for(const struct pl_controller *c, struct pl_slice key,
                                    int64_t *since_ns)
{
    const struct waiting *waiting = pl_map_get(&c->waiting, key);
    if (waiting == NULL)
        return NULL;
    *since_ns = waiting->since_ns;
    return waiting->reason;
}

void pl_controller_free_waiting(struct pl_controller *c)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&c->waiting, &at, &key, &value))
        free_waiting(value);
    pl_map_deinit(&c->waiting);
}
