#include "load_protobuf.h"

#include "load_pod_fields.h"

#include "base/alloc.h"
#include "base/check.h"
#include "value/scan.h"
#include "value/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* One object's message; its numbers that change are texts of LOAD_DIGITS here too. */
struct load_message {
    size_t at; /* in kind->message_bytes */
    uint32_t len;
    uint32_t rv, revision, seen; /* from `at` */
};

/* ---- the wire ---- */

enum { WIRE_VARINT = 0, WIRE_BYTES = 2, MOST_VARINT = 10 };

static size_t varint(uint8_t out[MOST_VARINT], uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        out[n++] = (uint8_t)(value | 0x80);
    out[n++] = (uint8_t)value;
    return n;
}

static void put_varint(struct pl_buf *out, uint64_t value)
{
    uint8_t bytes[MOST_VARINT];
    pl_buf_add(out, bytes, varint(bytes, value));
}

static void put_number(struct pl_buf *out, unsigned field, uint64_t value)
{
    put_varint(out, field << 3 | WIRE_VARINT);
    put_varint(out, value);
}

static void put_text(struct pl_buf *out, unsigned field, struct pl_slice text)
{
    put_varint(out, field << 3 | WIRE_BYTES);
    put_varint(out, text.len);
    pl_buf_add_slice(out, text);
}

/* Begins a field's message, which goes up to `end`; `end` inserts its length before it. */
static size_t begin(struct pl_buf *out, unsigned field)
{
    put_varint(out, field << 3 | WIRE_BYTES);
    return out->len;
}

static void end(struct pl_buf *out, size_t at)
{
    uint8_t bytes[MOST_VARINT];
    size_t len = out->len - at, width = varint(bytes, len);
    pl_buf_reserve(out, width);
    memmove(out->ptr + at + width, out->ptr + at, len);
    memcpy(out->ptr + at, bytes, width);
    out->len += width;
}

/* ---- JSON to messages ---- */

static void put_fields(struct pl_buf *out, const struct load_field *fields, struct pl_node object);

static struct pl_slice text_of(struct pl_node node, struct pl_scratch *scratch)
{
    PL_REQUIRE(pl_node_type(node) == PL_STRING);
    return pl_node_str(node, scratch);
}

static uint64_t number_of(struct pl_node node)
{
    int64_t number;
    PL_REQUIRE(pl_node_int(node, &number));
    return (uint64_t)number;
}

static void put_time(struct pl_buf *out, unsigned number, struct pl_slice text)
{
    struct tm tm = {0};
    char copy[32];
    snprintf(copy, sizeof copy, "%.*s", PL_FMT(text));
    PL_REQUIRE(strptime(copy, "%Y-%m-%dT%H:%M:%SZ", &tm) != NULL);
    size_t at = begin(out, number);
    put_number(out, 1, (uint64_t)timegm(&tm));
    end(out, at);
}

static void put_map(struct pl_buf *out, const struct load_field *field, struct pl_node object)
{
    struct pl_iter it = pl_iter(object);
    while (pl_iter_next(&it)) {
        struct pl_scratch scratch;
        size_t entry = begin(out, field->number);
        put_text(out, 1, it.key);
        size_t quantity = field->type == FIELD_QUANTITIES ? begin(out, 2) : 0;
        put_text(out, field->type == FIELD_QUANTITIES ? 1 : 2, text_of(it.value, &scratch));
        if (field->type == FIELD_QUANTITIES)
            end(out, quantity);
        end(out, entry);
    }
}

static void put_json(struct pl_buf *out, unsigned number, struct pl_node node)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_write(&text, node, PL_WRITE_COMPACT);
    size_t at = begin(out, number);
    put_text(out, 1, pl_buf_slice(&text));
    end(out, at);
    pl_buf_deinit(&text);
}

static void put_message(struct pl_buf *out, const struct load_field *field, struct pl_node node)
{
    size_t at = begin(out, field->number);
    if (field->type == FIELD_NUMBER_NOT_TEXT)
        put_number(out, 2, number_of(node));
    else
        put_fields(out, field->fields, node);
    end(out, at);
}

