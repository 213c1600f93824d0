/* Protobuf into trees. Fields that the type does not have are skipped, as in Go. Decoding fails
 * with a reason if a field has another wire type, if a text is not UTF-8, if embedded JSON is
 * malformed, or beyond PL_PROTO_DEPTH levels. No length from the input decides an allocation: trees
 * grow only with bytes that have arrived. */
#include "gotype/proto.h"

#include "base/base64.h"
#include "format/units.h"
#include "gotype/packed.h"
#include "gotype/wire.h"
#include "value/build.h"
#include "value/scan.h"

#include <inttypes.h>
#include <string.h>

struct decoding {
    struct pl_arena *arena;
    const char *why; /* NULL until decoding fails */
    unsigned depth;
};

static const char magic[4] = {'k', '8', 's', 0};

static struct pl_tree *decode(struct decoding *d, struct pl_tree *into, struct pl_message type,
                              struct pl_slice bytes);

static struct pl_tree *proto_decode_fail(struct decoding *d, const char *why)
{
    if (d->why == NULL)
        d->why = why;
    return NULL;
}

/* ---- messages that are not objects in JSON ---- */

struct small {
    uint64_t number[4]; /* by field number, from 1 */
    struct pl_slice text[4];
    bool has[4];
};

static bool read_small(struct decoding *d, struct pl_slice bytes, struct small *out)
{
    struct pl_wire_field field;
    int got;
    *out = (struct small){.text = {{"", 0}, {"", 0}, {"", 0}, {"", 0}}};
    while ((got = pl_wire_next(&bytes, &field)) > 0) {
        if (field.number > 3)
            continue;
        out->has[field.number] = true;
        out->number[field.number] = field.value;
        out->text[field.number] = field.bytes;
    }
    if (got < 0)
        proto_decode_fail(d, "an embedded message is truncated");
    return got == 0;
}

static struct pl_tree *proto_decode_text_of(struct decoding *d, struct pl_slice bytes)
{
    if (!pl_is_utf8(bytes))
        return proto_decode_fail(d, "a string is not UTF-8");
    return pl_tree_str(d->arena, bytes);
}

static struct pl_tree *proto_decode_time_of(struct decoding *d, struct pl_slice bytes, int digits)
{
    struct small m;
    char text[40];
    if (!read_small(d, bytes, &m))
        return NULL;
    int64_t seconds = (int64_t)m.number[1], nanos = (int32_t)m.number[2];
    if (seconds == 0 && nanos == 0)
        return pl_tree_literal(d->arena, "null");
    if (seconds > INT64_MAX / 1000000000 || seconds < INT64_MIN / 1000000000 + 1 || nanos < 0 ||
        nanos > 999999999)
        return proto_decode_fail(d, "a time is out of range");
    pl_time_text(seconds * 1000000000 + nanos, digits, text);
    return pl_tree_strz(d->arena, text);
}

static struct pl_tree *quantity_of(struct decoding *d, struct pl_slice bytes)
{
    struct small m;
    double number;
    if (!read_small(d, bytes, &m))
        return NULL;
    if (m.text[1].len == 0)
        return pl_tree_strz(d->arena, "0");
    if (!pl_quantity_parse(m.text[1], &number))
        return proto_decode_fail(d, "a quantity is malformed");
    return pl_tree_str(d->arena, m.text[1]);
}

static struct pl_tree *int_or_string_of(struct decoding *d, struct pl_slice bytes)
{
    struct small m;
    if (!read_small(d, bytes, &m))
        return NULL;
    return m.number[1] == 1 ? proto_decode_text_of(d, m.text[3])
                            : pl_tree_int(d->arena, (int32_t)m.number[2]);
}

/* Go writes 1.5 hours as "1h30m0s". */
static struct pl_tree *duration_of(struct decoding *d, struct pl_slice bytes)
{
    struct small m;
    if (!read_small(d, bytes, &m))
        return NULL;
    int64_t ns = (int64_t)m.number[1];
    uint64_t rest = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    struct pl_slice text = pl_arena_f(
        d->arena, "%s%" PRIu64 "h%" PRIu64 "m%" PRIu64 ".%09" PRIu64 "s", ns < 0 ? "-" : "",
        rest / 3600000000000, rest / 60000000000 % 60, rest / 1000000000 % 60, rest % 1000000000);
    const char *at = text.ptr;
    if (rest % 1000000000 == 0)
        text = pl_arena_f(d->arena, "%.*ss", (int)(strchr(at, '.') - at), at);
    return pl_tree_str(d->arena, text);
}

