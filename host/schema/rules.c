/* Evaluates the rules of a custom kind. The compiled rules form a tree like the schema's, but only
 * with branches that have rules, so that a kind without rules costs nothing.
 *
 * All rules of one object share a budget, and each evaluation has a limit, so that an object cannot
 * block the server. The old object is walked in parallel, as far as its parts can be matched:
 * members by name, elements of map lists by their keys. */
#include "schema/rules_impl.h"

#include "base/alloc.h"
#include "schema/crd_path.h"
#include "schema/list_keys.h"

#include <string.h>

#define OBJECT_BUDGET 10000000

/* ---- compiling ---- */

struct pl_slice pl_api_rule_text(struct pl_arena *arena, struct pl_node rule, const char *member)
{
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(pl_node_getz(rule, member), &scratch);
    while (text.len > 0 && strchr(" \t\r\n", text.ptr[0]) != NULL)
        text.ptr++, text.len--;
    while (text.len > 0 && strchr(" \t\r\n", text.ptr[text.len - 1]) != NULL)
        text.len--;
    return pl_arena_copy(arena, text);
}

struct pl_cel_program *pl_api_rule_compile(const struct pl_cel_type *self, struct pl_node rule,
                                           const char *member, struct pl_arena *arena,
                                           struct pl_buf *why)
{
    bool is_optional = pl_node_flagz(rule, "optionalOldSelf");
    const struct pl_cel_var vars[] = {
        {"self", self}, {"oldSelf", is_optional ? pl_cel_type_optional(arena, self) : self}};
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(pl_node_getz(rule, member), &scratch);
    struct pl_cel_program *program = pl_cel_compile(text, vars, 2, why);
    enum pl_cel_kind want = strcmp(member, "rule") == 0 ? PL_CEL_BOOL : PL_CEL_STRING;
    if (program == NULL) {
        char *issues = pl_buf_take(why);
        pl_buf_add_f(why, "%scompilation failed: %s",
                     want == PL_CEL_STRING ? "messageExpression " : "", issues);
        pl_free(issues);
    } else if (pl_cel_program_type(program)->kind != want) {
        pl_buf_add_z(why, want == PL_CEL_BOOL ? "cel expression must evaluate to a bool"
                                              : "messageExpression must evaluate to a string");
        pl_cel_program_destroy(program);
        program = NULL;
    }
    return program;
}

static void compile_rules(struct pl_api_rules *node, struct pl_arena *arena)
{
    struct pl_node list = pl_node_getz(node->schema, "x-kubernetes-validations");
    node->rules = pl_arena_alloc(arena, (pl_node_len(list) + 1) * sizeof *node->rules);
    struct pl_iter it = pl_iter(list);
    while (pl_iter_next(&it)) {
        struct pl_api_rule *rule = &node->rules[node->rule_count++];
        struct pl_buf why = PL_BUF_INIT;
        rule->node = it.value;
        rule->program = pl_api_rule_compile(node->type, it.value, "rule", arena, &why);
        rule->why = pl_arena_copy(arena, pl_buf_slice(&why));
        pl_buf_clear(&why);
        if (!pl_node_is_missing(pl_node_getz(it.value, "messageExpression")))
            rule->message =
                pl_api_rule_compile(node->type, it.value, "messageExpression", arena, &why);
        pl_buf_deinit(&why);
    }
}

static struct pl_api_rules *rules_make(struct pl_arena *arena, struct pl_node schema,
                                       const struct pl_cel_type *type);

static void make_members(struct pl_api_rules *node, struct pl_arena *arena)
{
    struct pl_node properties = pl_node_getz(node->schema, "properties");
    node->members = pl_arena_alloc(arena, (pl_node_len(properties) + 1) * sizeof *node->members);
    struct pl_iter it = pl_iter(properties);
    while (pl_iter_next(&it)) {
        struct pl_slice name = pl_arena_copy(arena, it.key), escaped;
        const struct pl_cel_field *field =
            pl_cel_escape(arena, name, &escaped) ? pl_cel_type_field(node->type, escaped) : NULL;
        const struct pl_cel_type *type =
            field != NULL
                ? field->type
                : pl_cel_type_from_schema(
                      arena, it.value, pl_node_flagz(it.value, "x-kubernetes-embedded-resource"));
        struct pl_api_rules *child = type != NULL ? rules_make(arena, it.value, type) : NULL;
        if (child != NULL)
            node->members[node->member_count++] = (struct pl_api_member_rules){name, child};
    }
}

