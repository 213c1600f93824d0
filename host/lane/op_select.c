/* The I/O thread's half of WatchesKinds: a task of the script has asked the API server for its
 * kinds, and sets those that a source follows. */
#include "lane/op_impl.h"

#include "base/alloc.h"
#include "lane/lane.h"

#include <string.h>

#define KINDS_MAX 10000 /* limit of lines */

struct kinds {
    struct pl_kind *items; /* owned */
    size_t count;
};

/* suffix: turns a group and version into a kind. Invalid lines are left out. */
static struct kinds read_lines(struct pl_slice text, const char *suffix)
{
    struct kinds kinds = {0};
    const char *end = text.ptr + text.len;
    struct pl_err err;
    for (const char *at = text.ptr; at < end && kinds.count < KINDS_MAX;) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        if (line == NULL)
            line = end;
        char *name = pl_format("%.*s%s", (int)(line - at), at, suffix);
        kinds.items = pl_reallocarray(kinds.items, kinds.count + 1, sizeof *kinds.items);
        pl_err_clear(&err);
        if (pl_kind_parse(pl_slice_z(name), &kinds.items[kinds.count], &err) == 0)
            kinds.count++;
        pl_free(name);
        at = line + 1;
    }
    return kinds;
}

static struct pl_edition *edition_of(struct pl_lop *op)
{
    struct pl_lanes *lanes = op->lane->lanes;
    for (size_t i = 0; i < lanes->controller_count; i++)
        if (pl_slice_eqz(op->in.select.controller, lanes->controllers[i].name))
            return lanes->controllers[i].edition;
    return NULL;
}

void pl_lop_start_select(struct pl_lop *op)
{
    struct pl_edition *edition = edition_of(op);
    size_t source = op->in.select.source;
    if (edition == NULL || source >= pl_edition_spec(edition)->source_count ||
        !pl_source_is_family(&pl_edition_spec(edition)->sources[source])) {
        struct pl_err err;
        pl_err_clear(&err);
        pl_err_set(&err, PL_EINVAL, "controller \"%.*s\" has no such source that follows kinds",
                   PL_FMT(op->in.select.controller));
        pl_lop_fail(op, &err);
        return;
    }
    struct kinds kinds = read_lines(op->in.select.kinds, "");
    struct kinds unknown = read_lines(op->in.select.unknown, "/X");
    pl_edition_select(edition, source, kinds.items, kinds.count, unknown.items, unknown.count);
    pl_free(kinds.items);
    pl_free(unknown.items);
    pl_lop_complete(op);
}
