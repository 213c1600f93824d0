/* OpenAPI 2.0 in protobuf: the published messages as tables of members, and one function that walks
 * a tree by them. Extensions and values of any type are sent as YAML text, and JSON is YAML. It
 * only writes. Its depth is that of the tree, which the tree's maker limits. */
#include "gotype/swagger.h"

#include "base/text.h"
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

/* The messages of the published definition. */
enum message {
    NO_MESSAGE,
    SCHEMA,
    PROPERTIES,
    RESPONSE,
    RESPONSES,
    OPERATION,
    PATH,
    PATHS,
    INFO,
    DOCUMENT,
    QUERY,          /* these three are parameters: the member `in` decides which */
    PATH_PARAMETER, /* the same as in a query, but with other numbers */
    BODY,
};

struct member {
    char name[24];
    uint8_t number;
    uint8_t how;     /* enum how */
    uint8_t message; /* enum message: of SWAGGER_MESSAGE */
    uint8_t of;      /* enum message: whose member it is */
};

struct swagger_message {
    uint8_t named;      /* field number of members that may have any name; 0: members has them */
    uint8_t extensions; /* field number of members "x-..." */
    uint8_t wrapped;    /* field number that contains the whole message; 0: none */
    uint8_t value;      /* enum message: of members of any name */
};

static const struct member members[] = {
    {"$ref", 1, SWAGGER_TEXT, NO_MESSAGE, SCHEMA},
    {"format", 2, SWAGGER_TEXT, NO_MESSAGE, SCHEMA},
    {"title", 3, SWAGGER_TEXT, NO_MESSAGE, SCHEMA},
    {"description", 4, SWAGGER_TEXT, NO_MESSAGE, SCHEMA},
    {"default", 5, SWAGGER_ANY, NO_MESSAGE, SCHEMA},
    {"multipleOf", 6, SWAGGER_DOUBLE, NO_MESSAGE, SCHEMA},
    {"maximum", 7, SWAGGER_DOUBLE, NO_MESSAGE, SCHEMA},
    {"exclusiveMaximum", 8, SWAGGER_BOOL, NO_MESSAGE, SCHEMA},
    {"minimum", 9, SWAGGER_DOUBLE, NO_MESSAGE, SCHEMA},
    {"exclusiveMinimum", 10, SWAGGER_BOOL, NO_MESSAGE, SCHEMA},
    {"maxLength", 11, SWAGGER_NUMBER, NO_MESSAGE, SCHEMA},
    {"minLength", 12, SWAGGER_NUMBER, NO_MESSAGE, SCHEMA},
    {"pattern", 13, SWAGGER_TEXT, NO_MESSAGE, SCHEMA},
    {"maxItems", 14, SWAGGER_NUMBER, NO_MESSAGE, SCHEMA},
    {"minItems", 15, SWAGGER_NUMBER, NO_MESSAGE, SCHEMA},
    {"uniqueItems", 16, SWAGGER_BOOL, NO_MESSAGE, SCHEMA},
    {"maxProperties", 17, SWAGGER_NUMBER, NO_MESSAGE, SCHEMA},
    {"minProperties", 18, SWAGGER_NUMBER, NO_MESSAGE, SCHEMA},
    {"required", 19, SWAGGER_TEXT, NO_MESSAGE, SCHEMA},
    {"enum", 20, SWAGGER_ANY, NO_MESSAGE, SCHEMA},
    {"additionalProperties", 21, SWAGGER_EITHER, NO_MESSAGE, SCHEMA},
    {"type", 22, SWAGGER_TEXTS, NO_MESSAGE, SCHEMA},
    {"items", 23, SWAGGER_SCHEMAS, NO_MESSAGE, SCHEMA},
    {"allOf", 24, SWAGGER_MESSAGE, SCHEMA, SCHEMA},
    {"properties", 25, SWAGGER_MESSAGE, PROPERTIES, SCHEMA},
    {"description", 1, SWAGGER_TEXT, NO_MESSAGE, RESPONSE},
    /* SchemaItem: a schema in its first field. */
    {"schema", 2, SWAGGER_SCHEMAS, NO_MESSAGE, RESPONSE},
    {"tags", 1, SWAGGER_TEXT, NO_MESSAGE, OPERATION},
    {"operationId", 5, SWAGGER_TEXT, NO_MESSAGE, OPERATION},
    {"produces", 6, SWAGGER_TEXT, NO_MESSAGE, OPERATION},
    {"consumes", 7, SWAGGER_TEXT, NO_MESSAGE, OPERATION},
    {"parameters", 8, SWAGGER_PARAMETER, NO_MESSAGE, OPERATION},
    {"responses", 9, SWAGGER_MESSAGE, RESPONSES, OPERATION},
    {"get", 2, SWAGGER_MESSAGE, OPERATION, PATH},
    {"put", 3, SWAGGER_MESSAGE, OPERATION, PATH},
    {"post", 4, SWAGGER_MESSAGE, OPERATION, PATH},
    {"delete", 5, SWAGGER_MESSAGE, OPERATION, PATH},
    {"patch", 8, SWAGGER_MESSAGE, OPERATION, PATH},
    {"parameters", 9, SWAGGER_PARAMETER, NO_MESSAGE, PATH},
    {"title", 1, SWAGGER_TEXT, NO_MESSAGE, INFO},
    {"version", 2, SWAGGER_TEXT, NO_MESSAGE, INFO},
    {"swagger", 1, SWAGGER_TEXT, NO_MESSAGE, DOCUMENT},
    {"info", 2, SWAGGER_MESSAGE, INFO, DOCUMENT},
    {"paths", 8, SWAGGER_MESSAGE, PATHS, DOCUMENT},
    {"definitions", 9, SWAGGER_MESSAGE, PROPERTIES, DOCUMENT},
    {"required", 1, SWAGGER_BOOL, NO_MESSAGE, QUERY},
    {"in", 2, SWAGGER_TEXT, NO_MESSAGE, QUERY},
    {"name", 4, SWAGGER_TEXT, NO_MESSAGE, QUERY},
    {"type", 6, SWAGGER_TEXT, NO_MESSAGE, QUERY},
    {"uniqueItems", 20, SWAGGER_BOOL, NO_MESSAGE, QUERY},
    {"required", 1, SWAGGER_BOOL, NO_MESSAGE, PATH_PARAMETER},
    {"in", 2, SWAGGER_TEXT, NO_MESSAGE, PATH_PARAMETER},
    {"name", 4, SWAGGER_TEXT, NO_MESSAGE, PATH_PARAMETER},
    {"type", 5, SWAGGER_TEXT, NO_MESSAGE, PATH_PARAMETER},
    {"uniqueItems", 19, SWAGGER_BOOL, NO_MESSAGE, PATH_PARAMETER},
    {"name", 2, SWAGGER_TEXT, NO_MESSAGE, BODY},
    {"in", 3, SWAGGER_TEXT, NO_MESSAGE, BODY},
    {"required", 4, SWAGGER_BOOL, NO_MESSAGE, BODY},
    {"schema", 5, SWAGGER_MESSAGE, SCHEMA, BODY},
};

