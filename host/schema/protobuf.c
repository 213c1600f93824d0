#include "schema/protobuf.h"

#include "base/base.h"
#include "value/build.h"

#include <string.h>

/* ---- the wire ---- */

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct reader {
    const unsigned char *at, *end;
};

static bool read_varint(struct reader *r, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; r->at < r->end && shift < 64; shift += 7) {
        unsigned char byte = *r->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return true;
    }
    return false;
}

static bool skip(struct reader *r, uint64_t count)
{
    if (count > (uint64_t)(r->end - r->at))
        return false;
    r->at += count;
    return true;
}

/* The next field: its number, and its bytes where it has such. False at the end (*ok) or when
 * something is malformed. */
static bool next_field(struct reader *r, uint64_t *number, struct pl_slice *bytes, bool *ok)
{
    uint64_t tag, value;
    *ok = r->at == r->end;
    if (*ok || !read_varint(r, &tag))
        return false;
    *number = tag >> 3;
    *bytes = pl_slice(NULL, 0);
    switch (tag & 7) {
    case VARINT:
        return read_varint(r, &value);
    case FIXED64:
        return skip(r, 8);
    case FIXED32:
        return skip(r, 4);
    case BYTES:
        if (!read_varint(r, &value) || !skip(r, value))
            return false;
        *bytes = pl_slice((const char *)r->at - value, (size_t)value);
        return true;
    default:
        return false;
    }
}

static struct reader reader_of(struct pl_slice bytes)
{
    const unsigned char *at = (const unsigned char *)bytes.ptr;
    return (struct reader){at, bytes.len > 0 ? at + bytes.len : at};
}

/* ---- messages ---- */

enum sort { TEXT, TEXTS, MESSAGE, RAW };

struct field {
    unsigned number; /* 0 ends a table */
    const char *name;
    enum sort sort;
    const struct field *fields; /* of a message */
};

static const struct field metadata[] = {
    {1, "name", TEXT, NULL}, {2, "generateName", TEXT, NULL}, {3, "namespace", TEXT, NULL}, {0}};
static const struct field resource[] = {
    {1, "namespace", TEXT, NULL}, {2, "verb", TEXT, NULL},
    {3, "group", TEXT, NULL},     {4, "version", TEXT, NULL},
    {5, "resource", TEXT, NULL},  {6, "subresource", TEXT, NULL},
    {7, "name", TEXT, NULL},      {0}};
static const struct field path[] = {{1, "path", TEXT, NULL}, {2, "verb", TEXT, NULL}, {0}};
/* Of a SelfSubjectAccessReview the first two. */
static const struct field access_spec[] = {{1, "resourceAttributes", MESSAGE, resource},
                                           {2, "nonResourceAttributes", MESSAGE, path},
                                           {3, "user", TEXT, NULL},
                                           {4, "groups", TEXTS, NULL},
                                           {6, "uid", TEXT, NULL},
                                           {0}};
static const struct field rules_spec[] = {{1, "namespace", TEXT, NULL}, {0}};
static const struct field token_spec[] = {
    {1, "token", TEXT, NULL}, {2, "audiences", TEXTS, NULL}, {0}};
static const struct field access_review[] = {
    {1, "metadata", MESSAGE, metadata}, {2, "spec", MESSAGE, access_spec}, {0}};
static const struct field rules_review[] = {
    {1, "metadata", MESSAGE, metadata}, {2, "spec", MESSAGE, rules_spec}, {0}};
static const struct field token_review[] = {
    {1, "metadata", MESSAGE, metadata}, {2, "spec", MESSAGE, token_spec}, {0}};
static const struct field self_review[] = {{1, "metadata", MESSAGE, metadata}, {0}};

static const struct {
    const char *kind;
    const struct field *fields;
} kinds[] = {
    {"LocalSubjectAccessReview", access_review},
    {"SelfSubjectAccessReview", access_review},
    {"SubjectAccessReview", access_review},
    {"SelfSubjectRulesReview", rules_review},
    {"TokenReview", token_review},
    {"SelfSubjectReview", self_review},
};

static const struct field *fields_of(const char *kind)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            return kinds[i].fields;
    return NULL;
}

static const struct field *find(const struct field *fields, uint64_t number)
{
    while (fields->number != 0 && fields->number != number)
        fields++;
    return fields->number != 0 ? fields : NULL;
}

static struct pl_tree *decode(struct pl_arena *arena, struct pl_slice bytes,
                              const struct field *fields);

/* A text that says nothing is absent, as Go leaves it out of JSON. False: malformed. */
static bool take(struct pl_arena *arena, struct pl_tree *out, const struct field *field,
                 struct pl_slice bytes)
{
    struct pl_tree *value;
    if (field->sort != MESSAGE && field->sort != RAW && !pl_is_utf8(bytes))
        return false;
    if (field->sort == TEXT || field->sort == RAW) {
        if (bytes.len > 0)
            pl_tree_setz(arena, out, field->name, pl_tree_str(arena, bytes));
        return true;
    }
    if (field->sort == MESSAGE) {
        value = decode(arena, bytes, field->fields);
        if (value != NULL)
            pl_tree_setz(arena, out, field->name, value);
        return value != NULL;
    }
    value = pl_tree_getz(out, field->name);
    if (value == NULL) {
        value = pl_tree_array(arena);
        pl_tree_setz(arena, out, field->name, value);
    }
    pl_tree_push(arena, value, pl_tree_str(arena, bytes));
    return true;
}

static struct pl_tree *decode(struct pl_arena *arena, struct pl_slice bytes,
                              const struct field *fields)
{
    struct pl_tree *out = pl_tree_object(arena);
    struct reader r = reader_of(bytes);
    struct pl_slice value;
    uint64_t number;
    bool ok;
    while (next_field(&r, &number, &value, &ok)) {
        const struct field *field = find(fields, number);
        if (field != NULL && !take(arena, out, field, value))
            return NULL;
    }
    return ok ? out : NULL;
}

/* ---- the envelope ---- */

static const char magic[4] = {'k', '8', 's', 0};
static const struct field type_meta[] = {
    {1, "apiVersion", TEXT, NULL}, {2, "kind", TEXT, NULL}, {0}};
static const struct field envelope[] = {
    {1, "type", MESSAGE, type_meta}, {2, "raw", RAW, NULL}, {0}};

bool pl_api_protobuf_knows(const char *kind)
{
    return fields_of(kind) != NULL;
}

struct pl_tree *pl_api_protobuf_decode(struct pl_arena *arena, const char *kind,
                                       struct pl_slice body)
{
    if (body.len < sizeof(magic) || memcmp(body.ptr, magic, sizeof(magic)) != 0)
        return NULL;
    body = pl_slice(body.ptr + sizeof(magic), body.len - sizeof(magic));
    const struct pl_tree *outer = decode(arena, body, envelope);
    if (outer == NULL)
        return NULL;
    struct pl_tree *object = decode(arena, pl_tree_text_at(outer, "raw"), fields_of(kind));
    PL_TREE_FOR(item, object != NULL ? pl_tree_getz(outer, "type") : NULL)
    pl_tree_set(arena, object, item->key, item->value);
    return object;
}
