/* The indexes that scripts declare, at the caches of their kinds. Generations share what is the
 * same: a path by its text, a function by everything that its script is made of. */
#include "lane/lane.h"

#include "base/alloc.h"
#include "lane/origin.h"

static char *stored_name(struct pl_lanes *lanes, const struct pl_index_spec *index)
{
    char kind[PL_KIND_TEXT], digest[2 * PL_SHA256_BYTES + 1];
    if (index->path != NULL)
        return pl_format("%s=%s", index->name, index->path);
    char *unit = pl_format(PL_UNIT_INDEX "%s %s", pl_kind_text(&index->kind, kind), index->name);
    pl_origin_unit_digest(lanes->origin, unit, digest);
    pl_free(unit);
    return pl_format("%s#%s", index->name, digest);
}

static struct pl_declared_index declared(struct pl_lanes *lanes, const struct pl_index_spec *index)
{
    return (struct pl_declared_index){.name = index->name,
                                      .stored = index->stored,
                                      .path = index->path,
                                      .ask = pl_lanes_ask,
                                      .self = lanes->indexer};
}

struct adding {
    struct pl_lanes *lanes;
    struct pl_index_spec *index;
    struct pl_err *err;
    int failed;
    size_t count;
};

static void add_index(void *arg, struct pl_informer *informer)
{
    struct adding *adding = arg;
    struct pl_declared_index index = declared(adding->lanes, adding->index);
    adding->count++;
    if (adding->failed == 0)
        adding->failed = pl_informer_add_index(informer, &index, adding->err);
}

int pl_lanes_add_indexes(struct pl_lanes *lanes, struct pl_err *err)
{
    if (lanes->indexer == NULL)
        lanes->indexer = pl_lanes_new_external(lanes, -1, -1);
    for (size_t i = 0; i < lanes->index_count; i++) {
        struct pl_index_spec *index = &lanes->indexes[i];
        struct adding adding = {.lanes = lanes, .index = index, .err = err};
        index->stored = stored_name(lanes, index);
        pl_informers_each(pl_cluster_informers(lanes->cluster), &index->kind, add_index, &adding);
        char kind[PL_KIND_TEXT];
        if (adding.count == 0)
            adding.failed = pl_err_set(err, PL_EINVAL, "index %s: no controller declares %s",
                                       index->name, pl_kind_text(&index->kind, kind));
        if (adding.failed) {
            pl_err_prefix(err, "%s", index->declared_at ? index->declared_at : "?");
            return adding.failed;
        }
    }
    return 0;
}

static void drop_index(void *arg, struct pl_informer *informer)
{
    struct adding *adding = arg;
    struct pl_declared_index index = declared(adding->lanes, adding->index);
    pl_informer_drop_index(informer, &index);
}

void pl_lanes_drop_indexes(struct pl_lanes *lanes)
{
    for (size_t i = 0; i < lanes->index_count; i++) {
        struct adding adding = {.lanes = lanes, .index = &lanes->indexes[i]};
        if (adding.index->stored != NULL)
            pl_informers_each(pl_cluster_informers(lanes->cluster), &adding.index->kind, drop_index,
                              &adding);
    }
}

const char *pl_lanes_stored_index(const struct pl_lanes *lanes, const struct pl_kind *kind,
                                  struct pl_slice name)
{
    for (size_t i = 0; i < lanes->index_count; i++) {
        const struct pl_index_spec *index = &lanes->indexes[i];
        if (pl_slice_eqz(name, index->name) && pl_kind_eq(kind, &index->kind))
            return index->stored;
    }
    return NULL;
}
