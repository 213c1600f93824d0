#include "write/pause.h"

#include "object/meta.h"
#include "value/build.h"

bool pl_object_is_paused(struct pl_node object)
{
    struct pl_node value = pl_node_getz(pl_meta_annotations(object), PL_PAUSED_ANNOTATION);
    return pl_node_type(value) == PL_STRING && !pl_node_str_eq(value, pl_slice_z("false")) &&
           !pl_meta_is_deleting(object);
}

static struct pl_doc *annotation_patch(bool paused)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_keyz(b, "metadata");
    pl_build_object(b);
    pl_build_keyz(b, "annotations");
    pl_build_object(b);
    pl_build_keyz(b, PL_PAUSED_ANNOTATION);
    if (paused)
        pl_build_strz(b, "true");
    else
        pl_build_null(b);
    pl_build_end(b);
    pl_build_end(b);
    pl_build_end(b);
    return pl_build_close(b);
}

struct pl_gate_op *pl_pause_object(struct pl_gate *gate, const struct pl_pause *pause,
                                   pl_written_fn on_written, void *arg)
{
    struct pl_doc *patch = annotation_patch(pause->paused);
    struct pl_write write = {
        .verb = PL_VERB_PATCH,
        .patch_type = PL_PATCH_MERGE,
        .kind = pause->kind,
        .ns = pause->ns,
        .name = pause->name,
        .body = patch,
        .grace_period = -1,
        .deadline_ns = pause->deadline_ns,
        .any_replica = true,
    };
    struct pl_gate_op *op = pl_gate_write(gate, &write, on_written, arg);
    pl_doc_unref(patch);
    return op;
}
