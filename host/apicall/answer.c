/* Answers: an object, a list's text or a failure, in the requested form (JSON, YAML, partial
 * metadata, table), with warnings. An object is written from its stored document with the
 * apiVersion and member names of the requested version. The document itself is never changed. A
 * failure is always plain JSON or text. */
#include "apicall/core.h"

#include "apicall/convert.h"
#include "apicall/protobuf.h"
#include "format/units.h"
#include "format/yaml.h"
#include "gotype/proto.h"
#include "object/meta.h"
#include "schema/structural.h"
#include "columns/table.h"
#include "value/scan.h"
#include "value/write.h"

#include <inttypes.h>

#define MAX_WARNINGS 400
#define MAX_WARNED   4096 /* limit of the characters of all warnings together */
#define MAX_CUT      256  /* limit of each warning, if all together have more than MAX_WARNED */

/* ---- headers and bodies ---- */

static bool was_said(const struct pl_tree *warnings, const struct pl_tree_item *item)
{
    PL_TREE_FOR(before, warnings)
    {
        if (before == item)
            return false;
        if (pl_slice_eq(pl_tree_text(before->value), pl_tree_text(item->value)))
            return true;
    }
    return false;
}

/* The number of bytes of the first `limit` characters; *count: the number of characters. */
static size_t first_characters(struct pl_slice text, size_t limit, size_t *count)
{
    size_t at = 0;
    for (*count = 0; at < text.len && *count < limit; ++*count)
        for (at++; at < text.len && ((uint8_t)text.ptr[at] & 0xc0) == 0x80;)
            at++;
    return at;
}

/* Headers can't have control characters. */
static bool has_controls(struct pl_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = (uint8_t)text.ptr[i];
        bool is_latin = c == 0xc2 && i + 1 < text.len && (uint8_t)text.ptr[i + 1] < 0xa0;
        if (c < ' ' || c == 0x7f || is_latin)
            return true;
    }
    return false;
}

static const char *warning_text(struct pl_api_ctx *ctx, struct pl_slice text)
{
    struct pl_buf quoted = PL_BUF_INIT;
    pl_write_str(&quoted, text);
    struct pl_slice value = pl_arena_f(&ctx->arena, "299 - %s", pl_buf_z(&quoted));
    pl_buf_deinit(&quoted);
    return value.ptr;
}

/* Adds each warning once. False: they are too long to be added as they are. */
static bool add_each(struct pl_api_ctx *ctx, struct pl_http_header *headers, size_t *count,
                     bool is_cut)
{
    size_t written = 0, length;
    *count = 0;
    PL_TREE_FOR(item, ctx->warnings)
    {
        struct pl_slice text = pl_tree_text(item->value);
        if (text.len == 0 || has_controls(text) || was_said(ctx->warnings, item))
            continue;
        if (*count == MAX_WARNINGS || (is_cut && written >= MAX_WARNED))
            break;
        text.len = first_characters(text, is_cut ? MAX_CUT : text.len, &length);
        written += length;
        if (!is_cut && written > MAX_WARNED)
            return false;
        headers[(*count)++] = (struct pl_http_header){"Warning", warning_text(ctx, text)};
    }
    return true;
}

static size_t add_warnings(struct pl_api_ctx *ctx, struct pl_http_header *headers)
{
    size_t count;
    if (!add_each(ctx, headers, &count, false))
        PL_UNUSED(add_each(ctx, headers, &count, true));
    return count;
}

static void answer_reply(struct pl_api_ctx *ctx, int code, const char *content_type,
                         struct pl_slice body)
{
    struct pl_http_header headers[MAX_WARNINGS + 3];
    size_t count = add_warnings(ctx, headers);
    headers[count++] = (struct pl_http_header){"Content-Type", content_type};
    headers[count++] = (struct pl_http_header){"Cache-Control", "no-cache, private"};
    if (ctx->status.retry_after > 0)
        headers[count++] = (struct pl_http_header){
            "Retry-After", pl_arena_f(&ctx->arena, "%d", ctx->status.retry_after).ptr};
    ctx->responder.ops->reply(ctx->responder.self, code, headers, count, body);
}

