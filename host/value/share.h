/* The encoder's side of the pool: sharing values, and guessing them fast. Only host/value includes
 * this.
 *
 * Objects of one kind look alike. For each place in a document (a site: the path to it by
 * ordinals), the pool remembers the names or the string that it last saw there. A correct guess
 * costs one comparison; reading, hashing and looking up cost ten times as much. While an object's
 * names are as guessed, they are not even copied: enc_frame.guess has the progress. */
#pragma once

#include "value/enc_put.h"
#include "value/pool_node.h"

/* Encodes a string that may be shared; returns its content hash. */
uint64_t pl_share_str(struct enc *enc, struct pl_slice text);
/* Ends a container that may be shared; returns its content hash. */
uint64_t pl_share_end(struct enc *enc, struct enc_frame *frame, ssize_t *repeated);
/* The innermost object's next name differs from the guess. */
void pl_share_drop_guess(struct enc *enc);
/* Frees nodes that were created here and are unused, and releases the pins. */
void pl_share_reset(struct enc *enc);

/* Guesses that the new object has the names that the last object had at this place. */
void pl_share_guess_names(struct enc *enc, const struct enc_frame *parent);

/* The place of the next value in a container. Elements of a long array share places. */
static inline uint32_t share_site(const struct enc_frame *frame)
{
    uint32_t ordinal = frame->is_object ? frame->count : frame->count & 7;
    return (frame->site ^ ordinal) * UINT32_C(0x9e3779b1) + UINT32_C(0x7f4a7c15);
}

/* The guess for a site, which lies in the pool. */
static inline uint32_t *share_slot(const struct enc *enc, uint32_t site)
{
    return &enc->pool->guesses[site >> (32 - POOL_GUESS_BITS)];
}

/* If the name in quotes at p is the guessed one, returns the place after it and sets *key; else
 * NULL. */
static inline const uint8_t *share_guess_key(const struct enc *enc, const uint8_t *p,
                                             const uint8_t *end, struct pl_slice *key)
{
    const struct enc_frame *frame = &enc->frames[enc->depth];
    if (frame->guess == NULL || frame->guess_left == 0)
        return NULL;
    size_t len = *frame->guess; /* a plain shape has only short names */
    if ((size_t)(end - p) < len + 2 || p[len + 1] != '"' ||
        !tape_text_eq(p + 1, frame->guess + 1, len))
        return NULL;
    *key = pl_slice((const char *)frame->guess + 1, len);
    return p + len + 2;
}

static inline void share_take_key(struct enc *enc)
{
    struct enc_frame *frame = enc_top(enc);
    frame->guess += 1 + *frame->guess;
    frame->guess_left--;
}

/* If the string in quotes at p is the guessed one, encodes it and returns the place after it; else
 * NULL. */
static inline const uint8_t *share_guess_str(struct enc *enc, const uint8_t *p, const uint8_t *end)
{
    if (enc->pool == NULL)
        return NULL;
    uint32_t handle = *share_slot(enc, share_site(enc_top(enc)));
    const struct pool_node *node = pool_node(enc->pool, handle);
    if (handle == 0 || node->is_shape)
        return NULL;
    const uint8_t *text = node->value + 1;
    uint32_t len = node->value[0] - (uint32_t)TAG_STR;
    if (node->value[0] == TAG_STR_LONG)
        text = tape_varint(text, &len);
    if ((size_t)(end - p) < (size_t)len + 2 || p[len + 1] != '"' || !tape_text_eq(p + 1, text, len))
        return NULL;
    enc_put_handle(enc, handle);
    enc_add_child(enc, node->hash);
    return p + len + 2;
}
