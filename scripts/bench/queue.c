/* Times the workqueue with keys as controllers have them; see scripts/bench/queue. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/rand.h"
#include "store/workqueue.h"

#include <stdio.h>

enum { KEYS = 10000, ROUNDS = 300, DELAYED = 1000000 };

static char keys[KEYS][40];
static struct pl_slice slices[KEYS];
static const struct pl_add at_once;

static int64_t clock_ns(void)
{
    return pl_clock_mono(pl_clock_system());
}

static void report(const char *what, int64_t since, double count)
{
    printf("%-46s %7.1f ns a key\n", what, (double)(clock_ns() - since) / count);
}

static struct pl_workqueue *create(void)
{
    return pl_workqueue_create(&(struct pl_workqueue_options){0});
}

static void one_at_a_time(struct pl_workqueue *q, const char *what)
{
    struct pl_item item;
    int64_t start = clock_ns();
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < KEYS; i++) {
            pl_workqueue_add(q, slices[i], &at_once, 0);
            if (pl_workqueue_take(q, &item, 0) == 0)
                pl_workqueue_done(q, item.key, 0);
        }
    report(what, start, (double)ROUNDS * KEYS);
}

static void fill_and_drain(struct pl_workqueue *q, const char *what)
{
    struct pl_item item;
    int64_t start = clock_ns();
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < KEYS; i++)
            pl_workqueue_add(q, slices[i], &at_once, 0);
        while (pl_workqueue_take(q, &item, 0) == 0)
            pl_workqueue_done(q, item.key, 0);
    }
    report(what, start, (double)ROUNDS * KEYS);
}

static void delay_many(struct pl_workqueue *q)
{
    struct pl_rand rand;
    pl_rand_seed(&rand, 1);
    int64_t start = clock_ns();
    for (int i = 0; i < DELAYED; i++) {
        char key[48];
        int len = snprintf(key, sizeof(key), "delayed/website-%d", i);
        int64_t after = 1 + (int64_t)(pl_rand_u64(&rand) % (3600 * PL_SECOND));
        pl_workqueue_add(q, pl_slice(key, (size_t)len), &(struct pl_add){.after_ns = after}, 0);
    }
    report("1,000,000 delayed: add", start, DELAYED);
}

static void fire_many(struct pl_workqueue *q)
{
    struct pl_item item;
    int64_t start = clock_ns();
    int count = 0;
    for (; pl_workqueue_take(q, &item, 3600 * PL_SECOND) == 0; count++)
        pl_workqueue_done(q, item.key, 3600 * PL_SECOND);
    report("1,000,000 delayed: come due, take, done", start, count);
}

int main(void)
{
    for (int i = 0; i < KEYS; i++) {
        int len = snprintf(keys[i], sizeof(keys[i]), "default/website-%05d-x7k2p", i);
        slices[i] = pl_slice(keys[i], (size_t)len);
    }
    struct pl_workqueue *q = create();
    one_at_a_time(q, "add, take, done: one key at a time");
    fill_and_drain(q, "add 10,000, then take and done each");
    delay_many(q);
    one_at_a_time(q, "one at a time, with 1,000,000 waiting");
    fill_and_drain(q, "10,000 at a time, with 1,000,000 waiting");
    fire_many(q);
    pl_workqueue_destroy(q);
    return 0;
}
