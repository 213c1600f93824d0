/* The bytes of a document. Only host/value's own files include this.
 *
 * A value is one tag byte and what the tag says:
 *
 *   80..ff  a handle: with the next three bytes a big-endian number whose low 31
 *           bits are a pool position; the value is there (pool.c)
 *   40..7e  a string of 0 to 62 bytes, which follow
 *   7f      a longer string: varint length, bytes
 *   20..3f  the integers 0 to 31
 *   00..1f  the tags named below
 *
 * Any value, at any level, may be a handle; a pool value itself never is one, but
 * its children may be. Readers resolve a handle as soon as they come across it,
 * so a pl_node never points at one.
 *
 * Containers come with the width w of their numbers: 1, 2 or 4 bytes, little endian.
 *
 *   array    tag, length w, count w, values [, index]
 *   object   tag, length w, shape handle 4, values [, index]     its shape is pooled
 *   object   tag, length w, values' length w, values [, index], shape
 *
 * `length` counts what follows the two fixed fields. Containers with TAPE_BIG or
 * more children are always 4 wide and end their values with an index: the offset
 * (4 bytes, from the first value) of every TAPE_STRIDE-th child, so that reading
 * the n-th costs a few steps.
 *
 * A shape is an object's list of names, in order and without duplicates: varint
 * count, varint length of the keys, keys (varint length, bytes) and, for TAPE_BIG
 * or more, count pairs (offset of the key, ordinal; 4 bytes each) sorted by name.
 *
 * A function that returns a position returns one in the bytes that it was given.
 *
 * Strings that repeat a common form are packed where unpacking gives back the
 * same bytes (pack.c); numbers other than plain int64 keep their text. */
#pragma once

#include "value/doc.h"

#include <stdatomic.h>
#include <string.h>

enum {
    TAG_NULL,
    TAG_FALSE,
    TAG_TRUE,
    TAG_EMPTY_ARRAY,
    TAG_EMPTY_OBJECT,
    TAG_INT8, /* little endian, two's complement */
    TAG_INT16,
    TAG_INT32,
    TAG_INT64,
    TAG_DIGITS, /* a number's text: varint length, bytes */
    TAG_PACKED, /* the first of the packed strings; see pack.h */
    TAG_UUID = TAG_PACKED,
    TAG_TIME,
    TAG_MICROTIME,
    TAG_HEX,
    TAG_IPV4,
    TAG_DECIMAL,
    TAG_PACKED_END,    /* one past the last packed string */
    TAG_ARRAY = 0x14,  /* + 0, 1, 2 for a width of 1, 2, 4 */
    TAG_OBJECT = 0x18, /* the same, shape pooled */
    TAG_OWN = 0x1c,    /* the same, shape of its own */
    TAG_SMALL = 0x20,
    TAG_STR = 0x40,
    TAG_STR_LONG = 0x7f,
    TAG_HANDLE = 0x80,
};

enum {
    TAPE_SMALL_MAX = 31,
    TAPE_STR_MAX = 62,
    TAPE_BIG = 32,
    TAPE_STRIDE = 16,
    POOL_GRANULE = 16, /* unit of handles, counted from the arena's base */
    POOL_HEADER = 16,  /* of a pool node, in front of its value */
};

struct pl_pool;

struct pl_doc {
    _Atomic uint32_t refs;
    uint32_t length; /* of the tape */
    union {
        const uint8_t *base;    /* of the pool's arena; NULL: an independent document */
        struct pl_doc *dropped; /* next in the pool's drop list, once refs is 0 */
    };
    _Atomic uint64_t
        places; /* of the members that identify an object; 0 until they are needed (meta.c) */
    _Atomic uint64_t labels; /* their Bloom filter; 0 until one is kept (label_bloom.c) */
    uint8_t tape[];
};

/* Initialises a document with one reference; the caller fills the tape. base: see above. */
static inline void tape_init_doc(struct pl_doc *doc, const uint8_t *base, size_t length)
{
    atomic_init(&doc->refs, 1);
    atomic_init(&doc->places, 0);
    atomic_init(&doc->labels, 0);
    doc->length = (uint32_t)length;
    doc->base = base;
}

/* ---- numbers in a tape ---- */

static inline uint32_t tape_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint32_t tape_uint(const uint8_t *p, unsigned width)
{
    if (width == 1)
        return p[0];
    if (width == 2)
        return (uint32_t)p[0] | (uint32_t)p[1] << 8;
    return tape_u32(p);
}

static inline void tape_put_uint(uint8_t *p, unsigned width, uint32_t v)
{
    memcpy(p, &v, width); /* little endian machines only; checked in doc.c */
}

