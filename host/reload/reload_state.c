/* The table at the end contains all decisions: a row for each state, an answer for each event. An
 * answer has its effects and returns the next state. Answers never call each other through events:
 * events of an effect are queued, so that each answer sees a state at rest. */
#include "reload/reload_state.h"

#include "base/base.h"

typedef enum pl_reload_at (*answer_fn)(struct pl_reload_state *s);

static int64_t reload_state_now(const struct pl_reload_state *s)
{
    return pl_clock_mono(s->clock);
}

static bool is_preparing(const struct pl_reload_state *s)
{
    return s->at >= PL_RELOAD_PREPARE && s->at <= PL_RELOAD_PREPARE_LOOK;
}

/* ---- waiting ---- */

static enum pl_reload_at wait_until(struct pl_reload_state *s, int64_t due_ns)
{
    enum pl_reload_at next = is_preparing(s) ? PL_RELOAD_PREPARE_QUIET : PL_RELOAD_QUIET;
    s->due_ns = due_ns;
    s->ops->wait(s->arg, due_ns);
    return next;
}

static void note_change(struct pl_reload_state *s)
{
    int64_t at = reload_state_now(s);
    if (s->first_ns == 0 || at - s->last_ns >= PL_RELOAD_QUIET_NS)
        s->first_ns = at;
    s->last_ns = at;
}

/* The end of the burst, or the time when it is cut. */
static int64_t burst_end(const struct pl_reload_state *s)
{
    int64_t quiet = reload_state_now(s) + PL_RELOAD_QUIET_NS,
            cut = s->first_ns + PL_RELOAD_BURST_NS;
    return s->first_ns != 0 && cut < quiet ? cut : quiet;
}

static enum pl_reload_at stay(struct pl_reload_state *s)
{
    return s->at;
}

static enum pl_reload_at wait_as_asked(struct pl_reload_state *s)
{
    s->asked = true;
    return wait_until(s, reload_state_now(s));
}

static enum pl_reload_at wait_for_quiet(struct pl_reload_state *s)
{
    note_change(s);
    return wait_until(s, burst_end(s));
}

/* There was a change while it was compared, and the comparison found nothing to do: possibly too
 * early. */
static enum pl_reload_at wait_and_look(struct pl_reload_state *s)
{
    s->first_ns = 0;
    return wait_for_quiet(s);
}

static enum pl_reload_at wait_longer(struct pl_reload_state *s)
{
    bool is_due = s->due_ns <= reload_state_now(s);
    return is_due ? s->at : wait_for_quiet(s);
}

static enum pl_reload_at wait_to_watch(struct pl_reload_state *s)
{
    return s->watches ? wait_until(s, reload_state_now(s) + PL_RELOAD_QUIET_NS) : s->at;
}

/* ---- during an attempt ---- */

static enum pl_reload_at remember_change(struct pl_reload_state *s)
{
    note_change(s);
    s->stirred = true;
    return s->at;
}

static enum pl_reload_at remember_asked(struct pl_reload_state *s)
{
    s->again = true;
    return s->at;
}

/* The comparison began before the change. */
static enum pl_reload_at look_once_more(struct pl_reload_state *s)
{
    s->stale = true;
    return s->at;
}

static enum pl_reload_at look_once_more_as_asked(struct pl_reload_state *s)
{
    s->asked = true;
    return look_once_more(s);
}

/* ---- an attempt's end ---- */

static enum pl_reload_at rest(struct pl_reload_state *s)
{
    s->asked = false;
    s->mixtures = 0;
    s->first_ns = 0;
    return PL_RELOAD_IDLE;
}

/* The running or refused scripts have changed: their files have to be watched. */
static enum pl_reload_at end_attempt(struct pl_reload_state *s)
{
    bool looking = s->at == PL_RELOAD_PREPARE_LOOK;
    s->asked = s->again;
    s->again = false;
    s->mixtures = 0;
    s->stale = true;
    s->at = PL_RELOAD_IDLE;
    if (looking)
        return PL_RELOAD_LOOK;
    if (s->asked)
        return wait_until(s, reload_state_now(s));
    return s->watches ? wait_until(s, reload_state_now(s) + PL_RELOAD_QUIET_NS) : rest(s);
}

static enum pl_reload_at reload_state_refuse(struct pl_reload_state *s)
{
    s->ops->refuse(s->arg);
    return end_attempt(s);
}

