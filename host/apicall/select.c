/* Which objects a list, watch or deletecollection selects: label and field selectors, hash ranges
 * and the namespace. Only selectable fields of the kind may be named. Events of events.k8s.io have
 * other names for some of them; these are translated before the comparison. */
#include "apicall/select.h"

#include "base/text.h"
#include "schema/go_words.h"

#include "base/alloc.h"
#include "object/meta.h"

static bool is_listed(const char *const *paths, struct pl_slice path)
{
    for (; paths != NULL && *paths != NULL; paths++)
        if (pl_slice_eqz(path, *paths))
            return true;
    return false;
}

static bool is_selectable(const struct pl_api_ctx *ctx, struct pl_slice path)
{
    bool in_namespace = (ctx->type->flags & PL_API_NAMESPACED) || ctx->type->selectable == NULL;
    if (pl_slice_eqz(path, "metadata.name") ||
        (in_namespace && pl_slice_eqz(path, "metadata.namespace")))
        return true;
    if (!ctx->type->is_custom)
        return is_listed(ctx->type->selectable, path);
    struct pl_scratch scratch;
    struct pl_iter it = pl_iter(pl_api_ctx_version(ctx)->selectable);
    while (pl_iter_next(&it)) {
        struct pl_slice known = pl_node_str(pl_node_getz(it.value, "jsonPath"), &scratch);
        if (known.len > 0 && pl_slice_eq(pl_slice(known.ptr + 1, known.len - 1), path))
            return true;
    }
    return false;
}

static int refuse_field(struct pl_api_ctx *ctx, struct pl_slice path)
{
    if (!ctx->type->is_custom && ctx->type->selectable == NULL)
        return pl_api_bad_request(&ctx->status,
                                  "\"%.*s\" is not a known field selector: only "
                                  "\"metadata.name\", \"metadata.namespace\"",
                                  PL_FMT(path));
    if (strcmp(ctx->type->kind, "Job") == 0)
        return pl_api_bad_request(&ctx->status, "field label \"%.*s\" not supported for Job",
                                  PL_FMT(path));
    return pl_api_bad_request(&ctx->status, "field label not supported: %.*s", PL_FMT(path));
}

/* events.k8s.io has other names for the same members. */
static struct pl_slice stored_path(struct pl_api_ctx *ctx, struct pl_slice path)
{
    size_t head = 0;
    while (head < path.len && path.ptr[head] != '.')
        head++;
    const char *const *pair = pl_api_ctx_version(ctx)->renames;
    for (; pair != NULL && *pair != NULL; pair += 2)
        if (pl_slice_eqz(pl_slice(path.ptr, head), pair[1]))
            return pl_arena_f(&ctx->arena, "%s%.*s", pair[0], (int)(path.len - head),
                              path.ptr + head);
    return path;
}

/* A name that only the stored version has. */
static bool is_other_name(struct pl_api_ctx *ctx, struct pl_slice path)
{
    struct pl_slice head = path;
    const char *dot = pl_slice_chr(path, '.');
    if (dot != NULL)
        head.len = (size_t)(dot - path.ptr);
    const char *const *pair = pl_api_ctx_version(ctx)->renames;
    for (; pair != NULL && *pair != NULL; pair += 2)
        if (pl_slice_eqz(head, pair[0]) || pl_slice_eqz(head, "deprecatedSource"))
            return true;
    return false;
}

/* What kube-apiserver says about a value; an empty text: nothing is wrong with it. */
static struct pl_slice value_fault(struct pl_arena *arena, struct pl_slice value)
{
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] == '=')
            return pl_arena_f(arena, "unescaped character in value: %d", '=');
        if (value.ptr[i] != '\\')
            continue;
        if (i + 1 == value.len || memchr("\\,=", value.ptr[i + 1], 3) == NULL)
            return pl_arena_f(arena, "invalid escape sequence: %.*s", i + 1 < value.len ? 2 : 1,
                              value.ptr + i);
        i++;
    }
    return pl_slice("", 0);
}

static size_t term_end(struct pl_slice whole, size_t start)
{
    size_t end = start;
    while (end < whole.len && whole.ptr[end] != ',')
        end += whole.ptr[end] == '\\' && end + 1 < whole.len ? 2 : 1;
    return end;
}

/* Reports the first term that is wrong, in kube-apiserver's words. */
static int fail_form(struct pl_api_ctx *ctx)
{
    struct pl_slice whole = ctx->request.field_selector;
    for (size_t start = 0, end; start <= whole.len; start = end + 1) {
        end = term_end(whole, start);
        struct pl_slice term = pl_slice(whole.ptr + start, end - start);
        const char *equals = pl_slice_chr(term, '=');
        if (equals == term.ptr && term.len > 0)
            return refuse_field(ctx, pl_slice("", 0));
        if (equals == NULL && term.len > 0)
            return pl_api_bad_request(&ctx->status,
                                      "invalid selector: '%.*s'; can't understand '%.*s'",
                                      PL_FMT(whole), PL_FMT(term));
        if (term.len == 0)
            continue;
        size_t skip = (size_t)(equals + 1 - term.ptr);
        skip += skip < term.len && term.ptr[skip] == '=' && equals[-1] != '!';
        struct pl_slice fault =
            value_fault(&ctx->arena, pl_slice(term.ptr + skip, term.len - skip));
        if (fault.len > 0)
            return pl_api_bad_request(&ctx->status, "invalid field selector: %.*s", PL_FMT(fault));
    }
    return pl_api_bad_request(&ctx->status, "invalid selector: '%.*s'", PL_FMT(whole));
}

