/* Is our version still one of the server's? */
#include "control/reflector_impl.h"

/* A server whose data was restored takes a watch from a version that it has not reached yet, and
 * stays silent (F27). A list of one object at that version tells. */
static void on_version(void *arg, const struct pl_answer *answer)
{
    struct pl_reflector *r = arg;
    r->list = NULL;
    if (r->stopped) {
        pl_reflector_end_soon(r);
        return;
    }
    if (answer->status != 0)
        pl_reflector_heard(r);
    r->opened_ns = 0;
    if (answer->err != NULL && !pl_err_is_too_large_rv(answer->err)) {
        pl_reflector_watch_failed(r, answer->err);
        return;
    }
    struct pl_scratch scratch;
    struct pl_slice ours = pl_buf_slice(&r->rv);
    struct pl_slice now = pl_meta_rv(pl_doc_root(answer->doc), &scratch);
    bool back = pl_rv_is_valid(now) && pl_rv_is_valid(ours) && pl_rv_compare(now, ours) < 0;
    r->doubtful = false;
    if (answer->err != NULL || back)
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
