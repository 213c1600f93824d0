#include "value/encode.h"
#include "value/number.h"
#include "value/pack.h"
#include "value/shape.h"

#include "base/alloc.h"
#include "base/check.h"

/* Offsets are 32 bits wide. Scans and builders stay far below by their own limits. */
static void check_size(const struct pl_buf *buf)
{
    PL_REQUIRE(buf->len < (size_t)INT32_MAX);
}

static inline uint8_t *room(struct pl_buf *buf, size_t bytes)
{
    if (buf->cap - buf->len <= bytes) {
        check_size(buf);
        pl_buf_reserve(buf, bytes);
    }
    return (uint8_t *)buf->ptr + buf->len;
}

static inline void commit(struct pl_buf *buf, const uint8_t *end)
{
    buf->len = (size_t)((const char *)end - buf->ptr);
}

static inline struct enc_frame *top(struct enc *enc)
{
    return &enc->frames[enc->depth];
}

void pl_enc_init(struct enc *enc, bool refuse_duplicates)
{
    memset(enc, 0, sizeof(*enc));
    enc->refuse_duplicates = refuse_duplicates;
    enc->cap = 16;
    enc->frames = pl_calloc(enc->cap, sizeof(*enc->frames));
}

void pl_enc_deinit(struct enc *enc)
{
    pl_buf_deinit(&enc->values);
    pl_buf_deinit(&enc->keys);
    pl_free(enc->frames);
    enc->frames = NULL;
}

void pl_enc_reset(struct enc *enc)
{
    enc->values.len = enc->keys.len = 0;
    enc->depth = 0;
    enc->frames[0] = (struct enc_frame){0};
}

/* ---- scalars ---- */

void pl_enc_tag(struct enc *enc, uint8_t tag)
{
    uint8_t *p = room(&enc->values, 1);
    *p++ = tag;
    commit(&enc->values, p);
    top(enc)->count++;
}

void pl_enc_int(struct enc *enc, int64_t value)
{
    uint8_t *p = room(&enc->values, 9);
    size_t width = 0;
    if (value >= 0 && value <= TAPE_SMALL_MAX) {
        *p++ = (uint8_t)(TAG_SMALL + value);
    } else if (value == (int8_t)value) {
        *p++ = TAG_INT8;
        width = 1;
    } else if (value == (int16_t)value) {
        *p++ = TAG_INT16;
        width = 2;
    } else if (value == (int32_t)value) {
        *p++ = TAG_INT32;
        width = 4;
    } else {
        *p++ = TAG_INT64;
        width = 8;
    }
    memcpy(p, &value, width);
    commit(&enc->values, p + width);
    top(enc)->count++;
}

static void put_text(struct enc *enc, uint8_t tag, struct pl_slice text)
{
    uint8_t *p = room(&enc->values, text.len + 6);
    *p++ = tag;
    p = tape_put_varint(p, (uint32_t)text.len);
    memcpy(p, text.ptr, text.len);
    commit(&enc->values, p + text.len);
    top(enc)->count++;
}

void pl_enc_number(struct enc *enc, struct pl_slice text)
{
    int64_t value;
    if (pl_number_is_int(text, &value))
        pl_enc_int(enc, value);
    else
        put_text(enc, TAG_DIGITS, text);
}

void pl_enc_str(struct enc *enc, struct pl_slice text)
{
    if (text.len > TAPE_STR_MAX && text.len > PACK_MAX) {
        put_text(enc, TAG_STR_LONG, text);
        return;
    }
    uint8_t *p = room(&enc->values, PACK_MAX);
    uint8_t *end = pl_pack(text, p);
    if (end == NULL && text.len > TAPE_STR_MAX) {
        put_text(enc, TAG_STR_LONG, text);
        return;
    }
    if (end == NULL) {
        *p++ = (uint8_t)(TAG_STR + text.len);
        if (text.len != 0)
            memcpy(p, text.ptr, text.len);
        end = p + text.len;
    }
    commit(&enc->values, end);
    top(enc)->count++;
}

/* ---- containers ---- */

void pl_enc_begin(struct enc *enc, bool is_object)
{
    if (++enc->depth == enc->cap) {
        enc->cap *= 2;
        enc->frames = pl_reallocarray(enc->frames, enc->cap, sizeof(*enc->frames));
    }
    *top(enc) = (struct enc_frame){
        .values = (uint32_t)enc->values.len,
        .keys = (uint32_t)enc->keys.len,
        .is_object = is_object,
    };
}

void pl_enc_key(struct enc *enc, struct pl_slice key)
{
    uint8_t *p = room(&enc->keys, key.len + 5);
    p = tape_put_varint(p, (uint32_t)key.len);
    if (key.len != 0)
        memcpy(p, key.ptr, key.len);
    commit(&enc->keys, p + key.len);
}

/* Appends the offsets of every TAPE_STRIDE-th child behind the children. */
static void add_index(struct enc *enc, const struct enc_frame *frame)
{
    uint32_t entries = (frame->count - 1) / TAPE_STRIDE;
    uint8_t *out = room(&enc->values, (size_t)4 * entries);
    const uint8_t *first = (const uint8_t *)enc->values.ptr + frame->values, *at = first;
    for (uint32_t i = 1; i <= entries * TAPE_STRIDE; i++) {
        at = tape_skip(at);
        if (i % TAPE_STRIDE == 0) {
            tape_put_uint(out, 4, (uint32_t)(at - first));
            out += 4;
        }
    }
    commit(&enc->values, out);
}

