/* Stored objects in other versions. A stored object gets the defaults of a definition that is
 * newer, is converted, and loses what the request's version does not declare: kube-apiserver does
 * the same at each read. Questions to the conversion webhook are about many objects at once. What
 * a conversion may change: schema/converted.c. */
#include "apicall/convert.h"

#include "apicall/ask.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"
#include "schema/converted.h"
#include "schema/structural.h"
#include "value/scan.h"
#include "value/write.h"

#define TIMEOUT_MS 30000

static struct pl_node conversion_of(const struct pl_api_type *type)
{
    return pl_node_dig(pl_doc_root(type->versions[type->storage_version].definition), "spec",
                       "conversion");
}

bool pl_api_converts(const struct pl_api_type *type, size_t from, size_t to)
{
    if (type->convert != NULL)
        return from != to;
    return type->is_custom && from != to &&
           pl_node_str_eq(pl_node_getz(conversion_of(type), "strategy"), pl_slice_z("Webhook"));
}

bool pl_api_reshapes(const struct pl_api_type *type, size_t version)
{
    bool differs = version != type->storage_version;
    return type->is_custom ? differs || type->is_changed : differs && type->convert != NULL;
}

static int convert_fail(struct pl_api_ctx *ctx, size_t from, const char *why)
{
    char text[PL_KIND_TEXT];
    return pl_api_fail(
        &ctx->status, 500, "InternalError", "conversion webhook for %.*s, Kind=%s failed: %s",
        PL_FMT(pl_api_version_text(&ctx->type->versions[from], text)), ctx->type->kind, why);
}

/* The array of converted objects, in a document that the context holds. MISSING: -1. */
static struct pl_node read_reply(struct pl_api_ctx *ctx, const struct pl_api_reply *reply,
                                 size_t from, size_t count)
{
    struct pl_scan_options options = {.keep_managed_fields = true, .max_bytes = SIZE_MAX};
    struct pl_err err;
    pl_err_clear(&err);
    if (reply->err.code != 0 || reply->status != 200) {
        char *why = reply->err.code != 0
                        ? pl_strdup(reply->err.message)
                        : pl_format("the server answered with status %d", reply->status);
        convert_fail(ctx, from, why);
        pl_free(why);
        return PL_NODE_MISSING;
    }
    struct pl_doc *doc = pl_scan_text(pl_buf_slice(&reply->body), &options, &err);
    pl_api_ctx_hold(ctx, doc);
    struct pl_node response = pl_node_getz(pl_doc_root(doc), "response");
    struct pl_scratch scratch;
    struct pl_node objects = pl_node_getz(response, "convertedObjects");
    if (pl_node_str_eq(pl_node_dig(response, "result", "status"), pl_slice_z("Success")) &&
        pl_node_len(objects) == count)
        return objects;
    struct pl_slice why = pl_node_str(pl_node_dig(response, "result", "message"), &scratch);
    char *text = why.len > 0
                     ? pl_text_copy(why)
                     : pl_format("%s", doc == NULL ? err.message
                                                   : "the webhook did not return every object");
    convert_fail(ctx, from, text);
    pl_free(text);
    return PL_NODE_MISSING;
}

/* objects: JSON texts, joined by commas. Returns the array of results; MISSING with the status, or
 * while it waits. */
static struct pl_node convert_ask(struct pl_api_ctx *ctx, struct pl_slice objects, size_t count,
                                  size_t from, size_t to)
{
    char text[PL_KIND_TEXT], uid[37];
    struct pl_slice version = pl_api_version_text(&ctx->type->versions[to], text);
    struct pl_buf body = PL_BUF_INIT;
    const struct pl_tree *client = pl_tree_from_node(
        &ctx->arena, pl_node_dig(conversion_of(ctx->type), "webhook", "clientConfig"));
    pl_rand_uuid(&ctx->api->rand, uid);
    pl_buf_add_f(&body,
                 "{\"kind\":\"ConversionReview\",\"apiVersion\":\"apiextensions.k8s.io/v1\","
                 "\"request\":{\"uid\":\"%s\",\"desiredAPIVersion\":\"%.*s\",\"objects\":[",
                 uid, PL_FMT(version));
    pl_buf_add_slice(&body, objects);
    pl_buf_add_z(&body, "]}}");
    const struct pl_api_question question = {
        .key = pl_hash(objects.ptr, objects.len, (uint64_t)to + 1),
        .client = client,
        .body = pl_buf_slice(&body),
        .timeout_ms = TIMEOUT_MS};
    const struct pl_api_reply *reply = pl_api_ask(ctx, &question);
    pl_buf_deinit(&body);
    return reply != NULL ? read_reply(ctx, reply, from, count) : PL_NODE_MISSING;
}

