/* Reading documents. tape.h describes their layout at its top. In short: {"a":[1,"x"],"uid":"…"} is
 * one object value whose first bytes are tag, length and shape, followed by the array value (tag,
 * length, count, 0x21, 0x41 'x') and the packed string. No function here allocates, and only the
 * reference count ever changes. */
#include "value/doc.h"
#include "value/number.h"
#include "value/pack.h"
#include "value/pool_node.h"
#include "value/tape.h"

#include "base/alloc.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tapes hold little endian numbers");

#define SIZES4(v)  v, v, v, v
#define SIZES16(v) SIZES4(v), SIZES4(v), SIZES4(v), SIZES4(v)
#define SIZES64(v) SIZES16(v), SIZES16(v), SIZES16(v), SIZES16(v)

const uint8_t pl_tape_size[256] = {
    1,          1,          1,  1,  1,  2,  3,  5,  9,  0, /* constants, integers, digits */
    17,         5,          8,  0,  5,  5,                 /* packed */
    0,          0,          0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0, /* containers */
    SIZES16(1), SIZES16(1), /* small integers */
    1,          2,          3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, /* strings */
    17,         18,         19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
    33,         34,         35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48,
    49,         50,         51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 0,
    SIZES64(4), SIZES64(4), /* handles */
};

/* The width in bytes of a container's numbers. */
static inline unsigned box_width(uint8_t tag)
{
    return 1u << (tag & 3);
}

const uint8_t *pl_tape_skip_long(const uint8_t *at)
{
    uint8_t tag = *at;
    if (tape_is_box(tag)) {
        unsigned w = box_width(tag);
        unsigned fixed = 1 + (tag >= TAG_OBJECT && tag < TAG_OWN ? w + 4 : 2 * w);
        return at + fixed + tape_uint(at + 1, w);
    }
    if (tag == TAG_HEX)
        return at + 3 + at[1] + at[2];
    uint32_t len; /* TAG_DIGITS, TAG_STR_LONG */
    at = tape_varint(at + 1, &len);
    return at + len;
}

bool pl_tape_open(const uint8_t *base, const uint8_t *at, struct tape_box *box)
{
    uint8_t tag = *at;
    *box = (struct tape_box){0};
    if (!tape_is_box(tag))
        return false;
    unsigned w = box_width(tag);
    uint32_t len = tape_uint(at + 1, w), keys_len;
    const uint8_t *second = at + 1 + w, *end;
    if (tag < TAG_OBJECT) {
        box->first = second + w;
        box->count = tape_uint(second, w);
        end = box->first + len;
    } else {
        bool own = tag >= TAG_OWN;
        box->first = second + (own ? w : 4);
        end = box->first + (own ? tape_uint(second, w) : len);
        box->shape = own ? end : pool_value(base, tape_u32(second));
        box->key = tape_shape(box->shape, &box->count, &keys_len);
    }
    if (box->count >= TAPE_BIG)
        end = box->index = end - (size_t)4 * ((box->count - 1) / TAPE_STRIDE);
    box->values_len = (uint32_t)(end - box->first);
    return true;
}

/* The i-th child, not resolved. */
static const uint8_t *child_at(const struct tape_box *box, uint32_t i)
{
    const uint8_t *at = box->first;
    uint32_t left = i;
    if (box->index != NULL && i >= TAPE_STRIDE) {
        at += tape_u32(box->index + (size_t)4 * (i / TAPE_STRIDE - 1));
        left = i % TAPE_STRIDE;
    }
    for (; left > 0; left--)
        at = tape_skip(at);
    return at;
}

static inline struct pl_node node_at(const struct pl_doc *doc, const uint8_t *at)
{
    return (struct pl_node){doc, tape_resolve(doc->base, at)};
}

/* ---- lifetime ---- */

enum {
    LINE = 64,
    FIRST_LINES = 3, /* the head, and the metadata, which comes first */
    MOST_LINES = 16, /* more would evict data that was prefetched before */
};