static enum pl_reload_at reload_state_apply(struct pl_reload_state *s)
{
    s->ops->apply(s->arg);
    return end_attempt(s);
}

/* Requesters are answered by the attempt that follows. */
static void reload_state_drop(struct pl_reload_state *s)
{
    s->asked = s->asked || s->again;
    s->again = false;
    if (is_preparing(s) || s->at == PL_RELOAD_CHECK)
        s->ops->drop(s->arg);
    s->at = PL_RELOAD_IDLE;
}

static enum pl_reload_at drop_and_look(struct pl_reload_state *s)
{
    reload_state_drop(s);
    return wait_until(s, reload_state_now(s) + PL_RELOAD_QUIET_NS);
}

static enum pl_reload_at drop_and_look_once_more(struct pl_reload_state *s)
{
    reload_state_drop(s);
    s->stale = true;
    return PL_RELOAD_LOOK;
}

/* ---- looking at the disk ---- */

static enum pl_reload_at reload_state_look(struct pl_reload_state *s)
{
    enum pl_reload_at next = is_preparing(s) ? PL_RELOAD_PREPARE_LOOK : PL_RELOAD_LOOK;
    s->stale = s->stirred = false;
    s->ops->look(s->arg);
    return next;
}

static enum pl_reload_at reload_state_settle(struct pl_reload_state *s)
{
    if (s->stale)
        return reload_state_look(s);
    if (s->stirred)
        return wait_and_look(s);
    reload_state_drop(s);
    s->ops->settle(s->arg, s->asked);
    return rest(s);
}

static enum pl_reload_at reload_state_load(struct pl_reload_state *s)
{
    if (s->stale)
        return reload_state_look(s);
    if (s->stirred && burst_end(s) > reload_state_now(s))
        return wait_until(s, burst_end(s));
    reload_state_drop(s);
    if (!s->ops->make_room(s->arg))
        return wait_until(s, reload_state_now(s) + PL_RELOAD_ROOM_NS);
    s->first_ns = 0;
    return s->ops->load(s->arg) ? PL_RELOAD_LOAD : reload_state_refuse(s);
}

static enum pl_reload_at leave_refused(struct pl_reload_state *s)
{
    if (s->stale || s->asked || s->again)
        return reload_state_load(s);
    if (s->stirred)
        return wait_and_look(s);
    reload_state_drop(s);
    return rest(s);
}

static enum pl_reload_at go_on_preparing(struct pl_reload_state *s)
{
    if (s->stale)
        return reload_state_look(s);
    if (s->stirred)
        return wait_and_look(s);
    s->first_ns = 0;
    return PL_RELOAD_PREPARE;
}

/* ---- loaded scripts ---- */

static enum pl_reload_at reload_state_check(struct pl_reload_state *s)
{
    s->stale = false;
    s->ops->check(s->arg);
    return PL_RELOAD_CHECK;
}

static enum pl_reload_at reload_state_judge(struct pl_reload_state *s)
{
    if (s->stale)
        return reload_state_check(s);
    if (!s->ops->judge(s->arg))
        return reload_state_refuse(s);
    s->ops->prepare(s->arg);
    s->at = PL_RELOAD_PREPARE;
    return s->first_ns != 0 ? wait_until(s, burst_end(s)) : s->at;
}

static enum pl_reload_at load_anew(struct pl_reload_state *s)
{
    if (s->stale || s->mixtures >= PL_RELOAD_MIXTURES)
        return reload_state_judge(s);
    s->mixtures++;
    s->asked = true;
    reload_state_drop(s);
    return wait_for_quiet(s);
}

static enum pl_reload_at reload_state_stop(struct pl_reload_state *s)
{
    PL_UNUSED(s);
    return PL_RELOAD_STOPPED;
}

/* ---- the table ---- */