/* ---- one ---- */

static void rename_version(struct pl_api_ctx *ctx, struct pl_tree *object, size_t to)
{
    char text[PL_KIND_TEXT];
    pl_tree_setz(&ctx->arena, object, "apiVersion",
                 pl_tree_str(&ctx->arena, pl_api_version_text(&ctx->type->versions[to], text)));
}

/* The version with that apiVersion; the stored one if there is none. */
static size_t convert_version_of(const struct pl_api_type *type, struct pl_slice api_version)
{
    for (size_t i = 0; i < type->version_count; i++) {
        char text[PL_KIND_TEXT];
        if (pl_slice_eq(api_version, pl_api_version_text(&type->versions[i], text)))
            return i;
    }
    return type->storage_version;
}

static const char *check_made(struct pl_api_ctx *ctx, const struct pl_tree *original,
                              struct pl_tree *made, size_t to)
{
    char text[PL_KIND_TEXT];
    return pl_api_converted_check(&ctx->arena, original, made,
                                  pl_api_version_text(&ctx->type->versions[to], text));
}

static const char *made_text(struct pl_api_ctx *ctx, size_t from, const char *wrong)
{
    char text[PL_KIND_TEXT];
    return pl_arena_f(&ctx->arena, "conversion webhook for %.*s, Kind=%s returned %s",
                      PL_FMT(pl_api_version_text(&ctx->type->versions[from], text)),
                      ctx->type->kind, wrong)
        .ptr;
}

int pl_api_convert(struct pl_api_ctx *ctx, struct pl_tree **object, size_t from, size_t to)
{
    if (ctx->type->convert != NULL) {
        if (convert_version_of(ctx->type, pl_tree_text_at(*object, "apiVersion")) != to)
            ctx->type->convert(&ctx->arena, *object, to == ctx->type->storage_version);
        return 0;
    }
    if (!pl_api_converts(ctx->type, from, to)) {
        rename_version(ctx, *object, to);
        return 0;
    }
    /* Values that only the server sets are kept here: they may differ in each run. */
    struct pl_tree *sent = pl_tree_copy(&ctx->arena, *object);
    struct pl_tree *meta = pl_tree_getz(sent, "metadata");
    static const char own[][20] = {"managedFields", "uid", "creationTimestamp"};
    rename_version(ctx, sent, from);
    for (size_t i = 0; i < PL_ARRAY_LEN(own); i++)
        pl_tree_removez(meta, own[i]);
    struct pl_buf text = PL_BUF_INIT;
    pl_tree_write(&text, sent);
    struct pl_node found = convert_ask(ctx, pl_buf_slice(&text), 1, from, to);
    pl_buf_deinit(&text);
    if (pl_node_is_missing(found))
        return -1;
    struct pl_tree *made = pl_tree_from_node(&ctx->arena, pl_node_at(found, 0));
    const char *wrong = check_made(ctx, *object, made, to);
    if (wrong != NULL)
        return pl_api_fail(&ctx->status, 500, "", "%s", made_text(ctx, from, wrong));
    *object = made;
    return 0;
}

/* ---- many ---- */

static size_t version_of_node(const struct pl_api_type *type, struct pl_node object)
{
    struct pl_scratch scratch;
    return convert_version_of(type, pl_node_str(pl_node_getz(object, "apiVersion"), &scratch));
}

