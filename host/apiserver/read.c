/* GET and LIST: which version is read, from which key, and how many objects.
 *
 * A list shows one version. Later pages take it from the continue token, and storage.c undoes newer
 * changes. A token with a forgotten version gets 410 with another token, with which the list can
 * continue inconsistently. A version that does not exist yet gets 504 at once; kube-apiserver first
 * waits for three seconds. */
#include "apicall/convert.h"
#include "apicall/core.h"
#include "apiserver/verbs.h"
#include "base/text.h"
#include "value/build.h"

#include "apicall/select.h"
#include "apiserver/steps.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "object/meta.h"
#include "schema/go_words.h"
#include "columns/table.h"
#include "value/scan.h"
#include "value/write.h"

#include <inttypes.h>

/* ---- get ---- */

/* Refuses PartialObjectMetadata of a list, and PartialObjectMetadataList of a single object. */
static int check_partial(struct pl_api_ctx *ctx, bool list)
{
    const struct pl_api_request *request = &ctx->request;
    const char *group = pl_api_ctx_version(ctx)->group;
    if (request->form != PL_API_PARTIAL || request->is_proto_answer ||
        request->wants_partial_list == list)
        return 0;
    if (*group == '\0' || strcmp(ctx->type->kind, "Event") == 0)
        group = "core";
    const char *kind = list ? ctx->type->list_kind : ctx->type->kind;
    if (ctx->type->is_custom) {
        group = "unstructured";
        kind = list ? "UnstructuredList" : "Unstructured";
    }
    return pl_api_fail(&ctx->status, 406, "NotAcceptable",
                       "you requested PartialObjectMetadata%s, but the requested object is %s list "
                       "(*%.*s.%s)",
                       list ? "" : "List", list ? "a" : "not a", (int)strcspn(group, "."), group,
                       kind);
}

int pl_api_get(struct pl_api_ctx *ctx)
{
    const struct pl_api_request *request = &ctx->request;
    uint64_t rv;
    if (pl_api_asked_version(ctx, &rv) != 0)
        return -1;
    if (rv > pl_api_storage_rv(ctx->api->storage))
        return pl_api_fail_too_large(ctx, rv);
    struct pl_slice key = pl_api_key(&ctx->arena, request->ns, request->name);
    struct pl_api_entry *entry = pl_api_table_find(ctx->type->table, key);
    if (entry == NULL)
        return pl_api_fail_not_found(ctx, request->name);
    if (check_partial(ctx, false) != 0)
        return -1;
    struct pl_node object = pl_doc_root(entry->doc);
    if (ctx->type->convert != NULL || !pl_api_reshapes(ctx->type, ctx->version)) {
        pl_api_answer_object(ctx, 200, entry->doc);
        return 0;
    }
    if (pl_api_convert_nodes(ctx, &object, 1) != 0)
        return -1;
    struct pl_doc *doc = pl_doc_from_node(object, NULL);
    pl_api_answer_object(ctx, 200, doc);
    pl_doc_unref(doc);
    return 0;
}

/* ---- continue tokens: base64 of {"v","rv","start"}, as kube-apiserver makes them ---- */

static struct pl_slice token_make(struct pl_arena *arena, int64_t rv, const char *after)
{
    struct pl_buf json = PL_BUF_INIT, text = PL_BUF_INIT;
    pl_buf_add_f(&json, "{\"v\":\"meta.k8s.io/v1\",\"rv\":%" PRId64 ",\"start\":", rv);
    struct pl_slice start = pl_arena_f(arena, "%s%c", after, '\1');
    pl_write_str(&json, start);
    pl_buf_add_char(&json, '}');
    pl_base64_encode(pl_buf_slice(&json), &text);
    for (size_t i = 0; i < text.len; i++) /* the URL alphabet, without padding */
        text.ptr[i] = text.ptr[i] == '+' ? '-' : text.ptr[i] == '/' ? '_' : text.ptr[i];
    while (text.len > 0 && text.ptr[text.len - 1] == '=')
        text.len--;
    struct pl_slice token = pl_arena_copy(arena, pl_buf_slice(&text));
    pl_buf_deinit(&json);
    pl_buf_deinit(&text);
    return token;
}