void pl_doc_prefetch(const struct pl_doc *doc)
{
    for (int i = 0; i < FIRST_LINES; i++)
        __builtin_prefetch((const char *)doc + i * LINE);
}

void pl_doc_prefetch_rest(const struct pl_doc *doc)
{
    size_t bytes = pl_doc_bytes(doc);
    for (size_t i = FIRST_LINES; i < MOST_LINES && i * LINE < bytes; i++)
        __builtin_prefetch((const char *)doc + i * LINE);
}

struct pl_doc *pl_doc_ref(struct pl_doc *doc)
{
    if (doc != NULL)
        atomic_fetch_add_explicit(&doc->refs, 1, memory_order_relaxed);
    return doc;
}

void pl_doc_unref(struct pl_doc *doc)
{
    if (doc == NULL || atomic_fetch_sub_explicit(&doc->refs, 1, memory_order_release) != 1)
        return;
    /* Orders this thread after the other holders; a load and not a fence, because the thread
     * sanitizer does not support fences. */
    (void)atomic_load_explicit(&doc->refs, memory_order_acquire);
    if (doc->base == NULL)
        pl_free(doc);
    else
        pl_pool_drop(doc);
}

size_t pl_doc_bytes(const struct pl_doc *doc)
{
    return sizeof(*doc) + doc->length;
}

struct pl_node pl_doc_root(const struct pl_doc *doc)
{
    return doc != NULL ? node_at(doc, doc->tape) : PL_NODE_MISSING;
}

/* ---- types ---- */

enum pl_type pl_node_type(struct pl_node node)
{
    if (node.at == NULL)
        return PL_MISSING;
    uint8_t tag = *node.at;
    if (tag >= TAG_STR || tape_is_packed(tag))
        return PL_STRING;
    if (tag >= TAG_SMALL || (tag >= TAG_INT8 && tag <= TAG_DIGITS))
        return PL_NUMBER;
    if (tag == TAG_EMPTY_ARRAY || (tag >= TAG_ARRAY && tag < TAG_OBJECT))
        return PL_ARRAY;
    if (tag >= TAG_OBJECT || tag == TAG_EMPTY_OBJECT)
        return PL_OBJECT;
    return tag == TAG_NULL ? PL_NULL : PL_BOOL;
}

const char *pl_type_name(enum pl_type type)
{
    static const char names[][8] = {"nothing", "null",  "boolean", "number",
                                    "string",  "array", "object"};
    return (size_t)type < sizeof(names) / sizeof(names[0]) ? names[type] : "?";
}

/* ---- scalars ---- */

bool pl_node_bool(struct pl_node node)
{
    return node.at != NULL && *node.at == TAG_TRUE;
}

bool pl_node_flagz(struct pl_node object, const char *name)
{
    return pl_node_bool(pl_node_getz(object, name));
}

struct pl_slice pl_node_str(struct pl_node node, struct pl_scratch *scratch)
{
    const uint8_t *at = node.at;
    if (at == NULL)
        return pl_slice(NULL, 0);
    uint8_t tag = *at;
    if (tag >= TAG_STR && tag < TAG_STR_LONG)
        return pl_slice((const char *)at + 1, tag - TAG_STR);
    if (tag == TAG_STR_LONG) {
        uint32_t len;
        at = tape_varint(at + 1, &len);
        return pl_slice((const char *)at, len);
    }
    if (tape_is_packed(tag))
        return pl_slice(scratch->bytes, pl_unpack(at, scratch->bytes));
    return pl_slice(NULL, 0);
}

bool pl_node_str_eq(struct pl_node node, struct pl_slice text)
{
    struct pl_scratch scratch;
    struct pl_slice have = pl_node_str(node, &scratch);
    return have.ptr != NULL && pl_slice_eq(have, text);
}