/* JSON that is embedded in protobuf. */
static struct pl_tree *json_of(struct decoding *d, struct pl_slice bytes)
{
    struct small m;
    if (!read_small(d, bytes, &m))
        return NULL;
    if (m.text[1].len == 0)
        return pl_tree_literal(d->arena, "null");
    struct pl_scan_options options = {.keep_managed_fields = true, .max_depth = PL_PROTO_DEPTH};
    struct pl_doc *doc = pl_scan_text(m.text[1], &options, NULL);
    if (doc == NULL)
        return proto_decode_fail(d, "bytes that must be JSON are malformed");
    struct pl_tree *tree = pl_tree_from_node(d->arena, pl_doc_root(doc));
    pl_doc_unref(doc);
    return tree;
}

static struct pl_tree *strings_of(struct decoding *d, struct pl_slice bytes, unsigned number)
{
    struct pl_tree *out = pl_tree_array(d->arena);
    struct pl_wire_field field;
    int got;
    while ((got = pl_wire_next(&bytes, &field)) > 0) {
        if (field.number != number || field.wire != PL_WIRE_BYTES)
            continue;
        struct pl_tree *text = proto_decode_text_of(d, field.bytes);
        if (text == NULL)
            return NULL;
        pl_tree_push(d->arena, out, text);
    }
    return got == 0 ? out : proto_decode_fail(d, "a list of strings is truncated");
}

static struct pl_message schema_type(void)
{
    return pl_message_find(
        pl_slice_z("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"));
}

static struct pl_tree *object_of(struct decoding *d, struct pl_message type, struct pl_slice bytes)
{
    return decode(d, pl_tree_object(d->arena), type, bytes);
}

/* A schema, or the array, boolean or list of names that may stand in its place. */
static struct pl_tree *schema_or(struct decoding *d, enum pl_form form, struct pl_slice bytes)
{
    struct pl_wire_field field;
    struct pl_tree *schema = NULL, *list = pl_tree_array(d->arena);
    struct pl_slice rest = bytes;
    unsigned at = form == PL_FORM_SCHEMA_OR_BOOL ? 2 : 1;
    bool allows = false;
    int got;
    while ((got = pl_wire_next(&rest, &field)) > 0) {
        struct pl_tree *value = NULL;
        if (field.wire == PL_WIRE_VARINT && form == PL_FORM_SCHEMA_OR_BOOL && field.number == 1)
            allows = field.value != 0;
        if (field.wire != PL_WIRE_BYTES || field.number > 2)
            continue;
        if (field.number == at || form == PL_FORM_SCHEMA_OR_ARRAY)
            value = object_of(d, schema_type(), field.bytes);
        else if (form == PL_FORM_SCHEMA_OR_STRINGS)
            value = proto_decode_text_of(d, field.bytes);
        if (value == NULL)
            return NULL;
        if (field.number == at)
            schema = value;
        else
            pl_tree_push(d->arena, list, value);
    }
    if (got < 0)
        return proto_decode_fail(d, "a schema is truncated");
    if (schema != NULL)
        return schema;
    return form == PL_FORM_SCHEMA_OR_BOOL ? pl_tree_bool(d->arena, allows) : list;
}

static struct pl_tree *proto_decode_bytes_of(struct decoding *d, struct pl_slice bytes)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_base64_encode(bytes, &text);
    struct pl_tree *out = pl_tree_str(d->arena, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return out;
}

static struct pl_tree *double_of(struct decoding *d, uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof(number));
    if (!(number - number == 0.0))
        return proto_decode_fail(d, "a number is not finite");
    struct pl_build *b = pl_build_create(NULL);
    pl_build_double(b, number);
    struct pl_doc *doc = pl_build_close(b);
    struct pl_tree *out = pl_tree_from_node(d->arena, pl_doc_root(doc));
    pl_doc_unref(doc);
    return out;
}

/* ---- fields ---- */