/* No part of a path is empty, "." or "..". */
static bool is_clean(struct pl_slice path)
{
    for (struct pl_slice rest = path;;) {
        const char *slash = pl_slice_chr(rest, '/');
        size_t len = slash != NULL ? (size_t)(slash - rest.ptr) : rest.len;
        struct pl_slice part = pl_slice(rest.ptr, len);
        if (part.len == 0 || pl_slice_eqz(part, ".") || pl_slice_eqz(part, ".."))
            return false;
        if (slash == NULL)
            return true;
        rest = pl_slice(slash + 1, rest.len - len - 1);
    }
}

/* The first byte that is not of the URL's alphabet, or ends the text too early; -1: none. */
static ptrdiff_t base64_fault(struct pl_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!pl_is_alnum(text.ptr[i]) && text.ptr[i] != '-' && text.ptr[i] != '_')
            return (ptrdiff_t)i;
    return text.len % 4 == 1 ? (ptrdiff_t)text.len - 1 : -1;
}

/* NULL, or what is wrong, after "continue key is not valid". start: in the arena. */
static const char *token_fault(struct pl_arena *arena, struct pl_node token, int64_t *rv,
                               struct pl_slice *start)
{
    struct pl_scratch scratch;
    *start = pl_arena_copy(arena, pl_node_str(pl_node_getz(token, "start"), &scratch));
    *rv = 0;
    if (pl_node_type(token) != PL_OBJECT && pl_node_type(token) != PL_NULL)
        return pl_arena_f(arena,
                          ": json: cannot unmarshal %s into Go value of type storage.continueToken",
                          pl_type_name(pl_node_type(token)))
            .ptr;
    struct pl_slice version = pl_node_str(pl_node_getz(token, "v"), &scratch);
    if (!pl_slice_eqz(version, "meta.k8s.io/v1"))
        return pl_arena_f(arena, ": server does not recognize this encoded version %.*s",
                          PL_FMT(version))
            .ptr;
    if (!pl_node_int(pl_node_getz(token, "rv"), rv) || *rv == 0)
        return ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)";
    if (start->len == 0)
        return ": encoded start key empty (version meta.k8s.io/v1)";
    if (start->ptr[0] == '/')
        *start = pl_slice(start->ptr + 1, start->len - 1);
    return is_clean(*start) ? NULL : "";
}

/* start: the first key, without the namespace of the list. */
static int token_parse(struct pl_api_ctx *ctx, int64_t *rv, struct pl_slice *start)
{
    struct pl_buf json = PL_BUF_INIT, text = PL_BUF_INIT;
    struct pl_doc *doc = NULL;
    ptrdiff_t at = base64_fault(ctx->request.next);
    if (at >= 0)
        return pl_api_bad_request(
            &ctx->status,
            "invalid continue token: continue key is not valid: illegal base64 data at input byte "
            "%td",
            at);
    pl_buf_add_slice(&text, ctx->request.next);
    for (size_t i = 0; i < text.len; i++)
        text.ptr[i] = text.ptr[i] == '-' ? '+' : text.ptr[i] == '_' ? '/' : text.ptr[i];
    while (text.len % 4 != 0)
        pl_buf_add_char(&text, '=');
    if (pl_base64_decode(pl_buf_slice(&text), &json))
        doc = pl_scan_text(pl_buf_slice(&json), NULL, NULL);
    const char *wrong = pl_go_json_fault(&ctx->arena, pl_buf_slice(&json));
    const char *fault = wrong != NULL ? pl_arena_f(&ctx->arena, ": %s", wrong).ptr
                                      : token_fault(&ctx->arena, pl_doc_root(doc), rv, start);
    pl_doc_unref(doc);
    pl_buf_deinit(&json);
    pl_buf_deinit(&text);
    if (fault == NULL)
        return 0;
    return pl_api_bad_request(&ctx->status, "invalid continue token: continue key is not valid%s",
                              fault);
}

/* ---- which version ---- */

