/* The delay before a key is tried again (rules 96-98): exponential, fast then slow, a token bucket,
 * the longest of several, and a maximum for any of them.
 *
 * It never reads a clock and never sleeps: the caller passes the time and waits. Each call has an
 * effect: it records a failure and takes a token, even if another limiter decides. Sums that could
 * overflow are cut at the maximum first. Failure counts are kept for each key until it is
 * forgotten. */
#include "store/ratelimit.h"

#include "base/alloc.h"
#include "base/base.h"
#include "base/check.h"
#include "base/map.h"

enum limit_type { EXPONENTIAL, FAST_SLOW, BUCKET, MAX_OF, MAX_WAIT };

struct pl_ratelimit {
    enum limit_type type;
    int64_t first_ns; /* base, fast */
    int64_t limit_ns; /* max, slow, max wait */
    int max_fast;
    struct pl_map failures; /* per-key limits: key -> count, kept in the pointer itself */
    double qps, burst;
    double tokens; /* below zero: reserved by calls that are still waiting */
    int64_t filled_ns;
    struct pl_ratelimit **inner; /* owned */
    size_t inner_count;
};

static struct pl_ratelimit *ratelimit_create(enum limit_type type, int64_t first_ns,
                                             int64_t limit_ns)
{
    struct pl_ratelimit *limit = PL_NEW(struct pl_ratelimit);
    limit->type = type;
    limit->first_ns = first_ns;
    limit->limit_ns = limit_ns;
    return limit;
}

struct pl_ratelimit *pl_ratelimit_exponential(int64_t base_ns, int64_t max_ns)
{
    return ratelimit_create(EXPONENTIAL, base_ns, max_ns);
}

struct pl_ratelimit *pl_ratelimit_fast_slow(int64_t fast_ns, int64_t slow_ns, int max_fast)
{
    struct pl_ratelimit *limit = ratelimit_create(FAST_SLOW, fast_ns, slow_ns);
    limit->max_fast = max_fast;
    return limit;
}

struct pl_ratelimit *pl_ratelimit_bucket(double qps, int burst)
{
    struct pl_ratelimit *limit = ratelimit_create(BUCKET, 0, 0);
    limit->qps = qps;
    limit->burst = limit->tokens = burst;
    limit->filled_ns = INT64_MIN;
    return limit;
}

struct pl_ratelimit *pl_ratelimit_max_of(struct pl_ratelimit *const *limits, size_t count)
{
    struct pl_ratelimit *limit = ratelimit_create(MAX_OF, 0, 0);
    limit->inner = pl_calloc(count, sizeof(struct pl_ratelimit *));
    limit->inner_count = count;
    for (size_t i = 0; i < count; i++)
        limit->inner[i] = limits[i];
    return limit;
}

struct pl_ratelimit *pl_ratelimit_max_wait(struct pl_ratelimit *inner, int64_t max_ns)
{
    struct pl_ratelimit *limit = pl_ratelimit_max_of(&inner, 1);
    limit->type = MAX_WAIT;
    limit->limit_ns = max_ns;
    return limit;
}

void pl_ratelimit_destroy(struct pl_ratelimit *limit)
{
    if (limit == NULL)
        return;
    for (size_t i = 0; i < limit->inner_count; i++)
        pl_ratelimit_destroy(limit->inner[i]);
    pl_free(limit->inner);
    pl_map_deinit(&limit->failures);
    pl_free(limit);
}

static intptr_t failures_of(const struct pl_ratelimit *limit, struct pl_slice key)
{
    return (intptr_t)pl_map_get(&limit->failures, key);
}

/* Counts one failure and returns the number of earlier ones. */
static intptr_t count_failure(struct pl_ratelimit *limit, struct pl_slice key)
{
    intptr_t before = failures_of(limit, key);
    if (before < INT32_MAX)
        pl_map_put(&limit->failures, key, (void *)(before + 1));
    return before;
}