static inline const uint8_t *tape_varint(const uint8_t *p, uint32_t *v)
{
    uint32_t result = *p & 0x7f;
    for (unsigned shift = 7; *p++ & 0x80; shift += 7)
        result |= (uint32_t)(*p & 0x7f) << shift;
    *v = result;
    return p;
}

static inline size_t tape_varint_len(uint32_t v)
{
    return v < 1u << 7 ? 1 : v < 1u << 14 ? 2 : v < 1u << 21 ? 3 : v < 1u << 28 ? 4 : 5;
}

static inline uint8_t *tape_put_varint(uint8_t *p, uint32_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

/* ---- handles ---- */

static inline uint32_t tape_handle(const uint8_t *p)
{
    return __builtin_bswap32(tape_u32(p)) & 0x7fffffff;
}

static inline void tape_put_handle(uint8_t *p, uint32_t handle)
{
    uint32_t v = __builtin_bswap32(handle | 0x80000000u);
    memcpy(p, &v, sizeof(v));
}

static inline const uint8_t *pool_value(const uint8_t *base, uint32_t handle)
{
    return base + (size_t)handle * POOL_GRANULE + POOL_HEADER;
}

static inline const uint8_t *tape_resolve(const uint8_t *base, const uint8_t *p)
{
    return *p & TAG_HANDLE ? pool_value(base, tape_handle(p)) : p;
}

/* ---- walking ---- */

/* The size of a value by its tag; 0 when a length follows the tag. */
extern const uint8_t pl_tape_size[256];
/* The end of a value whose tag does not tell its size; tape_skip calls it. */
const uint8_t *pl_tape_skip_long(const uint8_t *at);

/* The end of the value at `at`. */
static inline const uint8_t *tape_skip(const uint8_t *at)
{
    unsigned size = pl_tape_size[*at];
    return size != 0 ? at + size : pl_tape_skip_long(at);
}

/* True when both are written in the same way in documents of one pool (or of none): then they are
 * equal without a comparison. Equal values may be written differently, as a handle in one document
 * and in place in another. */
static inline bool tape_is_same(struct pl_node a, struct pl_node b)
{
    if (a.at == b.at)
        return true;
    if (a.at == NULL || b.at == NULL || *a.at != *b.at || a.doc->base != b.doc->base)
        return false;
    size_t len = (size_t)(tape_skip(a.at) - a.at);
    return len == (size_t)(tape_skip(b.at) - b.at) && memcmp(a.at, b.at, len) == 0;
}

/* A container with its parts. */
struct tape_box {
    const uint8_t *first; /* child */
    uint32_t values_len;  /* length of all children */
    const uint8_t *index; /* NULL below TAPE_BIG */
    const uint8_t *shape; /* objects */
    const uint8_t *key;   /* objects: the first */
    uint32_t count;
};

/* False for a value that is neither array nor object. */
bool pl_tape_open(const uint8_t *base, const uint8_t *at, struct tape_box *box);

/* A shape's count and first key. */
static inline const uint8_t *tape_shape(const uint8_t *shape, uint32_t *count, uint32_t *keys_len)
{
    return tape_varint(tape_varint(shape, count), keys_len);
}

static inline const uint8_t *tape_key(const uint8_t *at, struct pl_slice *key)
{
    uint32_t len = *at++;
    if (len >= 0x80)
        at = tape_varint(at - 1, &len);
    key->ptr = (const char *)at;
    key->len = len;
    return at + len;
}

/* memcmp of mostly short texts, without a call for those. */
static inline bool tape_text_eq(const uint8_t *a, const uint8_t *b, size_t len)
{
    uint64_t a1, a2, b1, b2;
    if (len > 16)
        return memcmp(a, b, len) == 0;
    if (len >= 8) {
        memcpy(&a1, a, 8);
        memcpy(&b1, b, 8);
        memcpy(&a2, a + len - 8, 8);
        memcpy(&b2, b + len - 8, 8);
        return ((a1 ^ b1) | (a2 ^ b2)) == 0;
    }
    if (len >= 4)
        return ((tape_u32(a) ^ tape_u32(b)) | (tape_u32(a + len - 4) ^ tape_u32(b + len - 4))) == 0;
    for (; len > 0; len--, a++, b++) {
        if (*a != *b)
            return false;
    }
    return true;
}

/* True for arrays and objects that hold something. */
static inline bool tape_is_box(uint8_t tag)
{
    return tag >= TAG_ARRAY && tag < TAG_SMALL;
}

static inline bool tape_is_packed(uint8_t tag)
{
    return tag >= TAG_PACKED && tag < TAG_PACKED_END;
}