/* clang-format off */
static const answer_fn answers[PL_RELOAD_STATES][PL_RELOAD_EVENTS] = {
    [PL_RELOAD_IDLE] = {
        [PL_RELOAD_ASKED] = wait_as_asked,
        [PL_RELOAD_CHANGED] = wait_for_quiet,
        [PL_RELOAD_READ] = wait_to_watch,
        [PL_RELOAD_BACK] = wait_to_watch,
        [PL_RELOAD_DUE] = stay,
        [PL_RELOAD_IS_RUNNING] = stay,
        [PL_RELOAD_IS_REFUSED] = stay,
        [PL_RELOAD_IS_NEXT] = stay,
        [PL_RELOAD_IS_NEW] = stay,
        [PL_RELOAD_LOADED] = stay,
        [PL_RELOAD_UNMIXED] = stay,
        [PL_RELOAD_MIXED] = stay,
        [PL_RELOAD_PREPARED] = stay,
        [PL_RELOAD_UNPREPARED] = stay,
        [PL_RELOAD_STOP] = reload_state_stop,
    },
    [PL_RELOAD_QUIET] = {
        [PL_RELOAD_ASKED] = wait_as_asked,
        [PL_RELOAD_CHANGED] = wait_longer,
        [PL_RELOAD_READ] = stay,
        [PL_RELOAD_BACK] = stay,
        [PL_RELOAD_DUE] = reload_state_look,
        [PL_RELOAD_IS_RUNNING] = stay,
        [PL_RELOAD_IS_REFUSED] = stay,
        [PL_RELOAD_IS_NEXT] = stay,
        [PL_RELOAD_IS_NEW] = stay,
        [PL_RELOAD_LOADED] = stay,
        [PL_RELOAD_UNMIXED] = stay,
        [PL_RELOAD_MIXED] = stay,
        [PL_RELOAD_PREPARED] = stay,
        [PL_RELOAD_UNPREPARED] = stay,
        [PL_RELOAD_STOP] = reload_state_stop,
    },
    [PL_RELOAD_LOOK] = {
        [PL_RELOAD_ASKED] = look_once_more_as_asked,
        [PL_RELOAD_CHANGED] = remember_change,
        [PL_RELOAD_READ] = look_once_more,
        [PL_RELOAD_BACK] = look_once_more,
        [PL_RELOAD_DUE] = stay,
        [PL_RELOAD_IS_RUNNING] = reload_state_settle,
        [PL_RELOAD_IS_REFUSED] = leave_refused,
        [PL_RELOAD_IS_NEXT] = reload_state_look,
        [PL_RELOAD_IS_NEW] = reload_state_load,
        [PL_RELOAD_LOADED] = stay,
        [PL_RELOAD_UNMIXED] = stay,
        [PL_RELOAD_MIXED] = stay,
        [PL_RELOAD_PREPARED] = stay,
        [PL_RELOAD_UNPREPARED] = stay,
        [PL_RELOAD_STOP] = reload_state_stop,
    },
    [PL_RELOAD_LOAD] = {
        [PL_RELOAD_ASKED] = remember_asked,
        [PL_RELOAD_CHANGED] = remember_change,
        [PL_RELOAD_READ] = stay,
        [PL_RELOAD_BACK] = stay,
        [PL_RELOAD_DUE] = stay,
        [PL_RELOAD_IS_RUNNING] = stay,
        [PL_RELOAD_IS_REFUSED] = stay,
        [PL_RELOAD_IS_NEXT] = stay,
        [PL_RELOAD_IS_NEW] = stay,
        [PL_RELOAD_LOADED] = reload_state_check,
        [PL_RELOAD_UNMIXED] = stay,
        [PL_RELOAD_MIXED] = stay,
        [PL_RELOAD_PREPARED] = stay,
        [PL_RELOAD_UNPREPARED] = stay,
        [PL_RELOAD_STOP] = reload_state_stop,
    },
    [PL_RELOAD_CHECK] = {
        [PL_RELOAD_ASKED] = remember_asked,
        [PL_RELOAD_CHANGED] = remember_change,
        [PL_RELOAD_READ] = stay,
        [PL_RELOAD_BACK] = look_once_more,
        [PL_RELOAD_DUE] = stay,
        [PL_RELOAD_IS_RUNNING] = stay,
        [PL_RELOAD_IS_REFUSED] = stay,
        [PL_RELOAD_IS_NEXT] = stay,
        [PL_RELOAD_IS_NEW] = stay,
        [PL_RELOAD_LOADED] = stay,
        [PL_RELOAD_UNMIXED] = reload_state_judge,
        [PL_RELOAD_MIXED] = load_anew,
        [PL_RELOAD_PREPARED] = stay,
        [PL_RELOAD_UNPREPARED] = stay,
        [PL_RELOAD_STOP] = reload_state_stop,
    },
    [PL_RELOAD_PREPARE] = {
        [PL_RELOAD_ASKED] = wait_as_asked,
        [PL_RELOAD_CHANGED] = wait_for_quiet,
        [PL_RELOAD_READ] = wait_to_watch,
        [PL_RELOAD_BACK] = drop_and_look,
        [PL_RELOAD_DUE] = stay,
        [PL_RELOAD_IS_RUNNING] = stay,
        [PL_RELOAD_IS_REFUSED] = stay,
        [PL_RELOAD_IS_NEXT] = stay,
        [PL_RELOAD_IS_NEW] = stay,
        [PL_RELOAD_LOADED] = stay,
        [PL_RELOAD_UNMIXED] = stay,
        [PL_RELOAD_MIXED] = stay,
        [PL_RELOAD_PREPARED] = reload_state_apply,
        [PL_RELOAD_UNPREPARED] = reload_state_refuse,
        [PL_RELOAD_STOP] = reload_state_stop,
    },
    [PL_RELOAD_PREPARE_QUIET] = {
        [PL_RELOAD_ASKED] = wait_as_asked,
        [PL_RELOAD_CHANGED] = wait_longer,
        [PL_RELOAD_READ] = stay,
        [PL_RELOAD_BACK] = drop_and_look,
        [PL_RELOAD_DUE] = reload_state_look,
        [PL_RELOAD_IS_RUNNING] = stay,
        [PL_RELOAD_IS_REFUSED] = stay,
        [PL_RELOAD_IS_NEXT] = stay,
        [PL_RELOAD_IS_NEW] = stay,
        [PL_RELOAD_LOADED] = stay,
        [PL_RELOAD_UNMIXED] = stay,
        [PL_RELOAD_MIXED] = stay,
        [PL_RELOAD_PREPARED] = reload_state_apply,
        [PL_RELOAD_UNPREPARED] = reload_state_refuse,
        [PL_RELOAD_STOP] = reload_state_stop,
    },
    [PL_RELOAD_PREPARE_LOOK] = {
        [PL_RELOAD_ASKED] = look_once_more_as_asked,
        [PL_RELOAD_CHANGED] = remember_change,
        [PL_RELOAD_READ] = look_once_more,
        [PL_RELOAD_BACK] = drop_and_look_once_more,
        [PL_RELOAD_DUE] = stay,
        [PL_RELOAD_IS_RUNNING] = reload_state_settle,
        [PL_RELOAD_IS_REFUSED] = leave_refused,
        [PL_RELOAD_IS_NEXT] = go_on_preparing,
        [PL_RELOAD_IS_NEW] = reload_state_load,
        [PL_RELOAD_LOADED] = stay,
        [PL_RELOAD_UNMIXED] = stay,
        [PL_RELOAD_MIXED] = stay,
        [PL_RELOAD_PREPARED] = reload_state_apply,
        [PL_RELOAD_UNPREPARED] = reload_state_refuse,
        [PL_RELOAD_STOP] = reload_state_stop,
    },
    [PL_RELOAD_STOPPED] = {
        [PL_RELOAD_ASKED] = stay,
        [PL_RELOAD_CHANGED] = stay,
        [PL_RELOAD_READ] = stay,
        [PL_RELOAD_BACK] = stay,
        [PL_RELOAD_DUE] = stay,
        [PL_RELOAD_IS_RUNNING] = stay,
        [PL_RELOAD_IS_REFUSED] = stay,
        [PL_RELOAD_IS_NEXT] = stay,
        [PL_RELOAD_IS_NEW] = stay,
        [PL_RELOAD_LOADED] = stay,
        [PL_RELOAD_UNMIXED] = stay,
        [PL_RELOAD_MIXED] = stay,
        [PL_RELOAD_PREPARED] = stay,
        [PL_RELOAD_UNPREPARED] = stay,
        [PL_RELOAD_STOP] = stay,
    },
};
/* clang-format on */

void pl_reload_state_init(struct pl_reload_state *state, const struct pl_reload_ops *ops, void *arg,
                          const struct pl_clock *clock, bool watches)
{
    *state = (struct pl_reload_state){.ops = ops, .arg = arg, .clock = clock, .watches = watches};
}

void pl_reload_state_tell(struct pl_reload_state *state, enum pl_reload_event event)
{
    int next;
    if (!pl_event_queue_add(&state->events, (int)event))
        return;
    while ((next = pl_event_queue_next(&state->events)) >= 0)
        state->at = answers[state->at][next](state);
}