/* NULL: no rules here or below. */
static struct pl_api_rules *rules_make(struct pl_arena *arena, struct pl_node schema,
                                       const struct pl_cel_type *type)
{
    struct pl_api_rules *node = pl_arena_alloc(arena, sizeof *node);
    node->schema = schema;
    node->type = type;
    compile_rules(node, arena);
    make_members(node, arena);
    struct pl_node items = pl_node_getz(schema, "items");
    struct pl_node values = pl_node_getz(schema, "additionalProperties");
    if (!pl_node_is_missing(items) && type->kind == PL_CEL_LIST)
        node->elements = rules_make(arena, items, pl_cel_type_elem(type));
    else if (pl_node_type(values) == PL_OBJECT && type->kind == PL_CEL_MAP)
        node->elements = rules_make(arena, values, pl_cel_type_elem(type));
    bool has_any = node->rule_count > 0 || node->member_count > 0 || node->elements != NULL;
    return has_any ? node : NULL;
}

struct pl_api_rules *pl_api_rules_create(struct pl_node schema)
{
    struct pl_arena arena = {0};
    const struct pl_cel_type *type = pl_cel_type_from_schema(&arena, schema, true);
    struct pl_api_rules *root = type != NULL ? rules_make(&arena, schema, type) : NULL;
    if (root == NULL) {
        pl_arena_deinit(&arena);
        return NULL;
    }
    root->arena = arena;
    return root;
}

static void destroy_programs(struct pl_api_rules *node)
{
    for (size_t i = 0; i < node->rule_count; i++) {
        pl_cel_program_destroy(node->rules[i].program);
        pl_cel_program_destroy(node->rules[i].message);
    }
    for (size_t i = 0; i < node->member_count; i++)
        destroy_programs(node->members[i].rules);
    if (node->elements != NULL)
        destroy_programs(node->elements);
}

void pl_api_rules_destroy(struct pl_api_rules *rules)
{
    if (rules == NULL)
        return;
    struct pl_arena arena = rules->arena; /* `rules` itself is in it */
    destroy_programs(rules);
    pl_arena_deinit(&arena);
}

/* ---- evaluating ---- */

struct run {
    struct pl_api_faults *faults, *passed;
    uint64_t left; /* the rest of the object's budget */
    bool is_over;
};

/* A part of the object and the same part of the old object. */
struct part {
    const struct pl_tree *value, *old; /* old NULL: there is none, or it cannot be matched */
    bool is_same; /* the part, or the nearest part above that can be matched, is unchanged */
    struct pl_slice path;
};

static struct pl_slice rules_text_of(struct run *run, struct pl_node node, const char *name)
{
    return pl_api_rule_text(run->faults->arena, node, name);
}

static struct pl_slice rule_text(struct run *run, const struct pl_api_rule *rule)
{
    struct pl_slice message = rules_text_of(run, rule->node, "message");
    return message.len > 0 ? message : rules_text_of(run, rule->node, "rule");
}

static const char *rules_type_name(const struct pl_api_rules *node)
{
    struct pl_scratch scratch;
    struct pl_slice type = pl_node_str(pl_node_getz(node->schema, "type"), &scratch);
    static const char names[][8] = {"object", "array", "string", "integer", "number", "boolean"};
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++)
        if (pl_slice_eqz(type, names[i]))
            return names[i];
    return "";
}

/* kube-apiserver's messages show this for the path of the object itself. */
static struct pl_slice path_or_root(struct pl_slice path)
{
    return path.len > 0 ? path : pl_slice_z("<nil>");
}

/* For evaluation errors the message shows the value's type instead of the value. */
static void fault(struct run *run, const struct pl_api_rules *node, const struct part *part,
                  struct pl_slice what)
{
    pl_api_fault(run->faults, "FieldValueInvalid", path_or_root(part->path),
                 "Invalid value: \"%s\": %.*s", rules_type_name(node), PL_FMT(what));
}

static void out_of_budget(struct run *run, const struct pl_api_rules *node, const struct part *part)
{
    run->is_over = true;
    fault(run, node, part,
          pl_slice_z("validation failed due to running out of cost budget, no further validation "
                     "rules will be run"));
}

