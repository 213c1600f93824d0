/* Admission: policies and webhooks.
 *
 * Mutating policies run before mutating webhooks. If one of either has changed the object, those
 * with reinvocationPolicy IfNeeded run once more, in the same order. Mutating webhooks are called
 * one after the other, ordered by the name of their configuration and then by its list. Each gets
 * the object as the previous one has left it. One with reinvocationPolicy IfNeeded is called once
 * more if another webhook has changed the object since. Validating webhooks are all called at once
 * with the final object. A webhook must never be called twice in one round, nor for the server's
 * own writes. */
#include "apicall/admit.h"

#include "apicall/admit_call.h"
#include "apicall/policy.h"

#include <string.h>

static const struct pl_api_table *configurations(struct pl_api_ctx *ctx, bool mutating)
{
    return pl_api_builtin_table(ctx->api->registry, "admissionregistration.k8s.io",
                                mutating ? "mutatingwebhookconfigurations"
                                         : "validatingwebhookconfigurations");
}

/* Webhooks are not called for the server's own writes, nor for webhook configurations. */
static bool is_exempt(const struct pl_api_ctx *ctx)
{
    return ctx->user.name.len == 0 || ctx->outside.ops == NULL ||
           (strcmp(pl_api_ctx_version(ctx)->group, "admissionregistration.k8s.io") == 0 &&
            !ctx->type->is_custom);
}

/* The object behind a Scale. Webhooks have already seen the Scale itself. */
static bool is_behind_scale(const struct pl_api_ctx *ctx, const struct pl_api_admission *admission)
{
    return pl_slice_eqz(ctx->request.subresource, "scale") && admission->as == NULL;
}

/* An error in a match condition is not a failed call: the request is forbidden. */
static int undecided(struct pl_api_hook *hook, const struct pl_api_admission *admission,
                     const char *why)
{
    struct pl_api_ctx *ctx = hook->ctx;
    if (pl_node_str_eq(pl_node_getz(hook->webhook, "failurePolicy"), pl_slice_z("Ignore")))
        return 0;
    const struct pl_tree *named = admission->object != NULL ? admission->object : admission->old;
    struct pl_slice name = pl_tree_text_at(named, "metadata.name");
    struct pl_slice group = pl_slice_z(pl_api_ctx_version(ctx)->group);
    pl_api_fail(&ctx->status, 403, "Forbidden", "%s%s%.*s \"%.*s\" is forbidden: %s",
                ctx->type->plural, group.len > 0 ? "." : "", PL_FMT(group), PL_FMT(name), why);
    pl_api_fail_about(&ctx->status, group, pl_slice_z(ctx->type->plural), name);
    return -1;
}

/* 1: call it; 0: do not call it; -1: failed. */
static int admit_begin(struct pl_api_hook *hook, const struct pl_api_admission *admission)
{
    struct pl_buf why = PL_BUF_INIT;
    struct pl_scratch scratch;
    struct pl_slice name = pl_node_str(pl_node_getz(hook->webhook, "name"), &scratch);
    hook->name = pl_arena_copy(&hook->ctx->arena, name);
    enum pl_api_match match =
        pl_api_admit_match(hook->ctx, hook->webhook, admission, &hook->version, &why);
    int code = match == PL_API_MATCHES       ? 1
               : match == PL_API_MATCHES_NOT ? 0
                                             : undecided(hook, admission, pl_buf_z(&why));
    pl_buf_deinit(&why);
    return code;
}

/* Mutating webhooks by their number, in call order: `called` are those with IfNeeded that were
 * called since the last change, `due` are those to call again. */
struct again {
    bool *called, *due; /* in the arena */
    size_t count;
};

static void admit_note(struct again *again, const struct pl_api_hook *hook, size_t i)
{
    for (size_t k = 0; hook->changed && k < again->count; k++) {
        again->due[k] = again->due[k] || again->called[k];
        again->called[k] = false;
    }
    again->called[i] =
        pl_node_str_eq(pl_node_getz(hook->webhook, "reinvocationPolicy"), pl_slice_z("IfNeeded"));
}

/* Round 0: all webhooks. Round 1: those that are due; calls of this round may add more. */
static int mutate(struct pl_api_ctx *ctx, struct pl_api_admission *admission, int round,
                  struct again *again)
{
    const struct pl_api_table *table = configurations(ctx, true);
    size_t i = 0;
    for (size_t t = 0; t < table->count; t++) {
        const struct pl_api_entry *entry = table->entries[t];
        struct pl_iter it = pl_iter(pl_node_getz(pl_doc_root(entry->doc), "webhooks"));
        for (; pl_iter_next(&it); i++) {
            struct pl_api_hook hook = {.ctx = ctx,
                                       .config = entry->key,
                                       .webhook = it.value,
                                       .mutates = true,
                                       .round = round};
            if (round > 0 && !again->due[i])
                continue;
            int code = admit_begin(&hook, admission);
            if (code < 0 || (code > 0 && pl_api_hook_ask(&hook, admission) != 0))
                return -1;
            if (code > 0)
                admit_note(again, &hook, i);
        }
    }
    return 0;
}

static size_t count_webhooks(const struct pl_api_table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++)
        count += pl_node_len(pl_node_getz(pl_doc_root(table->entries[i]->doc), "webhooks"));
    return count;
}

bool pl_api_admit_any(struct pl_api_ctx *ctx)
{
    return !is_exempt(ctx) && (configurations(ctx, true)->count > 0 ||
                               configurations(ctx, false)->count > 0 || pl_api_policies_any(ctx));
}

int pl_api_admit(struct pl_api_ctx *ctx, struct pl_api_admission *admission)
{
    struct pl_api_policies_again policies = {.wanted = false};
    if (is_exempt(ctx) || is_behind_scale(ctx, admission))
        return 0;
    size_t count = count_webhooks(configurations(ctx, true));
    struct again again = {.called = pl_arena_alloc(&ctx->arena, count + 1),
                          .due = pl_arena_alloc(&ctx->arena, count + 1),
                          .count = count};
    memset(again.called, 0, count);
    memset(again.due, 0, count);
    if (pl_api_policies_mutate(ctx, admission, &policies) != 0 ||
        mutate(ctx, admission, 0, &again) != 0)
        return -1;
    if (!policies.wanted && policies.left == admission->object)
        return 0;
    const struct pl_tree *seen = admission->object;
    policies.is_again = true;
    if (pl_api_policies_mutate(ctx, admission, &policies) != 0)
        return -1;
    for (size_t i = 0; admission->object != seen && i < count; i++)
        again.due[i] |= again.called[i];
    return mutate(ctx, admission, 1, &again);
}

int pl_api_admit_check(struct pl_api_ctx *ctx, struct pl_api_admission *admission)
{
    const struct pl_api_table *table = configurations(ctx, false);
    int result = 0;
    admission->is_final = true;
    if (is_exempt(ctx) || is_behind_scale(ctx, admission))
        return 0;
    if (pl_api_policies_check(ctx, admission) != 0)
        return -1;
    for (size_t i = 0; i < table->count; i++) {
        struct pl_iter it = pl_iter(pl_node_getz(pl_doc_root(table->entries[i]->doc), "webhooks"));
        while (pl_iter_next(&it)) {
            struct pl_api_hook hook = {
                .ctx = ctx, .config = table->entries[i]->key, .webhook = it.value};
            int code = admit_begin(&hook, admission);
            if (code > 0)
                code = pl_api_hook_ask(&hook, admission);
            if (code < 0 && !ctx->is_waiting) /* the first refusal is enough */
                return -1;
            result = code < 0 ? -1 : result;
        }
    }
    return result;
}
