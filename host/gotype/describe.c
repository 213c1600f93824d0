/* Schemas of the built-in types, made from the packed table for one document and freed with its
 * arena. A type is described once, and every other place refers to it by its name. So types that
 * contain themselves end, and the depth of the calls depends only on the table. The unit tests
 * compare the result with schemas that a real kube-apiserver publishes. */
#include "gotype/describe.h"

#include "gotype/packed.h"

#include <string.h>

#define META       "io.k8s.apimachinery.pkg.apis.meta.v1."
#define EXTENSIONS "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

/* Types that are a single value in JSON: their names, and their schemas in OpenAPI 3 and 2. */
struct opaque {
    enum pl_form form;
    const char *name, *schema, *swagger; /* swagger NULL: as schema */
};

static const struct opaque opaques[] = {
    {PL_FORM_TIME, META "Time", "{\"type\":\"string\",\"format\":\"date-time\"}", NULL},
    {PL_FORM_MICROTIME, META "MicroTime", "{\"type\":\"string\",\"format\":\"date-time\"}", NULL},
    {PL_FORM_DURATION, META "Duration", "{\"type\":\"string\"}", NULL},
    {PL_FORM_QUANTITY, "io.k8s.apimachinery.pkg.api.resource.Quantity",
     "{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]}", "{\"type\":\"string\"}"},
    {PL_FORM_INT_OR_STRING, "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
     "{\"format\":\"int-or-string\",\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}",
     "{\"type\":\"string\",\"format\":\"int-or-string\"}"},
    {PL_FORM_FIELDS, META "FieldsV1", "{\"type\":\"object\"}", NULL},
    {PL_FORM_RAW, "io.k8s.apimachinery.pkg.runtime.RawExtension", "{\"type\":\"object\"}", NULL},
    {PL_FORM_JSON, EXTENSIONS "JSON", "{}", NULL},
    {PL_FORM_SCHEMA_OR_ARRAY, EXTENSIONS "JSONSchemaPropsOrArray", "{}", NULL},
    {PL_FORM_SCHEMA_OR_BOOL, EXTENSIONS "JSONSchemaPropsOrBool", "{}", NULL},
    {PL_FORM_SCHEMA_OR_STRINGS, EXTENSIONS "JSONSchemaPropsOrStringArray", "{}", NULL},
};

/* Scalar types: their type and format in a schema, and the value that Go writes when they are
 * empty. */
static const struct {
    enum pl_form form;
    const char *type, *format, *empty;
} scalars[] = {
    {PL_FORM_STRING, "string", "", "\"\""},    {PL_FORM_BOOL, "boolean", "", "false"},
    {PL_FORM_INT32, "integer", "int32", "0"},  {PL_FORM_INT64, "integer", "int64", "0"},
    {PL_FORM_DOUBLE, "number", "double", "0"}, {PL_FORM_BYTES, "string", "byte", NULL},
};

struct pl_tree *pl_describe_scalar(struct pl_arena *arena, const char *type, const char *format)
{
    struct pl_tree *schema = pl_tree_object(arena);
    pl_tree_set_strz(arena, schema, "type", type);
    if (*format != '\0')
        pl_tree_set_strz(arena, schema, "format", format);
    return schema;
}

struct pl_tree *pl_describe_ref(const struct pl_describe *to, struct pl_slice name)
{
    struct pl_tree *ref = pl_tree_object(to->arena);
    const char *where = to->is_swagger ? "#/definitions/" : "#/components/schemas/";
    pl_tree_setz(to->arena, ref, "$ref",
                 pl_tree_str(to->arena, pl_arena_f(to->arena, "%s%.*s", where, PL_FMT(name))));
    return ref;
}

struct pl_tree *pl_describe_member(const struct pl_describe *to, struct pl_slice name,
                                   bool is_filled)
{
    struct pl_tree *ref = pl_describe_ref(to, name);
    if (to->is_swagger) /* OpenAPI 2.0 allows no other member beside a reference */
        return ref;
    struct pl_tree *member = pl_tree_object(to->arena);
    struct pl_tree *all = pl_tree_array(to->arena);
    pl_tree_push(to->arena, all, ref);
    pl_tree_setz(to->arena, member, "allOf", all);
    if (is_filled)
        pl_tree_setz(to->arena, member, "default", pl_tree_object(to->arena));
    return member;
}

/* Adds the schema of an opaque type and returns its name; NULL: the form is not opaque. */
static const char *describe_opaque(struct pl_describe *to, enum pl_form form)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(opaques); i++) {
        const struct opaque *is = &opaques[i];
        if (is->form != form)
            continue;
        const char *schema = to->is_swagger && is->swagger != NULL ? is->swagger : is->schema;
        if (pl_tree_getz(to->schemas, is->name) == NULL)
            pl_tree_setz(to->arena, to->schemas, is->name, pl_tree_literal(to->arena, schema));
        return is->name;
    }
    return NULL;
}

static struct pl_tree *describe_scalar(struct pl_describe *to, const struct pl_message_field *field)
{
    if (field->form == PL_FORM_STRINGS) {
        struct pl_tree *list = pl_describe_scalar(to->arena, "array", "");
        pl_tree_setz(to->arena, list, "items", pl_describe_scalar(to->arena, "string", ""));
        return list;
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(scalars); i++)
        if (scalars[i].form == field->form) {
            struct pl_tree *schema =
                pl_describe_scalar(to->arena, scalars[i].type, scalars[i].format);
            if (*field->values != '\0')
                pl_tree_setz(to->arena, schema, "enum", pl_tree_texts(to->arena, field->values));
            return schema;
        }
    return pl_tree_object(to->arena);
}

