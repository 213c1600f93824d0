/* Appending to a tape that is being encoded, and hashing what was appended. Only encode.c,
 * enc_box.c and share.c include this, and parse.c by way of share.h. */
#pragma once

#include "value/encode.h"

#include "base/check.h"

/* Content hashes: a salt for each kind of value keeps the kinds apart. */
#define SALT_TAG    UINT64_C(0x2d358dccaa6c78a5)
#define SALT_INT    UINT64_C(0x8bb84b93962eacc9)
#define SALT_DIGITS UINT64_C(0x4b33a62ed433d4a3)
#define SALT_ARRAY  UINT64_C(0x4d5a2da51de1aa47)
#define SALT_SHAPE  UINT64_C(0xa0761d6478bd642f)

static inline uint64_t enc_mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)(a ^ UINT64_C(0x9fb21c651e98df25)) * (b ^ SALT_SHAPE);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Offsets are 32 bits wide; scans and builders stay far below by their own limits. */
static inline uint8_t *enc_room(struct pl_buf *buf, size_t bytes)
{
    if (buf->cap - buf->len <= bytes) {
        PL_REQUIRE(buf->len < (size_t)INT32_MAX);
        pl_buf_reserve(buf, bytes);
    }
    return (uint8_t *)buf->ptr + buf->len;
}

static inline void enc_commit(struct pl_buf *buf, const uint8_t *end)
{
    buf->len = (size_t)((const char *)end - buf->ptr);
}

/* memcpy of mostly short texts, without a call for those. */
static inline void enc_copy_text(uint8_t *to, const char *from, size_t len)
{
    if (len > 16) {
        memcpy(to, from, len);
    } else if (len >= 8) {
        memcpy(to, from, 8);
        memcpy(to + len - 8, from + len - 8, 8);
    } else if (len >= 4) {
        memcpy(to, from, 4);
        memcpy(to + len - 4, from + len - 4, 4);
    } else {
        for (size_t i = 0; i < len; i++)
            to[i] = (uint8_t)from[i];
    }
}

/* The innermost container that is open. */
static inline struct enc_frame *enc_top(struct enc *enc)
{
    return &enc->frames[enc->depth];
}

/* A child of the innermost container is complete. Its hash is used only with a pool. */
static inline void enc_add_child(struct enc *enc, uint64_t hash)
{
    struct enc_frame *frame = enc_top(enc);
    frame->count++;
    frame->hash = enc_mix(frame->hash, hash);
}

static inline void enc_put_handle(struct enc *enc, uint32_t handle)
{
    uint8_t *p = enc_room(&enc->values, 4);
    tape_put_handle(p, handle);
    enc_commit(&enc->values, p + 4);
}

static inline struct pl_slice enc_frame_keys(const struct enc *enc, const struct enc_frame *frame)
{
    return pl_slice(enc->keys.ptr + frame->keys, enc->keys.len - frame->keys);
}

/* A string in the tape, unpacked. */
void pl_enc_put_plain(struct enc *enc, struct pl_slice text);
/* The same, packed if possible. */
void pl_enc_put_str(struct enc *enc, struct pl_slice text);

/* ---- enc_box.c ---- */

/* Returns -1, or the ordinal of a repeated name if those are refused. */
ssize_t pl_enc_settle_duplicates(struct enc *enc, struct enc_frame *frame);
/* Completes the container in the tape; shape: its handle, 0 for one of its own. */
void pl_enc_put_box(struct enc *enc, const struct enc_frame *frame, uint32_t shape);