static struct pl_cel rules_evaluate(struct run *run, const struct pl_api_rules *node,
                                    const struct pl_api_rule *rule,
                                    const struct pl_cel_program *program, const struct part *part)
{
    struct pl_arena *arena = run->faults->arena;
    uint64_t cost = 0;
    /* kube-apiserver evaluates a message without the optional: hasValue() fails there. */
    bool is_optional = pl_node_flagz(rule->node, "optionalOldSelf") && program == rule->program;
    struct pl_cel old = part->old != NULL ? pl_cel_from_tree(arena, part->old, node->type)
                                          : pl_cel_fail(arena, "no such attribute(s): oldSelf");
    struct pl_cel values[] = {pl_cel_from_tree(arena, part->value, node->type), old};
    if (is_optional)
        values[1] = part->old != NULL ? pl_cel_some(arena, old) : pl_cel_none();
    struct pl_cel result = pl_cel_evaluate(program, arena, values, PL_CEL_CALL_LIMIT, &cost);
    if (cost > run->left)
        run->is_over = true;
    run->left -= cost < run->left ? cost : run->left;
    return result;
}

static void tell_error(struct run *run, const struct pl_api_rules *node,
                       const struct pl_api_rule *rule, const struct part *part, struct pl_slice why)
{
    struct pl_arena *arena = run->faults->arena;
    struct pl_slice text = rule_text(run, rule);
    if (pl_slice_eqz(why, PL_CEL_OVER_LIMIT)) {
        run->is_over = true;
        fault(run, node, part,
              pl_arena_f(arena,
                         "'%.*s': no further validation rules will be run due to call cost exceeds "
                         "limit for rule: %.*s",
                         PL_FMT(why), PL_FMT(text)));
    } else if (pl_slice_eqz(why, "no such overload")) {
        fault(run, node, part,
              pl_arena_f(arena,
                         "'%.*s': call arguments did not match a supported operator, function or "
                         "macro signature for rule: %.*s",
                         PL_FMT(why), PL_FMT(text)));
    } else {
        fault(run, node, part,
              pl_arena_f(arena, "%.*s evaluating rule: %.*s", PL_FMT(why), PL_FMT(text)));
    }
}

