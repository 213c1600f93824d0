/* The document that is sent: with its owner, and with the identity of the object that was read. */
#include "write/gate_op.h"

#include "base/alloc.h"
#include "base/text.h"
#include "write/owner_ref.h"
#include "kube/status.h"
#include "value/build.h"
#include "object/meta.h"
#include "object/patch.h"

static void set_body(struct pl_gate_op *op, struct pl_doc *body)
{
    pl_doc_unref(op->w.body);
    op->w.body = body;
}

/* The request goes to this namespace. */
static void use_namespace(struct pl_gate_op *op, struct pl_slice ns)
{
    pl_free(op->texts[0]);
    op->texts[0] = pl_text_copy(ns);
    op->w.ns = pl_slice(op->texts[0], ns.len);
    struct pl_buf key = PL_BUF_INIT;
    pl_key_add(&key, op->w.ns, op->w.name);
    pl_free(op->key);
    op->key = pl_buf_take(&key);
}

void pl_gate_fill_namespace(struct pl_gate_op *op)
{
    bool fills = op->w.verb == PL_VERB_CREATE || pl_gate_op_is_apply(op);
    bool knows_one = op->w.owner != NULL || op->w.to_default;
    if (!knows_one || !fills || op->w.ns.len > 0 || !op->resource->namespaced)
        return;
    struct pl_scratch scratch;
    struct pl_slice ns = op->w.owner != NULL ? pl_meta_namespace(pl_doc_root(op->w.owner), &scratch)
                                             : pl_slice_z("default");
    if (ns.len > 0)
        use_namespace(op, ns);
}

int pl_gate_set_owner(struct pl_gate_op *op, struct pl_err *err)
{
    if (op->w.owner == NULL)
        return 0;
    struct pl_node owner = pl_doc_root(op->w.owner);
    struct pl_doc *body = pl_owner_ref_set(op->w.body, op->resource, owner, err);
    if (body == NULL)
        return err->code;
    set_body(op, body);
    if (op->existing != NULL && op->w.verb != PL_VERB_CREATE)
        return pl_owner_ref_check_existing(pl_doc_root(op->existing), owner, op->w.adopt, err);
    return 0;
}

/* ---- identity ---- */

static struct pl_doc *string_doc(struct pl_slice text)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_str(b, text);
    return pl_build_close(b);
}

static void set_metadata(struct pl_gate_op *op, const char *field, struct pl_slice text)
{
    struct pl_node root = pl_doc_root(op->w.body);
    if (text.len == 0 || pl_node_str_eq(pl_node_dig(root, "metadata", field), text))
        return;
    const char *keys[] = {"metadata", field};
    struct pl_doc *value = string_doc(text);
    struct pl_doc *body = pl_doc_with(root, keys, 2, pl_doc_root(value));
    pl_doc_unref(value);
    if (body != NULL)
        set_body(op, body);
}

static void build_test(struct pl_build *b, const char *path, struct pl_slice value)
{
    if (value.len == 0)
        return;
    pl_build_object(b);
    pl_build_put_strz(b, "op", "test");
    pl_build_put_strz(b, "path", path);
    pl_build_put_str(b, "value", value);
    pl_build_end(b);
}

static void put_tests_in_front(struct pl_gate_op *op, struct pl_slice uid, struct pl_slice rv)
{
    if (uid.len == 0 && rv.len == 0)
        return;
    struct pl_build *b = pl_build_create(NULL);
    pl_build_array(b);
    build_test(b, "/metadata/uid", uid);
    build_test(b, "/metadata/resourceVersion", rv);
    for (struct pl_iter it = pl_iter(pl_doc_root(op->w.body)); pl_iter_next(&it);)
        pl_build_node(b, it.value);
    pl_build_end(b);
    op->tests_in_front = (size_t)(uid.len > 0) + (rv.len > 0);
    set_body(op, pl_build_finish(b));
    pl_build_destroy(b);
}

/* ---- JSON patches that do not fit ---- */

bool pl_gate_is_unexplained(const struct pl_gate_op *op, const struct pl_answer *answer)
{
    struct pl_node causes = pl_node_dig(pl_doc_root(answer->doc), "details", "causes");
    return op->w.verb == PL_VERB_PATCH && op->w.patch_type == PL_PATCH_JSON &&
           pl_gate_op_is_object(op) && pl_err_is_invalid(answer->err) && pl_node_len(causes) == 0;
}

/* Operations from `first` to before `end`. */
static struct pl_doc *gate_body_part_of(const struct pl_doc *patch, size_t first, size_t end)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_array(b);
    for (size_t i = first; i < end; i++)
        pl_build_node(b, pl_node_at(pl_doc_root(patch), i));
    pl_build_end(b);
    return pl_build_close(b);
}

/* True when all operations fit. The script's operations are numbered as in the script. */
static bool gate_body_fits(struct pl_gate_op *op, const struct pl_doc *live, size_t first,
                           size_t end)
{
    struct pl_err err;
    struct pl_doc *part = gate_body_part_of(op->w.body, first, end);
    struct pl_doc *patched = pl_patch_json(pl_doc_root(live), pl_doc_root(part), &err);
    pl_doc_unref(part);
    pl_doc_unref(patched);
    if (patched == NULL)
        pl_err_prefix(&op->err, "%s", err.message);
    return patched != NULL;
}

void pl_gate_name_operation(struct pl_gate_op *op, const struct pl_doc *live)
{
    size_t count = pl_node_len(pl_doc_root(op->w.body));
    if (gate_body_fits(op, live, 0, op->tests_in_front))
        gate_body_fits(op, live, op->tests_in_front, count);
}

void pl_gate_carry(struct pl_gate_op *op)
{
    struct pl_write *w = &op->w;
    struct pl_node base = pl_doc_root(w->base);
    struct pl_scratch scratch[2];
    struct pl_slice uid = w->uid.len > 0 ? w->uid : pl_meta_uid(base, &scratch[0]);
    struct pl_slice rv = w->rv;
    if (!pl_gate_op_is_object(op))
        return;
    if (w->verb == PL_VERB_UPDATE && rv.len == 0)
        rv = pl_meta_rv(base, &scratch[1]);
    if (w->verb == PL_VERB_DELETE) {
        if (w->uid.len == 0 && uid.len > 0) {
            pl_free(op->texts[8]);
            op->texts[8] = pl_text_copy(uid);
            w->uid = pl_slice(op->texts[8], uid.len);
        }
        return;
    }
    if (w->verb != PL_VERB_UPDATE && w->verb != PL_VERB_PATCH)
        return;
    if (w->verb == PL_VERB_PATCH && w->patch_type == PL_PATCH_JSON) {
        put_tests_in_front(op, uid, rv);
        return;
    }
    set_metadata(op, "uid", uid);
    set_metadata(op, "resourceVersion", rv);
}
