/* The table at the end contains all decisions: a row for each state, an answer for each event. An
 * answer has its effects and returns the next state. */
#include "reload/shadow_state.h"

#include "base/base.h"

typedef enum pl_shadow_at (*answer_fn)(struct pl_shadow_state *s);

static int64_t shadow_state_now(const struct pl_shadow_state *s)
{
    return pl_clock_mono(s->clock);
}

static enum pl_shadow_at stay(struct pl_shadow_state *s)
{
    return s->at;
}

/* ---- beginning ---- */

static enum pl_shadow_at shadow_state_begin(struct pl_shadow_state *s)
{
    PL_UNUSED(s);
    return PL_SHADOW_LOADING;
}

static enum pl_shadow_at shadow_state_prepare(struct pl_shadow_state *s)
{
    s->ops->prepare(s->arg);
    return PL_SHADOW_PREPARING;
}

/* Runs that end at once are compared at once. */
static enum pl_shadow_at shadow_state_run(struct pl_shadow_state *s)
{
    s->at = PL_SHADOW_RUNNING;
    s->ops->run(s->arg);
    return s->at;
}

/* ---- ending ---- */

static enum pl_shadow_at shadow_state_end(struct pl_shadow_state *s, enum pl_shadow_why why)
{
    s->ops->end(s->arg, why, s->at == PL_SHADOW_RUNNING);
    s->ops->limit(s->arg, shadow_state_now(s) + PL_SHADOW_TELL_NS);
    if (s->at == PL_SHADOW_LOADING && why != PL_SHADOW_REFUSED)
        return PL_SHADOW_ENDING_LOAD;
    s->ops->poll(s->arg, shadow_state_now(s));
    return PL_SHADOW_ENDING;
}

static enum pl_shadow_at shadow_state_refuse(struct pl_shadow_state *s)
{
    return shadow_state_end(s, PL_SHADOW_REFUSED);
}

static enum pl_shadow_at abandon(struct pl_shadow_state *s)
{
    return shadow_state_end(s, PL_SHADOW_ABORTED);
}

static enum pl_shadow_at finish_early(struct pl_shadow_state *s)
{
    return shadow_state_end(s, PL_SHADOW_TOO_EARLY);
}

static enum pl_shadow_at shadow_state_finish(struct pl_shadow_state *s)
{
    return shadow_state_end(s, PL_SHADOW_FINISHED);
}

static enum pl_shadow_at finish_in_time(struct pl_shadow_state *s)
{
    return shadow_state_end(s, PL_SHADOW_DURATION);
}

static enum pl_shadow_at finish_with_enough(struct pl_shadow_state *s)
{
    return shadow_state_end(s, PL_SHADOW_KEYS);
}

static enum pl_shadow_at await_runs(struct pl_shadow_state *s)
{
    s->ops->poll(s->arg, shadow_state_now(s));
    return PL_SHADOW_ENDING;
}

static enum pl_shadow_at close_when_quiet(struct pl_shadow_state *s)
{
    if (s->ops->is_quiet(s->arg)) {
        s->ops->close(s->arg);
        return PL_SHADOW_CLOSING;
    }
    s->ops->poll(s->arg, shadow_state_now(s) + PL_SHADOW_QUIET_NS);
    return s->at;
}

static enum pl_shadow_at shadow_state_tell(struct pl_shadow_state *s)
{
    s->ops->tell(s->arg);
    return s->at;
}

static enum pl_shadow_at shadow_state_reset(struct pl_shadow_state *s)
{
    s->at = PL_SHADOW_NONE;
    s->ops->reset(s->arg);
    return s->at;
}

/* ---- the table ---- */

