/* The encoder: values in document order become a tape (tape.h). The scanner and the builder call
 * it, and both guarantee a legal order of calls; it is not checked again here.
 *
 * With a pool, share.c decides for each string, shape and container whether a handle replaces it,
 * and each value's hash is passed up to its parent. Handles are valid only in their pool, so a
 * value from another document is encoded anew. If neither side has a pool, its bytes are copied.
 * Buffers are kept for the next document, except those that one large document has made large. */
#include "value/encode.h"
#include "value/number.h"
#include "value/pack.h"
#include "value/share.h"

#include "base/alloc.h"
#include "base/hash.h"

enum { KEEP_BUFFER = 256 << 10 }; /* larger buffers are freed after their document */

static void empty(struct pl_buf *buf)
{
    buf->len = 0;
    if (buf->cap > KEEP_BUFFER)
        pl_buf_deinit(buf);
}

/* Drops everything that was encoded so far. */
static void encode_reset(struct enc *enc)
{
    empty(&enc->values);
    empty(&enc->keys);
    enc->depth = 0;
    enc->frames[0] = (struct enc_frame){0};
    if (enc->pool != NULL)
        pl_share_reset(enc);
}

void pl_enc_init(struct enc *enc, struct pl_pool *pool, bool refuse_duplicates)
{
    memset(enc, 0, sizeof(*enc));
    enc->pool = pool;
    enc->refuse_duplicates = refuse_duplicates;
    enc->cap = 16;
    enc->frames = pl_calloc(enc->cap, sizeof(*enc->frames));
    encode_reset(enc);
}

void pl_enc_deinit(struct enc *enc)
{
    encode_reset(enc);
    pl_buf_deinit(&enc->values);
    pl_buf_deinit(&enc->keys);
    pl_buf_deinit(&enc->early);
    pl_buf_deinit(&enc->created);
    pl_buf_deinit(&enc->pins);
    pl_free(enc->frames);
    enc->frames = NULL;
}

/* ---- scalars ---- */

void pl_enc_tag(struct enc *enc, uint8_t tag)
{
    uint8_t *p = enc_room(&enc->values, 1);
    *p++ = tag;
    enc_commit(&enc->values, p);
    enc_add_child(enc, enc_mix(SALT_TAG, tag));
}

void pl_enc_int(struct enc *enc, int64_t value)
{
    uint8_t *p = enc_room(&enc->values, 9);
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
    enc_commit(&enc->values, p + width);
    enc_add_child(enc, enc_mix(SALT_INT, (uint64_t)value));
}

static void encode_put_text(struct enc *enc, uint8_t tag, struct pl_slice text)
{
    uint8_t *p = enc_room(&enc->values, text.len + 6);
    *p++ = tag;
    p = tape_put_varint(p, (uint32_t)text.len);
    memcpy(p, text.ptr, text.len);
    enc_commit(&enc->values, p + text.len);
}

void pl_enc_number(struct enc *enc, struct pl_slice text)
{
    int64_t value;
    if (pl_number_is_int(text, &value)) {
        pl_enc_int(enc, value);
        return;
    }
    encode_put_text(enc, TAG_DIGITS, text);
    enc_add_child(enc, enc->pool ? pl_hash(text.ptr, text.len, enc->pool->seed ^ SALT_DIGITS) : 0);
}

void pl_enc_put_plain(struct enc *enc, struct pl_slice text)
{
    if (text.len > TAPE_STR_MAX) {
        encode_put_text(enc, TAG_STR_LONG, text);
        return;
    }
    uint8_t *p = enc_room(&enc->values, text.len + 1);
    *p++ = (uint8_t)(TAG_STR + text.len);
    enc_copy_text(p, text.ptr, text.len);
    enc_commit(&enc->values, p + text.len);
}

void pl_enc_put_str(struct enc *enc, struct pl_slice text)
{
    if (text.len <= PACK_MAX) {
        uint8_t *end = pl_pack(text, enc_room(&enc->values, PACK_MAX));
        if (end != NULL) {
            enc_commit(&enc->values, end);
            return;
        }
    }
    pl_enc_put_plain(enc, text);
}

