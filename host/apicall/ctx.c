/* The context of one request: its arena, and documents that live until the request ends. Also the
 * responder of requests without a client. */
#include "apicall/core.h"

#include "base/alloc.h"

static void drop_reply(void *self, int status, const struct pl_http_header *headers, size_t count,
                       struct pl_slice body)
{
    PL_UNUSED(self);
    PL_UNUSED(status);
    PL_UNUSED(headers);
    PL_UNUSED(count);
    PL_UNUSED(body);
}

const struct pl_api_responder_ops pl_api_no_client = {.reply = drop_reply};

void pl_api_ctx_init(struct pl_api_ctx *ctx, struct pl_api *api, struct pl_api_type *type)
{
    *ctx = (struct pl_api_ctx){.api = api, .type = type};
    ctx->status.arena = &ctx->arena;
    ctx->now_ns = pl_clock_wall(api->timers->clock);
    ctx->seed = pl_rand_u64(&api->rand);
    pl_rand_seed(&ctx->rand, ctx->seed);
    if (type != NULL)
        ctx->version = type->storage_version;
}

void pl_api_ctx_deinit(struct pl_api_ctx *ctx)
{
    pl_arena_deinit(&ctx->arena);
    for (size_t i = 0; i < ctx->held_count; i++)
        pl_doc_unref(ctx->held[i]);
    pl_free(ctx->held);
}

void pl_api_ctx_hold(struct pl_api_ctx *ctx, struct pl_doc *doc)
{
    if (doc == NULL)
        return;
    ctx->held = pl_reallocarray(ctx->held, ctx->held_count + 1, sizeof(struct pl_doc *));
    ctx->held[ctx->held_count++] = doc;
}

void pl_api_warn(struct pl_api_ctx *ctx, struct pl_slice text)
{
    if (ctx->warnings == NULL)
        ctx->warnings = pl_tree_array(&ctx->arena);
    pl_tree_push(&ctx->arena, ctx->warnings, pl_tree_str(&ctx->arena, text));
}
