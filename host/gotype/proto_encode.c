/* Documents into protobuf. A stored document may have values of other types than the table, if an
 * older server stored it: such values are left out. Fields come in Go's order. Names that a type
 * does not have are left out, among them apiVersion and kind, which the envelope has. */
#include "gotype/proto.h"

#include "base/base64.h"
#include "format/units.h"
#include "gotype/packed.h"
#include "gotype/wire.h"
#include "value/write.h"

#include <string.h>

static void put_one(struct pl_buf *out, const struct pl_message_field *field, unsigned number,
                    struct pl_node value);

static void proto_encode_put_text(struct pl_buf *out, unsigned number, struct pl_node value)
{
    struct pl_scratch scratch;
    if (pl_node_type(value) == PL_STRING)
        pl_wire_put_bytes(out, number, pl_node_str(value, &scratch));
}

static void proto_encode_put_time(struct pl_buf *out, unsigned number, struct pl_node value)
{
    struct pl_scratch scratch;
    int64_t ns;
    if (!pl_time_parse(pl_node_str(value, &scratch), &ns))
        return;
    int64_t seconds = ns / 1000000000, rest = ns % 1000000000;
    if (rest < 0) {
        seconds--;
        rest += 1000000000;
    }
    size_t begun = pl_wire_begin(out, number);
    pl_wire_put_number(out, 1, (uint64_t)seconds);
    pl_wire_put_number(out, 2, (uint64_t)rest);
    pl_wire_end(out, begun);
}

static void put_duration(struct pl_buf *out, unsigned number, struct pl_node value)
{
    struct pl_scratch scratch;
    int64_t ns;
    if (!pl_duration_parse(pl_node_str(value, &scratch), &ns))
        return;
    size_t begun = pl_wire_begin(out, number);
    pl_wire_put_number(out, 1, (uint64_t)ns);
    pl_wire_end(out, begun);
}

/* A message whose only field, the first one, is that text. */
static void put_wrapped(struct pl_buf *out, unsigned number, struct pl_slice text)
{
    size_t begun = pl_wire_begin(out, number);
    pl_wire_put_bytes(out, 1, text);
    pl_wire_end(out, begun);
}

static void put_quantity(struct pl_buf *out, unsigned number, struct pl_node value)
{
    struct pl_scratch scratch;
    if (pl_node_type(value) == PL_STRING)
        put_wrapped(out, number, pl_node_str(value, &scratch));
    else if (pl_node_type(value) == PL_NUMBER)
        put_wrapped(out, number, pl_node_number(value, &scratch));
}

static void put_int_or_string(struct pl_buf *out, unsigned number, struct pl_node value)
{
    struct pl_scratch scratch;
    int64_t integer = 0;
    bool is_text = pl_node_type(value) == PL_STRING;
    if (!is_text && !pl_node_int(value, &integer))
        return;
    size_t begun = pl_wire_begin(out, number);
    pl_wire_put_number(out, 1, is_text);
    pl_wire_put_number(out, 2, (uint64_t)integer);
    pl_wire_put_bytes(out, 3, is_text ? pl_node_str(value, &scratch) : pl_slice("", 0));
    pl_wire_end(out, begun);
}

static void put_json(struct pl_buf *out, unsigned number, struct pl_node value)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_write(&text, value, PL_WRITE_COMPACT);
    put_wrapped(out, number, pl_buf_slice(&text));
    pl_buf_deinit(&text);
}

static void put_base64(struct pl_buf *out, unsigned number, struct pl_node value)
{
    struct pl_scratch scratch;
    struct pl_buf bytes = PL_BUF_INIT;
    if (pl_node_type(value) == PL_STRING && pl_base64_decode(pl_node_str(value, &scratch), &bytes))
        pl_wire_put_bytes(out, number, pl_buf_slice(&bytes));
    pl_buf_deinit(&bytes);
}

static void put_strings(struct pl_buf *out, unsigned number, struct pl_node value, unsigned inner)
{
    size_t begun = pl_wire_begin(out, number);
    struct pl_iter it = pl_iter(value);
    while (pl_iter_next(&it))
        proto_encode_put_text(out, inner, it.value);
    pl_wire_end(out, begun);
}

static void put_object(struct pl_buf *out, unsigned number, struct pl_message type,
                       struct pl_node value)
{
    if (pl_node_type(value) != PL_OBJECT)
        return;
    size_t begun = pl_wire_begin(out, number);
    pl_proto_encode(out, type, value);
    pl_wire_end(out, begun);
}

