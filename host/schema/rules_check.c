/* Checks a schema's rules when its CRD is written: they must compile, must not be empty, and must
 * not cost too much. Messages and limits are kube-apiserver's: the cost of a rule is the highest
 * cost of one evaluation times the number of evaluations for one object. */
#include "schema/crd_path.h"
#include "schema/rules_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RULE_LIMIT   10000000.0
#define SCHEMA_LIMIT 100000000.0

#define DEAREST 4

struct dear {
    struct pl_slice path;
    double cost;
};

struct checking {
    struct pl_api_faults *faults;
    struct pl_arena types;
    bool compile;       /* the schema has no faults */
    size_t text_faults; /* of the rules' members, so far */
    double total;       /* cost of all rules */
    struct dear dearest[DEAREST];
};

/* A position in the schema. */
struct place {
    struct pl_node schema;
    const struct pl_cel_type *type; /* NULL: rules are not possible here */
    struct pl_slice path;
    double times;         /* how often it can occur in one object; negative: no limit is declared */
    struct pl_slice list; /* the list above whose elements cannot be matched; ptr NULL: none */
};

static struct pl_slice escaped(struct pl_arena *arena, struct pl_slice text)
{
    struct pl_buf out = PL_BUF_INIT;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\n' || text.ptr[i] == '\r')
            pl_buf_add_z(&out, text.ptr[i] == '\n' ? "\\n" : "\\r");
        else if (text.ptr[i] == '"' || text.ptr[i] == '\\')
            pl_buf_add_f(&out, "\\%c", text.ptr[i]);
        else
            pl_buf_add_char(&out, text.ptr[i]);
    }
    struct pl_slice copy = pl_arena_copy(arena, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    return copy;
}

/* ---- texts ---- */

static void rules_check_add_member(struct pl_buf *out, struct pl_node rule, const char *member,
                                   const char *shown)
{
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(pl_node_getz(rule, member), &scratch);
    pl_buf_add_f(out, "\"%s\":\"", shown);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '<' || c == '>' || c == '&')
            pl_buf_add_f(out, "\\u%04x", c);
        else if (c == '\n')
            pl_buf_add_z(out, "\\n");
        else if (c == '"' || c == '\\')
            pl_buf_add_f(out, "\\%c", c);
        else
            pl_buf_add_char(out, c);
    }
    pl_buf_add_z(out, "\",");
}