static void put_value(struct pl_buf *out, const struct load_field *field, struct pl_node node)
{
    struct pl_scratch scratch;
    switch (field->type) {
    case FIELD_LEFT_OUT:
        return;
    case FIELD_TEXT:
        put_text(out, field->number, text_of(node, &scratch));
        return;
    case FIELD_NUMBER:
        put_number(out, field->number, number_of(node));
        return;
    case FIELD_FLAG:
        put_number(out, field->number, pl_node_bool(node));
        return;
    case FIELD_TIME:
        put_time(out, field->number, text_of(node, &scratch));
        return;
    case FIELD_TEXTS:
    case FIELD_QUANTITIES:
        put_map(out, field, node);
        return;
    case FIELD_JSON:
        put_json(out, field->number, node);
        return;
    case FIELD_MESSAGE:
    case FIELD_NUMBER_NOT_TEXT:
        put_message(out, field, node);
        return;
    }
}

static void put_field(struct pl_buf *out, const struct load_field *field, struct pl_node node)
{
    size_t outer = field->within != 0 ? begin(out, field->within) : 0;
    if (pl_node_type(node) == PL_ARRAY) {
        struct pl_iter it = pl_iter(node);
        while (pl_iter_next(&it))
            put_value(out, field, it.value);
    } else {
        put_value(out, field, node);
    }
    if (field->within != 0)
        end(out, outer);
}

static const struct load_field *find_field(const struct load_field *fields, struct pl_slice name)
{
    const struct load_field *field = fields;
    while (field->name != NULL && !pl_slice_eqz(name, field->name))
        field++;
    if (field->name == NULL) {
        fprintf(stderr, "load-server: there is no protobuf field for %.*s\n", PL_FMT(name));
        exit(1);
    }
    return field;
}

static void put_fields(struct pl_buf *out, const struct load_field *fields, struct pl_node object)
{
    struct pl_iter it = pl_iter(object);
    while (pl_iter_next(&it)) {
        const struct load_field *field = find_field(fields, it.key);
        if (pl_node_type(it.value) != PL_NULL)
            put_field(out, field, it.value);
    }
}

/* ---- the objects ---- */

/* The position of the digits after `mark` and their length. */
static uint32_t place(struct pl_slice message, const char *mark, struct pl_slice digits)
{
    struct pl_buf wanted = PL_BUF_INIT;
    pl_buf_add_z(&wanted, mark);
    pl_buf_add_char(&wanted, LOAD_DIGITS);
    pl_buf_add_slice(&wanted, digits);
    const char *found = memmem(message.ptr, message.len, wanted.ptr, wanted.len);
    PL_REQUIRE(found != NULL);
    size_t at = (size_t)(found - message.ptr) + wanted.len - LOAD_DIGITS;
    pl_buf_deinit(&wanted);
    return (uint32_t)at;
}

static struct pl_slice digits_at(const struct load_kind *kind, const struct load_object *object,
                                 uint32_t at)
{
    return pl_slice(kind->texts.ptr + object->at + at, LOAD_DIGITS);
}

static void prepare(struct load_kind *kind, const struct load_object *object)
{
    struct load_message *message = &kind->messages[object - kind->objects];
    struct pl_buf *out = &kind->message_bytes;
    struct pl_scan_options options = {.keep_managed_fields = true};
    struct pl_err err;
    struct pl_doc *doc = pl_scan_text(load_text(kind, object), &options, &err);
    PL_REQUIRE(doc != NULL);
    message->at = out->len;
    put_fields(out, load_pod_fields, pl_doc_root(doc));
    pl_doc_unref(doc);
    struct pl_slice bytes = pl_slice(out->ptr + message->at, out->len - message->at);
    message->len = (uint32_t)bytes.len;
    message->rv = place(bytes, "\x32", digits_at(kind, object, object->rv)); /* field 6 */
    message->revision =
        place(bytes, "bench.example.com/revision\x12", digits_at(kind, object, object->revision));
    message->seen =
        place(bytes, "bench.example.com/seen\x12", digits_at(kind, object, object->seen));
}

void load_protobuf_prepare(struct load_kind *kind)
{
    if (load_protobuf_is_ready(kind))
        return;
    kind->messages = pl_calloc(kind->count + 1, sizeof *kind->messages);
    for (uint32_t i = 0; i < kind->count; i++)
        prepare(kind, &kind->objects[i]);
}

