/* Builds at most a few indexes, in slices of time, so that the I/O thread is never blocked. A
 * sample decides whether a label is worth an index. Lists are correct without it; it only makes
 * them faster. */
#include "sync/label_index.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "base/timer.h"
#include "store/store.h"
#include "object/meta.h"

#define MOST   8           /* indices: each costs memory, and time at each change */
#define SAMPLE 512         /* objects whose labels are counted to decide */
#define SOME   256         /* objects between looks at the clock */
#define SLICE  (2 * PL_MS) /* then other work has its turn */

struct pl_label_indexes {
    struct pl_store *store;
    struct pl_timers *timers;
    const char *name;
    char *stored[MOST]; /* owned */
    size_t count;
    size_t built; /* number of finished ones; the next one is being built: */
    struct pl_store_walk walk;
    struct pl_timer turn;
};

/* ---- values ---- */

static int label_values(void *arg, struct pl_node object, struct pl_values *out, struct pl_err *err)
{
    PL_UNUSED(err);
    struct pl_scratch scratch;
    struct pl_node value = pl_node_getz(pl_meta_labels(object), arg);
    if (pl_node_type(value) == PL_STRING)
        pl_values_add(out, pl_node_str(value, &scratch));
    return 0;
}

static const struct pl_index_ops label_ops = {label_values, pl_free};

/* ---- building ---- */

static void on_label_index_turn(struct pl_timer *timer)
{
    struct pl_label_indexes *indexes = PL_CONTAINER_OF(timer, struct pl_label_indexes, turn);
    const char *stored = indexes->stored[indexes->built];
    int64_t until = pl_clock_mono(indexes->timers->clock) + SLICE;
    bool more;
    do
        more = pl_store_build_index(indexes->store, stored, &indexes->walk, SOME);
    while (more && pl_clock_mono(indexes->timers->clock) < until);
    if (!more) {
        pl_log(PL_LOG_INFO, "an index was made for lists by a label",
               pl_str("cache", indexes->name), pl_str("label", stored + strlen(PL_INDEX_LABEL)),
               pl_int("objects", (int64_t)pl_store_count(indexes->store)));
        indexes->walk = (struct pl_store_walk){0};
        indexes->built++;
    }
    if (indexes->built < indexes->count)
        pl_timer_start(indexes->timers, timer, 0, on_label_index_turn);
}

/* Decided on some arbitrary objects. */
static bool is_rare(struct pl_label_indexes *indexes, struct pl_slice key, struct pl_slice value)
{
    struct pl_store_walk walk = {0};
    struct pl_docs docs = {0};
    size_t having = 0;
    pl_store_walk(indexes->store, &walk, SAMPLE, &docs);
    for (size_t i = 0; i < docs.count; i++) {
        struct pl_scratch scratch;
        struct pl_node labels = pl_meta_labels(pl_doc_root(pl_docs_at(&docs, i)));
        having += pl_slice_eq(pl_node_str(pl_node_get(labels, key), &scratch), value);
    }
    bool is_rare = having * PL_LABEL_INDEX_SHARE <= docs.count;
    pl_docs_deinit(&docs);
    return is_rare;
}

void pl_label_indexes_want(struct pl_label_indexes *indexes, struct pl_slice key,
                           struct pl_slice value)
{
    if (indexes->count == MOST || !is_rare(indexes, key, value))
        return;
    struct pl_buf stored = PL_BUF_INIT;
    pl_buf_add_z(&stored, PL_INDEX_LABEL);
    pl_buf_add_slice(&stored, key);
    char *label = pl_text_copy(key);
    if (pl_store_begin_index(indexes->store, pl_buf_z(&stored), &label_ops, label, NULL) != 0) {
        pl_free(label); /* it exists already */
        pl_buf_deinit(&stored);
        return;
    }
    indexes->stored[indexes->count++] = pl_buf_take(&stored);
    if (!pl_timer_is_active(&indexes->turn))
        pl_timer_start(indexes->timers, &indexes->turn, 0, on_label_index_turn);
}

/* ---- the rest ---- */

struct pl_label_indexes *pl_label_indexes_create(struct pl_store *store, struct pl_timers *timers,
                                                 const char *name)
{
    struct pl_label_indexes *indexes = PL_NEW(struct pl_label_indexes);
    indexes->store = store;
    indexes->timers = timers;
    indexes->name = name;
    return indexes;
}

void pl_label_indexes_destroy(struct pl_label_indexes *indexes)
{
    if (indexes == NULL)
        return;
    pl_timer_stop(indexes->timers, &indexes->turn);
    for (size_t i = 0; i < indexes->count; i++)
        pl_free(indexes->stored[i]);
    pl_free(indexes);
}
