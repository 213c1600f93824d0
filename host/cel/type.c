/* Types: which fits to which, and their texts in messages.
 *
 * A type says only what the compiler knows. Everything else is dyn, which fits to every type and is
 * checked at run time. */
#include "cel/type.h"

#include "base/text.h"

#include <string.h>

#define SIMPLE(k, size) [k] = {.kind = (k), .max_size = (size), .min_bytes = 1}

static const struct pl_cel_type simple_types[] = {
    SIMPLE(PL_CEL_DYN, PL_CEL_UNBOUNDED),
    SIMPLE(PL_CEL_NULL, 1),
    SIMPLE(PL_CEL_BOOL, 1),
    SIMPLE(PL_CEL_INT, 1),
    SIMPLE(PL_CEL_UINT, 1),
    SIMPLE(PL_CEL_DOUBLE, 1),
    SIMPLE(PL_CEL_STRING, PL_CEL_UNBOUNDED),
    SIMPLE(PL_CEL_BYTES, PL_CEL_UNBOUNDED),
    SIMPLE(PL_CEL_TIMESTAMP, 1),
    SIMPLE(PL_CEL_DURATION, 1),
    SIMPLE(PL_CEL_TYPE, 1),
    SIMPLE(PL_CEL_QUANTITY, 1),
    SIMPLE(PL_CEL_URL, 1),
    SIMPLE(PL_CEL_IP, 1),
    SIMPLE(PL_CEL_CIDR, 1),
    SIMPLE(PL_CEL_FORMAT, 1),
    SIMPLE(PL_CEL_SEMVER, 1),
    SIMPLE(PL_CEL_AUTHORIZER, 1),
    SIMPLE(PL_CEL_PATH_CHECK, 1),
    SIMPLE(PL_CEL_GROUP_CHECK, 1),
    SIMPLE(PL_CEL_RESOURCE_CHECK, 1),
    SIMPLE(PL_CEL_DECISION, 1),
    SIMPLE(PL_CEL_ERROR, 1),
};

static const char kind_names[][40] = {
    [PL_CEL_DYN] = "dyn",
    [PL_CEL_NULL] = "null_type",
    [PL_CEL_BOOL] = "bool",
    [PL_CEL_INT] = "int",
    [PL_CEL_UINT] = "uint",
    [PL_CEL_DOUBLE] = "double",
    [PL_CEL_STRING] = "string",
    [PL_CEL_BYTES] = "bytes",
    [PL_CEL_LIST] = "list",
    [PL_CEL_MAP] = "map",
    [PL_CEL_OBJECT] = "object",
    [PL_CEL_TIMESTAMP] = "google.protobuf.Timestamp",
    [PL_CEL_DURATION] = "google.protobuf.Duration",
    [PL_CEL_TYPE] = "type",
    [PL_CEL_OPTIONAL] = "optional_type",
    [PL_CEL_QUANTITY] = "kubernetes.Quantity",
    [PL_CEL_URL] = "kubernetes.URL",
    [PL_CEL_IP] = "net.IP",
    [PL_CEL_CIDR] = "net.CIDR",
    [PL_CEL_FORMAT] = "kubernetes.NamedFormat",
    [PL_CEL_SEMVER] = "kubernetes.Semver",
    [PL_CEL_AUTHORIZER] = "kubernetes.authorization.Authorizer",
    [PL_CEL_PATH_CHECK] = "kubernetes.authorization.PathCheck",
    [PL_CEL_GROUP_CHECK] = "kubernetes.authorization.GroupCheck",
    [PL_CEL_RESOURCE_CHECK] = "kubernetes.authorization.ResourceCheck",
    [PL_CEL_DECISION] = "kubernetes.authorization.Decision",
};

const char *pl_cel_kind_name(enum pl_cel_kind kind)
{
    return (size_t)kind < PL_ARRAY_LEN(kind_names) ? kind_names[kind] : "";
}

