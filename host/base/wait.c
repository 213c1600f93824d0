/* The registry of waits: a list in the order of beginning. A wait is embedded in its owner, and its
 * texts are borrowed, so it must end before the owner or the texts are freed. Beginning a wait
 * again ends it first. The registry only describes waits: it ends none and has no timer. */
#include "base/wait.h"

#include "base/base.h"

void pl_waits_init(struct pl_waits *waits, const struct pl_clock *clock)
{
    pl_list_init(&waits->list);
    waits->count = 0;
    waits->clock = clock;
}

void pl_waits_deinit(struct pl_waits *waits)
{
    struct pl_link *link;
    while ((link = pl_list_first(&waits->list)) != NULL)
        pl_wait_end(PL_CONTAINER_OF(link, struct pl_wait, link));
}

static void wait_begin(struct pl_waits *waits, struct pl_wait *wait, const char *name,
                       const char *owner)
{
    pl_wait_end(wait);
    wait->waits = waits;
    wait->name = name;
    wait->owner = owner;
    wait->since_ns = pl_clock_mono(waits->clock);
    wait->deadline_ns = 0;
    wait->no_deadline = NULL;
    pl_list_push(&waits->list,
                 &wait->link); /* time never runs backwards, so the list stays in order */
    waits->count++;
}

static int64_t in_future(const struct pl_waits *waits, int64_t timeout_ns)
{
    int64_t at;
    if (__builtin_add_overflow(pl_clock_mono(waits->clock), timeout_ns, &at))
        return INT64_MAX;
    return at;
}

void pl_wait_begin(struct pl_waits *waits, struct pl_wait *wait, const char *name,
                   const char *owner, int64_t timeout_ns)
{
    wait_begin(waits, wait, name, owner);
    wait->deadline_ns = in_future(waits, timeout_ns);
}

void pl_wait_begin_open(struct pl_waits *waits, struct pl_wait *wait, const char *name,
                        const char *owner, const char *no_deadline)
{
    wait_begin(waits, wait, name, owner);
    wait->no_deadline = no_deadline;
}

void pl_wait_extend(struct pl_wait *wait, int64_t timeout_ns)
{
    if (wait->waits == NULL)
        return;
    wait->deadline_ns = in_future(wait->waits, timeout_ns);
    wait->no_deadline = NULL;
}

void pl_wait_end(struct pl_wait *wait)
{
    if (wait->waits == NULL)
        return;
    pl_link_unlink(&wait->link);
    wait->waits->count--;
    wait->waits = NULL;
}

bool pl_wait_is_overdue(const struct pl_wait *wait)
{
    return wait->waits != NULL && wait->no_deadline == NULL &&
           pl_clock_mono(wait->waits->clock) > wait->deadline_ns;
}

int64_t pl_wait_age_ns(const struct pl_wait *wait)
{
    return wait->waits != NULL ? pl_clock_mono(wait->waits->clock) - wait->since_ns : 0;
}

static double wait_seconds(int64_t ns)
{
    int64_t tenths = ns / (100 * PL_MS);
    return (double)tenths / 10;
}

void pl_wait_describe(const struct pl_wait *wait, struct pl_buf *out)
{
    pl_buf_add_f(out, "%s of %s: for %.10g s", wait->name, wait->owner,
                 wait_seconds(pl_wait_age_ns(wait)));
    if (wait->no_deadline != NULL)
        pl_buf_add_f(out, ", without a deadline: %s", wait->no_deadline);
    else
        pl_buf_add_f(out, ", at most %.10g s%s", wait_seconds(wait->deadline_ns - wait->since_ns),
                     pl_wait_is_overdue(wait) ? " (overdue)" : "");
}

const struct pl_wait *pl_waits_next(const struct pl_waits *waits, const struct pl_wait *after)
{
    const struct pl_link *next = after != NULL ? after->link.next : waits->list.head.next;
    return next != &waits->list.head ? PL_CONTAINER_OF(next, struct pl_wait, link) : NULL;
}