/* Moves the children up and puts the header of a container in front of them. */
static void put_header(struct enc *enc, const struct enc_frame *frame, uint8_t tag, uint32_t len,
                       uint32_t second)
{
    unsigned shift = len > UINT16_MAX || frame->count >= TAPE_BIG ? 2 : len > UINT8_MAX ? 1 : 0;
    unsigned w = 1u << shift, header = 1 + 2 * w;
    room(&enc->values, header);
    uint8_t *p = (uint8_t *)enc->values.ptr + frame->values;
    memmove(p + header, p, enc->values.len - frame->values);
    p[0] = (uint8_t)(tag + shift);
    tape_put_uint(p + 1, w, len);
    tape_put_uint(p + 1 + w, w, second);
    enc->values.len += header;
}

static void end_array(struct enc *enc, const struct enc_frame *frame)
{
    put_header(enc, frame, TAG_ARRAY, (uint32_t)enc->values.len - frame->values, frame->count);
}

static void end_object(struct enc *enc, const struct enc_frame *frame)
{
    uint32_t values_len = (uint32_t)enc->values.len - frame->values;
    struct pl_slice keys = pl_slice(enc->keys.ptr + frame->keys, enc->keys.len - frame->keys);
    uint8_t *p = room(&enc->values, pl_shape_room(frame->count, keys.len));
    commit(&enc->values, pl_shape_put(p, frame->count, keys));
    put_header(enc, frame, TAG_OWN, (uint32_t)enc->values.len - frame->values, values_len);
}

/* Leaves out the members whose name comes again later. */
static void drop_repeated(struct enc *enc, struct enc_frame *frame, const bool *repeated)
{
    uint8_t *to = (uint8_t *)enc->values.ptr + frame->values;
    uint8_t *key_to = (uint8_t *)enc->keys.ptr + frame->keys;
    const uint8_t *at = to, *key_at = key_to;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < frame->count; i++) {
        struct pl_slice key;
        const uint8_t *next = tape_skip(at), *key_next = tape_key(key_at, &key);
        if (!repeated[i]) {
            memmove(to, at, (size_t)(next - at));
            memmove(key_to, key_at, (size_t)(key_next - key_at));
            to += next - at;
            key_to += key_next - key_at;
            kept++;
        }
        at = next;
        key_at = key_next;
    }
    frame->count = kept;
    commit(&enc->values, to);
    commit(&enc->keys, key_to);
}

/* -1, or the ordinal of a repeated name when those are refused. */
static ssize_t settle_duplicates(struct enc *enc, struct enc_frame *frame)
{
    struct pl_slice keys = pl_slice(enc->keys.ptr + frame->keys, enc->keys.len - frame->keys);
    if (frame->count < 2 || !pl_shape_repeats(frame->count, keys, NULL, NULL))
        return -1;
    bool *repeated = pl_calloc(frame->count, sizeof(*repeated));
    uint32_t second = 0;
    pl_shape_repeats(frame->count, keys, repeated, &second);
    if (!enc->refuse_duplicates)
        drop_repeated(enc, frame, repeated);
    pl_free(repeated);
    return enc->refuse_duplicates ? (ssize_t)second : -1;
}

ssize_t pl_enc_end(struct enc *enc)
{
    struct enc_frame *frame = top(enc);
    ssize_t repeated = -1;
    if (frame->count == 0) {
        enc->depth--;
        pl_enc_tag(enc, frame->is_object ? TAG_EMPTY_OBJECT : TAG_EMPTY_ARRAY);
        return -1;
    }
    if (frame->is_object)
        repeated = settle_duplicates(enc, frame);
    if (frame->count >= TAPE_BIG)
        add_index(enc, frame);
    if (frame->is_object)
        end_object(enc, frame);
    else
        end_array(enc, frame);
    enc->keys.len = frame->keys;
    enc->depth--;
    top(enc)->count++;
    return repeated;
}

/* ---- whole values ---- */

/* Encodes a value that holds handles anew: they mean nothing outside their pool. */
static void copy_pooled(struct enc *enc, struct pl_node node)
{
    struct pl_scratch scratch;
    enum pl_type type = pl_node_type(node);
    if (type == PL_STRING) {
        pl_enc_str(enc, pl_node_str(node, &scratch));
        return;
    }
    if (type == PL_NUMBER) {
        pl_enc_number(enc, pl_node_number(node, &scratch));
        return;
    }
    if (type != PL_ARRAY && type != PL_OBJECT) {
        pl_enc_tag(enc, *node.at);
        return;
    }
    pl_enc_begin(enc, type == PL_OBJECT);
    for (struct pl_iter it = pl_iter(node); pl_iter_next(&it);) {
        if (it.key.ptr != NULL)
            pl_enc_key(enc, it.key);
        copy_pooled(enc, it.value);
    }
    pl_enc_end(enc);
}

void pl_enc_node(struct enc *enc, struct pl_node node)
{
    if (pl_node_is_missing(node)) {
        pl_enc_tag(enc, TAG_NULL);
        return;
    }
    if (node.doc->base != NULL) {
        copy_pooled(enc, node);
        return;
    }
    size_t len = (size_t)(tape_skip(node.at) - node.at);
    uint8_t *p = room(&enc->values, len);
    memcpy(p, node.at, len);
    commit(&enc->values, p + len);
    top(enc)->count++;
}

struct pl_doc *pl_enc_finish(struct enc *enc)
{
    PL_REQUIRE(enc->depth == 0 && enc->frames[0].count == 1);
    struct pl_doc *doc = pl_malloc(sizeof(*doc) + enc->values.len);
    atomic_init(&doc->refs, 1);
    doc->length = (uint32_t)enc->values.len;
    doc->base = NULL;
    memcpy(doc->tape, enc->values.ptr, enc->values.len);
    pl_enc_reset(enc);
    return doc;
}