/* Numbers that are stored as an integer. */
static bool stored_int(const uint8_t *at, int64_t *value)
{
    uint8_t tag = *at++;
    if (tag >= TAG_SMALL && tag <= TAG_SMALL + TAPE_SMALL_MAX) {
        *value = tag - TAG_SMALL;
        return true;
    }
    int16_t v16;
    int32_t v32;
    switch (tag) {
    case TAG_INT8:
        *value = *at < 0x80 ? *at : *at - 0x100;
        return true;
    case TAG_INT16:
        memcpy(&v16, at, sizeof(v16));
        *value = v16;
        return true;
    case TAG_INT32:
        memcpy(&v32, at, sizeof(v32));
        *value = v32;
        return true;
    case TAG_INT64:
        memcpy(value, at, sizeof(*value));
        return true;
    default:
        return false;
    }
}

static struct pl_slice digits_of(const uint8_t *at)
{
    uint32_t len;
    at = tape_varint(at + 1, &len);
    return pl_slice((const char *)at, len);
}

struct pl_slice pl_node_number(struct pl_node node, struct pl_scratch *scratch)
{
    int64_t v;
    if (node.at == NULL)
        return pl_slice(NULL, 0);
    if (*node.at == TAG_DIGITS)
        return digits_of(node.at);
    if (!stored_int(node.at, &v))
        return pl_slice(NULL, 0);
    return pl_slice(scratch->bytes, pl_number_print(v, scratch->bytes));
}

bool pl_node_int(struct pl_node node, int64_t *value)
{
    if (node.at == NULL)
        return false;
    if (*node.at == TAG_DIGITS)
        return pl_number_to_int(digits_of(node.at), value);
    return stored_int(node.at, value);
}

double pl_node_double(struct pl_node node)
{
    int64_t v;
    if (node.at == NULL)
        return 0;
    if (*node.at == TAG_DIGITS)
        return pl_number_to_double(digits_of(node.at));
    return stored_int(node.at, &v) ? (double)v : 0;
}

/* ---- containers ---- */

size_t pl_node_len(struct pl_node node)
{
    struct tape_box box;
    if (node.at == NULL || !pl_tape_open(node.doc->base, node.at, &box))
        return 0;
    return box.count;
}

static bool is_short_scalar(uint8_t tag)
{
    if (tag >= TAG_SMALL)
        return tag < TAG_STR_LONG;
    return tag < TAG_PACKED_END && tag != TAG_EMPTY_ARRAY && tag != TAG_EMPTY_OBJECT &&
           tag != TAG_DIGITS;
}

bool pl_node_is_flat(struct pl_node node, size_t most)
{
    struct tape_box box;
    if (node.at == NULL || *node.at < TAG_OBJECT || !pl_tape_open(node.doc->base, node.at, &box) ||
        box.count > most)
        return false;
    const uint8_t *at = box.first;
    for (uint32_t left = box.count; left > 0; left--, at = tape_skip(at)) {
        if (!is_short_scalar(*tape_resolve(node.doc->base, at)))
            return false;
    }
    return true;
}

