/* One call of an admission webhook: the review and the effects of its answer.
 *
 * failurePolicy decides about failures as in kube-apiserver: failed calls and malformed answers may
 * be ignored, a patch that does not apply may not. It must never change the caller's object before
 * the whole answer was checked. What the server generates (uid, times, names) is the same in each
 * run of a request, so the objects tell questions apart: see ask.h. */
#include "apicall/admit_call.h"

#include "apicall/ask.h"
#include "apicall/convert.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/hash.h"
#include "gotype/admission_response.h"
#include "object/patch.h"
#include "schema/go_words.h"
#include "value/scan.h"

#include <string.h>

#define TIMEOUT_S 10

static bool ignores(const struct pl_api_hook *hook)
{
    return pl_node_str_eq(pl_node_getz(hook->webhook, "failurePolicy"), pl_slice_z("Ignore"));
}

/* The webhook could not be called: 0 if its policy ignores that, else -1 with the status. */
static int hook_failed(struct pl_api_hook *hook, const char *why)
{
    if (ignores(hook))
        return 0;
    return pl_api_fail_internal(&hook->ctx->status, "failed calling webhook \"%.*s\": %s",
                                PL_FMT(hook->name), why);
}

static uint64_t admit_call_key_of(const struct pl_api_hook *hook,
                                  const struct pl_api_admission *admission)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_buf_add_f(&text, "%s %.*s %d %d ", hook->config, PL_FMT(hook->name), hook->round,
                 hook->mutates);
    if (admission->object != NULL)
        pl_tree_write(&text, admission->object);
    pl_buf_add_char(&text, ' ');
    if (admission->old != NULL)
        pl_tree_write(&text, admission->old);
    uint64_t key = pl_hash(text.ptr, text.len, 7);
    pl_buf_deinit(&text);
    return key;
}

static void write_review(struct pl_api_hook *hook, const struct pl_api_admission *sent,
                         char uid[37], struct pl_buf *body)
{
    struct pl_arena *arena = &hook->ctx->arena;
    struct pl_tree *request = pl_api_admit_request(hook->ctx, sent, hook->version);
    struct pl_tree *review = pl_tree_literal(
        arena, "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\"}");
    struct pl_tree *nothing = pl_tree_literal(arena, "null");
    pl_rand_uuid(&hook->ctx->api->rand, uid);
    pl_tree_set_strz(arena, request, "uid", uid);
    pl_tree_setz(arena, request, "object", sent->object != NULL ? sent->object : nothing);
    pl_tree_setz(arena, request, "oldObject",
                 sent->old != NULL ? pl_tree_copy(arena, sent->old) : nothing);
    pl_tree_setz(arena, review, "request", request);
    pl_tree_write(body, review);
}

static int64_t timeout_ms(struct pl_node webhook)
{
    int64_t seconds;
    bool given = pl_node_int(pl_node_getz(webhook, "timeoutSeconds"), &seconds);
    return (given && seconds > 0 && seconds <= 30 ? seconds : TIMEOUT_S) * 1000;
}

static const struct pl_api_reply *call_webhook(struct pl_api_hook *hook,
                                               const struct pl_api_admission *sent)
{
    struct pl_buf body = PL_BUF_INIT;
    uint64_t key = admit_call_key_of(hook, sent);
    char uid[37] = "";
    if (!pl_api_is_asked(hook->ctx, key))
        write_review(hook, sent, uid, &body);
    const struct pl_api_question question = {
        .key = key,
        .uid = uid,
        .client = pl_tree_from_node(&hook->ctx->arena, pl_node_getz(hook->webhook, "clientConfig")),
        .body = pl_buf_slice(&body),
        .timeout_ms = timeout_ms(hook->webhook)};
    const struct pl_api_reply *reply = pl_api_ask(hook->ctx, &question);
    pl_buf_deinit(&body);
    return reply;
}

/* ---- answers ---- */

/* Why the answer can't be read. The caller frees it with pl_free. */
static char *why_not(const struct pl_api_reply *reply)
{
    struct pl_slice said = pl_buf_slice(&reply->body);
    while (said.len > 0 && said.ptr[said.len - 1] == '\n')
        said.len--;
    if (reply->err.code == PL_ETIMEOUT)
        return pl_format("failed to call webhook: Post \"%s\": context deadline exceeded",
                         reply->url);
    if (reply->err.code != 0)
        return pl_format("failed to call webhook: %s", reply->err.message);
    return pl_format("failed to call webhook: an error on the server (\"%.*s\") has prevented the "
                     "request from succeeding (status %d)",
                     said.len < 500 ? (int)said.len : 500, said.ptr != NULL ? said.ptr : "",
                     reply->status);
}