static const struct swagger_message messages[] = {
    [SCHEMA] = {.extensions = 31},
    [PROPERTIES] = {.named = 1, .value = SCHEMA},
    [RESPONSE] = {.extensions = 5, .wrapped = 1},
    [RESPONSES] = {.named = 1, .value = RESPONSE},
    [OPERATION] = {.extensions = 13},
    [PATH] = {.extensions = 10},
    [PATHS] = {.named = 2, .value = PATH},
    [DOCUMENT] = {.extensions = 16},
    [QUERY] = {.extensions = 23},
    [PATH_PARAMETER] = {.extensions = 22},
    [BODY] = {.extensions = 6},
};

/* ---- writing ---- */

static void swagger_write(struct pl_buf *out, enum message message, const struct pl_tree *tree);

static void swagger_in(struct pl_buf *out, unsigned number, enum message message,
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
        swagger_in(out, 1, BODY, tree);
    } else {
        size_t other = pl_wire_begin(out, 2);
        bool query = pl_slice_eqz(in, "query");
        swagger_in(out, query ? 3 : 4, query ? QUERY : PATH_PARAMETER, tree);
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
    swagger_in(out, 1, SCHEMA, value);
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
        swagger_in(out, 1, SCHEMA, value);
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

static void swagger_named(struct pl_buf *out, enum message message, const struct pl_tree_item *item)
{
    size_t begun = pl_wire_begin(out, messages[message].named), inner;
    enum message value = messages[message].value;
    pl_wire_put_bytes(out, 1, item->key);
    inner = pl_wire_begin(out, 2);
    if (messages[value].wrapped != 0)
        swagger_in(out, messages[value].wrapped, value, item->value);
    else
        swagger_write(out, value, item->value);
    pl_wire_end(out, inner);
    pl_wire_end(out, begun);
}

static void swagger_member(struct pl_buf *out, enum message message,
                           const struct pl_tree_item *item)
{
    unsigned extensions = messages[message].extensions;
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
        if (members[i].of == message && pl_slice_eqz(item->key, members[i].name)) {
            if (!swagger_list(out, &members[i], item->value))
                swagger_value(out, &members[i], item->value);
            return;
        }
    if (extensions != 0 && item->key.len > 2 && pl_text_begins(item->key, "x-"))
        swagger_extension(out, extensions, item->key, item->value);
}

static void swagger_write(struct pl_buf *out, enum message message, const struct pl_tree *tree)
{
    if (!pl_tree_is(tree, PL_OBJECT))
        return;
    PL_TREE_FOR(item, tree)
    if (messages[message].named == 0)
        swagger_member(out, message, item);
    else
        swagger_named(out, message, item);
}

void pl_swagger_write(struct pl_buf *out, const struct pl_tree *document)
{
    swagger_write(out, DOCUMENT, document);
}