static int read_check_options(struct pl_api_ctx *ctx)
{
    static const char field[] = "resourceVersionMatch", forbidden[] = "FieldValueForbidden";
    const struct pl_api_request *request = &ctx->request;
    struct pl_api_faults faults = {.arena = &ctx->arena};
    struct pl_slice match = request->version_match, rv = request->resource_version;
    bool exact = pl_slice_eqz(match, "Exact");
    if (match.len > 0 && rv.len == 0)
        pl_api_fault(&faults, forbidden, pl_slice_z(field),
                     "Forbidden: %s is forbidden unless resourceVersion is provided", field);
    if (match.len > 0 && request->next.len > 0)
        pl_api_fault(&faults, forbidden, pl_slice_z(field),
                     "Forbidden: %s is forbidden when continue is provided", field);
    if (match.len > 0 && !exact && !pl_slice_eqz(match, "NotOlderThan"))
        pl_api_fault(&faults, "FieldValueNotSupported", pl_slice_z(field),
                     "Unsupported value: \"%.*s\": supported values: \"Exact\", \"NotOlderThan\", "
                     "\"\"",
                     PL_FMT(match));
    if (exact && pl_slice_eqz(rv, "0"))
        pl_api_fault(&faults, forbidden, pl_slice_z(field),
                     "Forbidden: %s \"exact\" is forbidden for resourceVersion \"0\"", field);
    if (request->has_send_initial)
        pl_api_fault(&faults, forbidden, pl_slice_z("sendInitialEvents"),
                     "Forbidden: sendInitialEvents is forbidden for list");
    return pl_api_fail_faults(&ctx->status, &faults, pl_slice_z("meta.k8s.io"),
                              pl_slice_z("ListOptions"), pl_slice_z(""));
}

static int plan_continue(struct pl_api_ctx *ctx, struct pl_api_plan *plan)
{
    struct pl_api_storage *storage = ctx->api->storage;
    int64_t rv;
    if (ctx->request.resource_version.len > 0 && !pl_slice_eqz(ctx->request.resource_version, "0"))
        return pl_api_bad_request(&ctx->status,
                                  "specifying resource version is not allowed when using continue");
    struct pl_slice start, ns = ctx->request.ns;
    if (pl_slice_eqz(ctx->request.resource_version, "0"))
        plan->limit = 0; /* as without a token */
    if (token_parse(ctx, &rv, &start) != 0)
        return -1;
    plan->from =
        ns.len > 0 ? pl_arena_f(&ctx->arena, "%.*s/%.*s", PL_FMT(ns), PL_FMT(start)) : start;
    plan->rv = rv < 0 ? pl_api_storage_rv(storage) : (uint64_t)rv;
    if (plan->rv <= pl_api_storage_rv(storage) && plan->rv >= pl_api_storage_floor(storage))
        return 0;
    pl_api_fail(&ctx->status, 410, "Expired",
                "The provided continue parameter is too old to display a consistent list result. "
                "You can start a new list without the continue parameter, or use the continue "
                "token in this response to retrieve the remainder of the results. Continuing with "
                "the provided token results in an inconsistent list - objects that were created, "
                "modified, or deleted between the time the first chunk was returned and now may "
                "show up in the list.");
    struct pl_slice last = pl_slice(start.ptr, start.len - 1);
    ctx->status.continue_token = token_make(&ctx->arena, -1, pl_arena_copy(&ctx->arena, last).ptr);
    return -1;
}

int pl_api_list_plan(struct pl_api_ctx *ctx, struct pl_api_plan *plan)
{
    const struct pl_api_request *request = &ctx->request;
    struct pl_api_storage *storage = ctx->api->storage;
    uint64_t now = pl_api_storage_rv(storage), rv;
    *plan = (struct pl_api_plan){.rv = now, .limit = request->limit > 0 ? request->limit : 0};
    if (read_check_options(ctx) != 0)
        return -1;
    if (request->next.len > 0)
        return plan_continue(ctx, plan);
    if (!pl_api_parse_version(request->resource_version, &rv))
        return pl_api_bad_request(&ctx->status,
                                  "invalid resource version: resourceVersion: Invalid value: "
                                  "\"%.*s\": strconv.ParseUint: parsing \"%.*s\": invalid syntax",
                                  PL_FMT(request->resource_version),
                                  PL_FMT(request->resource_version));
    if (rv > now)
        return pl_api_fail_too_large(ctx, rv);
    if (pl_slice_eqz(request->resource_version, "0"))
        plan->limit = 0; /* kube-apiserver serves it whole from its watch cache */
    bool exact = pl_slice_eqz(request->version_match, "Exact") ||
                 (rv > 0 && request->version_match.len == 0 && request->limit > 0);
    if (!exact)
        return 0;
    if (rv < pl_api_storage_floor(storage))
        return pl_api_fail(&ctx->status, 410, "Expired",
                           "The resourceVersion for the provided list is too old.");
    plan->rv = rv;
    return 0;
}

