/* The effect of one mutation: an apply configuration is merged like a configuration of server-side
 * apply, without owners of fields, and may not replace lists and maps as a whole. A JSON patch is
 * applied to the object as JSON; a failed test means that nothing changes. */
#include "apicall/policy_patch.h"

#include "apicall/body.h"
#include "gotype/typed.h"
#include "object/patch.h"
#include "schema/config_check.h"
#include "schema/managed.h"
#include "schema/type.h"

#include <string.h>

/* The kind of the object that is changed: the request's, or that of a subresource's body. */
struct target {
    struct pl_api_ctx *ctx;
    const struct pl_api_admission *admission;
    struct pl_message type;         /* none: a custom kind */
    const struct pl_schema *schema; /* how lists are merged */
};

static struct target patch_target(struct pl_api_ctx *ctx, const struct pl_api_admission *admission)
{
    struct target t = {.ctx = ctx, .admission = admission};
    if (admission->as == NULL) {
        t.type = pl_api_body_type(ctx);
        t.schema = pl_api_type_lists(ctx->type, ctx->version);
        return t;
    }
    const struct pl_tree *as = pl_tree_literal(&ctx->arena, admission->as);
    struct pl_slice group = pl_tree_text_at(as, "group"), version = pl_tree_text_at(as, "version"),
                    name = pl_tree_text_at(as, "kind");
    t.type = pl_message_of_kind(group, version, name);
    return t;
}

/* The expression of the mutation. */
static struct pl_slice expression_of(struct pl_api_ctx *ctx, struct pl_node mutation,
                                     const char *member)
{
    struct pl_scratch scratch;
    struct pl_node patch = pl_node_getz(mutation, member);
    struct pl_slice text = pl_node_str(pl_node_getz(patch, "expression"), &scratch);
    return pl_slice_trim(pl_arena_copy(&ctx->arena, text));
}

/* ---- apply configurations ---- */

/* Adds the paths of lists and maps that are values as a whole. */
static void add_atomics(struct pl_arena *arena, const struct pl_tree *value,
                        const struct pl_schema *schema, struct pl_slice path, struct pl_buf *out)
{
    bool list = pl_tree_is(value, PL_ARRAY);
    bool atomic = list ? pl_schema_list_type(schema) == PL_LIST_ATOMIC
                       : pl_tree_is(value, PL_OBJECT) && pl_schema_is_atomic(schema);
    size_t i = 0;
    if (atomic)
        pl_buf_add_f(out, "%s%.*s", out->len > 0 ? ", " : "", PL_FMT(path));
    if (!list && !pl_tree_is(value, PL_OBJECT))
        return;
    PL_TREE_FOR(item, value)
    if (list)
        add_atomics(arena, item->value, pl_schema_items(schema),
                    pl_arena_f(arena, "%.*s[%zu]", PL_FMT(path), i++), out);
    else
        add_atomics(arena, item->value, pl_schema_field(schema, item->key),
                    pl_arena_f(arena, "%.*s.%.*s", PL_FMT(path), PL_FMT(item->key)), out);
}

/* kube-apiserver refuses the null of an expression as a value without a JSON type. */
static const char *null_fault(struct pl_arena *arena, const struct pl_tree *value,
                              struct pl_slice path)
{
    size_t i = 0;
    if (pl_tree_is(value, PL_NULL))
        return pl_arena_f(arena, "%.*s: expected boolean, got &{NULL_VALUE}", PL_FMT(path)).ptr;
    if (!pl_tree_is(value, PL_OBJECT) && !pl_tree_is(value, PL_ARRAY))
        return NULL;
    PL_TREE_FOR(item, value)
    {
        struct pl_slice inner =
            pl_tree_is(value, PL_ARRAY)
                ? pl_arena_f(arena, "%.*s[%zu]", PL_FMT(path), i++)
                : pl_arena_f(arena, "%.*s.%.*s", PL_FMT(path), PL_FMT(item->key));
        const char *fault = null_fault(arena, item->value, inner);
        if (fault != NULL)
            return fault;
    }
    return NULL;
}

/* What is wrong with the configuration; NULL: nothing. */
static const char *config_fault(const struct target *t, const struct pl_tree *config)
{
    struct pl_arena *arena = &t->ctx->arena;
    struct pl_buf atomics = PL_BUF_INIT;
    const char *why = pl_message_is_none(t->type)
                          ? pl_api_config_fault(arena, config, pl_api_ctx_version(t->ctx)->schema)
                          : pl_typed_apply_error(arena, config, t->type);
    if (why == NULL)
        why = null_fault(arena, config, pl_slice("", 0));
    if (why != NULL)
        return pl_arena_f(arena, "failed to convert patch object to typed object: %s", why).ptr;
    add_atomics(arena, config, t->schema, pl_slice("", 0), &atomics);
    if (atomics.len > 0)
        why = pl_arena_f(arena,
                         "invalid ApplyConfiguration: may not mutate atomic arrays, maps or "
                         "structs: %s",
                         pl_buf_z(&atomics))
                  .ptr;
    pl_buf_deinit(&atomics);
    return why;
}