static void put_schema_or(struct pl_buf *out, enum pl_form form, unsigned number,
                          struct pl_node value)
{
    struct pl_message schema = pl_message_find(
        pl_slice_z("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"));
    size_t begun = pl_wire_begin(out, number);
    struct pl_iter it = pl_iter(value);
    if (pl_node_type(value) == PL_OBJECT) {
        if (form == PL_FORM_SCHEMA_OR_BOOL)
            pl_wire_put_number(out, 1, 1);
        put_object(out, form == PL_FORM_SCHEMA_OR_BOOL ? 2 : 1, schema, value);
    } else if (pl_node_type(value) == PL_BOOL) {
        pl_wire_put_number(out, 1, pl_node_bool(value));
    } else {
        while (pl_iter_next(&it)) {
            if (form == PL_FORM_SCHEMA_OR_ARRAY)
                put_object(out, 2, schema, it.value);
            else
                proto_encode_put_text(out, 2, it.value);
        }
    }
    pl_wire_end(out, begun);
}

static void put_number(struct pl_buf *out, enum pl_form form, unsigned number, struct pl_node value)
{
    int64_t integer;
    if (form == PL_FORM_BOOL) {
        if (pl_node_type(value) == PL_BOOL)
            pl_wire_put_number(out, number, pl_node_bool(value));
    } else if (form != PL_FORM_DOUBLE) {
        if (pl_node_int(value, &integer))
            pl_wire_put_number(out, number, (uint64_t)integer);
    } else if (pl_node_type(value) == PL_NUMBER) {
        double real = pl_node_double(value);
        uint64_t bits;
        memcpy(&bits, &real, sizeof(bits));
        pl_wire_put_tag(out, number, PL_WIRE_FIXED64);
        for (unsigned i = 0; i < 8; i++)
            pl_buf_add_char(out, (char)(bits >> (8 * i)));
    }
}

static void put_one(struct pl_buf *out, const struct pl_message_field *field, unsigned number,
                    struct pl_node value)
{
    switch (field->form) {
    case PL_FORM_MESSAGE:
        put_object(out, number, field->message, value);
        break;
    case PL_FORM_STRING:
        proto_encode_put_text(out, number, value);
        break;
    case PL_FORM_BOOL:
    case PL_FORM_INT32:
    case PL_FORM_INT64:
    case PL_FORM_DOUBLE:
        put_number(out, field->form, number, value);
        break;
    case PL_FORM_BYTES:
        put_base64(out, number, value);
        break;
    case PL_FORM_TIME:
    case PL_FORM_MICROTIME:
        proto_encode_put_time(out, number, value);
        break;
    case PL_FORM_DURATION:
        put_duration(out, number, value);
        break;
    case PL_FORM_QUANTITY:
        put_quantity(out, number, value);
        break;
    case PL_FORM_INT_OR_STRING:
        put_int_or_string(out, number, value);
        break;
    case PL_FORM_STRINGS:
        put_strings(out, number, value, 1);
        break;
    case PL_FORM_FIELDS:
    case PL_FORM_RAW:
    case PL_FORM_JSON:
        put_json(out, number, value);
        break;
    default:
        put_schema_or(out, field->form, number, value);
    }
}

static void put_entries(struct pl_buf *out, const struct pl_message_field *field,
                        struct pl_node value)
{
    struct pl_iter it = pl_iter(value);
    while (pl_iter_next(&it)) {
        size_t begun = pl_wire_begin(out, field->number);
        pl_wire_put_bytes(out, 1, it.key);
        put_one(out, field, 2, it.value);
        pl_wire_end(out, begun);
    }
}

static void put_field(struct pl_buf *out, const struct pl_message_field *field,
                      struct pl_node value)
{
    enum pl_type type = pl_node_type(value);
    struct pl_iter it = pl_iter(value);
    if (field->number == 0 || type == PL_MISSING || type == PL_NULL)
        return;
    if (field->many == PL_MANY_ONE)
        put_one(out, field, field->number, value);
    else if (field->many == PL_MANY_MAP && type == PL_OBJECT)
        put_entries(out, field, value);
    else if (type == PL_ARRAY)
        while (pl_iter_next(&it))
            put_one(out, field, field->number, it.value);
}

void pl_proto_encode(struct pl_buf *out, struct pl_message type, struct pl_node object)
{
    for (size_t i = 0; i < pl_message_count(type); i++) {
        struct pl_message_field field;
        pl_message_at(type, i, &field);
        if (field.flags & PL_PACKED_INLINE)
            put_object(out, field.number, field.message, object);
        else
            put_field(out, &field, pl_node_getz(object, field.name));
    }
}

/* ---- the envelope ---- */

size_t pl_proto_begin(struct pl_buf *out, struct pl_slice api_version, struct pl_slice kind)
{
    pl_buf_add(out, "k8s\0", 4);
    size_t type = pl_wire_begin(out, 1);
    pl_wire_put_bytes(out, 1, api_version);
    pl_wire_put_bytes(out, 2, kind);
    pl_wire_end(out, type);
    return pl_wire_begin(out, 2);
}

void pl_proto_end(struct pl_buf *out, size_t begun)
{
    pl_wire_end(out, begun);
    pl_wire_put_bytes(out, 3, pl_slice("", 0));
    pl_wire_put_bytes(out, 4, pl_slice("", 0));
}