/* ---- list ---- */

/* The page's objects; borrowed until the next write. Another page follows when objects are left,
 * even if none of them is selected. */
struct page {
    struct pl_node *objects; /* owned array */
    size_t count, cap;
    struct pl_slice next; /* continue token; empty: the end */
    size_t remaining;     /* after this page; only without selectors */
};

static void page_add(struct page *page, const struct pl_api_select *select, struct pl_doc *doc)
{
    struct pl_node object = pl_doc_root(doc);
    if (!pl_api_select_matches(select, object))
        return;
    if (page->count == page->cap) {
        page->cap = page->cap ? page->cap * 2 : 64;
        page->objects = pl_reallocarray(page->objects, page->cap, sizeof(*page->objects));
    }
    page->objects[page->count++] = object;
}

static bool page_is_full(const struct pl_api_plan *plan, size_t count)
{
    return plan->limit > 0 && (int64_t)count >= plan->limit;
}

struct pl_slice pl_api_list_token(struct pl_api_ctx *ctx, const struct pl_api_plan *plan,
                                  struct pl_node last)
{
    struct pl_buf key = PL_BUF_INIT;
    pl_meta_put_key(last, &key);
    size_t ns = ctx->request.ns.len > 0 ? ctx->request.ns.len + 1 : 0;
    struct pl_slice token = token_make(&ctx->arena, (int64_t)plan->rv, pl_buf_z(&key) + ns);
    pl_buf_deinit(&key);
    return token;
}

static void fill_page(struct pl_api_ctx *ctx, const struct pl_api_plan *plan,
                      const struct pl_api_select *select, struct pl_api_view *view,
                      struct page *page)
{
    const struct pl_api_table *table = ctx->type->table;
    size_t count = view != NULL ? view->count : table->count, i = 0;
    struct pl_slice from = plan->from;
    if (from.len == 0 && select->ns != NULL)
        from = pl_arena_f(&ctx->arena, "%s/", select->ns);
    if (view == NULL && from.len > 0)
        i = pl_api_table_seek(table, from);
    size_t ns_len = select->ns != NULL ? strlen(select->ns) : 0;
    for (; i < count && !page_is_full(plan, page->count); i++) {
        const char *key = view != NULL ? view->keys[i] : table->entries[i]->key;
        if (view != NULL && pl_slice_cmp(pl_slice_z(key), from) < 0)
            continue;
        if (ns_len > 0 && (strncmp(key, select->ns, ns_len) != 0 || key[ns_len] != '/'))
            break;
        page_add(page, select, view != NULL ? view->docs[i] : table->entries[i]->doc);
    }
    if (!page_is_full(plan, page->count) || i == count)
        return;
    const char *key = view != NULL ? view->keys[i] : table->entries[i]->key;
    if (ns_len > 0 && (strncmp(key, select->ns, ns_len) != 0 || key[ns_len] != '/'))
        return;
    page->next = pl_api_list_token(ctx, plan, page->objects[page->count - 1]);
    for (; i < count; i++) {
        key = view != NULL ? view->keys[i] : table->entries[i]->key;
        if (ns_len > 0 && (strncmp(key, select->ns, ns_len) != 0 || key[ns_len] != '/'))
            break;
        page->remaining++;
    }
}