const struct pl_cel_type *pl_cel_type_of(enum pl_cel_kind kind)
{
    bool is_simple = (size_t)kind < PL_ARRAY_LEN(simple_types) && simple_types[kind].kind == kind;
    return &simple_types[is_simple ? kind : PL_CEL_DYN];
}

static struct pl_cel_type *new_type(struct pl_arena *arena, enum pl_cel_kind kind)
{
    struct pl_cel_type *type = pl_arena_alloc(arena, sizeof *type);
    type->kind = kind;
    type->max_size = PL_CEL_UNBOUNDED;
    type->min_bytes = 2;
    return type;
}

const struct pl_cel_type *pl_cel_type_list(struct pl_arena *arena, const struct pl_cel_type *elem)
{
    struct pl_cel_type *type = new_type(arena, PL_CEL_LIST);
    type->elem = elem;
    return type;
}

const struct pl_cel_type *pl_cel_type_empty_list(void)
{
    static const struct pl_cel_type type = {.kind = PL_CEL_LIST, .max_size = 0, .min_bytes = 2};
    return &type;
}

const struct pl_cel_type *pl_cel_type_of_go(void)
{
    static const struct pl_cel_type type = {
        .kind = PL_CEL_DYN, .elem = &type, .max_size = PL_CEL_UNBOUNDED, .min_bytes = 1};
    return &type;
}

#define PATCH_FIELD(text, kind_of)                                                                 \
    {                                                                                              \
        .name = {.ptr = (text), .len = sizeof(text) - 1},                                          \
        .member = {.ptr = (text), .len = sizeof(text) - 1}, .type = &simple_types[kind_of]         \
    }

static const struct pl_cel_type *json_patch(void)
{
    static const struct pl_cel_field fields[] = {
        PATCH_FIELD("op", PL_CEL_STRING), PATCH_FIELD("from", PL_CEL_STRING),
        PATCH_FIELD("path", PL_CEL_STRING), PATCH_FIELD("value", PL_CEL_DYN)};
    static const struct pl_cel_type type = {.kind = PL_CEL_OBJECT,
                                            .name = "JSONPatch",
                                            .fields = fields,
                                            .field_count = PL_ARRAY_LEN(fields),
                                            .max_size = PL_CEL_UNBOUNDED,
                                            .min_bytes = 2};
    return &type;
}

const struct pl_cel_type *pl_cel_type_patch(struct pl_arena *arena, struct pl_slice name)
{
    if (pl_slice_eqz(name, "JSONPatch"))
        return json_patch();
    if (!pl_slice_eqz(name, "Object") && !pl_text_begins(name, "Object."))
        return NULL;
    struct pl_cel_type *type = new_type(arena, PL_CEL_OBJECT);
    type->name = pl_arena_f(arena, "%.*s", PL_FMT(name)).ptr;
    type->is_open = true;
    return type;
}

const struct pl_cel_type *pl_cel_type_map(struct pl_arena *arena, const struct pl_cel_type *key,
                                          const struct pl_cel_type *value)
{
    struct pl_cel_type *type = new_type(arena, PL_CEL_MAP);
    type->key = key;
    type->elem = value;
    return type;
}

const struct pl_cel_type *pl_cel_type_optional(struct pl_arena *arena,
                                               const struct pl_cel_type *elem)
{
    struct pl_cel_type *type = new_type(arena, PL_CEL_OPTIONAL);
    type->elem = elem;
    type->max_size = elem != NULL ? elem->max_size : PL_CEL_UNBOUNDED;
    return type;
}

bool pl_cel_type_is_dyn(const struct pl_cel_type *type)
{
    return type == NULL || type->kind == PL_CEL_DYN || type->kind == PL_CEL_ERROR;
}

const struct pl_cel_type *pl_cel_type_elem(const struct pl_cel_type *type)
{
    return type != NULL && type->elem != NULL ? type->elem : pl_cel_type_of(PL_CEL_DYN);
}