/* Fields whose absence means zero, with the text of zero. */
static const struct {
    const char *path, *zero;
} zero_fields[] = {{"spec.hostNetwork", "false"},
                   {"spec.unschedulable", "false"},
                   {"status.replicas", "0"},
                   {"status.successful", "0"}};

/* Takes a term about such a field; false: it is another term. */
static bool note_zero(struct pl_api_select *select, const struct pl_api_type *type,
                      struct pl_slice path, struct pl_slice value, bool equals)
{
    for (size_t i = 0; !type->is_custom && i < PL_ARRAY_LEN(zero_fields); i++)
        if (pl_slice_eqz(path, zero_fields[i].path) && pl_slice_eqz(value, zero_fields[i].zero)) {
            *(equals ? &select->zero : &select->non_zero) |= 1u << i;
            return true;
        }
    return false;
}

static bool zeros_match(const struct pl_api_select *select, struct pl_node object)
{
    for (size_t i = 0; (select->zero | select->non_zero) >> i != 0; i++) {
        const char *dot = strchr(zero_fields[i].path, '.');
        struct pl_slice top = pl_slice(zero_fields[i].path, (size_t)(dot - zero_fields[i].path));
        struct pl_node value = pl_node_getz(pl_node_get(object, top), dot + 1);
        int64_t number;
        bool zero =
            pl_node_is_missing(value) || pl_node_type(value) == PL_NULL ||
            (pl_node_type(value) == PL_BOOL && !pl_node_bool(value)) ||
            (pl_node_type(value) == PL_NUMBER && pl_node_int(value, &number) && number == 0);
        if ((select->zero >> i & 1 && !zero) || (select->non_zero >> i & 1 && zero))
            return false;
    }
    return true;
}

static int parse_fields(struct pl_api_select *select, struct pl_api_ctx *ctx)
{
    struct pl_err err = {0};
    struct pl_buf stored = PL_BUF_INIT;
    struct pl_fields *fields = pl_fields_parse(ctx->request.field_selector, &err);
    if (fields == NULL)
        return fail_form(ctx);
    int code = 0;
    for (size_t i = 0; code == 0 && i < pl_fields_count(fields); i++) {
        struct pl_slice path, value;
        bool equals;
        pl_fields_term(fields, i, &path, &value, &equals);
        struct pl_slice inner = stored_path(ctx, path);
        if (!is_selectable(ctx, inner) || is_other_name(ctx, path)) {
            code = refuse_field(ctx, path);
            break;
        }
        if (note_zero(select, ctx->type, inner, value, equals))
            continue;
        pl_buf_add_f(&stored, "%s%.*s%s", stored.len > 0 ? "," : "", PL_FMT(inner),
                     equals ? "=" : "!=");
        for (size_t k = 0; k < value.len; k++) {
            if (strchr(",=\\", value.ptr[k]) != NULL)
                pl_buf_add_char(&stored, '\\');
            pl_buf_add_char(&stored, value.ptr[k]);
        }
    }
    pl_fields_destroy(fields);
    if (code == 0)
        select->fields = pl_fields_parse(pl_buf_slice(&stored), NULL);
    pl_buf_deinit(&stored);
    return code;
}

static int parse_shards(struct pl_api_select *select, struct pl_api_ctx *ctx)
{
    struct pl_buf why = PL_BUF_INIT;
    int code = pl_api_shards_parse(&select->shards, ctx->request.shard_selector, &why);
    if (code != 0)
        pl_api_fail(&ctx->status, 500, "", "invalid shard selector: %s", pl_buf_z(&why));
    pl_buf_deinit(&why);
    return code;
}

int pl_api_select_init(struct pl_api_select *select, struct pl_api_ctx *ctx)
{
    const struct pl_api_request *request = &ctx->request;
    struct pl_err err = {0};
    *select = (struct pl_api_select){0};
    if (request->ns.len > 0)
        select->ns = pl_text_copy(request->ns);
    if (request->name.len > 0) /* a watch of one object */
        select->name = pl_text_copy(request->name);
    if (request->label_selector.len > 0) {
        select->labels = pl_selector_parse(request->label_selector, &err);
        if (select->labels == NULL) {
            pl_api_select_deinit(select);
            return pl_api_bad_request(
                &ctx->status, "%s",
                pl_go_selector_fault(&ctx->arena, request->label_selector, &err));
        }
    }
    if (request->field_selector.len > 0 && parse_fields(select, ctx) != 0) {
        pl_api_select_deinit(select);
        return -1;
    }
    bool is_sharded = request->shard_selector.len > 0 && !ctx->api->no_shard_selector;
    if (is_sharded && parse_shards(select, ctx) != 0) {
        pl_api_select_deinit(select);
        return -1;
    }
    return 0;
}

void pl_api_select_deinit(struct pl_api_select *select)
{
    pl_selector_destroy(select->labels);
    pl_fields_destroy(select->fields);
    pl_api_shards_deinit(&select->shards);
    pl_free(select->ns);
    pl_free(select->name);
    *select = (struct pl_api_select){0};
}

bool pl_api_select_matches(const struct pl_api_select *select, struct pl_node object)
{
    if (select->ns != NULL &&
        !pl_node_str_eq(pl_node_dig(object, "metadata", "namespace"), pl_slice_z(select->ns)))
        return false;
    if (select->name != NULL &&
        !pl_node_str_eq(pl_node_dig(object, "metadata", "name"), pl_slice_z(select->name)))
        return false;
    if (select->labels != NULL && !pl_selector_matches(select->labels, pl_meta_labels(object)))
        return false;
    return pl_api_shards_match(&select->shards, object) &&
           (select->fields == NULL || pl_fields_match(select->fields, object)) &&
           zeros_match(select, object);
}