/* clang-format off */
static const answer_fn answers[PL_SHADOW_STATES][PL_SHADOW_EVENTS] = {
    [PL_SHADOW_NONE] = {
        [PL_SHADOW_BEGUN] = shadow_state_begin,
        [PL_SHADOW_LOADED] = stay,
        [PL_SHADOW_UNLOADED] = stay,
        [PL_SHADOW_PREPARED] = stay,
        [PL_SHADOW_UNPREPARED] = stay,
        [PL_SHADOW_LIMIT] = stay,
        [PL_SHADOW_POLL] = stay,
        [PL_SHADOW_FINISH] = stay,
        [PL_SHADOW_ABORT] = stay,
        [PL_SHADOW_CLOSED] = stay,
    },
    [PL_SHADOW_LOADING] = {
        [PL_SHADOW_BEGUN] = stay,
        [PL_SHADOW_LOADED] = shadow_state_prepare,
        [PL_SHADOW_UNLOADED] = shadow_state_refuse,
        [PL_SHADOW_PREPARED] = stay,
        [PL_SHADOW_UNPREPARED] = stay,
        [PL_SHADOW_LIMIT] = stay,
        [PL_SHADOW_POLL] = stay,
        [PL_SHADOW_FINISH] = finish_early,
        [PL_SHADOW_ABORT] = abandon,
        [PL_SHADOW_CLOSED] = stay,
    },
    [PL_SHADOW_PREPARING] = {
        [PL_SHADOW_BEGUN] = stay,
        [PL_SHADOW_LOADED] = stay,
        [PL_SHADOW_UNLOADED] = stay,
        [PL_SHADOW_PREPARED] = shadow_state_run,
        [PL_SHADOW_UNPREPARED] = shadow_state_refuse,
        [PL_SHADOW_LIMIT] = stay,
        [PL_SHADOW_POLL] = stay,
        [PL_SHADOW_FINISH] = finish_early,
        [PL_SHADOW_ABORT] = abandon,
        [PL_SHADOW_CLOSED] = stay,
    },
    [PL_SHADOW_RUNNING] = {
        [PL_SHADOW_BEGUN] = stay,
        [PL_SHADOW_LOADED] = stay,
        [PL_SHADOW_UNLOADED] = stay,
        [PL_SHADOW_PREPARED] = stay,
        [PL_SHADOW_UNPREPARED] = stay,
        [PL_SHADOW_LIMIT] = finish_in_time,
        [PL_SHADOW_POLL] = finish_with_enough,
        [PL_SHADOW_FINISH] = shadow_state_finish,
        [PL_SHADOW_ABORT] = abandon,
        [PL_SHADOW_CLOSED] = stay,
    },
    [PL_SHADOW_ENDING_LOAD] = {
        [PL_SHADOW_BEGUN] = stay,
        [PL_SHADOW_LOADED] = await_runs,
        [PL_SHADOW_UNLOADED] = await_runs,
        [PL_SHADOW_PREPARED] = stay,
        [PL_SHADOW_UNPREPARED] = stay,
        [PL_SHADOW_LIMIT] = shadow_state_tell,
        [PL_SHADOW_POLL] = stay,
        [PL_SHADOW_FINISH] = stay,
        [PL_SHADOW_ABORT] = stay,
        [PL_SHADOW_CLOSED] = stay,
    },
    [PL_SHADOW_ENDING] = {
        [PL_SHADOW_BEGUN] = stay,
        [PL_SHADOW_LOADED] = stay,
        [PL_SHADOW_UNLOADED] = stay,
        [PL_SHADOW_PREPARED] = stay,
        [PL_SHADOW_UNPREPARED] = stay,
        [PL_SHADOW_LIMIT] = shadow_state_tell,
        [PL_SHADOW_POLL] = close_when_quiet,
        [PL_SHADOW_FINISH] = stay,
        [PL_SHADOW_ABORT] = stay,
        [PL_SHADOW_CLOSED] = stay,
    },
    [PL_SHADOW_CLOSING] = {
        [PL_SHADOW_BEGUN] = stay,
        [PL_SHADOW_LOADED] = stay,
        [PL_SHADOW_UNLOADED] = stay,
        [PL_SHADOW_PREPARED] = stay,
        [PL_SHADOW_UNPREPARED] = stay,
        [PL_SHADOW_LIMIT] = shadow_state_tell,
        [PL_SHADOW_POLL] = stay,
        [PL_SHADOW_FINISH] = stay,
        [PL_SHADOW_ABORT] = stay,
        [PL_SHADOW_CLOSED] = shadow_state_reset,
    },
};
/* clang-format on */

void pl_shadow_state_init(struct pl_shadow_state *state, const struct pl_shadow_ops *ops, void *arg,
                          const struct pl_clock *clock)
{
    *state = (struct pl_shadow_state){.ops = ops, .arg = arg, .clock = clock};
}

void pl_shadow_state_tell(struct pl_shadow_state *state, enum pl_shadow_event event)
{
    int next;
    if (!pl_event_queue_add(&state->events, (int)event))
        return;
    while ((next = pl_event_queue_next(&state->events)) >= 0)
        state->at = answers[state->at][next](state);
}

bool pl_shadow_state_is_on(const struct pl_shadow_state *state)
{
    return state->at >= PL_SHADOW_LOADING && state->at <= PL_SHADOW_RUNNING;
}