static struct pl_tree *apply_configuration(const struct target *t, struct pl_cel value,
                                           struct pl_slice *why)
{
    struct pl_arena *arena = &t->ctx->arena;
    struct pl_buf faults = PL_BUF_INIT;
    struct pl_cel error = pl_cel_null();
    const struct pl_tree *live = t->admission->object;
    struct pl_tree *config = NULL;
    if (value.kind != PL_CEL_OBJECT)
        *why = pl_arena_f(arena, "unsupported return type from ApplyConfiguration expression: %s",
                          pl_cel_kind_name(value.kind));
    else if (!pl_cel_names_fit(arena, value, &faults))
        *why = pl_arena_f(arena, "type mismatch: %s", pl_buf_z(&faults));
    else if ((config = pl_cel_to_tree(arena, value, PL_CEL_AS_OBJECT, &error)) == NULL)
        *why = error.s;
    pl_buf_deinit(&faults);
    if (config == NULL)
        return NULL;
    pl_tree_setz(arena, config, "apiVersion", pl_tree_getz(live, "apiVersion"));
    pl_tree_setz(arena, config, "kind", pl_tree_getz(live, "kind"));
    const char *fault = config_fault(t, config);
    if (fault != NULL) {
        *why = pl_arena_f(arena, "error applying patch: %s", fault);
        return NULL;
    }
    return pl_api_managed_merge(arena, live, config, t->schema);
}

/* ---- JSON patches ---- */

/* True for a list of objects that the expression has made. */
static bool is_patch(struct pl_cel list)
{
    if (list.kind != PL_CEL_LIST || list.is_tree)
        return false;
    for (size_t i = 0; i < list.list->count; i++)
        if (list.list->items[i].kind != PL_CEL_OBJECT || list.list->items[i].is_tree)
            return false;
    return true;
}

/* One operation as a document's tree; NULL with the reason. */
static struct pl_tree *operation_of(struct pl_arena *arena, struct pl_cel operation,
                                    struct pl_slice *why)
{
    struct pl_cel error = pl_cel_null();
    struct pl_buf faults = PL_BUF_INIT;
    for (size_t k = 0; k < operation.map->count && faults.len == 0; k++)
        PL_IGNORE(pl_cel_names_fit(arena, operation.map->entries[k].value, &faults));
    struct pl_tree *tree =
        faults.len == 0 ? pl_cel_to_tree(arena, operation, PL_CEL_AS_JSON, &error) : NULL;
    if (faults.len > 0)
        *why = pl_arena_f(arena, "type mismatch: %s", pl_buf_z(&faults));
    else if (tree == NULL)
        *why = pl_arena_f(arena,
                          "JSONPath valueExpression evaluated to a type that could not marshal to "
                          "JSON: %.*s",
                          PL_FMT(error.s));
    pl_buf_deinit(&faults);
    return tree;
}

static struct pl_tree *operations_of(struct pl_arena *arena, struct pl_cel list,
                                     struct pl_slice *why)
{
    struct pl_tree *out = pl_tree_array(arena);
    if (!is_patch(list)) {
        *why = pl_slice_z("type mismatch: JSONPatchType.expression should evaluate to array");
        return NULL;
    }
    for (size_t i = 0; i < list.list->count; i++) {
        struct pl_tree *operation = operation_of(arena, list.list->items[i], why);
        if (operation == NULL)
            return NULL;
        pl_tree_push(arena, out, operation);
    }
    return out;
}