/* The place of a name in a large shape: binary search in its sorted pairs. */
static uint32_t find_sorted(const struct tape_box *box, struct pl_slice key)
{
    uint32_t count, keys_len, low = 0;
    const uint8_t *keys = tape_shape(box->shape, &count, &keys_len), *pairs = keys + keys_len;
    for (uint32_t high = count; low < high;) {
        uint32_t mid = low + (high - low) / 2;
        struct pl_slice name;
        tape_key(keys + tape_u32(pairs + (size_t)8 * mid), &name);
        int order = pl_slice_cmp(key, name);
        if (order == 0)
            return tape_u32(pairs + (size_t)8 * mid + 4);
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return UINT32_MAX;
}

static uint32_t find_key(const struct tape_box *box, struct pl_slice key)
{
    if (box->count >= TAPE_BIG)
        return find_sorted(box, key);
    const uint8_t *at = box->key;
    for (uint32_t i = 0; at != NULL && i < box->count; i++) {
        struct pl_slice name;
        at = tape_key(at, &name);
        if (name.len == key.len &&
            tape_text_eq((const uint8_t *)name.ptr, (const uint8_t *)key.ptr, key.len))
            return i;
    }
    return UINT32_MAX;
}

/* box: the opened object; unchanged or zero if the node is not an object. */
static inline struct pl_node find_in(struct pl_node node, struct pl_slice key, struct tape_box *box,
                                     size_t *index)
{
    if (node.at == NULL || *node.at < TAG_OBJECT || !pl_tape_open(node.doc->base, node.at, box))
        return PL_NODE_MISSING;
    uint32_t i = find_key(box, key);
    *index = i;
    return i == UINT32_MAX ? PL_NODE_MISSING : node_at(node.doc, child_at(box, i));
}

struct pl_node pl_node_find(struct pl_node node, struct pl_slice key, size_t *index)
{
    struct tape_box box;
    return find_in(node, key, &box, index);
}

struct pl_node pl_node_get(struct pl_node node, struct pl_slice key)
{
    size_t index;
    return pl_node_find(node, key, &index);
}

struct pl_node pl_node_getz(struct pl_node node, const char *key)
{
    return pl_node_get(node, pl_slice_z(key));
}

/* Remembers a miss, too, so that objects of this shape are not searched again. */
static struct pl_node look_and_note(struct pl_node node, struct pl_slice key, struct pl_hint *hint,
                                    size_t *index)
{
    struct tape_box box = {.shape = NULL};
    struct pl_node found = find_in(node, key, &box, index);
    if (box.shape != NULL && *node.at < TAG_OWN && box.count < TAPE_BIG)
        *hint = (struct pl_hint){box.shape, (uint32_t)*index};
    return found;
}

struct pl_node pl_node_find_hinted(struct pl_node node, struct pl_slice key, struct pl_hint *hint,
                                   size_t *index)
{
    if (node.at == NULL || hint->shape == NULL || *node.at < TAG_OBJECT || *node.at >= TAG_OWN)
        return look_and_note(node, key, hint, index);
    const uint8_t *at = node.at + 1 + box_width(*node.at);
    if (pool_value(node.doc->base, tape_u32(at)) != hint->shape)
        return look_and_note(node, key, hint, index);
    *index = hint->index;
    if (hint->index == UINT32_MAX)
        return PL_NODE_MISSING;
    at += 4;
    for (uint32_t left = hint->index; left > 0; left--)
        at = tape_skip(at);
    return node_at(node.doc, at);
}

struct pl_node pl_node_get_hinted(struct pl_node node, const char *key, struct pl_hint *hint)
{
    size_t index;
    return pl_node_find_hinted(node, pl_slice_z(key), hint, &index);
}

struct pl_node pl_node_at(struct pl_node node, size_t index)
{
    struct tape_box box;
    if (node.at == NULL || *node.at >= TAG_OBJECT || !pl_tape_open(node.doc->base, node.at, &box))
        return PL_NODE_MISSING;
    if (index >= box.count)
        return PL_NODE_MISSING;
    return node_at(node.doc, child_at(&box, (uint32_t)index));
}

struct pl_node pl_node_dig_n(struct pl_node node, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count && node.at != NULL; i++)
        node = pl_node_getz(node, keys[i]);
    return node;
}

struct pl_iter pl_iter(struct pl_node node)
{
    struct pl_iter it = {.of = node, .index = SIZE_MAX};
    struct tape_box box;
    if (node.at != NULL && pl_tape_open(node.doc->base, node.at, &box)) {
        it.next = box.first;
        it.keys = box.key;
        it.left = box.count;
    }
    return it;
}

bool pl_iter_next(struct pl_iter *it)
{
    if (it->left == 0)
        return false;
    it->left--;
    it->index++;
    it->value = node_at(it->of.doc, it->next);
    it->next = tape_skip(it->next);
    if (it->keys != NULL)
        it->keys = tape_key(it->keys, &it->key);
    return true;
}
