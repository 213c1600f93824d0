#include "sync/backoff.h"

#include "base/base.h"

void pl_backoff_init(struct pl_backoff *backoff, int64_t now_ns)
{
    pl_backoff_init_with(backoff, 800 * PL_MS, 30 * PL_SECOND, 120 * PL_SECOND, now_ns);
}

void pl_backoff_init_with(struct pl_backoff *backoff, int64_t base_ns, int64_t cap_ns,
                          int64_t reset_after_ns, int64_t now_ns)
{
    *backoff = (struct pl_backoff){base_ns, cap_ns, reset_after_ns, base_ns, now_ns};
}

int64_t pl_backoff_next(struct pl_backoff *backoff, int64_t now_ns, struct pl_rand *rand)
{
    if (now_ns - backoff->reset_at_ns > backoff->reset_after_ns) {
        backoff->step_ns = backoff->base_ns;
        backoff->reset_at_ns = now_ns;
    }
    int64_t delay = backoff->step_ns;
    backoff->step_ns = delay > backoff->cap_ns / 2 ? backoff->cap_ns : delay * 2;
    return delay + (int64_t)((double)delay * pl_rand_unit(rand));
}
