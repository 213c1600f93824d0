/* OpenAPI 2.0 in protobuf: the published messages as tables of members, and one function that walks
 * a tree by them. Extensions and values of any type are sent as YAML text, and JSON is YAML. It
 * only writes. Its depth is that of the tree, which the tree's maker limits. */
#include "gotype/swagger.h"

#include "gotype/wire.h"

#include <stdlib.h>
#include <string.h>

enum how {
    SWAGGER_TEXT,   /* a text, or a list of them: one field for each */
    SWAGGER_TEXTS,  /* a message with a list of texts */
    SWAGGER_NUMBER, /* an integer */
    SWAGGER_DOUBLE,
    SWAGGER_BOOL,
    SWAGGER_ANY,     /* any value, or a list of them */
    SWAGGER_MESSAGE, /* a message, or a list of them */
    SWAGGER_SCHEMAS, /* a message with schemas: items */
    SWAGGER_EITHER,  /* a schema or a boolean */
    SWAGGER_PARAMETER,
};

struct member {
    const char *name; /* NULL: the end of the table */
    uint8_t number;
    uint8_t how; /* enum how */
    const struct swagger_message *message;
};

struct swagger_message {
    const struct member
        *members;       /* NULL: members may have any name, and each is written with its name */
    uint8_t named;      /* field number of such members */
    uint8_t extensions; /* field number of members "x-..." */
    uint8_t wrapped;    /* field number that contains the whole message; 0: none */
    const struct swagger_message *value; /* of members of any name */
};

static const struct swagger_message schema_message, properties_message;

static const struct member schema_members[] = {
    {"$ref", 1, SWAGGER_TEXT, NULL},
    {"format", 2, SWAGGER_TEXT, NULL},
    {"title", 3, SWAGGER_TEXT, NULL},
    {"description", 4, SWAGGER_TEXT, NULL},
    {"default", 5, SWAGGER_ANY, NULL},
    {"multipleOf", 6, SWAGGER_DOUBLE, NULL},
    {"maximum", 7, SWAGGER_DOUBLE, NULL},
    {"exclusiveMaximum", 8, SWAGGER_BOOL, NULL},
    {"minimum", 9, SWAGGER_DOUBLE, NULL},
    {"exclusiveMinimum", 10, SWAGGER_BOOL, NULL},
    {"maxLength", 11, SWAGGER_NUMBER, NULL},
    {"minLength", 12, SWAGGER_NUMBER, NULL},
    {"pattern", 13, SWAGGER_TEXT, NULL},
    {"maxItems", 14, SWAGGER_NUMBER, NULL},
    {"minItems", 15, SWAGGER_NUMBER, NULL},
    {"uniqueItems", 16, SWAGGER_BOOL, NULL},
    {"maxProperties", 17, SWAGGER_NUMBER, NULL},
    {"minProperties", 18, SWAGGER_NUMBER, NULL},
    {"required", 19, SWAGGER_TEXT, NULL},
    {"enum", 20, SWAGGER_ANY, NULL},
    {"additionalProperties", 21, SWAGGER_EITHER, NULL},
    {"type", 22, SWAGGER_TEXTS, NULL},
    {"items", 23, SWAGGER_SCHEMAS, NULL},
    {"allOf", 24, SWAGGER_MESSAGE, &schema_message},
    {"properties", 25, SWAGGER_MESSAGE, &properties_message},
    {NULL, 0, 0, NULL},
};
static const struct swagger_message schema_message = {.members = schema_members, .extensions = 31};
static const struct swagger_message properties_message = {.named = 1, .value = &schema_message};

static const struct member response_members[] = {
    {"description", 1, SWAGGER_TEXT, NULL},
    {"schema", 2, SWAGGER_SCHEMAS, NULL}, /* SchemaItem: a schema in its first field */
    {NULL, 0, 0, NULL},
};
static const struct swagger_message response_message = {
    .members = response_members, .extensions = 5, .wrapped = 1};
static const struct swagger_message responses_message = {.named = 1, .value = &response_message};

static const struct member operation_members[] = {
    {"tags", 1, SWAGGER_TEXT, NULL},
    {"operationId", 5, SWAGGER_TEXT, NULL},
    {"produces", 6, SWAGGER_TEXT, NULL},
    {"consumes", 7, SWAGGER_TEXT, NULL},
    {"parameters", 8, SWAGGER_PARAMETER, NULL},
    {"responses", 9, SWAGGER_MESSAGE, &responses_message},
    {NULL, 0, 0, NULL},
};
static const struct swagger_message operation_message = {.members = operation_members,
                                                         .extensions = 13};