/* NULL: it is the answer to this review. */
static const char *wrong_with(const struct pl_api_hook *hook, struct pl_node review,
                              struct pl_slice uid)
{
    struct pl_node response = pl_node_getz(review, "response");
    if (!pl_node_str_eq(pl_node_getz(review, "kind"), pl_slice_z("AdmissionReview")) ||
        !pl_node_str_eq(pl_node_getz(review, "apiVersion"), pl_slice_z("admission.k8s.io/v1")))
        return "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview";
    if (pl_node_type(response) != PL_OBJECT)
        return "webhook response was absent";
    if (!pl_node_str_eq(pl_node_getz(response, "uid"), uid))
        return "expected response.uid to be the request's uid";
    return pl_admission_patch_fault(&hook->ctx->arena, response, hook->mutates);
}

/* The review's response, in a document that the context holds. MISSING: *code is the result. */
static struct pl_node read_reply(struct pl_api_hook *hook, const struct pl_api_reply *reply,
                                 int *code)
{
    struct pl_scan_options options = {.keep_managed_fields = true};
    struct pl_err err;
    pl_err_clear(&err);
    if (reply->err.code != 0 || reply->status != 200) {
        char *why = why_not(reply);
        *code = hook_failed(hook, why);
        pl_free(why);
        return PL_NODE_MISSING;
    }
    struct pl_doc *doc = pl_scan_text(pl_buf_slice(&reply->body), &options, &err);
    pl_api_ctx_hold(hook->ctx, doc);
    struct pl_node root = pl_doc_root(doc), response = pl_node_getz(root, "response");
    const char *unread =
        doc == NULL ? err.message : pl_admission_response_fault(&hook->ctx->arena, response);
    const char *wrong =
        unread == NULL ? wrong_with(hook, root, pl_slice_z(reply->question_uid)) : unread;
    if (wrong == NULL)
        return response;
    const char *how =
        unread != NULL ? "failed to call webhook" : "received invalid webhook response";
    *code = hook_failed(hook, pl_arena_f(&hook->ctx->arena, "%s: %s", how, wrong).ptr);
    return PL_NODE_MISSING;
}

static void take_warnings(struct pl_api_hook *hook, struct pl_node response)
{
    struct pl_iter it = pl_iter(pl_node_getz(response, "warnings"));
    while (pl_iter_next(&it)) {
        struct pl_scratch scratch;
        pl_api_warn(hook->ctx, pl_node_str(it.value, &scratch));
    }
}

static int denied(struct pl_api_hook *hook, struct pl_node response)
{
    struct pl_api_ctx *ctx = hook->ctx;
    struct pl_node status = pl_node_getz(response, "status");
    struct pl_scratch a, b;
    struct pl_slice message = pl_node_str(pl_node_getz(status, "message"), &a);
    struct pl_slice reason = pl_node_str(pl_node_getz(status, "reason"), &b);
    struct pl_slice said = message.len > 0 ? message : reason;
    int64_t code = 0;
    bool given = pl_node_int(pl_node_getz(status, "code"), &code) && code >= 400 && code < 600;
    pl_api_fail(&ctx->status, given ? (int)code : 400, pl_arena_copy(&ctx->arena, reason).ptr,
                "admission webhook \"%.*s\" denied the request%s%.*s", PL_FMT(hook->name),
                said.len > 0 ? ": " : " without explanation", PL_FMT(said));
    struct pl_node details = pl_node_getz(status, "details");
    if (pl_node_type(details) == PL_OBJECT) {
        struct pl_tree *tree = pl_tree_from_node(&ctx->arena, details);
        pl_api_fail_about(&ctx->status, pl_tree_text_at(tree, "group"),
                          pl_tree_text_at(tree, "kind"), pl_tree_text_at(tree, "name"));
        ctx->status.causes = pl_tree_getz(tree, "causes");
    }
    return -1;
}

/* NULL: there is no patch, or it can't be read. *code is the result. */
static struct pl_doc *decode_patch(struct pl_api_hook *hook, struct pl_node response, int *code)
{
    struct pl_arena *arena = &hook->ctx->arena;
    struct pl_scratch scratch;
    struct pl_buf text = PL_BUF_INIT;
    struct pl_slice coded = pl_node_str(pl_node_getz(response, "patch"), &scratch);
    *code = 0;
    if (coded.len == 0)
        return NULL;
    struct pl_doc *patch =
        pl_base64_decode(coded, &text) ? pl_scan_text(pl_buf_slice(&text), NULL, NULL) : NULL;
    enum pl_type type = pl_node_type(pl_doc_root(patch));
    if (type != PL_ARRAY && type != PL_NULL) {
        const char *why = pl_go_json_fault(arena, pl_buf_slice(&text));
        if (patch != NULL)
            why =
                pl_arena_f(arena, "json: cannot unmarshal %s into Go value of type jsonpatch.Patch",
                           type == PL_BOOL ? "bool" : pl_type_name(type))
                    .ptr;
        why = pl_arena_f(arena, "received undecodable patch in webhook response: %s",
                         why != NULL ? why : "not JSON")
                  .ptr;
        *code = hook_failed(hook, why);
    }
    pl_buf_deinit(&text);
    if (pl_node_len(pl_doc_root(patch)) > 0 && type == PL_ARRAY)
        return patch;
    pl_doc_unref(patch);
    return NULL;
}

