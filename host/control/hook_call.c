/* A call of a webhook handler, and what the handler sees of its review. The review's types were
 * checked when it arrived (webhook/review.c); here is only the work that the handler's thread can
 * do, so that the I/O thread does less for each request. */
#include "control/hook_call.h"

#include "base/alloc.h"
#include "value/build.h"

struct pl_hook_call *pl_hook_call_create(enum pl_hook_sort sort)
{
    struct pl_hook_call *call = PL_NEW(struct pl_hook_call);
    atomic_init(&call->refs, 1);
    call->sort = sort;
    call->parameters = PL_HOOK_PARAMETERS;
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
    pl_free(call->name);
    pl_free(call);
}

/* ---- what scripts see of an AdmissionReview ---- */

static void hook_call_put_text(struct pl_build *b, const char *name, struct pl_node from,
                               const char *key)
{
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(pl_node_getz(from, key), &scratch);
    if (text.len > 0)
        pl_build_put_str(b, name, text);
}

static void put_node(struct pl_build *b, const char *name, struct pl_node from, const char *key)
{
    struct pl_node node = pl_node_getz(from, key);
    if (pl_node_is_none(node))
        return;
    pl_build_keyz(b, name);
    pl_build_node(b, node);
}

/* "apps/v1/Deployment" */
static void put_kind(struct pl_build *b, struct pl_node kind)
{
    struct pl_scratch g, v, k;
    struct pl_buf text = PL_BUF_INIT;
    struct pl_slice group = pl_node_str(pl_node_getz(kind, "group"), &g);
    pl_buf_add_slice(&text, group);
    if (group.len > 0)
        pl_buf_add_char(&text, '/');
    pl_buf_add_slice(&text, pl_node_str(pl_node_getz(kind, "version"), &v));
    pl_buf_add_char(&text, '/');
    pl_buf_add_slice(&text, pl_node_str(pl_node_getz(kind, "kind"), &k));
    pl_build_put_str(b, "kind", pl_buf_slice(&text));
    pl_buf_deinit(&text);
}

static void put_user(struct pl_build *b, struct pl_node user)
{
    pl_build_keyz(b, "user");
    pl_build_object(b);
    hook_call_put_text(b, "username", user, "username");
    hook_call_put_text(b, "uid", user, "uid");
    put_node(b, "groups", user, "groups");
    put_node(b, "extra", user, "extra");
    pl_build_end(b);
}

/* The request for scripts: with their names, and without absent or null members. */
static struct pl_doc *make_request(struct pl_node request)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    hook_call_put_text(b, "uid", request, "uid");
    hook_call_put_text(b, "operation", request, "operation");
    put_kind(b, pl_node_getz(request, "kind"));
    hook_call_put_text(b, "resource", pl_node_getz(request, "resource"), "resource");
    hook_call_put_text(b, "subresource", request, "subResource");
    hook_call_put_text(b, "namespace", request, "namespace");
    hook_call_put_text(b, "name", request, "name");
    put_user(b, pl_node_getz(request, "userInfo"));
    put_node(b, "dry_run", request, "dryRun");
    put_node(b, "options", request, "options");
    pl_build_keyz(b, "audit_annotations"); /* for the script to fill */
    pl_build_object(b);
    pl_build_end(b);
    pl_build_end(b);
    return pl_build_close(b);
}

static struct pl_doc *object_of(struct pl_node request, const char *key)
{
    struct pl_node node = pl_node_getz(request, key);
    return pl_node_is_none(node) ? NULL : pl_doc_from_node(node, NULL);
}

void pl_hook_call_open(struct pl_hook_call *call)
{
    struct pl_node request = pl_node_getz(pl_doc_root(call->review), "request");
    call->object = object_of(request, "object");
    if (call->parameters > 1)
        call->old = object_of(request, "oldObject");
    if (call->parameters > 2)
        call->request = make_request(request);
    pl_doc_unref(call->review);
    call->review = NULL;
}

/* ---- conversion ---- */

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
