#include "driver.h"

#include "base/alloc.h"
#include "base/check.h"
#include "store/ratelimit.h"

static bool is_type(struct pl_node node, const char *type)
{
    return pl_node_str_eq(pl_node_getz(node, "type"), pl_slice_z(type));
}

static struct pl_ratelimit *max_of(struct pl_node list)
{
    size_t count = pl_node_len(list);
    struct pl_ratelimit **limits = pl_calloc(count, sizeof(struct pl_ratelimit *));
    for (size_t i = 0; i < count; i++)
        limits[i] = limiter_of(pl_node_at(list, i));
    struct pl_ratelimit *limit = pl_ratelimit_max_of(limits, count);
    pl_free(limits);
    return limit;
}

struct pl_ratelimit *limiter_of(struct pl_node node)
{
    int64_t max = duration_of(pl_node_getz(node, "max"), 0);
    if (is_type(node, "itemExponential"))
        return pl_ratelimit_exponential(duration_of(pl_node_getz(node, "base"), 0), max);
    if (is_type(node, "itemFastSlow"))
        return pl_ratelimit_fast_slow(duration_of(pl_node_getz(node, "fast"), 0),
                                      duration_of(pl_node_getz(node, "slow"), 0),
                                      (int)int_of(pl_node_getz(node, "maxFast"), 0));
    if (is_type(node, "bucket"))
        return pl_ratelimit_bucket(pl_node_double(pl_node_getz(node, "qps")),
                                   (int)int_of(pl_node_getz(node, "burst"), 0));
    if (is_type(node, "maxOf"))
        return max_of(pl_node_getz(node, "limiters"));
    if (is_type(node, "maxWait"))
        return pl_ratelimit_max_wait(limiter_of(pl_node_getz(node, "limiter")), max);
    if (is_type(node, "default"))
        return pl_ratelimit_max_of(
            (struct pl_ratelimit *const[]){pl_ratelimit_exponential(5 * PL_MS, 1000 * PL_SECOND),
                                           pl_ratelimit_bucket(10, 100)},
            2);
    if (is_type(node, "defaultItem"))
        return pl_ratelimit_exponential(PL_MS, 1000 * PL_SECOND);
    PL_UNREACHABLE();
}

struct limiter {
    struct clock *clock;
    struct pl_ratelimit *limit;
};

static void *limiter_create(struct clock *clock, struct pl_node options, const char **skip)
{
    PL_UNUSED(skip);
    struct limiter *self = PL_NEW(struct limiter);
    self->clock = clock;
    self->limit = limiter_of(pl_node_getz(options, "limiter"));
    return self;
}

static void put_delay(struct pl_build *out, int64_t delay)
{
    if (delay == INT64_MAX)
        pl_build_strz(out, "inf");
    else
        pl_build_int(out, delay);
}

static int64_t ask(struct limiter *self, struct pl_node item)
{
    struct pl_scratch room;
    return pl_ratelimit_when(self->limit, pl_node_str(item, &room), self->clock->now_ns);
}

static void when(struct limiter *self, struct pl_node step, struct pl_build *out)
{
    int64_t delay = 0;
    for (int64_t i = int_of(pl_node_getz(step, "times"), 1); i > 0; i--)
        delay = ask(self, pl_node_getz(step, "item"));
    put_delay(out, delay);
}

static void when_many(struct limiter *self, struct pl_node items, struct pl_build *out)
{
    pl_build_array(out);
    for (size_t i = 0; i < pl_node_len(items); i++)
        put_delay(out, ask(self, pl_node_at(items, i)));
    pl_build_end(out);
}

static void limiter_step(void *arg, struct pl_slice op, struct pl_node step, struct pl_build *out)
{
    struct limiter *self = arg;
    struct pl_scratch room;
    struct pl_slice item = pl_node_str(pl_node_getz(step, "item"), &room);
    if (pl_slice_eqz(op, "when")) {
        when(self, step, out);
    } else if (pl_slice_eqz(op, "whenMany")) {
        when_many(self, pl_node_getz(step, "items"), out);
    } else if (pl_slice_eqz(op, "forget")) {
        pl_ratelimit_forget(self->limit, item);
        pl_build_null(out);
    } else {
        pl_build_int(out, pl_ratelimit_requeues(self->limit, item));
    }
}

static void limiter_destroy(void *arg)
{
    struct limiter *self = arg;
    pl_ratelimit_destroy(self->limit);
    pl_free(self);
}

const struct component ratelimiter_component = {
    .name = "ratelimiter",
    .create = limiter_create,
    .step = limiter_step,
    .destroy = limiter_destroy,
};
