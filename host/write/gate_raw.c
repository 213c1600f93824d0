/* Writes to a path of the API server instead of a kind's object. They pass the same gate: the
 * fence, dry runs, shadows, deadlines and the client's limit apply to them too.
 *
 * Their results are unknown here, so they are never merged, skipped as unchanged, or written to a
 * cache. A dry run of a request that is passed on (proxy, exec, attach, portforward) would have
 * effects: it is refused. Paths are already checked (lua/perilune/raw.lua): no dots and no escaped
 * letters, so that each segment means what it says. */
#include "write/gate_op.h"

#include "base/alloc.h"
#include "object/patch.h"
#include "value/build.h"
#include "write/capture.h"

#include <string.h>

static struct pl_slice path_of(const struct pl_gate_op *op)
{
    struct pl_slice path = op->w.raw_path;
    const char *query = pl_slice_chr(path, '?');
    return query != NULL ? pl_slice(path.ptr, (size_t)(query - path.ptr)) : path;
}

static bool has_segment(struct pl_slice path, const char *segment)
{
    size_t len = strlen(segment);
    for (size_t at = 0; at + len < path.len; at++) {
        bool begins = path.ptr[at] == '/' && memcmp(path.ptr + at + 1, segment, len) == 0;
        if (begins && (at + 1 + len == path.len || path.ptr[at + 1 + len] == '/'))
            return true;
    }
    return false;
}

/* The DeleteOptions contain dryRun, since a server that finds a body ignores the query. */
static void set_dry_run(struct pl_gate_op *op)
{
    static const char *const keys[] = {"dryRun"};
    if (op->w.verb != PL_VERB_DELETE || pl_node_type(pl_doc_root(op->w.body)) != PL_OBJECT)
        return;
    struct pl_build *b = pl_build_create(NULL);
    pl_build_array(b);
    pl_build_strz(b, "All");
    pl_build_end(b);
    struct pl_doc *all = pl_build_close(b);
    struct pl_doc *body = pl_doc_with(pl_doc_root(op->w.body), keys, 1, pl_doc_root(all));
    pl_doc_unref(all);
    pl_doc_unref(op->w.body);
    op->w.body = body;
}

static int check_raw(struct pl_gate_op *op, struct pl_err *err)
{
    static const char *const streams[] = {"proxy", "exec", "attach", "portforward"};
    if (!op->gate->dry_run && !op->w.dry_run)
        return 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(streams); i++)
        if (has_segment(path_of(op), streams[i]))
            return pl_gate_refuse(err, "dry-run",
                                  "%s of %.*s reaches a program that does not support dry runs",
                                  pl_verb_name(op->w.verb), PL_FMT(path_of(op)));
    set_dry_run(op);
    return 0;
}

static void note_raw(struct pl_gate_op *op)
{
    if (op->w.capture == NULL)
        return;
    struct pl_effect effect = {
        .name = pl_format("raw %.*s", PL_FMT(op->w.raw_path)),
        .verb = pl_verb_name(op->w.verb),
        .is_write = true,
        .is_secret = has_segment(path_of(op), "secrets"),
        .sent = pl_intent_bare(pl_doc_root(op->w.body)),
    };
    pl_capture_add(op->w.capture, &effect);
    pl_free(effect.name);
}

void pl_gate_start_raw(struct pl_gate_op *op)
{
    int64_t timeout_ns = 0;
    op->failed = check_raw(op, &op->err) != 0 ||
                 (!op->w.held && pl_gate_timeout(op, &timeout_ns, &op->err) != 0);
    if (!op->failed)
        note_raw(op);
    if (!op->failed && !op->w.held) {
        pl_gate_send_within(op, timeout_ns);
        return;
    }
    if (!op->failed)
        op->result = pl_doc_ref(op->w.body);
    pl_gate_finish_later(op);
}