static const struct member path_members[] = {
    {"get", 2, SWAGGER_MESSAGE, &operation_message},
    {"put", 3, SWAGGER_MESSAGE, &operation_message},
    {"post", 4, SWAGGER_MESSAGE, &operation_message},
    {"delete", 5, SWAGGER_MESSAGE, &operation_message},
    {"patch", 8, SWAGGER_MESSAGE, &operation_message},
    {"parameters", 9, SWAGGER_PARAMETER, NULL},
    {NULL, 0, 0, NULL},
};
static const struct swagger_message path_message = {.members = path_members, .extensions = 10};
static const struct swagger_message paths_message = {.named = 2, .value = &path_message};

static const struct member info_members[] = {
    {"title", 1, SWAGGER_TEXT, NULL},
    {"version", 2, SWAGGER_TEXT, NULL},
    {NULL, 0, 0, NULL},
};
static const struct swagger_message info_message = {.members = info_members};

static const struct member document_members[] = {
    {"swagger", 1, SWAGGER_TEXT, NULL},
    {"info", 2, SWAGGER_MESSAGE, &info_message},
    {"paths", 8, SWAGGER_MESSAGE, &paths_message},
    {"definitions", 9, SWAGGER_MESSAGE, &properties_message},
    {NULL, 0, 0, NULL},
};
static const struct swagger_message document_message = {.members = document_members,
                                                        .extensions = 16};

/* ---- parameters: the member `in` decides which message they are ---- */

static const struct member query_members[] = {
    /* the same numbers as of a parameter in a path */
    {"required", 1, SWAGGER_BOOL, NULL},     {"in", 2, SWAGGER_TEXT, NULL},
    {"name", 4, SWAGGER_TEXT, NULL},         {"type", 6, SWAGGER_TEXT, NULL},
    {"uniqueItems", 20, SWAGGER_BOOL, NULL}, {NULL, 0, 0, NULL},
};
static const struct swagger_message query_message = {.members = query_members, .extensions = 23};
static const struct member path_parameter_members[] = {
    {"required", 1, SWAGGER_BOOL, NULL},     {"in", 2, SWAGGER_TEXT, NULL},
    {"name", 4, SWAGGER_TEXT, NULL},         {"type", 5, SWAGGER_TEXT, NULL},
    {"uniqueItems", 19, SWAGGER_BOOL, NULL}, {NULL, 0, 0, NULL},
};
static const struct swagger_message path_parameter_message = {.members = path_parameter_members,
                                                              .extensions = 22};
static const struct member body_members[] = {
    {"name", 2, SWAGGER_TEXT, NULL},
    {"in", 3, SWAGGER_TEXT, NULL},
    {"required", 4, SWAGGER_BOOL, NULL},
    {"schema", 5, SWAGGER_MESSAGE, &schema_message},
    {NULL, 0, 0, NULL},
};
static const struct swagger_message body_message = {.members = body_members, .extensions = 6};

/* ---- writing ---- */

static void swagger_write(struct pl_buf *out, const struct swagger_message *message,
                          const struct pl_tree *tree);

static void swagger_in(struct pl_buf *out, unsigned number, const struct swagger_message *message,
                       const struct pl_tree *tree)
{
    size_t begun = pl_wire_begin(out, number);
    swagger_write(out, message, tree);
    pl_wire_end(out, begun);
}

static void swagger_any(struct pl_buf *out, unsigned number, const struct pl_tree *value)
{
    struct pl_buf text = PL_BUF_INIT;
    size_t begun = pl_wire_begin(out, number);
    pl_tree_write(&text, value);
    pl_buf_add_char(&text, '\n');
    pl_wire_put_bytes(out, 2, pl_buf_slice(&text));
    pl_wire_end(out, begun);
    pl_buf_deinit(&text);
}

static void swagger_extension(struct pl_buf *out, unsigned number, struct pl_slice name,
                              const struct pl_tree *value)
{
    size_t begun = pl_wire_begin(out, number);
    pl_wire_put_bytes(out, 1, name);
    swagger_any(out, 2, value);
    pl_wire_end(out, begun);
}

static void swagger_parameter(struct pl_buf *out, unsigned number, const struct pl_tree *tree)
{
    struct pl_slice in = pl_tree_text_at(tree, "in");
    size_t item = pl_wire_begin(out, number), parameter = pl_wire_begin(out, 1);
    if (pl_slice_eqz(in, "body")) {
        swagger_in(out, 1, &body_message, tree);
    } else {
        size_t other = pl_wire_begin(out, 2);
        bool query = pl_slice_eqz(in, "query");
        swagger_in(out, query ? 3 : 4, query ? &query_message : &path_parameter_message, tree);
        pl_wire_end(out, other);
    }
    pl_wire_end(out, parameter);
    pl_wire_end(out, item);
}

static void swagger_double(struct pl_buf *out, unsigned number, struct pl_slice text)
{
    char digits[64];
    if (text.len >= sizeof(digits))
        return;
    memcpy(digits, text.ptr, text.len);
    digits[text.len] = '\0';
    double value = strtod(digits, NULL);
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    pl_wire_put_tag(out, number, PL_WIRE_FIXED64);
    for (unsigned i = 0; i < 8; i++)
        pl_buf_add_char(out, (char)(bits >> (8 * i)));
}

