/* Indexes that scripts declare: by a path, evaluated here, or by asking. Each generation of scripts
 * adds its own; equal ones share one index, which is removed with the last of them. And label
 * indexes, which nobody declares. */
#include "sync/informer_impl.h"

#include "base/alloc.h"
#include "sync/label_index.h"
#include "object/path.h"

#include <string.h>

/* An index by a path. */
struct pl_path_index {
    char *stored;   /* owned */
    void **holders; /* owned: without duplicates */
    size_t count;
};

static int path_values(void *arg, struct pl_node object, struct pl_values *out, struct pl_err *err)
{
    PL_UNUSED(err);
    struct pl_node found = pl_path_find(arg, object);
    struct pl_iter it = pl_iter(found);
    bool array = pl_node_type(found) == PL_ARRAY;
    do {
        struct pl_scratch scratch;
        if (array && !pl_iter_next(&it))
            return 0;
        struct pl_node value = array ? it.value : found;
        if (pl_node_type(value) == PL_STRING)
            pl_values_add(out, pl_node_str(value, &scratch));
        else if (pl_node_type(value) == PL_NUMBER)
            pl_values_add(out, pl_node_number(value, &scratch));
        else if (pl_node_type(value) == PL_BOOL)
            pl_values_add(out, pl_slice_z(pl_node_bool(value) ? "true" : "false"));
    } while (array);
    return 0;
}

static void path_destroy(void *arg)
{
    pl_path_destroy(arg);
}

static const struct pl_index_ops path_ops = {path_values, path_destroy};

static struct pl_path_index *informer_index_find(struct pl_informer *informer, const char *stored)
{
    for (size_t i = 0; i < informer->path_index_count; i++)
        if (strcmp(informer->path_indexes[i].stored, stored) == 0)
            return &informer->path_indexes[i];
    return NULL;
}

static void informer_index_hold(struct pl_path_index *index, void *holder)
{
    for (size_t i = 0; i < index->count; i++)
        if (index->holders[i] == holder)
            return;
    index->holders = pl_reallocarray(index->holders, index->count + 1, sizeof *index->holders);
    index->holders[index->count++] = holder;
}

static bool informer_index_let_go(struct pl_path_index *index, const void *holder)
{
    size_t kept = 0, count = index->count;
    for (size_t i = 0; i < count; i++)
        if (index->holders[i] != holder)
            index->holders[kept++] = index->holders[i];
    index->count = kept;
    return kept < count;
}

static int add_by_path(struct pl_informer *informer, const struct pl_declared_index *index,
                       struct pl_err *err)
{
    struct pl_path_index *known = informer_index_find(informer, index->stored);
    if (known != NULL) {
        informer_index_hold(known, index->self);
        return 0;
    }
    struct pl_path *parsed = pl_path_parse(pl_slice_z(index->path), err);
    if (parsed == NULL)
        return PL_EINVAL;
    int code = pl_store_add_index(informer->store, index->stored, &path_ops, parsed, err);
    if (code != 0) {
        pl_path_destroy(parsed);
        return code;
    }
    informer->path_indexes = pl_reallocarray(informer->path_indexes, informer->path_index_count + 1,
                                             sizeof *informer->path_indexes);
    informer->path_indexes[informer->path_index_count++] =
        (struct pl_path_index){.stored = pl_strdup(index->stored)};
    informer_index_hold(&informer->path_indexes[informer->path_index_count - 1], index->self);
    return 0;
}

int pl_informer_add_index(struct pl_informer *informer, const struct pl_declared_index *index,
                          struct pl_err *err)
{
    if (index->path != NULL)
        return add_by_path(informer, index, err);
    return pl_backlog_add_index(informer->backlog, index->stored, index->name, index->ask,
                                index->self, err);
}

void pl_informer_drop_index(struct pl_informer *informer, const struct pl_declared_index *index)
{
    if (index->path == NULL) {
        pl_backlog_drop_index(informer->backlog, index->stored, index->self);
        return;
    }
    struct pl_path_index *known = informer_index_find(informer, index->stored);
    if (known == NULL || !informer_index_let_go(known, index->self) || known->count > 0)
        return;
    pl_store_drop_index(informer->store, known->stored);
    pl_free(known->holders);
    pl_free(known->stored);
    *known = informer->path_indexes[--informer->path_index_count];
}

void pl_informer_want_label(struct pl_informer *informer, struct pl_slice key,
                            struct pl_slice value)
{
    if (informer->stopping)
        return;
    if (informer->label_indexes == NULL)
        informer->label_indexes =
            pl_label_indexes_create(informer->store, pl_informer_timers(informer), informer->owner);
    pl_label_indexes_want(informer->label_indexes, key, value);
}

void pl_informer_stop_building(struct pl_informer *informer)
{
    pl_label_indexes_destroy(informer->label_indexes);
    informer->label_indexes = NULL;
}

void pl_informer_free_indexes(struct pl_informer *informer)
{
    for (size_t i = 0; i < informer->path_index_count; i++) {
        pl_free(informer->path_indexes[i].holders);
        pl_free(informer->path_indexes[i].stored);
    }
    pl_free(informer->path_indexes);
}
