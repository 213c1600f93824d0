/* Containers: their header, their index, their names. */
#include "value/enc_put.h"
#include "value/shape.h"

#include "base/alloc.h"

/* Appends the offsets of every TAPE_STRIDE-th child behind the children. */
static void add_index(struct enc *enc, const struct enc_frame *frame)
{
    uint32_t entries = (frame->count - 1) / TAPE_STRIDE;
    uint8_t *out = enc_room(&enc->values, (size_t)4 * entries);
    const uint8_t *first = (const uint8_t *)enc->values.ptr + frame->values, *at = first;
    for (uint32_t i = 1; i <= entries * TAPE_STRIDE; i++) {
        at = tape_skip(at);
        if (i % TAPE_STRIDE == 0) {
            tape_put_uint(out, 4, (uint32_t)(at - first));
            out += 4;
        }
    }
    enc_commit(&enc->values, out);
}

/* Moves the children up to make room for a container's header in front of them: the tag and a
 * length. Returns the place of the second field, and the width of both. */
static uint8_t *put_header(struct enc *enc, const struct enc_frame *frame, uint8_t tag,
                           uint32_t len, unsigned *width)
{
    unsigned shift = len > UINT16_MAX || frame->count >= TAPE_BIG ? 2 : len > UINT8_MAX ? 1 : 0;
    unsigned w = 1u << shift;
    unsigned header = 1 + w + (tag == TAG_OBJECT ? 4 : w);
    enc_room(&enc->values, header);
    uint8_t *p = (uint8_t *)enc->values.ptr + frame->values;
    memmove(p + header, p, enc->values.len - frame->values);
    enc->values.len += header;
    p[0] = (uint8_t)(tag + shift);
    tape_put_uint(p + 1, w, len);
    *width = w;
    return p + 1 + w;
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
    enc_commit(&enc->values, to);
    enc_commit(&enc->keys, key_to);
}

ssize_t pl_enc_settle_duplicates(struct enc *enc, struct enc_frame *frame)
{
    struct pl_slice keys = enc_frame_keys(enc, frame);
    if (frame->count < 2 || !pl_shape_repeats(frame->count, keys, NULL, NULL))
        return -1;
    bool *repeated = pl_calloc(frame->count, sizeof(*repeated));
    uint32_t second = 0;
    pl_shape_repeats(frame->count, keys, repeated, &second);
    if (!enc->refuse_duplicates)
        drop_repeated(enc, frame, repeated);
    frame->is_new = true; /* its hash no longer fits its members */
    pl_free(repeated);
    return enc->refuse_duplicates ? (ssize_t)second : -1;
}

void pl_enc_put_box(struct enc *enc, const struct enc_frame *frame, uint32_t shape)
{
    unsigned w;
    if (frame->count >= TAPE_BIG)
        add_index(enc, frame);
    uint32_t values_len = (uint32_t)enc->values.len - frame->values;
    if (!frame->is_object) {
        uint8_t *count_at = put_header(enc, frame, TAG_ARRAY, values_len, &w);
        tape_put_uint(count_at, w, frame->count);
    } else if (shape != 0) {
        uint8_t *shape_at = put_header(enc, frame, TAG_OBJECT, values_len, &w);
        tape_put_uint(shape_at, 4, shape);
    } else {
        struct pl_slice keys = enc_frame_keys(enc, frame);
        uint8_t *p = enc_room(&enc->values, pl_shape_room(frame->count, keys.len));
        enc_commit(&enc->values, pl_shape_put(p, frame->count, keys));
        uint32_t len = (uint32_t)enc->values.len - frame->values;
        uint8_t *values_len_at = put_header(enc, frame, TAG_OWN, len, &w);
        tape_put_uint(values_len_at, w, values_len);
    }
}
