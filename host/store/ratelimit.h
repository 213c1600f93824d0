/* The delay before a key is tried again (rules 96-98). I/O thread; time is passed in. The caller
 * owns a limiter that a function returns, until it is given to a queue or to another limiter. */
#pragma once

#include "base/slice.h"

#include <stdint.h>

struct pl_ratelimit;

/* base x 2^failures, at most max; a base of 0 never delays. */
struct pl_ratelimit *pl_ratelimit_exponential(int64_t base_ns, int64_t max_ns);
/* fast for the first max_fast failures, then slow. */
struct pl_ratelimit *pl_ratelimit_fast_slow(int64_t fast_ns, int64_t slow_ns, int max_fast);
/* One bucket for all keys, full at first; each call reserves a token. */
struct pl_ratelimit *pl_ratelimit_bucket(double qps, int burst);
/* The longest delay of several limiters; each is asked every time. Takes the limiters. */
struct pl_ratelimit *pl_ratelimit_max_of(struct pl_ratelimit *const *limits, size_t count);
/* The delay of inner, at most max. Takes inner. */
struct pl_ratelimit *pl_ratelimit_max_wait(struct pl_ratelimit *inner, int64_t max_ns);
void pl_ratelimit_destroy(struct pl_ratelimit *limit);

/* The delay for one more failure of key. */
int64_t pl_ratelimit_when(struct pl_ratelimit *limit, struct pl_slice key, int64_t now_ns);
void pl_ratelimit_forget(struct pl_ratelimit *limit, struct pl_slice key);
int pl_ratelimit_requeues(struct pl_ratelimit *limit, struct pl_slice key);
/* For state that a new limiter takes over (a reload): copies the counts. */
void pl_ratelimit_copy_counts(struct pl_ratelimit *to, const struct pl_ratelimit *from);
