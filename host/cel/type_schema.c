/* The types of values that a structural schema describes, with their maximal sizes. From these the
 * cost of a rule can be estimated before it is stored. Rules and numbers are kube-apiserver's.
 *
 * Some values have no type, because rules cannot reach them: values with
 * x-kubernetes-preserve-unknown-fields, and lists and maps of such values. */
#include "cel/type.h"

#include "base/text.h"
#include "cel/cel.h"

#include <string.h>

#define MAX_DURATION 32 /* bytes of a duration, with quotes */
#define MAX_TIME     32
#define DATE         12

/* "var", "void" and "while" are reserved in CEL, too, but Kubernetes does not escape them. */
static const char escaped_words[][12] = {
    "true", "false",    "null", "in",     "as",  "break", "const",   "continue",  "else",
    "for",  "function", "if",   "import", "let", "loop",  "package", "namespace", "return"};

static bool is_escaped_word(struct pl_slice name)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(escaped_words); i++)
        if (pl_slice_eqz(name, escaped_words[i]))
            return true;
    return false;
}

static bool is_letter(char c)
{
    return pl_is_letter(c) || c == '_';
}

/* The escape for the character(s) at i; NULL: they stay as they are. */
static const char *escape_at(struct pl_slice name, size_t i, size_t *taken)
{
    *taken = 1;
    if (name.ptr[i] == '_' && i + 1 < name.len && name.ptr[i + 1] == '_') {
        *taken = 2;
        return "__underscores__";
    }
    switch (name.ptr[i]) {
    case '.':
        return "__dot__";
    case '-':
        return "__dash__";
    case '/':
        return "__slash__";
    default:
        return NULL;
    }
}