/* The root of the tree's document, which the context holds. */
static struct pl_node held_root(struct pl_api_ctx *ctx, const struct pl_tree *tree)
{
    struct pl_doc *doc = pl_tree_doc(tree, NULL);
    pl_api_ctx_hold(ctx, doc);
    return pl_doc_root(doc);
}

/* Built-in kinds; the context holds what is made. */
static void convert_builtins(struct pl_api_ctx *ctx, struct pl_node *objects, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (version_of_node(ctx->type, objects[i]) == ctx->version)
            continue;
        struct pl_tree *tree = pl_tree_from_node(&ctx->arena, objects[i]);
        ctx->type->convert(&ctx->arena, tree, ctx->version == ctx->type->storage_version);
        objects[i] = held_root(ctx, tree);
    }
}

/* Objects that were stored before their definition changed. */
static void renew_nodes(struct pl_api_ctx *ctx, struct pl_node *objects, size_t count)
{
    for (size_t i = 0; ctx->type->is_changed && i < count; i++) {
        struct pl_node schema = ctx->type->versions[version_of_node(ctx->type, objects[i])].schema;
        struct pl_tree *tree = pl_tree_from_node(&ctx->arena, objects[i]);
        pl_api_structural_prune(&ctx->arena, tree, schema, NULL);
        pl_api_structural_default(&ctx->arena, tree, schema);
        objects[i] = held_root(ctx, tree);
    }
}

static void prune_nodes(struct pl_api_ctx *ctx, struct pl_node *objects, size_t count)
{
    for (size_t i = 0; pl_api_reshapes(ctx->type, ctx->version) && i < count; i++) {
        struct pl_tree *tree = pl_tree_from_node(&ctx->arena, objects[i]);
        pl_api_structural_prune(&ctx->arena, tree, pl_api_ctx_version(ctx)->schema, NULL);
        objects[i] = held_root(ctx, tree);
    }
}

/* The object becomes what the webhook has made of it. */
static int take_node(struct pl_api_ctx *ctx, struct pl_node *object, size_t own,
                     struct pl_node found)
{
    struct pl_tree *original = pl_tree_from_node(&ctx->arena, *object);
    struct pl_tree *made = pl_tree_from_node(&ctx->arena, found);
    const char *wrong = check_made(ctx, original, made, ctx->version);
    if (wrong != NULL)
        return pl_api_fail_internal(&ctx->status, "%s", made_text(ctx, own, wrong));
    *object = held_root(ctx, made);
    return 0;
}

static int ask_about_nodes(struct pl_api_ctx *ctx, struct pl_node *objects, size_t count)
{
    struct pl_buf text = PL_BUF_INIT;
    size_t asked = 0, at = 0, from = ctx->type->storage_version;
    for (size_t i = 0; i < count; i++) {
        size_t own = version_of_node(ctx->type, objects[i]);
        if (!pl_api_converts(ctx->type, own, ctx->version))
            continue;
        if (asked++ > 0)
            pl_buf_add_char(&text, ',');
        pl_write(&text, objects[i], PL_WRITE_COMPACT);
        from = own;
    }
    struct pl_node found = asked > 0
                               ? convert_ask(ctx, pl_buf_slice(&text), asked, from, ctx->version)
                               : PL_NODE_MISSING;
    pl_buf_deinit(&text);
    if (asked > 0 && pl_node_is_missing(found))
        return -1;
    for (size_t i = 0; i < count && asked > 0; i++) {
        size_t own = version_of_node(ctx->type, objects[i]);
        if (pl_api_converts(ctx->type, own, ctx->version) &&
            take_node(ctx, &objects[i], own, pl_node_at(found, at++)) != 0)
            return -1;
    }
    return 0;
}

int pl_api_convert_nodes(struct pl_api_ctx *ctx, struct pl_node *objects, size_t count)
{
    if (ctx->type->convert != NULL) {
        convert_builtins(ctx, objects, count);
        return 0;
    }
    renew_nodes(ctx, objects, count);
    if (ask_about_nodes(ctx, objects, count) != 0)
        return -1;
    prune_nodes(ctx, objects, count);
    return 0;
}