void load_protobuf_deinit(struct load_kind *kind)
{
    pl_free(kind->messages);
    pl_buf_deinit(&kind->message_bytes);
}

/* The current object: its message with the digits of its text. */
static void put_object(struct pl_buf *out, unsigned field, const struct load_kind *kind,
                       const struct load_object *object)
{
    const struct load_message *message = &kind->messages[object - kind->objects];
    put_text(out, field, pl_slice(kind->message_bytes.ptr + message->at, message->len));
    char *bytes = out->ptr + out->len - message->len;
    memcpy(bytes + message->rv, digits_at(kind, object, object->rv).ptr, LOAD_DIGITS);
    memcpy(bytes + message->revision, digits_at(kind, object, object->revision).ptr, LOAD_DIGITS);
    memcpy(bytes + message->seen, digits_at(kind, object, object->seen).ptr, LOAD_DIGITS);
}

/* ---- answers ---- */

/* The envelope of every object: the magic, and runtime.Unknown up to its bytes, whose field number
 * is `UNKNOWN_RAW`. */
enum { UNKNOWN_RAW = 2 };

static void put_envelope(struct pl_buf *out, const struct load_kind *kind, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", kind->kind, suffix);
    pl_buf_add(out, "k8s", 4);
    size_t type = begin(out, 1);
    put_text(out, 1, pl_slice_z(kind->api_version));
    put_text(out, 2, pl_slice_z(name));
    end(out, type);
}

static void put_version(struct pl_buf *out, unsigned field, uint64_t version)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)version);
    put_text(out, field, pl_slice_z(text));
}

size_t load_protobuf_begin_list(struct pl_buf *out, const struct load_kind *kind, uint64_t version,
                                const char *continues)
{
    put_envelope(out, kind, "List");
    size_t at = begin(out, UNKNOWN_RAW), head = begin(out, 1);
    put_version(out, 2, version);
    put_text(out, 3, pl_slice_z(continues));
    end(out, head);
    return at;
}

void load_protobuf_add_item(struct pl_buf *out, const struct load_kind *kind,
                            const struct load_object *object)
{
    put_object(out, 2, kind, object);
}

void load_protobuf_end_list(struct pl_buf *out, size_t at)
{
    end(out, at);
}

/* The beginnings of the parts of an event: its frame (four bytes of length, most significant first,
 * and a WatchEvent), in it the object's RawExtension, in that its bytes. */
struct event {
    size_t frame, extension, raw;
};

static struct event begin_event(struct pl_buf *out, const struct load_kind *kind, const char *type)
{
    struct event event = {.frame = out->len};
    pl_buf_add(out, "\0\0\0\0", 4);
    put_text(out, 1, pl_slice_z(type));
    event.extension = begin(out, 2);
    event.raw = begin(out, 1);
    put_envelope(out, kind, "");
    return event;
}

static void end_event(struct pl_buf *out, struct event event)
{
    end(out, event.raw);
    end(out, event.extension);
    size_t len = out->len - event.frame - 4;
    for (int i = 0; i < 4; i++)
        out->ptr[event.frame + (size_t)i] = (char)(len >> (24 - 8 * i));
}

void load_protobuf_add_event(struct pl_buf *out, const struct load_kind *kind, const char *type,
                             const struct load_object *object)
{
    struct event event = begin_event(out, kind, type);
    put_object(out, UNKNOWN_RAW, kind, object);
    end_event(out, event);
}

void load_protobuf_add_bookmark(struct pl_buf *out, const struct load_kind *kind, uint64_t version,
                                bool ends_initial)
{
    struct event event = begin_event(out, kind, "BOOKMARK");
    size_t object = begin(out, UNKNOWN_RAW), meta = begin(out, 1);
    put_version(out, 6, version);
    if (ends_initial) {
        size_t entry = begin(out, 12);
        put_text(out, 1, pl_slice_z("k8s.io/initial-events-end"));
        put_text(out, 2, pl_slice_z("true"));
        end(out, entry);
    }
    end(out, meta);
    end(out, object);
    end_event(out, event);
}
