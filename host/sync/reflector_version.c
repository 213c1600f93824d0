/* Checks whether the server still has our version, with two questions before a watch from a
 * doubtful version (F27). A server whose data was restored from a backup assigns versions again.
 * Until it reaches ours, it accepts our watch and stays silent; a list of one object at that
 * version reveals that. After it has passed ours, versions reveal nothing; but the newest object
 * that we know is unlikely to be the same at our version in another history. */
#include "sync/reflector_impl.h"

/* ---- the newest known object ---- */

static bool is_newer(const struct pl_reflector *r, struct pl_slice rv)
{
    struct pl_slice last = pl_buf_slice(&r->witness.rv); /* a valid version, or empty */
    return pl_rv_is_valid(rv) && (last.len == 0 || pl_rv_compare(rv, last) >= 0);
}

static void take_witness(struct pl_reflector *r, struct pl_doc *object)
{
    struct pl_scratch room;
    struct pl_slice rv = pl_meta_rv(pl_doc_root(object), &room);
    if (!is_newer(r, rv))
        return;
    pl_buf_set(&r->witness.rv, rv);
    pl_doc_ref(object);
    pl_doc_unref(r->witness.object);
    r->witness.object = object;
}

static bool is_witness(const struct pl_reflector *r, struct pl_node object)
{
    struct pl_scratch of_a, of_b;
    struct pl_node witness = pl_doc_root(r->witness.object);
    return pl_slice_eq(pl_meta_name(object, &of_a), pl_meta_name(witness, &of_b)) &&
           pl_slice_eq(pl_meta_namespace(object, &of_a), pl_meta_namespace(witness, &of_b));
}

static void forget_witness(struct pl_reflector *r)
{
    pl_buf_clear(&r->witness.rv);
    pl_doc_unref(r->witness.object);
    r->witness.object = NULL;
}

void pl_reflector_saw(struct pl_reflector *r, enum pl_watch_type type, struct pl_doc *object)
{
    if (type != PL_WATCH_DELETED)
        take_witness(r, object);
    else if (is_witness(r, pl_doc_root(object)))
        forget_witness(r);
}

void pl_reflector_saw_list(struct pl_reflector *r, const struct pl_docs *items, bool begun)
{
    if (!begun)
        forget_witness(r);
    for (size_t i = 0; i < items->count; i++)
        take_witness(r, items->items[i]);
}

/* Names that a selector would have to escape are not used. */
static bool has_witness(const struct pl_reflector *r)
{
    struct pl_scratch scratch;
    struct pl_slice rv = pl_buf_slice(&r->witness.rv);
    struct pl_slice name = pl_meta_name(pl_doc_root(r->witness.object), &scratch);
    for (size_t i = 0; i < name.len; i++)
        if (strchr(",=\\!", name.ptr[i]) != NULL)
            return false;
    return rv.len > 0 && name.len > 0 && pl_rv_is_valid(pl_buf_slice(&r->rv)) &&
           pl_rv_compare(rv, pl_buf_slice(&r->rv)) <= 0;
}

/* ---- the questions ---- */

/* True: it was stopped meanwhile. */
static bool take_answer(struct pl_reflector *r, const struct pl_answer *answer)
{
    r->list = NULL;
    if (r->stopped) {
        pl_reflector_end_soon(r);
        return true;
    }
    if (answer->status != 0)
        pl_reflector_heard(r);
    r->opened_ns = 0;
    return false;
}

static bool is_silence(const struct pl_err *err)
{
    return err != NULL && (err->code == PL_ENETWORK || err->code == PL_ETIMEOUT);
}

/* If the server does not know that version any more, or does not list by it, nothing is learned:
 * the watch will show it. */
static void on_witness(void *arg, const struct pl_answer *answer)
{
    struct pl_reflector *r = arg;
    if (take_answer(r, answer))
        return;
    if (is_silence(answer->err)) {
        pl_reflector_watch_failed(r, answer->err);
        return;
    }
    bool same = answer->err != NULL;
    struct pl_scratch scratch;
    for (size_t i = 0; !same && answer->items != NULL && i < answer->items->count; i++) {
        struct pl_node object = pl_doc_root(answer->items->items[i]);
        same = is_witness(r, object) &&
               pl_slice_eq(pl_meta_rv(object, &scratch), pl_buf_slice(&r->witness.rv));
    }
    r->doubtful = false;
    if (same)
        pl_reflector_watch(r);
    else
        pl_reflector_is_another(
            r, "a known object is gone or has another version: was the server restored?");
}

static void ask_for_witness(struct pl_reflector *r)
{
    struct pl_buf fields = PL_BUF_INIT;
    struct pl_scratch of_name, of_ns;
    struct pl_node witness = pl_doc_root(r->witness.object);
    struct pl_slice name = pl_meta_name(witness, &of_name);
    if (r->o.listing.fields != NULL)
        pl_buf_add_f(&fields, "%s,", r->o.listing.fields);
    pl_buf_add_f(&fields, "metadata.name=%.*s", PL_FMT(name));
    struct pl_call call = {.metadata_only = true,
                           .ns = pl_meta_namespace(witness, &of_ns),
                           .fields = pl_buf_slice(&fields),
                           .limit = 1,
                           .rv = pl_buf_slice(&r->rv),
                           .rv_match = pl_slice_z("Exact")};
    pl_reflector_send_list(r, &call, on_witness);
    pl_buf_deinit(&fields);
    pl_reflector_set_state(r, PL_REFLECTOR_OPENING, 0);
}

static void on_version(void *arg, const struct pl_answer *answer)
{
    struct pl_reflector *r = arg;
    if (take_answer(r, answer))
        return;
    if (answer->err != NULL && !pl_err_is_too_large_rv(answer->err)) {
        pl_reflector_watch_failed(r, answer->err);
        return;
    }
    struct pl_scratch scratch;
    struct pl_slice ours = pl_buf_slice(&r->rv);
    struct pl_slice now = pl_meta_rv(pl_doc_root(answer->doc), &scratch);
    int order = pl_rv_is_valid(now) && pl_rv_is_valid(ours) ? pl_rv_compare(now, ours) : 0;
    if (answer->err == NULL && order > 0 && has_witness(r)) {
        ask_for_witness(r);
        return;
    }
    r->doubtful = false;
    if (answer->err != NULL || order < 0)
        pl_reflector_went_back(r);
    else
        pl_reflector_watch(r);
}

void pl_reflector_ask_version(struct pl_reflector *r)
{
    struct pl_call call = {.metadata_only = true,
                           .limit = 1,
                           .rv = pl_buf_slice(&r->rv),
                           .rv_match = pl_slice_z("NotOlderThan")};
    pl_reflector_send_list(r, &call, on_version);
    pl_reflector_set_state(r, PL_REFLECTOR_OPENING, 0);
}