/* Why the operation fails, in kube-apiserver's words. */
static struct pl_slice why_failed(struct pl_arena *arena, struct pl_node operation,
                                  struct pl_slice other)
{
    struct pl_scratch a, b, c;
    struct pl_slice op = pl_node_str(pl_node_getz(operation, "op"), &a);
    struct pl_slice path = pl_node_str(pl_node_getz(operation, "path"), &b);
    struct pl_slice from = pl_node_str(pl_node_getz(operation, "from"), &c);
    const char *slash = path.len > 0 ? memrchr(path.ptr, '/', path.len) : NULL;
    struct pl_slice last =
        slash != NULL ? pl_slice(slash + 1, path.len - (size_t)(slash + 1 - path.ptr)) : path;
    if (pl_slice_eqz(op, "remove"))
        return pl_arena_f(arena,
                          "error in remove for path: '%.*s': Unable to remove nonexistent key: "
                          "%.*s: missing value",
                          PL_FMT(path), PL_FMT(last));
    if (pl_slice_eqz(op, "test"))
        return pl_arena_f(arena,
                          "test operation does not apply: is missing path: %.*s: missing "
                          "value",
                          PL_FMT(path));
    if (pl_slice_eqz(op, "replace") || pl_slice_eqz(op, "add"))
        return pl_arena_f(arena,
                          pl_slice_eqz(op, "add")
                              ? "add operation does not apply: doc is missing path: \"%.*s\": "
                                "missing value"
                              : "replace operation does not apply: doc is missing path: %.*s: "
                                "missing value",
                          PL_FMT(path));
    if (pl_slice_eqz(op, "move") || pl_slice_eqz(op, "copy"))
        return pl_arena_f(arena,
                          "%.*s operation does not apply: doc is missing from path: %.*s: "
                          "missing value",
                          PL_FMT(op), PL_FMT(from));
    return other;
}

/* The patched object. The same object if a test fails; NULL with the reason if anything else does.
 */
static struct pl_tree *patched_by(struct pl_arena *arena, struct pl_tree *object,
                                  struct pl_tree *operations, struct pl_slice *why)
{
    struct pl_err err = {0};
    size_t failed = 0;
    struct pl_doc *target = pl_tree_doc(object, NULL), *patch = pl_tree_doc(operations, NULL);
    struct pl_doc *result =
        pl_patch_json_at(pl_doc_root(target), pl_doc_root(patch), &failed, &err);
    struct pl_node operation = pl_node_at(pl_doc_root(patch), failed);
    struct pl_tree *out = NULL;
    if (result != NULL && pl_node_type(pl_doc_root(result)) == PL_OBJECT)
        out = pl_tree_from_node(arena, pl_doc_root(result));
    else if (err.code == PL_EREFUSED)
        out = object;
    else
        *why = pl_arena_f(
            arena, "JSON Patch: %.*s",
            PL_FMT(why_failed(arena, operation, pl_arena_copy(arena, pl_slice_z(err.message)))));
    pl_doc_unref(result);
    pl_doc_unref(target);
    pl_doc_unref(patch);
    return out;
}

/* Reads the patched object as Go does: strictly. */
static int read_strictly(const struct target *t, struct pl_tree *object)
{
    struct pl_arena *arena = &t->ctx->arena;
    struct pl_typed typed = {.arena = arena, .strict = pl_tree_array(arena)};
    if (pl_message_is_none(t->type))
        return 0;
    if (pl_typed_read(&typed, object, t->type) != 0)
        return pl_api_fail_internal(&t->ctx->status, "%.*s", PL_FMT(typed.error));
    const struct pl_tree *first = pl_tree_at(typed.strict, 0);
    return first == NULL ? 0
                         : pl_api_fail_internal(&t->ctx->status, "strict decoding error: %.*s",
                                                PL_FMT(pl_tree_text(first)));
}

static int json_patch(const struct target *t, struct pl_cel list, struct pl_tree **object,
                      struct pl_slice *why)
{
    struct pl_arena *arena = &t->ctx->arena;
    struct pl_tree *operations = operations_of(arena, list, why);
    *object = operations != NULL ? patched_by(arena, t->admission->object, operations, why) : NULL;
    return *object != NULL ? read_strictly(t, *object) : 0;
}

/* ---- both ---- */

static int apply_value(const struct target *t, struct pl_cel value, bool is_json,
                       struct pl_tree **object, struct pl_slice *why)
{
    struct pl_arena *arena = &t->ctx->arena;
    if (pl_cel_is_error(value))
        *why = pl_arena_copy(arena, value.s);
    else if (is_json && json_patch(t, value, object, why) != 0)
        return -1;
    else if (!is_json)
        *object = apply_configuration(t, value, why);
    if (*object != NULL && t->admission->as == NULL)
        pl_api_body_default(t->ctx, *object);
    return 0;
}

int pl_policy_patch(struct pl_api_ctx *ctx, struct pl_api_evaluation *e,
                    const struct pl_api_admission *admission, struct pl_node mutation,
                    struct pl_tree **object, struct pl_slice *why)
{
    struct target t = patch_target(ctx, admission);
    bool is_json = pl_node_str_eq(pl_node_getz(mutation, "patchType"), pl_slice_z("JSONPatch"));
    struct pl_slice text =
        expression_of(ctx, mutation, is_json ? "jsonPatch" : "applyConfiguration");
    struct pl_cel value;
    struct pl_cel_program *program = pl_api_evaluate_held(e, text, &value);
    *object = NULL;
    int code = apply_value(&t, value, is_json, object, why);
    pl_cel_program_destroy(program);
    return code;
}