void pl_enc_str(struct enc *enc, struct pl_slice text)
{
    uint64_t hash = 0;
    if (enc->pool != NULL)
        hash = pl_share_str(enc, text);
    else
        pl_enc_put_str(enc, text);
    enc_add_child(enc, hash);
}

/* ---- containers ---- */

void pl_enc_begin(struct enc *enc, bool is_object)
{
    if (++enc->depth == enc->cap) {
        enc->cap *= 2;
        enc->frames = pl_reallocarray(enc->frames, enc->cap, sizeof(*enc->frames));
    }
    *enc_top(enc) = (struct enc_frame){
        .values = (uint32_t)enc->values.len,
        .keys = (uint32_t)enc->keys.len,
        .is_object = is_object,
    };
    if (enc->pool != NULL)
        pl_share_guess_names(enc, enc_top(enc) - 1);
}

void pl_enc_key(struct enc *enc, struct pl_slice key)
{
    if (enc->pool != NULL)
        pl_share_drop_guess(enc);
    uint8_t *p = enc_room(&enc->keys, key.len + 5);
    p = tape_put_varint(p, (uint32_t)key.len);
    enc_copy_text(p, key.ptr, key.len);
    enc_commit(&enc->keys, p + key.len);
}

ssize_t pl_enc_end(struct enc *enc)
{
    struct enc_frame *frame = enc_top(enc);
    ssize_t repeated = -1;
    if (frame->count == 0) {
        enc->depth--;
        pl_enc_tag(enc, frame->is_object ? TAG_EMPTY_OBJECT : TAG_EMPTY_ARRAY);
        return -1;
    }
    uint64_t hash = 0;
    if (enc->pool != NULL) {
        hash = pl_share_end(enc, frame, &repeated);
    } else {
        if (frame->is_object)
            repeated = pl_enc_settle_duplicates(enc, frame);
        pl_enc_put_box(enc, frame, 0);
    }
    if (enc->pinned > frame->values)
        enc->pinned = frame->values; /* the values after it were not looked at */
    enc->keys.len = frame->keys;
    enc->depth--;
    enc_add_child(enc, hash);
    return repeated;
}

/* ---- whole values ---- */

/* Encodes a value anew: handles are valid only in their pool, and values without handles may be
 * shared in this one. */
static void copy_anew(struct enc *enc, struct pl_node node)
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
        copy_anew(enc, it.value);
    }
    pl_enc_end(enc);
}

void pl_enc_node(struct enc *enc, struct pl_node node)
{
    if (pl_node_is_missing(node)) {
        pl_enc_tag(enc, TAG_NULL);
        return;
    }
    if (node.doc->base != NULL || enc->pool != NULL) {
        copy_anew(enc, node);
        return;
    }
    size_t len = (size_t)(tape_skip(node.at) - node.at);
    uint8_t *p = enc_room(&enc->values, len);
    memcpy(p, node.at, len);
    enc_commit(&enc->values, p + len);
    enc_add_child(enc, 0);
}

struct pl_doc *pl_enc_copy(const struct enc *enc, size_t at)
{
    PL_REQUIRE(enc->pool == NULL);
    size_t len = enc->values.len - at;
    struct pl_doc *doc = pl_malloc(sizeof(*doc) + len);
    tape_init_doc(doc, NULL, len);
    memcpy(doc->tape, enc->values.ptr + at, len);
    return doc;
}

struct pl_doc *pl_enc_finish(struct enc *enc)
{
    PL_REQUIRE(enc->depth == 0 && enc->frames[0].count == 1);
    struct pl_doc *doc;
    if (enc->pool != NULL) {
        pl_enc_no_uid(enc);
        doc = pl_pool_make_doc(enc->pool, (const uint8_t *)enc->values.ptr, enc->values.len);
    } else {
        doc = pl_enc_copy(enc, 0);
    }
    encode_reset(enc);
    return doc;
}