/* Up to the items: kind, apiVersion and metadata. */
static void write_list_head(struct pl_api_ctx *ctx, const struct pl_api_plan *plan,
                            const struct page *page, const struct pl_api_select *select,
                            struct pl_buf *out)
{
    const struct pl_api_version *v = pl_api_ctx_version(ctx);
    bool partial = ctx->request.form == PL_API_PARTIAL;
    char text[PL_KIND_TEXT];
    if (partial)
        pl_buf_add_z(out, "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":"
                          "\"meta.k8s.io/v1\"");
    else
        pl_buf_add_f(out, "{\"kind\":\"%s\",\"apiVersion\":\"%.*s\"", ctx->type->list_kind,
                     PL_FMT(pl_api_version_text(v, text)));
    pl_buf_add_f(out, ",\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"", plan->rv);
    if (page->next.len > 0)
        pl_buf_add_f(out, ",\"continue\":\"%.*s\"", PL_FMT(page->next));
    else if (ctx->type->is_custom && !partial)
        pl_buf_add_z(out, ",\"continue\":\"\"");
    if (page->next.len > 0 && select->labels == NULL && select->fields == NULL &&
        select->shards.count == 0)
        pl_buf_add_f(out, ",\"remainingItemCount\":%zu", page->remaining);
    if (select->shards.count > 0 && !partial && !ctx->type->is_custom) {
        pl_buf_add_z(out, ",\"shardInfo\":{\"selector\":");
        pl_write_str(out, pl_slice_z(select->shards.text));
        pl_buf_add_char(out, '}');
    }
    pl_buf_add_z(out, "},\"items\":");
}

static void write_list(struct pl_api_ctx *ctx, const struct pl_api_plan *plan,
                       const struct page *page, const struct pl_api_select *select,
                       struct pl_buf *out)
{
    bool partial = ctx->request.form == PL_API_PARTIAL;
    write_list_head(ctx, plan, page, select, out);
    if (partial && page->count == 0) {
        pl_buf_add_z(out, "null}\n");
        return;
    }
    pl_buf_add_char(out, '[');
    for (size_t i = 0; i < page->count; i++) {
        if (i > 0)
            pl_buf_add_char(out, ',');
        if (partial)
            pl_api_partial_write(out, page->objects[i]);
        else
            pl_api_object_write(out, ctx->type, ctx->version, page->objects[i], true);
    }
    pl_buf_add_z(out, "]}\n");
}

static void answer_page(struct pl_api_ctx *ctx, const struct pl_api_plan *plan,
                        const struct page *page, const struct pl_api_select *select)
{
    struct pl_buf out = PL_BUF_INIT;
    if (ctx->request.form == PL_API_TABLE) {
        struct pl_api_table_options options = pl_api_answer_table(ctx);
        options.list_rv = pl_arena_f(&ctx->arena, "%" PRIu64, plan->rv);
        options.next = page->next;
        pl_api_table_write(&out, ctx->type, ctx->version, page->objects, page->count, &options);
    } else {
        write_list(ctx, plan, page, select, &out);
    }
    pl_api_answer(ctx, 200, pl_buf_slice(&out));
    pl_buf_deinit(&out);
}

int pl_api_list(struct pl_api_ctx *ctx)
{
    struct pl_api_plan plan;
    struct pl_api_select select;
    if (check_partial(ctx, true) != 0 || pl_api_select_init(&select, ctx) != 0)
        return -1;
    int code = pl_api_list_plan(ctx, &plan);
    if (code == 0) {
        struct pl_api_view view;
        struct page page = {0};
        bool past = plan.rv < ctx->type->table->last_rv;
        if (past)
            pl_api_storage_view(ctx->api->storage, ctx->type, plan.rv, &view);
        fill_page(ctx, &plan, &select, past ? &view : NULL, &page);
        if (ctx->request.form != PL_API_PARTIAL &&
            (ctx->type->convert == NULL || ctx->request.form == PL_API_PLAIN))
            code = pl_api_convert_nodes(ctx, page.objects, page.count);
        if (code == 0)
            answer_page(ctx, &plan, &page, &select);
        pl_free(page.objects);
        if (past)
            pl_api_view_deinit(&view);
    }
    pl_api_select_deinit(&select);
    return code;
}
