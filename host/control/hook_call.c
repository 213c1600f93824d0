#include "control/hook_call.h"

#include "base/alloc.h"

struct pl_hook_call *pl_hook_call_create(enum pl_hook_sort sort)
{
    struct pl_hook_call *call = PL_NEW(struct pl_hook_call);
    atomic_init(&call->refs, 1);
    call->sort = sort;
    return call;
}

struct pl_hook_call *pl_hook_call_ref(struct pl_hook_call *call)
{
    if (call != NULL)
        atomic_fetch_add(&call->refs, 1);
    return call;
}

void pl_hook_call_unref(struct pl_hook_call *call)
{
    if (call == NULL || atomic_fetch_sub(&call->refs, 1) != 1)
        return;
    pl_doc_unref(call->object);
    pl_doc_unref(call->old);
    pl_doc_unref(call->request);
    pl_doc_unref(call->review);
    pl_doc_unref(call->answer.said);
    pl_doc_unref(call->answer.patch);
    for (size_t i = 0; i < call->answer.count; i++)
        pl_doc_unref(call->answer.objects[i]);
    pl_free(call->answer.objects);
    pl_free(call->desired);
    pl_free(call);
}

void pl_hook_call_add(struct pl_hook_call *call, struct pl_doc *object)
{
    size_t count = call->answer.count;
    if ((count & (count - 1)) == 0)
        call->answer.objects = pl_reallocarray(call->answer.objects, count == 0 ? 1 : count * 2,
                                               sizeof(struct pl_doc *));
    call->answer.objects[call->answer.count++] = object;
}

struct pl_node pl_hook_call_objects(const struct pl_hook_call *call)
{
    return pl_node_dig(pl_doc_root(call->review), "request", "objects");
}