/* A rule in the form of kube-apiserver's messages. */
static struct pl_slice rule_shown(struct pl_arena *arena, struct pl_node rule)
{
    struct pl_buf out = PL_BUF_INIT;
    struct pl_node optional = pl_node_getz(rule, "optionalOldSelf");
    pl_buf_add_char(&out, '{');
    rules_check_add_member(&out, rule, "rule", "Rule");
    rules_check_add_member(&out, rule, "message", "Message");
    rules_check_add_member(&out, rule, "messageExpression", "MessageExpression");
    if (pl_node_is_missing(pl_node_getz(rule, "reason")))
        pl_buf_add_z(&out, "\"Reason\":null,");
    else
        rules_check_add_member(&out, rule, "reason", "Reason");
    rules_check_add_member(&out, rule, "fieldPath", "FieldPath");
    pl_buf_add_f(&out, "\"OptionalOldSelf\":%s}",
                 pl_node_is_missing(optional) ? "null"
                 : pl_node_bool(optional)     ? "true"
                                              : "false");
    struct pl_slice text = pl_arena_copy(arena, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    return text;
}

static void rules_check_texts(struct checking *c, struct pl_node rule, struct pl_slice path)
{
    struct pl_arena *arena = c->faults->arena;
    struct pl_slice text = pl_api_rule_text(arena, rule, "rule"),
                    message = pl_api_rule_text(arena, rule, "message");
    bool has_message = !pl_node_is_missing(pl_node_getz(rule, "message"));
    struct pl_slice at = pl_arena_f(arena, "%.*s.message", PL_FMT(path));
    if (text.len == 0)
        pl_api_fault(c->faults, "FieldValueRequired", pl_arena_f(arena, "%.*s.rule", PL_FMT(path)),
                     "Required value: rule is not specified");
    else if (has_message && message.len == 0)
        pl_api_fault(c->faults, "FieldValueInvalid", at,
                     "Invalid value: \"\": must be non-empty if specified");
    else if (pl_slice_has_break(message))
        pl_api_fault(c->faults, "FieldValueInvalid", at,
                     "Invalid value: \"%.*s\": must not contain line breaks",
                     PL_FMT(escaped(arena, message)));
    else if (pl_slice_has_break(text) && message.len == 0)
        pl_api_fault(c->faults, "FieldValueRequired", at,
                     "Required value: message must be specified if rule contains line breaks");
}

static void rules_check_options(struct checking *c, const struct place *place, struct pl_node rule,
                                struct pl_slice path)
{
    struct pl_arena *arena = c->faults->arena;
    struct pl_scratch scratch;
    struct pl_slice message = pl_node_str(pl_node_getz(rule, "messageExpression"), &scratch);
    bool blank = message.len > 0 && pl_api_rule_text(arena, rule, "messageExpression").len == 0;
    if (blank)
        pl_api_fault(c->faults, "FieldValueRequired",
                     pl_arena_f(arena, "%.*s.messageExpression", PL_FMT(path)),
                     "Required value: messageExpression must be non-empty if specified");
    struct pl_slice reason = pl_node_str(pl_node_getz(rule, "reason"), &scratch);
    bool known =
        pl_slice_eqz(reason, "FieldValueRequired") || pl_slice_eqz(reason, "FieldValueForbidden") ||
        pl_slice_eqz(reason, "FieldValueInvalid") || pl_slice_eqz(reason, "FieldValueDuplicate");
    if (!pl_node_is_missing(pl_node_getz(rule, "reason")) && !known)
        pl_api_fault(c->faults, "FieldValueNotSupported",
                     pl_arena_f(arena, "%.*s.reason", PL_FMT(path)),
                     "Unsupported value: \"%.*s\": supported values: \"FieldValueDuplicate\", "
                     "\"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\"",
                     PL_FMT(reason));
    struct pl_slice field = pl_node_str(pl_node_getz(rule, "fieldPath"), &scratch);
    struct pl_slice at = pl_arena_f(arena, "%.*s.fieldPath", PL_FMT(path));
    struct pl_node found;
    if (field.len == 0)
        return;
    const char *faults[] = {
        pl_api_rule_text(arena, rule, "fieldPath").len == 0 ? "must be non-empty if specified"
                                                            : NULL,
        pl_slice_has_break(field) ? "must not contain line breaks" : NULL,
        pl_api_field_path_fault(arena, place->schema, field, true, &found) != NULL
            ? "must be a valid path"
            : NULL};
    for (size_t i = 0; i < PL_ARRAY_LEN(faults); i++)
        if (faults[i] != NULL)
            pl_api_fault(c->faults, "FieldValueInvalid", at, "Invalid value: \"%.*s\": %s",
                         PL_FMT(escaped(arena, field)), faults[i]);
}

/* ---- costs ---- */

static struct pl_slice over(struct pl_arena *arena, const char *what, double cost, double limit)
{
    char factor[32];
    double times = cost / limit;
    if (times > 100)
        snprintf(factor, sizeof factor, "more than 100x");
    else
        snprintf(factor, sizeof factor, times < 1.5 ? "%fx" : "%.1fx", times);
    return pl_arena_f(arena,
                      "%s exceeds budget by factor of %s (try simplifying the rule, or adding "
                      "maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
                      "declared)",
                      what, factor);
}

static double times_of(const struct place *place)
{
    return place->times >= 0 ? place->times
                             : floor(PL_CEL_REQUEST_BYTES / (double)(place->type->min_bytes + 1));
}

/* Keeps the most expensive expressions, for a schema whose total cost is too high. */
static void note_cost(struct checking *c, struct pl_slice path, double cost)
{
    c->total += cost;
    if (cost < SCHEMA_LIMIT / 100)
        return;
    for (size_t i = 0; i < DEAREST; i++) {
        if (cost <= c->dearest[i].cost)
            continue;
        memmove(&c->dearest[i + 1], &c->dearest[i], (DEAREST - i - 1) * sizeof c->dearest[0]);
        c->dearest[i] = (struct dear){path, cost};
        return;
    }
}

static void check_cost(struct checking *c, struct pl_slice path, const char *what, double cost)
{
    note_cost(c, path, cost);
    if (cost > RULE_LIMIT)
        pl_api_fault(c->faults, "FieldValueForbidden", path, "Forbidden: %.*s",
                     PL_FMT(over(c->faults->arena, what, cost, RULE_LIMIT)));
}

/* ---- rules ---- */

static void check_message(struct checking *c, const struct place *place, struct pl_node rule,
                          struct pl_slice path)
{
    struct pl_buf why = PL_BUF_INIT;
    struct pl_cel_program *program =
        pl_api_rule_compile(place->type, rule, "messageExpression", &c->types, &why);
    if (program == NULL)
        pl_api_fault(c->faults, "FieldValueInvalid", path, "Invalid value: %.*s: %s",
                     PL_FMT(rule_shown(c->faults->arena, rule)), pl_buf_z(&why));
    else
        check_cost(c, path, "estimated messageExpression cost",
                   (double)pl_cel_program_cost(program));
    pl_cel_program_destroy(program);
    pl_buf_deinit(&why);
}

static void rules_check_rule(struct checking *c, const struct place *place, struct pl_node rule,
                             struct pl_slice path)
{
    struct pl_arena *arena = c->faults->arena;
    struct pl_buf why = PL_BUF_INIT;
    struct pl_slice at = pl_arena_f(arena, "%.*s.rule", PL_FMT(path));
    struct pl_cel_program *program =
        pl_api_rule_compile(place->type, rule, "rule", &c->types, &why);
    if (program == NULL)
        pl_api_fault(c->faults, "FieldValueInvalid", at, "Invalid value: %.*s: %s",
                     PL_FMT(rule_shown(arena, rule)), pl_buf_z(&why));
    else
        check_cost(c, at, "estimated rule cost",
                   (double)pl_cel_program_cost(program) * times_of(place));
    bool looks_back = program != NULL && pl_cel_program_uses(program, 1);
    if (looks_back && place->list.ptr != NULL)
        pl_api_fault(
            c->faults, "FieldValueInvalid", at,
            "Invalid value: \"%.*s\": oldSelf cannot be used on the uncorrelatable portion "
            "of the schema within %.*s",
            PL_FMT(pl_api_rule_text(arena, rule, "rule")), PL_FMT(place->list));
    struct pl_node optional = pl_node_getz(rule, "optionalOldSelf");
    if (program != NULL && !looks_back && !pl_node_is_missing(optional))
        pl_api_fault(c->faults, "FieldValueInvalid",
                     pl_arena_f(arena, "%.*s.optionalOldSelf", PL_FMT(path)),
                     "Invalid value: %s: may not be set if oldSelf is not used in rule",
                     pl_node_bool(optional) ? "true" : "false");
    pl_cel_program_destroy(program);
    pl_buf_deinit(&why);
    if (!pl_node_is_missing(pl_node_getz(rule, "messageExpression")))
        check_message(c, place, rule, pl_arena_f(arena, "%.*s.messageExpression", PL_FMT(path)));
}

static struct pl_slice path_of_rule(const struct checking *c, const struct place *place,
                                    size_t index)
{
    return pl_arena_f(c->faults->arena, "%.*s.x-kubernetes-validations[%zu]", PL_FMT(place->path),
                      index);
}

/* Rules are compiled when neither they nor those below have faults. before: text_faults when the
 * walk came to this place. */
static void check_rules(struct checking *c, const struct place *place, size_t before)
{
    struct pl_node rules = pl_node_getz(place->schema, "x-kubernetes-validations");
    struct pl_iter it = pl_iter(rules);
    size_t faults = pl_api_fault_count(c->faults);
    while (pl_iter_next(&it)) {
        struct pl_slice path = path_of_rule(c, place, it.index);
        rules_check_texts(c, it.value, path);
        rules_check_options(c, place, it.value, path);
    }
    c->text_faults += pl_api_fault_count(c->faults) - faults;
    if (!c->compile || place->type == NULL || c->text_faults > before)
        return;
    it = pl_iter(rules);
    while (pl_iter_next(&it))
        rules_check_rule(c, place, it.value, path_of_rule(c, place, it.index));
}

/* ---- the schema ---- */

static double multiplied(double times, struct pl_node schema, const char *member)
{
    int64_t most;
    if (times < 0 || !pl_node_int(pl_node_getz(schema, member), &most))
        return -1;
    return times * (double)(most < 0 ? 0 : most);
}

static void check_place(struct checking *c, struct place place);

static const struct pl_cel_type *type_below(struct checking *c, struct pl_node schema)
{
    return pl_cel_type_from_schema(
        &c->types, schema, pl_node_bool(pl_node_getz(schema, "x-kubernetes-embedded-resource")));
}

static void check_elements(struct checking *c, const struct place *place, const char *member,
                           const char *limit)
{
    struct pl_node schema = pl_node_getz(place->schema, member);
    if (pl_node_type(schema) != PL_OBJECT)
        return;
    struct place below = {
        .schema = schema,
        .type = type_below(c, schema),
        .path = pl_arena_f(c->faults->arena, "%.*s.%s", PL_FMT(place->path), member),
        .times = multiplied(place->times, place->schema, limit),
        .list = place->list,
    };
    bool is_list = strcmp(member, "items") == 0;
    bool is_map =
        pl_node_str_eq(pl_node_getz(place->schema, "x-kubernetes-list-type"), pl_slice_z("map"));
    if (is_list && !is_map && below.list.ptr == NULL)
        below.list = place->path;
    check_place(c, below);
}

static void check_place(struct checking *c, struct place place)
{
    size_t before = c->text_faults;
    struct pl_iter it = pl_iter(pl_node_getz(place.schema, "properties"));
    while (pl_iter_next(&it)) {
        struct place below = place;
        below.schema = it.value;
        below.type = type_below(c, it.value);
        below.path = pl_arena_f(c->faults->arena, "%.*s.properties[%.*s]", PL_FMT(place.path),
                                PL_FMT(it.key));
        check_place(c, below);
    }
    check_elements(c, &place, "items", "maxItems");
    check_elements(c, &place, "additionalProperties", "maxProperties");
    check_rules(c, &place, before);
}

static bool has_rules(struct pl_node schema)
{
    struct pl_iter it = pl_iter(schema);
    while (pl_iter_next(&it))
        if (pl_slice_eqz(it.key, "x-kubernetes-validations") || has_rules(it.value))
            return true;
    return false;
}

static void tell_total(struct checking *c, struct pl_slice path)
{
    for (size_t i = 0; i < DEAREST && c->dearest[i].cost > 0; i++)
        pl_api_fault(c->faults, "FieldValueForbidden", c->dearest[i].path,
                     "Forbidden: contributed to estimated rule cost total exceeding cost limit for "
                     "entire OpenAPIv3 schema");
    pl_api_fault(c->faults, "FieldValueForbidden", path, "Forbidden: %.*s",
                 PL_FMT(over(c->faults->arena,
                             "x-kubernetes-validations estimated rule cost total for entire "
                             "OpenAPIv3 schema",
                             c->total, SCHEMA_LIMIT)));
}

void pl_api_rules_check(struct pl_api_faults *faults, struct pl_node schema, struct pl_slice path,
                        bool compile)
{
    struct checking c = {.faults = faults, .compile = compile};
    if (!has_rules(schema))
        return;
    check_place(&c, (struct place){.schema = schema,
                                   .type = pl_cel_type_from_schema(&c.types, schema, true),
                                   .path = path,
                                   .times = 1});
    if (c.total > SCHEMA_LIMIT)
        tell_total(&c, path);
    pl_arena_deinit(&c.types);
}