static bool proto_decode_is_number(enum pl_form form)
{
    return form == PL_FORM_BOOL || form == PL_FORM_INT32 || form == PL_FORM_INT64 ||
           form == PL_FORM_DOUBLE;
}

static struct pl_tree *proto_decode_number_of(struct decoding *d, enum pl_form form, uint64_t value)
{
    if (form == PL_FORM_BOOL)
        return pl_tree_bool(d->arena, value != 0);
    if (form == PL_FORM_DOUBLE)
        return double_of(d, value);
    return pl_tree_int(d->arena, form == PL_FORM_INT32 ? (int32_t)value : (int64_t)value);
}

static struct pl_tree *bytes_value(struct decoding *d, const struct pl_message_field *of,
                                   struct pl_slice bytes)
{
    switch (of->form) {
    case PL_FORM_MESSAGE:
        return object_of(d, of->message, bytes);
    case PL_FORM_STRING:
        return proto_decode_text_of(d, bytes);
    case PL_FORM_BYTES:
        return proto_decode_bytes_of(d, bytes);
    case PL_FORM_TIME:
        return proto_decode_time_of(d, bytes, 0);
    case PL_FORM_MICROTIME:
        return proto_decode_time_of(d, bytes, 6);
    case PL_FORM_DURATION:
        return duration_of(d, bytes);
    case PL_FORM_QUANTITY:
        return quantity_of(d, bytes);
    case PL_FORM_INT_OR_STRING:
        return int_or_string_of(d, bytes);
    case PL_FORM_STRINGS:
        return strings_of(d, bytes, 1);
    case PL_FORM_FIELDS:
    case PL_FORM_RAW:
    case PL_FORM_JSON:
        return json_of(d, bytes);
    default:
        return schema_or(d, of->form, bytes);
    }
}

static struct pl_tree *proto_decode_value_of(struct decoding *d, const struct pl_message_field *of,
                                             const struct pl_wire_field *field)
{
    enum pl_wire wants = of->form == PL_FORM_DOUBLE         ? PL_WIRE_FIXED64
                         : proto_decode_is_number(of->form) ? PL_WIRE_VARINT
                                                            : PL_WIRE_BYTES;
    if (field->wire != wants)
        return proto_decode_fail(d, pl_arena_f(d->arena, "proto: wrong wireType = %d for field %s",
                                               field->wire, of->name)
                                        .ptr);
    return proto_decode_is_number(of->form) ? proto_decode_number_of(d, of->form, field->value)
                                            : bytes_value(d, of, field->bytes);
}

static struct pl_tree *proto_decode_member(struct decoding *d, struct pl_tree *object,
                                           const struct pl_message_field *of, enum pl_type type)
{
    struct pl_tree *there = pl_tree_getz(object, of->name);
    if (there != NULL)
        return there;
    there = type == PL_ARRAY ? pl_tree_array(d->arena) : pl_tree_object(d->arena);
    pl_tree_setz(d->arena, object, of->name, there);
    return there;
}

/* A repeated field of numbers may come packed: several numbers in one field. */
static void add_packed(struct decoding *d, struct pl_tree *list, const struct pl_message_field *of,
                       struct pl_slice bytes)
{
    while (bytes.len > 0) {
        uint64_t value;
        if (of->form == PL_FORM_DOUBLE || !pl_wire_take_varint(&bytes, &value)) {
            proto_decode_fail(d, "a list of numbers is truncated");
            return;
        }
        pl_tree_push(d->arena, list, proto_decode_number_of(d, of->form, value));
    }
}

static void add_element(struct decoding *d, struct pl_tree *object,
                        const struct pl_message_field *of, const struct pl_wire_field *field)
{
    struct pl_tree *list = proto_decode_member(d, object, of, PL_ARRAY);
    if (proto_decode_is_number(of->form) && field->wire == PL_WIRE_BYTES) {
        add_packed(d, list, of, field->bytes);
        return;
    }
    struct pl_tree *value = proto_decode_value_of(d, of, field);
    if (value != NULL)
        pl_tree_push(d->arena, list, value);
}

/* The value of a map's entry that has none: the empty value of its type. */
static struct pl_tree *empty_value(struct decoding *d, const struct pl_message_field *of)
{
    if (proto_decode_is_number(of->form))
        return proto_decode_number_of(d, of->form, 0);
    return bytes_value(d, of, pl_slice("", 0));
}