/* A value that does not fit 63 bits is over any maximum (rule 96). */
static int64_t exponential_when(struct pl_ratelimit *limit, struct pl_slice key)
{
    intptr_t before = count_failure(limit, key);
    if (limit->first_ns <= 0)
        return 0; /* zero stays zero when doubled */
    if (limit->first_ns > limit->limit_ns || before >= 63 || limit->first_ns > INT64_MAX >> before)
        return limit->limit_ns;
    int64_t delay = limit->first_ns << before;
    return delay < limit->limit_ns ? delay : limit->limit_ns;
}

/* Takes a token even if there is none; the caller waits for the debt (rule 97). */
static int64_t bucket_when(struct pl_ratelimit *limit, int64_t now_ns)
{
    if (limit->burst < 1)
        return INT64_MAX;
    if (limit->filled_ns != INT64_MIN && now_ns > limit->filled_ns)
        limit->tokens += (double)(now_ns - limit->filled_ns) / (double)PL_SECOND * limit->qps;
    if (limit->tokens > limit->burst)
        limit->tokens = limit->burst;
    if (now_ns > limit->filled_ns)
        limit->filled_ns = now_ns;
    if (limit->tokens < 1 && limit->qps <= 0)
        return INT64_MAX;
    limit->tokens -= 1;
    if (limit->tokens >= 0)
        return 0;
    double wait = -limit->tokens / limit->qps * (double)PL_SECOND;
    return wait < 9e18 ? (int64_t)wait : INT64_MAX;
}

/* Each limiter is asked, even if another decides (rule 98). */
static int64_t longest_when(struct pl_ratelimit *limit, struct pl_slice key, int64_t now_ns)
{
    int64_t longest = 0;
    for (size_t i = 0; i < limit->inner_count; i++) {
        int64_t delay = pl_ratelimit_when(limit->inner[i], key, now_ns);
        if (delay > longest)
            longest = delay;
    }
    return longest;
}

int64_t pl_ratelimit_when(struct pl_ratelimit *limit, struct pl_slice key, int64_t now_ns)
{
    int64_t delay;
    switch (limit->type) {
    case EXPONENTIAL:
        return exponential_when(limit, key);
    case FAST_SLOW:
        return count_failure(limit, key) < limit->max_fast ? limit->first_ns : limit->limit_ns;
    case BUCKET:
        return bucket_when(limit, now_ns);
    case MAX_OF:
        return longest_when(limit, key, now_ns);
    case MAX_WAIT:
        delay = longest_when(limit, key, now_ns);
        return delay < limit->limit_ns ? delay : limit->limit_ns;
    }
    PL_UNREACHABLE();
}

void pl_ratelimit_forget(struct pl_ratelimit *limit, struct pl_slice key)
{
    pl_map_remove(&limit->failures, key);
    for (size_t i = 0; i < limit->inner_count; i++)
        pl_ratelimit_forget(limit->inner[i], key);
}

int pl_ratelimit_requeues(struct pl_ratelimit *limit, struct pl_slice key)
{
    int most = (int)failures_of(limit, key);
    for (size_t i = 0; i < limit->inner_count; i++) {
        int count = pl_ratelimit_requeues(limit->inner[i], key);
        if (count > most)
            most = count;
    }
    return most;
}

static void raise_count(struct pl_ratelimit *to, struct pl_slice key, intptr_t count)
{
    bool counts = to->type == EXPONENTIAL || to->type == FAST_SLOW;
    if (counts && failures_of(to, key) < count)
        pl_map_put(&to->failures, key, (void *)count);
    for (size_t i = 0; i < to->inner_count; i++)
        raise_count(to->inner[i], key, count);
}

void pl_ratelimit_copy_counts(struct pl_ratelimit *to, const struct pl_ratelimit *from)
{
    size_t at = 0;
    struct pl_slice key;
    void *count;
    while (pl_map_next(&from->failures, &at, &key, &count))
        raise_count(to, key, (intptr_t)count);
    for (size_t i = 0; i < from->inner_count; i++)
        pl_ratelimit_copy_counts(to, from->inner[i]);
}
