/* The rounds of keys, and the error text about keys that never come to rest. Keys are never
 * removed: a world has as many as its specification makes. Error texts are ordered by runs, then by
 * names, so that they are always the same. */
#include "world/rounds.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

#define BUSIEST 3
#define WAITS   8 /* limit of waits for times that differ */

struct pl_round *pl_rounds_of(struct pl_map *rounds, const char *what)
{
    struct pl_round *round = pl_map_get(rounds, pl_slice_z(what));
    if (round == NULL) {
        round = PL_NEW(struct pl_round);
        round->version = UINT64_MAX;
        pl_map_put(rounds, pl_slice_z(what), round);
    }
    return round;
}

void pl_round_wait(struct pl_round *round, uint64_t version, int64_t delay_ns)
{
    round->waits = round->version == version ? round->waits + 1 : 1;
    round->version = version;
    round->delay_ns = delay_ns;
}

bool pl_round_is_over(const struct pl_round *round, uint64_t version, int64_t delay_ns)
{
    return round->version == version && (round->delay_ns == delay_ns || round->waits >= WAITS);
}

void pl_round_retry(struct pl_round *round, uint64_t version)
{
    round->retries = round->retried_version == version ? round->retries + 1 : 1;
    round->retried_version = version;
}

bool pl_round_only_retries(const struct pl_round *round, uint64_t version, unsigned times)
{
    return round->retried_version == version && round->retries >= times;
}

void pl_rounds_forget_runs(struct pl_map *rounds)
{
    size_t at = 0;
    struct pl_slice key;
    void *round;
    while (pl_map_next(rounds, &at, &key, &round))
        ((struct pl_round *)round)->runs = 0;
}

void pl_rounds_forget(struct pl_map *rounds)
{
    size_t at = 0;
    struct pl_slice key;
    void *round;
    while (pl_map_next(rounds, &at, &key, &round))
        ((struct pl_round *)round)->version = UINT64_MAX;
}

struct busy_key {
    const char *what;
    unsigned runs;
};

static int by_runs(const void *a, const void *b)
{
    const struct busy_key *x = a, *y = b;
    if (x->runs != y->runs)
        return x->runs < y->runs ? 1 : -1;
    return strcmp(x->what, y->what);
}

/* "main website default/blog" without the host. */
static const char *without_host(const char *what)
{
    const char *space = strchr(what, ' ');
    return space != NULL ? space + 1 : what;
}

int pl_rounds_fail(const struct pl_map *rounds, unsigned reconciles, struct pl_err *err)
{
    size_t count = 0;
    struct busy_key *all = pl_calloc(rounds->count + 1, sizeof *all);
    struct pl_buf text = PL_BUF_INIT;
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(rounds, &at, &key, &value)) {
        const struct pl_round *round = value;
        if (round->runs > 0)
            all[count++] = (struct busy_key){key.ptr, round->runs};
    }
    qsort(all, count, sizeof *all, by_runs);
    for (size_t i = 0; i < count && i < BUSIEST; i++)
        pl_buf_add_f(&text, "%s%s (%u runs)", i > 0 ? ", " : "", without_host(all[i].what),
                     all[i].runs);
    pl_free(all);
    int rc =
        pl_err_set(err, PL_ELIMIT, "it does not settle: %u reconciles, the busiest keys are %s",
                   reconciles, pl_buf_z(&text));
    pl_buf_deinit(&text);
    return rc;
}

void pl_rounds_deinit(struct pl_map *rounds)
{
    size_t at = 0;
    struct pl_slice key;
    void *round;
    while (pl_map_next(rounds, &at, &key, &round))
        pl_free(round);
    pl_map_deinit(rounds);
}