/* "Invalid value: 5"; "Invalid value" for objects and arrays, which are not shown. */
static struct pl_slice with_value(struct run *run, const char *what, const struct pl_tree *value)
{
    struct pl_buf out = PL_BUF_INIT;
    pl_buf_add_z(&out, what);
    if (value->type != PL_OBJECT && value->type != PL_ARRAY) {
        pl_buf_add_z(&out, ": ");
        pl_tree_write(&out, value);
    }
    struct pl_slice text = pl_arena_copy(run->faults->arena, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    return text;
}

static struct pl_slice rules_message_of(struct run *run, const struct pl_api_rules *node,
                                        const struct pl_api_rule *rule, const struct part *part)
{
    struct pl_slice message = rules_text_of(run, rule->node, "message");
    if (rule->message != NULL) {
        struct pl_cel text = rules_evaluate(run, node, rule, rule->message, part);
        bool is_fine =
            text.kind == PL_CEL_STRING && text.s.len > 0 && pl_slice_chr(text.s, '\n') == NULL;
        if (is_fine)
            return text.s;
    }
    return message.len > 0 ? message
                           : pl_arena_f(run->faults->arena, "failed rule: %.*s",
                                        PL_FMT(rules_text_of(run, rule->node, "rule")));
}

static void tell_failed(struct run *run, const struct pl_api_rules *node,
                        const struct pl_api_rule *rule, const struct part *part)
{
    struct pl_arena *arena = run->faults->arena;
    struct pl_slice below = rules_text_of(run, rule->node, "fieldPath");
    struct pl_slice reason = rules_text_of(run, rule->node, "reason");
    struct pl_slice detail = rules_message_of(run, node, rule, part), path = part->path;
    if (below.len > 0)
        below = pl_api_field_path_shown(arena, node->schema, below);
    if (path.len == 0 && below.len > 0 && below.ptr[0] == '.')
        below = pl_slice(below.ptr + 1, below.len - 1);
    if (below.len > 0)
        path = pl_arena_f(arena, "%.*s%.*s", PL_FMT(path), PL_FMT(below));
    path = path_or_root(path);
    bool is_passed = part->is_same && !pl_cel_program_uses(rule->program, 1);
    struct pl_api_faults *to = is_passed ? run->passed : run->faults;
    if (pl_slice_eqz(reason, "FieldValueForbidden"))
        pl_api_fault(to, "FieldValueForbidden", path, "Forbidden: %.*s", PL_FMT(detail));
    else if (pl_slice_eqz(reason, "FieldValueRequired"))
        pl_api_fault(to, "FieldValueRequired", path, "Required value: %.*s", PL_FMT(detail));
    else if (pl_slice_eqz(reason, "FieldValueDuplicate"))
        pl_api_fault(to, "FieldValueDuplicate", path, "%.*s",
                     PL_FMT(with_value(run, "Duplicate value", part->value)));
    else
        pl_api_fault(to, "FieldValueInvalid", path, "%.*s: %.*s",
                     PL_FMT(with_value(run, "Invalid value", part->value)), PL_FMT(detail));
}

static void apply_rule(struct run *run, const struct pl_api_rules *node,
                       const struct pl_api_rule *rule, const struct part *part)
{
    if (rule->program == NULL) {
        fault(run, node, part,
              pl_arena_f(run->faults->arena, "rule compile error: %.*s", PL_FMT(rule->why)));
        return;
    }
    bool looks_back = pl_cel_program_uses(rule->program, 1);
    if (looks_back && part->old == NULL && !pl_node_flagz(rule->node, "optionalOldSelf"))
        return;
    struct pl_cel result = rules_evaluate(run, node, rule, rule->program, part);
    if (run->is_over)
        out_of_budget(run, node, part);
    else if (pl_cel_is_error(result))
        tell_error(run, node, rule, part, result.s);
    else if (!result.b)
        tell_failed(run, node, rule, part);
}

/* ---- walking ---- */

static void apply_node(struct run *run, const struct pl_api_rules *node, struct part part);

static struct part child(const struct part *above, const struct pl_tree *value,
                         const struct pl_tree *old, struct pl_slice path)
{
    bool is_same = old != NULL ? pl_tree_equal(value, old) : above->is_same;
    return (struct part){value, old, is_same, path};
}

static void apply_members(struct run *run, const struct pl_api_rules *node, const struct part *part)
{
    for (size_t i = 0; i < node->member_count && !run->is_over; i++) {
        struct pl_slice name = node->members[i].name;
        const struct pl_tree *value = pl_tree_get(part->value, name);
        const struct pl_tree *old = part->old != NULL ? pl_tree_get(part->old, name) : NULL;
        if (value != NULL)
            apply_node(
                run, node->members[i].rules,
                child(part, value, old, pl_arena_path(run->faults->arena, part->path, name)));
    }
}

static void apply_elements(struct run *run, const struct pl_api_rules *node,
                           const struct part *part)
{
    struct pl_arena *arena = run->faults->arena;
    size_t i = 0;
    bool is_list = part->value->type == PL_ARRAY;
    struct pl_map namesakes = PL_MAP_INIT; /* old elements of a map list by their keys */
    if (is_list && node->type->is_map_list)
        pl_api_list_index(arena, node->schema, part->old, &namesakes);
    PL_TREE_FOR(item, part->value)
    {
        if (run->is_over)
            break;
        struct pl_slice path =
            is_list ? pl_arena_f(arena, "%.*s[%zu]", PL_FMT(part->path), i++)
                    : pl_arena_f(arena, "%.*s[%.*s]", PL_FMT(part->path), PL_FMT(item->key));
        const struct pl_tree *old = NULL;
        if (!is_list)
            old = pl_tree_get(part->old, item->key);
        else if (namesakes.count > 0)
            old = pl_map_get(&namesakes, pl_api_list_key(arena, node->schema, item->value));
        apply_node(run, node->elements, child(part, item->value, old, path));
    }
    pl_map_deinit(&namesakes);
}

static void apply_node(struct run *run, const struct pl_api_rules *node, struct part part)
{
    if (part.value->type == PL_NULL)
        return;
    for (size_t i = 0; i < node->rule_count && !run->is_over; i++)
        apply_rule(run, node, &node->rules[i], &part);
    if (part.value->type == PL_OBJECT)
        apply_members(run, node, &part);
    if (node->elements != NULL && (part.value->type == PL_OBJECT || part.value->type == PL_ARRAY))
        apply_elements(run, node, &part);
}

void pl_api_rules_apply(const struct pl_api_rules *rules, struct pl_api_faults *faults,
                        struct pl_api_faults *passed, const struct pl_tree *object,
                        const struct pl_tree *old)
{
    struct run run = {.faults = faults, .passed = passed, .left = OBJECT_BUDGET};
    struct part root = {object, old, old != NULL && pl_tree_equal(object, old), pl_slice("", 0)};
    if (rules != NULL)
        apply_node(&run, rules, root);
}