bool pl_cel_escape(struct pl_arena *arena, struct pl_slice name, struct pl_slice *escaped)
{
    if (name.len == 0 || pl_is_digit(name.ptr[0]))
        return false;
    if (is_escaped_word(name)) {
        *escaped = pl_arena_f(arena, "__%.*s__", PL_FMT(name));
        return true;
    }
    struct pl_buf out = PL_BUF_INIT;
    bool is_fine = true;
    for (size_t i = 0, taken; i < name.len && is_fine; i += taken) {
        const char *text = escape_at(name, i, &taken);
        if (text != NULL)
            pl_buf_add_z(&out, text);
        else
            pl_buf_add_char(&out, name.ptr[i]);
        is_fine = text != NULL || is_letter(name.ptr[i]) || pl_is_digit(name.ptr[i]);
    }
    *escaped = out.len == name.len ? name : pl_arena_copy(arena, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    return is_fine;
}

/* ---- sizes ---- */

static uint64_t bound(struct pl_node schema, const char *member, uint64_t otherwise)
{
    int64_t value;
    if (!pl_node_int(pl_node_getz(schema, member), &value))
        return otherwise;
    return value < 0 ? 0 : (uint64_t)value;
}

static uint64_t max_text(struct pl_node schema)
{
    uint64_t longest = 0;
    struct pl_node length = pl_node_getz(schema, "maxLength");
    if (!pl_node_is_missing(length)) /* in characters of at most four bytes */
        return bound(schema, "maxLength", 0) > UINT32_MAX ? PL_CEL_UNBOUNDED
                                                          : 4 * bound(schema, "maxLength", 0);
    struct pl_node words = pl_node_getz(schema, "enum");
    if (pl_node_len(words) == 0)
        return PL_CEL_REQUEST_BYTES - 2;
    struct pl_iter it = pl_iter(words);
    while (pl_iter_next(&it)) {
        struct pl_scratch scratch;
        uint64_t len = pl_node_str(it.value, &scratch).len;
        longest = len > longest ? len : longest;
    }
    return longest;
}

/* ---- types ---- */

static struct pl_cel_type *sized(struct pl_arena *arena, enum pl_cel_kind kind, uint64_t max_size,
                                 uint64_t min_bytes)
{
    struct pl_cel_type *type = pl_arena_alloc(arena, sizeof *type);
    *type = (struct pl_cel_type){.kind = kind, .max_size = max_size, .min_bytes = min_bytes};
    return type;
}

static const struct pl_cel_type *text_type(struct pl_arena *arena, struct pl_node schema)
{
    struct pl_node format = pl_node_getz(schema, "format");
    if (pl_node_str_eq(format, pl_slice_z("byte")))
        return sized(arena, PL_CEL_BYTES, bound(schema, "maxLength", PL_CEL_REQUEST_BYTES - 2), 2);
    if (pl_node_str_eq(format, pl_slice_z("duration")))
        return sized(arena, PL_CEL_DURATION, MAX_DURATION, 3);
    if (pl_node_str_eq(format, pl_slice_z("date")))
        return sized(arena, PL_CEL_TIMESTAMP, DATE, DATE);
    if (pl_node_str_eq(format, pl_slice_z("date-time")))
        return sized(arena, PL_CEL_TIMESTAMP, MAX_TIME, 21);
    return sized(arena, PL_CEL_STRING, max_text(schema), 2);
}

static const struct pl_cel_type *from_schema(struct pl_arena *arena, struct pl_node schema,
                                             bool is_root);

static void set_list_type(struct pl_arena *arena, struct pl_node schema, struct pl_cel_type *type)
{
    struct pl_node list = pl_node_getz(schema, "x-kubernetes-list-type");
    type->is_set = pl_node_str_eq(list, pl_slice_z("set"));
    type->is_map_list = pl_node_str_eq(list, pl_slice_z("map"));
    struct pl_node keys = pl_node_getz(schema, "x-kubernetes-list-map-keys");
    type->list_key_count = type->is_map_list ? pl_node_len(keys) : 0;
    struct pl_slice *names = pl_arena_alloc(arena, (type->list_key_count + 1) * sizeof *names);
    for (size_t i = 0; i < type->list_key_count; i++) {
        struct pl_scratch scratch;
        names[i] = pl_arena_copy(arena, pl_node_str(pl_node_at(keys, i), &scratch));
    }
    type->list_keys = names;
}

static const struct pl_cel_type *list_type(struct pl_arena *arena, struct pl_node schema)
{
    struct pl_node items = pl_node_getz(schema, "items");
    if (pl_node_is_missing(items))
        return NULL;
    const struct pl_cel_type *elem =
        from_schema(arena, items, pl_node_flagz(items, "x-kubernetes-embedded-resource"));
    if (elem == NULL)
        return NULL;
    uint64_t fit = (PL_CEL_REQUEST_BYTES - 2) / (elem->min_bytes + 1);
    struct pl_cel_type *type = sized(arena, PL_CEL_LIST, bound(schema, "maxItems", fit), 2);
    type->elem = elem;
    set_list_type(arena, schema, type);
    return type;
}

static const struct pl_cel_type *map_type(struct pl_arena *arena, struct pl_node schema,
                                          struct pl_node values)
{
    const struct pl_cel_type *value =
        from_schema(arena, values, pl_node_flagz(values, "x-kubernetes-embedded-resource"));
    if (value == NULL)
        return NULL;
    uint64_t fit = (PL_CEL_REQUEST_BYTES - 2) / (value->min_bytes + 6);
    struct pl_cel_type *type = sized(arena, PL_CEL_MAP, bound(schema, "maxProperties", fit), 2);
    type->key = pl_cel_type_of(PL_CEL_STRING);
    type->elem = value;
    return type;
}

static bool is_required(struct pl_node schema, struct pl_slice name)
{
    struct pl_iter it = pl_iter(pl_node_getz(schema, "required"));
    while (pl_iter_next(&it))
        if (pl_node_str_eq(it.value, name))
            return true;
    return false;
}

static void type_schema_add_field(struct pl_arena *arena, struct pl_cel_type *object,
                                  struct pl_cel_field *fields, struct pl_slice member,
                                  const struct pl_cel_type *type)
{
    struct pl_cel_field field = {.member = pl_arena_copy(arena, member), .type = type};
    if (!pl_cel_escape(arena, field.member, &field.name))
        return;
    for (size_t i = 0; i < object->field_count; i++)
        if (pl_slice_eq(fields[i].name, field.name)) {
            fields[i] = field;
            return;
        }
    fields[object->field_count++] = field;
}

/* The members of each object's root, whatever its schema says. */
static void add_root(struct pl_arena *arena, struct pl_cel_type *object,
                     struct pl_cel_field *fields)
{
    const struct pl_cel_type *text = sized(arena, PL_CEL_STRING, 0, 2);
    struct pl_cel_type *meta = sized(arena, PL_CEL_OBJECT, 0, 2);
    struct pl_cel_field *names = pl_arena_alloc(arena, 2 * sizeof *names);
    meta->fields = names;
    type_schema_add_field(arena, meta, names, pl_slice_z("name"), text);
    type_schema_add_field(arena, meta, names, pl_slice_z("generateName"), text);
    type_schema_add_field(arena, object, fields, pl_slice_z("apiVersion"), text);
    type_schema_add_field(arena, object, fields, pl_slice_z("kind"), text);
    type_schema_add_field(arena, object, fields, pl_slice_z("metadata"), meta);
}

static const struct pl_cel_type *object_type(struct pl_arena *arena, struct pl_node schema,
                                             bool is_root)
{
    struct pl_node properties = pl_node_getz(schema, "properties");
    struct pl_cel_type *type = sized(arena, PL_CEL_OBJECT, 0, 2);
    struct pl_cel_field *fields =
        pl_arena_alloc(arena, (pl_node_len(properties) + 3) * sizeof *fields);
    type->fields = fields;
    struct pl_iter it = pl_iter(properties);
    while (pl_iter_next(&it)) {
        const struct pl_cel_type *field =
            from_schema(arena, it.value, pl_node_flagz(it.value, "x-kubernetes-embedded-resource"));
        if (field == NULL)
            continue;
        type_schema_add_field(arena, type, fields, it.key, field);
        if (is_required(schema, it.key) && pl_node_is_missing(pl_node_getz(it.value, "default")))
            type->min_bytes += it.key.len + field->min_bytes + 4;
    }
    if (is_root)
        add_root(arena, type, fields);
    return type;
}

static const struct pl_cel_type *from_schema(struct pl_arena *arena, struct pl_node schema,
                                             bool is_root)
{
    if (pl_node_flagz(schema, "x-kubernetes-int-or-string")) {
        bool has_length = !pl_node_is_missing(pl_node_getz(schema, "maxLength"));
        return sized(arena, PL_CEL_DYN, has_length ? max_text(schema) : PL_CEL_REQUEST_BYTES - 2,
                     1);
    }
    struct pl_scratch scratch;
    struct pl_slice type = pl_node_str(pl_node_getz(schema, "type"), &scratch);
    if (pl_slice_eqz(type, "array"))
        return list_type(arena, schema);
    if (pl_slice_eqz(type, "object")) {
        struct pl_node values = pl_node_getz(schema, "additionalProperties");
        return pl_node_type(values) == PL_OBJECT ? map_type(arena, schema, values)
                                                 : object_type(arena, schema, is_root);
    }
    if (pl_slice_eqz(type, "string"))
        return text_type(arena, schema);
    if (pl_slice_eqz(type, "boolean"))
        return sized(arena, PL_CEL_BOOL, 0, 4);
    if (pl_slice_eqz(type, "number") || pl_slice_eqz(type, "integer"))
        return sized(arena, type.ptr[0] == 'n' ? PL_CEL_DOUBLE : PL_CEL_INT, 0, 1);
    return NULL;
}

const struct pl_cel_type *pl_cel_type_from_schema(struct pl_arena *arena, struct pl_node schema,
                                                  bool is_root)
{
    return from_schema(arena, schema, is_root);
}