static void add_entry(struct decoding *d, struct pl_tree *object, const struct pl_message_field *of,
                      const struct pl_wire_field *entry)
{
    struct pl_tree *map = proto_decode_member(d, object, of, PL_OBJECT), *value = NULL;
    struct pl_slice key = pl_slice("", 0), rest = entry->bytes;
    struct pl_wire_field field;
    int got = -1;
    if (entry->wire != PL_WIRE_BYTES) {
        proto_decode_fail(d, "a map entry is malformed");
        return;
    }
    while (d->why == NULL && (got = pl_wire_next(&rest, &field)) > 0) {
        if (field.number == 1 && field.wire == PL_WIRE_BYTES)
            key = field.bytes;
        else if (field.number == 2)
            value = proto_decode_value_of(d, of, &field);
    }
    if (got != 0 || !pl_is_utf8(key))
        proto_decode_fail(d, "a map entry is truncated or its key is not UTF-8");
    if (value == NULL && d->why == NULL)
        value = empty_value(d, of);
    if (d->why == NULL)
        pl_tree_set(d->arena, map, pl_arena_copy(d->arena, key), value);
}

static void proto_decode_add_field(struct decoding *d, struct pl_tree *object,
                                   const struct pl_message_field *of,
                                   const struct pl_wire_field *field)
{
    if (of->flags & PL_PACKED_INLINE) {
        if (field->wire == PL_WIRE_BYTES)
            decode(d, object, of->message, field->bytes);
        else
            proto_decode_fail(d, "an embedded message is malformed");
        return;
    }
    if (of->many == PL_MANY_LIST) {
        add_element(d, object, of, field);
        return;
    }
    if (of->many == PL_MANY_MAP) {
        add_entry(d, object, of, field);
        return;
    }
    struct pl_tree *value = proto_decode_value_of(d, of, field);
    if (value != NULL && value->type != PL_NULL)
        pl_tree_setz(d->arena, object, of->name, value);
}

static struct pl_tree *decode(struct decoding *d, struct pl_tree *into, struct pl_message type,
                              struct pl_slice bytes)
{
    struct pl_wire_field field;
    struct pl_message_field of;
    int got = -1;
    if (d->depth++ >= PL_PROTO_DEPTH)
        proto_decode_fail(d, "messages are nested too deeply");
    while (d->why == NULL && (got = pl_wire_next(&bytes, &field)) > 0)
        if (pl_message_by_number(type, field.number, &of))
            proto_decode_add_field(d, into, &of, &field);
    d->depth--;
    if (got < 0)
        proto_decode_fail(d, "unexpected EOF");
    return d->why == NULL ? into : NULL;
}

struct pl_tree *pl_proto_decode(struct pl_arena *arena, struct pl_message type,
                                struct pl_slice bytes, const char **why)
{
    struct decoding d = {.arena = arena};
    struct pl_tree *object = object_of(&d, type, bytes);
    *why = d.why;
    return object;
}

/* ---- the envelope ---- */

static bool read_type(struct pl_slice bytes, struct pl_proto_envelope *out)
{
    struct pl_wire_field field;
    int got;
    while ((got = pl_wire_next(&bytes, &field)) > 0) {
        if (field.wire == PL_WIRE_BYTES && field.number == 1)
            out->api_version = field.bytes;
        else if (field.wire == PL_WIRE_BYTES && field.number == 2)
            out->kind = field.bytes;
    }
    return got == 0;
}

bool pl_proto_open(struct pl_slice body, struct pl_proto_envelope *out)
{
    struct pl_wire_field field;
    int got;
    *out = (struct pl_proto_envelope){{"", 0}, {"", 0}, {"", 0}};
    if (body.len < sizeof(magic) || memcmp(body.ptr, magic, sizeof(magic)) != 0)
        return false;
    body = pl_slice(body.ptr + sizeof(magic), body.len - sizeof(magic));
    while ((got = pl_wire_next(&body, &field)) > 0) {
        if (field.wire != PL_WIRE_BYTES)
            continue;
        if (field.number == 1 && !read_type(field.bytes, out))
            return false;
        if (field.number == 2)
            out->raw = field.bytes;
    }
    return got == 0 && pl_is_utf8(out->api_version) && pl_is_utf8(out->kind);
}