static void swagger_schemas(struct pl_buf *out, unsigned number, const struct pl_tree *value)
{
    size_t begun = pl_wire_begin(out, number);
    swagger_in(out, 1, &schema_message, value);
    pl_wire_end(out, begun);
}

static void swagger_value(struct pl_buf *out, const struct member *member,
                          const struct pl_tree *value);

/* A list is its elements, one field for each. */
static bool swagger_list(struct pl_buf *out, const struct member *member,
                         const struct pl_tree *value)
{
    bool repeats = member->how == SWAGGER_TEXT || member->how == SWAGGER_ANY ||
                   member->how == SWAGGER_MESSAGE || member->how == SWAGGER_PARAMETER;
    if (!repeats || !pl_tree_is(value, PL_ARRAY))
        return false;
    PL_TREE_FOR(item, value)
    swagger_value(out, member, item->value);
    return true;
}

static void swagger_number(struct pl_buf *out, const struct member *member,
                           const struct pl_tree *value)
{
    int64_t number;
    if (pl_tree_integer(value, &number))
        pl_wire_put_number(out, member->number, (uint64_t)number);
}

/* A message whose first field is the list of texts. */
static void swagger_texts(struct pl_buf *out, unsigned number, struct pl_slice text)
{
    size_t begun = pl_wire_begin(out, number);
    pl_wire_put_bytes(out, 1, text);
    pl_wire_end(out, begun);
}

/* A schema, or whether anything is allowed. */
static void swagger_either(struct pl_buf *out, unsigned number, const struct pl_tree *value)
{
    size_t begun = pl_wire_begin(out, number);
    if (pl_tree_is(value, PL_OBJECT))
        swagger_in(out, 1, &schema_message, value);
    else
        pl_wire_put_number(out, 2, value->boolean ? 1 : 0);
    pl_wire_end(out, begun);
}

static void swagger_value(struct pl_buf *out, const struct member *member,
                          const struct pl_tree *value)
{
    switch ((enum how)member->how) {
    case SWAGGER_TEXT:
        pl_wire_put_bytes(out, member->number, pl_tree_text(value));
        break;
    case SWAGGER_TEXTS:
        swagger_texts(out, member->number, pl_tree_text(value));
        break;
    case SWAGGER_NUMBER:
        swagger_number(out, member, value);
        break;
    case SWAGGER_DOUBLE:
        if (pl_tree_is(value, PL_NUMBER))
            swagger_double(out, member->number, value->text);
        break;
    case SWAGGER_BOOL:
        pl_wire_put_number(out, member->number, value->boolean ? 1 : 0);
        break;
    case SWAGGER_ANY:
        swagger_any(out, member->number, value);
        break;
    case SWAGGER_MESSAGE:
        swagger_in(out, member->number, member->message, value);
        break;
    case SWAGGER_SCHEMAS:
        swagger_schemas(out, member->number, value);
        break;
    case SWAGGER_EITHER:
        swagger_either(out, member->number, value);
        break;
    case SWAGGER_PARAMETER:
        swagger_parameter(out, member->number, value);
        break;
    }
}

static void swagger_named(struct pl_buf *out, const struct swagger_message *message,
                          const struct pl_tree_item *item)
{
    size_t begun = pl_wire_begin(out, message->named), inner;
    pl_wire_put_bytes(out, 1, item->key);
    inner = pl_wire_begin(out, 2);
    if (message->value->wrapped != 0)
        swagger_in(out, message->value->wrapped, message->value, item->value);
    else
        swagger_write(out, message->value, item->value);
    pl_wire_end(out, inner);
    pl_wire_end(out, begun);
}

static void swagger_member(struct pl_buf *out, const struct swagger_message *message,
                           const struct pl_tree_item *item)
{
    for (const struct member *member = message->members; member->name != NULL; member++)
        if (pl_slice_eqz(item->key, member->name)) {
            if (!swagger_list(out, member, item->value))
                swagger_value(out, member, item->value);
            return;
        }
    if (message->extensions != 0 && item->key.len > 2 && memcmp(item->key.ptr, "x-", 2) == 0)
        swagger_extension(out, message->extensions, item->key, item->value);
}

static void swagger_write(struct pl_buf *out, const struct swagger_message *message,
                          const struct pl_tree *tree)
{
    if (!pl_tree_is(tree, PL_OBJECT))
        return;
    PL_TREE_FOR(item, tree)
    if (message->members != NULL)
        swagger_member(out, message, item);
    else
        swagger_named(out, message, item);
}

void pl_swagger_write(struct pl_buf *out, const struct pl_tree *document)
{
    swagger_write(out, &document_message, document);
}