/* For people (curl) and for requests that accept YAML. */
static void reply_reformatted(struct pl_api_ctx *ctx, int code, struct pl_slice json)
{
    struct pl_scan_options options = {.keep_managed_fields = true, .max_bytes = SIZE_MAX};
    struct pl_doc *doc = pl_scan_text(json, &options, NULL);
    struct pl_buf out = PL_BUF_INIT;
    if (ctx->request.is_yaml_answer) {
        struct pl_tree *tree = pl_tree_from_node(&ctx->arena, pl_doc_root(doc));
        pl_tree_sort(tree);
        struct pl_doc *sorted = pl_tree_doc(tree, NULL);
        pl_yaml_encode(pl_doc_root(sorted), &out);
        pl_doc_unref(sorted);
        answer_reply(ctx, code, "application/yaml", pl_buf_slice(&out));
    } else {
        pl_write(&out, pl_doc_root(doc), PL_WRITE_PRETTY);
        pl_buf_add_char(&out, '\n');
        answer_reply(ctx, code, "application/json", pl_buf_slice(&out));
    }
    pl_buf_deinit(&out);
    pl_doc_unref(doc);
}

/* An object without a protobuf type is answered in JSON. */
static bool reply_protobuf(struct pl_api_ctx *ctx, int code, struct pl_slice json)
{
    struct pl_buf out = PL_BUF_INIT;
    bool written = pl_api_proto_write_json(&out, json);
    if (written)
        answer_reply(ctx, code, PL_PROTO_TYPE, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    return written;
}

void pl_api_answer(struct pl_api_ctx *ctx, int code, struct pl_slice json)
{
    if (ctx->request.is_proto_answer && reply_protobuf(ctx, code, json))
        return;
    if (ctx->request.is_yaml_answer || ctx->request.is_pretty)
        reply_reformatted(ctx, code, json);
    else
        answer_reply(ctx, code, "application/json", json);
}

void pl_api_answer_tree(struct pl_api_ctx *ctx, int code, const struct pl_tree *tree)
{
    struct pl_buf out = PL_BUF_INIT;
    pl_tree_write(&out, tree);
    pl_buf_add_char(&out, '\n');
    pl_api_answer(ctx, code, pl_buf_slice(&out));
    pl_buf_deinit(&out);
}

struct pl_api_table_options pl_api_answer_table(const struct pl_api_ctx *ctx)
{
    struct pl_slice include = ctx->request.include;
    return (struct pl_api_table_options){
        .now_ns = pl_clock_wall(ctx->api->timers->clock),
        .with_columns = true,
        .without_objects = pl_slice_eqz(include, "None"),
        .write = pl_slice_eqz(include, "Object") ? pl_api_object_write : NULL};
}

void pl_api_answer_object(struct pl_api_ctx *ctx, int code, const struct pl_doc *doc)
{
    if (ctx->responder.ops == &pl_api_no_client)
        return;
    struct pl_buf out = PL_BUF_INIT;
    struct pl_node root = pl_doc_root(doc);
    struct pl_api_table_options table = pl_api_answer_table(ctx);
    if (ctx->type->convert != NULL && ctx->request.form == PL_API_PLAIN)
        PL_IGNORE(pl_api_convert_nodes(ctx, &root, 1)); /* no questions: never fails */
    if (ctx->request.is_proto_answer && ctx->request.form == PL_API_PLAIN) {
        pl_api_proto_object(&out, ctx->type, ctx->version, root);
        answer_reply(ctx, code, PL_PROTO_TYPE, pl_buf_slice(&out));
        pl_buf_deinit(&out);
        return;
    }
    if (ctx->request.form == PL_API_PARTIAL)
        pl_api_partial_write(&out, root);
    else if (ctx->request.form == PL_API_TABLE)
        pl_api_table_write(&out, ctx->type, ctx->version, &root, 1, &table);
    else
        pl_api_object_write(&out, ctx->type, ctx->version, root, false);
    pl_buf_add_char(&out, '\n');
    pl_api_answer(ctx, code, pl_buf_slice(&out));
    pl_buf_deinit(&out);
}

void pl_api_answer_failure(struct pl_api_ctx *ctx)
{
    if (ctx->status.is_plain) {
        answer_reply(ctx, ctx->status.code, "text/plain; charset=utf-8", ctx->status.message);
        return;
    }
    struct pl_buf out = PL_BUF_INIT;
    pl_api_status_write(&ctx->status, &out);
    pl_buf_add_char(&out, '\n');
    ctx->request.form = PL_API_PLAIN;
    pl_api_answer(ctx, ctx->status.code, pl_buf_slice(&out));
    pl_buf_deinit(&out);
}

/* ---- objects ---- */

struct pl_tree *pl_api_load(struct pl_api_ctx *ctx, const struct pl_doc *doc)
{
    const struct pl_api_version *v = pl_api_ctx_version(ctx);
    struct pl_node root = pl_doc_root(doc);
    if (pl_api_convert_nodes(ctx, &root, 1) != 0)
        return NULL;
    struct pl_tree *tree = pl_tree_from_node(&ctx->arena, root);
    char text[PL_KIND_TEXT];
    pl_tree_setz(&ctx->arena, tree, "apiVersion",
                 pl_tree_str(&ctx->arena, pl_api_version_text(v, text)));
    if (v->renames != NULL)
        PL_TREE_FOR(item, tree)
    pl_tree_rename(tree, item, pl_api_served_name(v, item->key));
    return tree;
}

/* The stored metadata, but converted labels and annotations. */
static void take_metadata(struct pl_api_ctx *ctx, struct pl_tree *shown, const struct pl_doc *doc)
{
    static const char converted[][12] = {"labels", "annotations"};
    struct pl_tree *metadata =
        pl_tree_from_node(&ctx->arena, pl_node_getz(pl_doc_root(doc), "metadata"));
    for (size_t i = 0; i < PL_ARRAY_LEN(converted); i++) {
        struct pl_tree *value = pl_tree_getz(pl_tree_getz(shown, "metadata"), converted[i]);
        if (value != NULL)
            pl_tree_setz(&ctx->arena, metadata, converted[i], value);
        else
            pl_tree_removez(metadata, converted[i]);
    }
    pl_tree_setz(&ctx->arena, shown, "metadata", metadata);
}

void pl_api_answer_stored(struct pl_api_ctx *ctx, int code, const struct pl_doc *doc,
                          struct pl_tree *shown)
{
    if (ctx->type->convert != NULL || /* which is what it was stored from */
        !pl_api_reshapes(ctx->type, ctx->version)) {
        pl_api_answer_object(ctx, code, doc);
        return;
    }
    struct pl_doc *made;
    if (pl_api_converts(ctx->type, ctx->type->storage_version, ctx->version)) {
        take_metadata(ctx, shown, doc);
        made = pl_tree_doc(shown, NULL);
    } else {
        struct pl_node root = pl_doc_root(doc);
        PL_IGNORE(pl_api_convert_nodes(ctx, &root, 1)); /* no questions: never fails */
        made = pl_doc_from_node(root, NULL);
    }
    pl_api_answer_object(ctx, code, made);
    pl_doc_unref(made);
}

static int to_storage(struct pl_api_ctx *ctx, struct pl_tree **whole)
{
    if (pl_api_convert(ctx, whole, ctx->version, ctx->type->storage_version) != 0)
        return -1;
    struct pl_tree *object = *whole;
    const struct pl_api_version *v = pl_api_ctx_version(ctx);
    const struct pl_api_version *storage = &ctx->type->versions[ctx->type->storage_version];
    char text[PL_KIND_TEXT];
    struct pl_slice stored = pl_api_version_text(storage, text);
    pl_tree_setz(&ctx->arena, object, "apiVersion", pl_tree_str(&ctx->arena, stored));
    pl_tree_set_strz(&ctx->arena, object, "kind", ctx->type->kind);
    if (ctx->type->is_custom && v != storage) { /* what the next read would do */
        pl_api_structural_prune(&ctx->arena, object, storage->schema, NULL);
        pl_api_structural_default(&ctx->arena, object, storage->schema);
    }
    for (const char *const *pair = v->renames; pair != NULL && *pair != NULL; pair += 2)
        PL_TREE_FOR(item, object)
    if (pl_slice_eqz(item->key, pair[1]))
        pl_tree_rename(object, item, pl_slice_z(pair[0]));
    return 0;
}

int pl_api_store_and_back(struct pl_api_ctx *ctx, struct pl_tree **object, struct pl_tree **shown)
{
    const struct pl_api_type *type = ctx->type;
    *shown = pl_tree_copy(&ctx->arena, *object);
    if (to_storage(ctx, object) != 0)
        return -1;
    if (type->convert != NULL || !pl_api_converts(type, type->storage_version, ctx->version))
        return 0;
    *shown = pl_tree_copy(&ctx->arena, *object);
    if (pl_api_convert(ctx, shown, type->storage_version, ctx->version) != 0)
        return -1;
    pl_api_structural_prune(&ctx->arena, *shown, pl_api_ctx_version(ctx)->schema, NULL);
    return 0;
}

/* ---- common steps ---- */

struct pl_slice pl_api_key(struct pl_arena *arena, struct pl_slice ns, struct pl_slice name)
{
    struct pl_buf key = PL_BUF_INIT; /* a name in a path may have any bytes */
    pl_key_add(&key, ns, name);
    struct pl_slice copy = pl_arena_copy(arena, pl_buf_slice(&key));
    pl_buf_deinit(&key);
    return copy;
}

static struct pl_tree *time_of(struct pl_arena *arena, int64_t wall_ns)
{
    char text[40];
    pl_time_text(wall_ns, 0, text);
    return pl_tree_strz(arena, text);
}

struct pl_tree *pl_api_ctx_now(struct pl_api_ctx *ctx)
{
    return time_of(&ctx->arena, ctx->now_ns);
}

struct pl_tree *pl_api_now(struct pl_api *api, struct pl_arena *arena)
{
    return time_of(arena, pl_clock_wall(api->timers->clock));
}

int pl_api_fail_too_large(struct pl_api_ctx *ctx, uint64_t rv)
{
    pl_api_fail(&ctx->status, 504, "Timeout",
                "Timeout: Too large resource version: %" PRIu64 ", current: %" PRIu64, rv,
                pl_api_storage_rv(ctx->api->storage));
    ctx->status.retry_after = 1;
    pl_api_fail_cause(&ctx->status, "ResourceVersionTooLarge", pl_slice_z(""),
                      pl_slice_z("Too large resource version"));
    return -1;
}

int pl_api_fail_not_found(struct pl_api_ctx *ctx, struct pl_slice name)
{
    struct pl_slice group = pl_slice_z(pl_api_ctx_version(ctx)->group);
    pl_api_fail(&ctx->status, 404, "NotFound", "%s%s%.*s \"%.*s\" not found", ctx->type->plural,
                group.len > 0 ? "." : "", PL_FMT(group), PL_FMT(name));
    pl_api_fail_about(&ctx->status, group, pl_slice_z(ctx->type->plural), name);
    return -1;
}

int pl_api_forbid(struct pl_api_ctx *ctx, struct pl_slice name, struct pl_slice why)
{
    struct pl_slice group = pl_slice_z(pl_api_ctx_version(ctx)->group);
    pl_api_fail(&ctx->status, 403, "Forbidden", "%s%s%.*s \"%.*s\" is forbidden: %.*s",
                ctx->type->plural, group.len > 0 ? "." : "", PL_FMT(group), PL_FMT(name),
                PL_FMT(why));
    pl_api_fail_about(&ctx->status, group, pl_slice_z(ctx->type->plural), name);
    return -1;
}

int pl_api_fail_conflict(struct pl_api_ctx *ctx, struct pl_slice name, const char *why)
{
    struct pl_slice group = pl_slice_z(pl_api_ctx_version(ctx)->group);
    pl_api_fail(&ctx->status, 409, "Conflict",
                "Operation cannot be fulfilled on %s%s%.*s \"%.*s\": %s", ctx->type->plural,
                group.len > 0 ? "." : "", PL_FMT(group), PL_FMT(name), why);
    pl_api_fail_about(&ctx->status, group, pl_slice_z(ctx->type->plural), name);
    return -1;
}

int pl_api_fail_storage(struct pl_api_ctx *ctx, struct pl_slice name,
                        const struct pl_api_entry *entry, const char *why)
{
    const struct pl_api_type *type = entry->type; /* of a Pod for its Binding */
    struct pl_slice text =
        pl_arena_f(&ctx->arena,
                   "StorageError: invalid object, Code: 4, Key: /registry/%s%s%s/%s, "
                   "ResourceVersion: 0, AdditionalErrorMsg: %s",
                   type->is_custom ? type->versions[0].group : "", type->is_custom ? "/" : "",
                   type->plural, entry->key, why);
    return pl_api_fail_conflict(ctx, name, text.ptr);
}

int pl_api_fail_uid(struct pl_api_ctx *ctx, struct pl_slice name, const struct pl_api_entry *entry,
                    struct pl_slice uid)
{
    struct pl_slice why = pl_arena_f(
        &ctx->arena, "Precondition failed: UID in precondition: %.*s, UID in object meta: %s",
        PL_FMT(uid), entry->uid);
    return pl_api_fail_storage(ctx, name, entry, why.ptr);
}