static int apply_patch(struct pl_api_hook *hook, struct pl_node response, struct pl_tree *sent,
                       struct pl_tree **object)
{
    struct pl_api_ctx *ctx = hook->ctx;
    struct pl_err err;
    int code;
    pl_err_clear(&err);
    struct pl_doc *patch = decode_patch(hook, response, &code);
    if (patch == NULL)
        return code;
    struct pl_doc *target = sent != NULL ? pl_tree_doc(sent, NULL) : NULL;
    struct pl_doc *result =
        sent != NULL ? pl_patch_json(pl_doc_root(target), pl_doc_root(patch), &err) : NULL;
    if (sent == NULL)
        code = pl_api_fail_internal(&ctx->status,
                                    "admission webhook \"%.*s\" attempted to modify the object, "
                                    "which is not supported for this operation",
                                    PL_FMT(hook->name));
    else if (pl_node_type(pl_doc_root(result)) != PL_OBJECT)
        code = pl_api_fail_internal(&ctx->status, "%s",
                                    result == NULL && err.code != 0 ? err.message
                                                                    : "the patch can't be applied");
    else
        *object = pl_tree_from_node(&ctx->arena, pl_doc_root(result));
    pl_doc_unref(result);
    pl_doc_unref(target);
    pl_doc_unref(patch);
    return code;
}

static bool fits_dry_run(const struct pl_api_hook *hook)
{
    struct pl_node effects = pl_node_getz(hook->webhook, "sideEffects");
    return !hook->ctx->request.dry_run || pl_node_str_eq(effects, pl_slice_z("None")) ||
           pl_node_str_eq(effects, pl_slice_z("NoneOnDryRun"));
}

/* Both objects in the webhook's version. */
static int in_version(struct pl_api_hook *hook, const struct pl_api_admission *admission,
                      struct pl_api_admission *sent)
{
    struct pl_api_ctx *ctx = hook->ctx;
    *sent = *admission;
    if (hook->version == ctx->version || admission->as != NULL)
        return 0;
    struct pl_tree *old = admission->old != NULL ? pl_tree_copy(&ctx->arena, admission->old) : NULL;
    if (sent->object != NULL) {
        sent->object = pl_tree_copy(&ctx->arena, sent->object);
        if (pl_api_convert(ctx, &sent->object, ctx->version, hook->version) != 0)
            return -1;
    }
    if (old != NULL && pl_api_convert(ctx, &old, ctx->version, hook->version) != 0)
        return -1;
    sent->old = old;
    return 0;
}

static int change_object(struct pl_api_hook *hook, struct pl_node response,
                         const struct pl_api_admission *sent, struct pl_api_admission *admission)
{
    struct pl_api_ctx *ctx = hook->ctx;
    struct pl_tree *changed = NULL;
    if (apply_patch(hook, response, sent->object, &changed) != 0 ||
        (changed != NULL && pl_api_admit_read(hook, sent, &changed) != 0))
        return -1;
    if (changed != NULL && hook->version != ctx->version && sent->as == NULL &&
        pl_api_convert(ctx, &changed, hook->version, ctx->version) != 0)
        return -1;
    if (changed != NULL)
        admission->object = changed;
    return 0;
}

/* 0: the webhook allows the request and may have changed the object. -1 with the status, or while
 * it waits. */
int pl_api_hook_ask(struct pl_api_hook *hook, struct pl_api_admission *admission)
{
    struct pl_api_ctx *ctx = hook->ctx;
    struct pl_api_admission sent;
    int code;
    if (!fits_dry_run(hook))
        return pl_api_bad_request(&ctx->status,
                                  "admission webhook \"%.*s\" does not support dry run",
                                  PL_FMT(hook->name));
    if (in_version(hook, admission, &sent) != 0)
        return -1;
    const struct pl_api_reply *reply = call_webhook(hook, &sent);
    if (reply == NULL)
        return -1;
    struct pl_node response = read_reply(hook, reply, &code);
    if (pl_node_is_missing(response))
        return code;
    take_warnings(hook, response);
    if (!pl_node_bool(pl_node_getz(response, "allowed")))
        return denied(hook, response);
    if (!hook->mutates)
        return 0;
    return change_object(hook, response, &sent, admission);
}