/* The schema of one value: of the field itself, or of an element of its list or map. */
static struct pl_tree *describe_value(struct pl_describe *to, const struct pl_message_field *field,
                                      bool is_member)
{
    bool pointer = (field->flags & PL_PACKED_POINTER) != 0;
    const char *name = describe_opaque(to, field->form);
    if (field->form == PL_FORM_MESSAGE) {
        pl_describe_message(to, field->message);
        name = pl_message_name(field->message);
        if (is_member)
            return pl_describe_member(to, pl_slice_z(name), !pointer);
    } else if (name != NULL && is_member && field->form < PL_FORM_SCHEMA_OR_ARRAY) {
        return pl_describe_member(to, pl_slice_z(name), false);
    }
    return name != NULL ? pl_describe_ref(to, pl_slice_z(name)) : describe_scalar(to, field);
}

/* The default of the field: that of the table, or the empty value that Go writes anyway. */
static void describe_default(struct pl_describe *to, struct pl_tree *schema,
                             const struct pl_message_field *field)
{
    unsigned absent = PL_PACKED_OMITEMPTY | PL_PACKED_OMITZERO | PL_PACKED_POINTER;
    if (to->is_swagger)
        return;
    if (*field->json_default != '\0') {
        pl_tree_setz(to->arena, schema, "default", pl_tree_literal(to->arena, field->json_default));
        return;
    }
    if (field->many != PL_MANY_ONE || (field->flags & absent) != 0)
        return;
    for (size_t i = 0; i < PL_ARRAY_LEN(scalars); i++)
        if (scalars[i].form == field->form && scalars[i].empty != NULL)
            pl_tree_setz(to->arena, schema, "default",
                         pl_tree_literal(to->arena, scalars[i].empty));
}

static void describe_list(struct pl_arena *arena, struct pl_tree *schema,
                          const struct pl_message_field *field)
{
    const char *type = field->flags & PL_PACKED_MAP   ? "map"
                       : field->flags & PL_PACKED_SET ? "set"
                                                      : "atomic";
    if (*field->list_keys != '\0')
        pl_tree_setz(arena, schema, "x-kubernetes-list-map-keys",
                     pl_tree_texts(arena, field->list_keys));
    if (field->flags & (PL_PACKED_MAP | PL_PACKED_SET | PL_PACKED_WHOLE))
        pl_tree_set_strz(arena, schema, "x-kubernetes-list-type", type);
}

static struct pl_tree *describe_field(struct pl_describe *to, const struct pl_message_field *field)
{
    struct pl_arena *arena = to->arena;
    struct pl_tree *value = describe_value(to, field, field->many == PL_MANY_ONE);
    struct pl_tree *schema = value;
    if (field->many == PL_MANY_LIST) {
        schema = pl_describe_scalar(arena, "array", "");
        pl_tree_setz(arena, schema, "items", value);
        describe_list(arena, schema, field);
    } else if (field->many == PL_MANY_MAP) {
        schema = pl_describe_scalar(arena, "object", "");
        pl_tree_setz(arena, schema, "additionalProperties", value);
    }
    if (field->many != PL_MANY_LIST && field->flags & PL_PACKED_ATOMIC &&
        !(to->is_swagger && field->many == PL_MANY_ONE))
        pl_tree_set_strz(arena, schema, "x-kubernetes-map-type", "atomic");
    describe_default(to, schema, field);
    if (*field->merge_key != '\0')
        pl_tree_set_strz(arena, schema, "x-kubernetes-patch-merge-key", field->merge_key);
    unsigned strategies = field->flags & (PL_PACKED_MERGE | PL_PACKED_RETAIN);
    if (strategies != 0)
        pl_tree_set_strz(arena, schema, "x-kubernetes-patch-strategy",
                         strategies == PL_PACKED_MERGE    ? "merge"
                         : strategies == PL_PACKED_RETAIN ? "retainKeys"
                                                          : "merge,retainKeys");
    return schema;
}

static void describe_fields(struct pl_describe *to, struct pl_message message,
                            struct pl_tree *properties, struct pl_tree *required)
{
    for (size_t i = 0; i < pl_message_count(message); i++) {
        struct pl_message_field field;
        pl_message_at(message, i, &field);
        if (field.flags & PL_PACKED_INLINE) {
            describe_fields(to, field.message, properties, required);
            continue;
        }
        pl_tree_setz(to->arena, properties, field.name, describe_field(to, &field));
        if (field.flags & PL_PACKED_REQUIRED)
            pl_tree_push(to->arena, required, pl_tree_strz(to->arena, field.name));
    }
}

struct pl_tree *pl_describe_message(struct pl_describe *to, struct pl_message message)
{
    struct pl_arena *arena = to->arena;
    struct pl_slice name = pl_slice_z(pl_message_name(message));
    struct pl_tree *schema = pl_tree_get(to->schemas, name);
    if (schema != NULL)
        return schema;
    schema = pl_describe_scalar(arena, "object", "");
    pl_tree_set(arena, to->schemas, name, schema); /* first: its fields may refer to it */
    struct pl_tree *properties = pl_tree_object(arena), *required = pl_tree_array(arena);
    if (pl_message_has_kind(message)) {
        pl_tree_setz(arena, properties, "apiVersion", pl_describe_scalar(arena, "string", ""));
        pl_tree_setz(arena, properties, "kind", pl_describe_scalar(arena, "string", ""));
    }
    describe_fields(to, message, properties, required);
    if (required->count > 0)
        pl_tree_setz(arena, schema, "required", required);
    if (properties->count > 0)
        pl_tree_setz(arena, schema, "properties", properties);
    if (pl_message_is_atomic(message))
        pl_tree_set_strz(arena, schema, "x-kubernetes-map-type", "atomic");
    return schema;
}