const struct pl_cel_type *pl_cel_type_key(const struct pl_cel_type *type)
{
    return type != NULL && type->key != NULL ? type->key : pl_cel_type_of(PL_CEL_DYN);
}

static bool has_parts(enum pl_cel_kind kind)
{
    return kind == PL_CEL_LIST || kind == PL_CEL_MAP || kind == PL_CEL_OPTIONAL ||
           kind == PL_CEL_TYPE;
}

bool pl_cel_type_equal(const struct pl_cel_type *a, const struct pl_cel_type *b)
{
    if (a == b)
        return true;
    if (pl_cel_type_is_dyn(a) || pl_cel_type_is_dyn(b))
        return pl_cel_type_is_dyn(a) && pl_cel_type_is_dyn(b);
    if (a->kind == PL_CEL_OBJECT && b->kind == PL_CEL_OBJECT && a->is_open && b->is_open)
        return strcmp(a->name, b->name) == 0;
    if (a->kind != b->kind || a->kind == PL_CEL_OBJECT)
        return false;
    return !has_parts(a->kind) || a->kind == PL_CEL_TYPE ||
           (pl_cel_type_equal(pl_cel_type_elem(a), pl_cel_type_elem(b)) &&
            (a->kind != PL_CEL_MAP || pl_cel_type_equal(pl_cel_type_key(a), pl_cel_type_key(b))));
}

static bool may_be_null(enum pl_cel_kind kind)
{
    return kind == PL_CEL_NULL || kind == PL_CEL_OBJECT || kind == PL_CEL_TIMESTAMP ||
           kind == PL_CEL_DURATION || kind == PL_CEL_OPTIONAL ||
           (kind >= PL_CEL_QUANTITY && kind <= PL_CEL_DECISION);
}

bool pl_cel_type_fits(const struct pl_cel_type *from, const struct pl_cel_type *to)
{
    if (from == to || pl_cel_type_is_dyn(from) || pl_cel_type_is_dyn(to))
        return true;
    if (from->kind == PL_CEL_NULL)
        return may_be_null(to->kind);
    if (from->kind != to->kind || from->kind == PL_CEL_OBJECT)
        return pl_cel_type_equal(from, to);
    return !has_parts(from->kind) || from->kind == PL_CEL_TYPE ||
           (pl_cel_type_fits(pl_cel_type_elem(from), pl_cel_type_elem(to)) &&
            (from->kind != PL_CEL_MAP ||
             pl_cel_type_fits(pl_cel_type_key(from), pl_cel_type_key(to))));
}

const struct pl_cel_field *pl_cel_type_field(const struct pl_cel_type *type, struct pl_slice name)
{
    for (size_t i = 0; type != NULL && i < type->field_count; i++)
        if (pl_slice_eq(type->fields[i].name, name))
            return &type->fields[i];
    return NULL;
}

void pl_cel_type_write(struct pl_buf *out, const struct pl_cel_type *type)
{
    enum pl_cel_kind kind = type != NULL ? type->kind : PL_CEL_DYN;
    if (kind == PL_CEL_OBJECT) {
        pl_buf_add_z(out, type->name != NULL ? type->name : "object");
        return;
    }
    if (kind == PL_CEL_NULL) {
        pl_buf_add_z(out, "null");
        return;
    }
    if (kind == PL_CEL_TIMESTAMP || kind == PL_CEL_DURATION) {
        pl_buf_add_z(out, kind == PL_CEL_TIMESTAMP ? "timestamp" : "duration");
        return;
    }
    pl_buf_add_z(out, pl_cel_kind_name(kind));
    if (!has_parts(kind))
        return;
    pl_buf_add_char(out, '(');
    if (kind == PL_CEL_MAP) {
        pl_cel_type_write(out, pl_cel_type_key(type));
        pl_buf_add_z(out, ", ");
    }
    pl_cel_type_write(out, pl_cel_type_elem(type));
    pl_buf_add_char(out, ')');
}
