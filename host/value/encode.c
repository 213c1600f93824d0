#include "value/encode.h"
#include "value/number.h"
#include "value/pack.h"
#include "value/pool_node.h"
#include "value/shape.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"

enum {
    POOL_STR_MIN = 6, /* shorter strings are as small as a handle */
    EARLY_MAX = 512,  /* values noted before the uid is known */
};

/* Content hashes: kinds of values are kept apart by what they are mixed with. */
#define SALT_TAG    UINT64_C(0x2d358dccaa6c78a5)
#define SALT_INT    UINT64_C(0x8bb84b93962eacc9)
#define SALT_DIGITS UINT64_C(0x4b33a62ed433d4a3)
#define SALT_ARRAY  UINT64_C(0x4d5a2da51de1aa47)
#define SALT_SHAPE  UINT64_C(0xa0761d6478bd642f)

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)(a ^ UINT64_C(0x9fb21c651e98df25)) * (b ^ SALT_SHAPE);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

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

/* memcpy of mostly short texts, without a call for those. */
static inline void copy_text(uint8_t *to, const char *from, size_t len)
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

static inline struct enc_frame *top(struct enc *enc)
{
    return &enc->frames[enc->depth];
}

/* A child of the innermost container is complete. Its hash matters with a pool only. */
static inline void add_child(struct enc *enc, uint64_t hash)
{
    struct enc_frame *frame = top(enc);
    frame->count++;
    frame->hash = mix(frame->hash, hash);
}

void pl_enc_init(struct enc *enc, struct pl_pool *pool, bool refuse_duplicates)
{
    memset(enc, 0, sizeof(*enc));
    enc->pool = pool;
    enc->refuse_duplicates = refuse_duplicates;
    enc->cap = 16;
    enc->frames = pl_calloc(enc->cap, sizeof(*enc->frames));
}

void pl_enc_deinit(struct enc *enc)
{
    pl_enc_reset(enc);
    pl_buf_deinit(&enc->values);
    pl_buf_deinit(&enc->keys);
    pl_buf_deinit(&enc->early);
    pl_buf_deinit(&enc->created);
    pl_buf_deinit(&enc->pins);
    pl_free(enc->frames);
    enc->frames = NULL;
}

static void for_handles(struct enc *enc, struct pl_buf *list,
                        void (*fn)(struct pl_pool *pool, uint32_t handle))
{
    for (size_t at = 0; at < list->len; at += sizeof(uint32_t)) {
        uint32_t handle;
        memcpy(&handle, list->ptr + at, sizeof(handle));
        fn(enc->pool, handle);
    }
    list->len = 0;
}

void pl_enc_reset(struct enc *enc)
{
    enc->values.len = enc->keys.len = 0;
    enc->depth = 0;
    enc->frames[0] = (struct enc_frame){0};
    for_handles(enc, &enc->created, pl_pool_settle);
    for_handles(enc, &enc->pins, pl_pool_unref);
    enc->pinned = 0;
    enc->early.len = 0;
    enc->owner = FILTER_OWNER_UNKNOWN;
}

/* ---- sharing ---- */

static void put_handle(struct enc *enc, uint32_t handle)
{
    uint8_t *p = room(&enc->values, 4);
    tape_put_handle(p, handle);
    commit(&enc->values, p + 4);
}

/* True when a value that is not in the pool should enter it now: another object has
 * shown it before. Before the uid is known only what several have shown counts. */
static bool is_second_sight(struct enc *enc, uint64_t hash)
{
    if (enc->owner != FILTER_OWNER_UNKNOWN)
        return pl_filter_saw(&enc->pool->filter, hash, enc->owner);
    if (pl_filter_is_shared(&enc->pool->filter, hash))
        return true;
    if (enc->early.len < EARLY_MAX * sizeof(hash))
        pl_buf_add(&enc->early, &hash, sizeof(hash));
    return false;
}

static void set_owner(struct enc *enc, uint32_t owner)
{
    enc->owner = owner;
    for (size_t at = 0; at < enc->early.len; at += sizeof(uint64_t)) {
        uint64_t hash;
        memcpy(&hash, enc->early.ptr + at, sizeof(hash));
        pl_filter_note(&enc->pool->filter, hash, owner);
    }
    enc->early.len = 0;
}

static uint32_t owner_of(uint64_t uid_hash)
{
    return 1 + (uint32_t)(uid_hash % FILTER_OWNERS);
}

void pl_enc_owner(struct enc *enc, struct pl_slice uid)
{
    if (enc->pool != NULL && enc->owner == FILTER_OWNER_UNKNOWN)
        set_owner(enc, owner_of(pl_hash(uid.ptr, uid.len, enc->pool->seed)));
}

void pl_enc_no_uid(struct enc *enc)
{
    if (enc->pool != NULL && enc->owner == FILTER_OWNER_UNKNOWN)
        set_owner(enc, pl_pool_new_owner(enc->pool));
}

static uint32_t create_node(struct enc *enc, uint64_t hash, const uint8_t *bytes, size_t len,
                            bool is_shape)
{
    uint32_t handle = pl_pool_add(enc->pool, hash, bytes, len, is_shape);
    if (handle != 0)
        pl_buf_add(&enc->created, &handle, sizeof(handle));
    return handle;
}

void pl_enc_pause(struct enc *enc)
{
    if (enc->pool == NULL)
        return;
    if (enc->values.len > enc->pinned) {
        const uint8_t *values = (const uint8_t *)enc->values.ptr;
        pl_pool_ref_values(enc->pool, values + enc->pinned, values + enc->values.len, &enc->pins);
        enc->pinned = enc->values.len;
    }
    for_handles(enc, &enc->created, pl_pool_settle);
}

/* ---- scalars ---- */

void pl_enc_tag(struct enc *enc, uint8_t tag)
{
    uint8_t *p = room(&enc->values, 1);
    *p++ = tag;
    commit(&enc->values, p);
    add_child(enc, mix(SALT_TAG, tag));
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
    add_child(enc, mix(SALT_INT, (uint64_t)value));
}

static void put_text(struct enc *enc, uint8_t tag, struct pl_slice text)
{
    uint8_t *p = room(&enc->values, text.len + 6);
    *p++ = tag;
    p = tape_put_varint(p, (uint32_t)text.len);
    memcpy(p, text.ptr, text.len);
    commit(&enc->values, p + text.len);
}

void pl_enc_number(struct enc *enc, struct pl_slice text)
{
    int64_t value;
    if (pl_number_is_int(text, &value)) {
        pl_enc_int(enc, value);
        return;
    }
    put_text(enc, TAG_DIGITS, text);
    add_child(enc, enc->pool ? pl_hash(text.ptr, text.len, enc->pool->seed ^ SALT_DIGITS) : 0);
}

/* A string in the tape as it is. */
static void put_plain(struct enc *enc, struct pl_slice text)
{
    if (text.len > TAPE_STR_MAX) {
        put_text(enc, TAG_STR_LONG, text);
        return;
    }
    uint8_t *p = room(&enc->values, text.len + 1);
    *p++ = (uint8_t)(TAG_STR + text.len);
    copy_text(p, text.ptr, text.len);
    commit(&enc->values, p + text.len);
}

/* The handle of a pooled string, 0 when it is not to be pooled. */
static uint32_t share_str(struct enc *enc, uint64_t hash, struct pl_slice text)
{
    filter_prefetch(&enc->pool->filter, hash);
    uint32_t handle = pl_pool_find_str(enc->pool, hash, text);
    if (handle != 0)
        return handle;
    if (!is_second_sight(enc, hash)) {
        top(enc)->is_new = true;
        return 0;
    }
    /* Not packed: what many share is read more often than it costs memory. */
    size_t start = enc->values.len;
    put_plain(enc, text);
    handle = create_node(enc, hash, (const uint8_t *)enc->values.ptr + start,
                         enc->values.len - start, false);
    enc->values.len = start;
    return handle;
}

/* False when the string has no packed form. */
static bool put_packed(struct enc *enc, struct pl_slice text)
{
    if (text.len > PACK_MAX)
        return false;
    uint8_t *end = pl_pack(text, room(&enc->values, PACK_MAX));
    if (end != NULL)
        commit(&enc->values, end);
    return end != NULL;
}

static void put_str(struct enc *enc, struct pl_slice text)
{
    if (!put_packed(enc, text))
        put_plain(enc, text);
}

/* Some packed strings are as small as a handle. */
static bool put_short(struct enc *enc, struct pl_slice text)
{
    uint8_t *end = pl_pack_short(text, room(&enc->values, PACK_MAX));
    if (end != NULL)
        commit(&enc->values, end);
    return end != NULL;
}

void pl_enc_str(struct enc *enc, struct pl_slice text)
{
    if (enc->pool == NULL) {
        put_str(enc, text);
        add_child(enc, 0);
        return;
    }
    uint64_t hash = pl_hash(text.ptr, text.len, enc->pool->seed);
    if (text.len < POOL_STR_MIN) {
        put_plain(enc, text);
    } else if (!put_short(enc, text)) {
        uint32_t handle = share_str(enc, hash, text);
        if (handle != 0)
            put_handle(enc, handle);
        else
            put_str(enc, text);
    }
    add_child(enc, hash);
}

void pl_enc_uid(struct enc *enc, struct pl_slice uid)
{
    uint64_t hash = 0;
    put_str(enc, uid);
    if (enc->pool != NULL) {
        hash = pl_hash(uid.ptr, uid.len, enc->pool->seed);
        if (enc->owner == FILTER_OWNER_UNKNOWN)
            set_owner(enc, owner_of(hash));
        top(enc)->is_new = true; /* no other object has it */
    }
    add_child(enc, hash);
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
    copy_text(p, key.ptr, key.len);
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

/* Moves the children up to make room for a container's header in front of them:
 * the tag and a length; `more` fields follow. Returns where those go, and their width. */
static uint8_t *put_header(struct enc *enc, const struct enc_frame *frame, uint8_t tag,
                           uint32_t len, unsigned *width)
{
    unsigned shift = len > UINT16_MAX || frame->count >= TAPE_BIG ? 2 : len > UINT8_MAX ? 1 : 0;
    unsigned w = 1u << shift;
    unsigned header = 1 + w + (tag == TAG_OBJECT ? 4 : w);
    room(&enc->values, header);
    uint8_t *p = (uint8_t *)enc->values.ptr + frame->values;
    memmove(p + header, p, enc->values.len - frame->values);
    enc->values.len += header;
    p[0] = (uint8_t)(tag + shift);
    tape_put_uint(p + 1, w, len);
    *width = w;
    return p + 1 + w;
}

static struct pl_slice frame_keys(const struct enc *enc, const struct enc_frame *frame)
{
    return pl_slice(enc->keys.ptr + frame->keys, enc->keys.len - frame->keys);
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
    struct pl_slice keys = frame_keys(enc, frame);
    if (frame->count < 2 || !pl_shape_repeats(frame->count, keys, NULL, NULL))
        return -1;
    bool *repeated = pl_calloc(frame->count, sizeof(*repeated));
    uint32_t second = 0;
    pl_shape_repeats(frame->count, keys, repeated, &second);
    if (!enc->refuse_duplicates)
        drop_repeated(enc, frame, repeated);
    frame->is_new = true; /* its hash is not that of what is left */
    pl_free(repeated);
    return enc->refuse_duplicates ? (ssize_t)second : -1;
}

/* Completes the container in the tape; shape: its handle, 0 for one of its own. */
static void put_box(struct enc *enc, const struct enc_frame *frame, uint32_t shape)
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
        struct pl_slice keys = frame_keys(enc, frame);
        uint8_t *p = room(&enc->values, pl_shape_room(frame->count, keys.len));
        commit(&enc->values, pl_shape_put(p, frame->count, keys));
        uint32_t len = (uint32_t)enc->values.len - frame->values;
        uint8_t *values_len_at = put_header(enc, frame, TAG_OWN, len, &w);
        tape_put_uint(values_len_at, w, values_len);
    }
}

static uint64_t hash_keys(const struct enc *enc, const struct enc_frame *frame)
{
    struct pl_slice keys = frame_keys(enc, frame);
    return pl_hash(keys.ptr, keys.len, enc->pool->seed ^ SALT_SHAPE);
}

/* The handle of an object's shape, 0 when it is not to be pooled. Only for shapes that
 * the pool does not have need the names be looked at for duplicates. */
static uint32_t share_shape(struct enc *enc, struct enc_frame *frame, uint64_t *shape_hash,
                            ssize_t *repeated)
{
    uint64_t hash = *shape_hash = hash_keys(enc, frame);
    uint32_t handle = pl_pool_find_shape(enc->pool, hash, frame_keys(enc, frame));
    if (handle != 0)
        return handle;
    *repeated = settle_duplicates(enc, frame);
    if (*repeated >= 0)
        return 0; /* the document is about to be dropped */
    hash = *shape_hash = hash_keys(enc, frame);
    if (!is_second_sight(enc, hash)) {
        frame->is_new = true;
        return 0;
    }
    struct pl_slice keys = frame_keys(enc, frame);
    size_t start = enc->values.len;
    uint8_t *p = room(&enc->values, pl_shape_room(frame->count, keys.len));
    commit(&enc->values, pl_shape_put(p, frame->count, keys));
    handle = create_node(enc, hash, (const uint8_t *)enc->values.ptr + start,
                         enc->values.len - start, true);
    enc->values.len = start;
    return handle;
}

/* The handle of a complete container that the pool already has, or 0. */
static uint32_t find_box(struct enc *enc, const struct enc_frame *frame, uint64_t hash,
                         uint32_t shape)
{
    struct tape_box box = {
        .first = (const uint8_t *)enc->values.ptr + frame->values,
        .values_len = (uint32_t)enc->values.len - frame->values,
        .count = frame->count,
    };
    uint32_t count, len;
    if (shape != 0)
        box.key = tape_shape(pool_node(enc->pool, shape)->value, &count, &len);
    else if (frame->is_object)
        box.key = (const uint8_t *)enc->keys.ptr + frame->keys;
    return pl_pool_find_box(enc->pool, hash, &box);
}

/* Replaces everything from the container's start by a handle. */
static void collapse(struct enc *enc, const struct enc_frame *frame, uint32_t handle)
{
    enc->values.len = frame->values;
    put_handle(enc, handle);
}

/* Ends a container that may be shared; its content hash. */
static uint64_t end_shared(struct enc *enc, struct enc_frame *frame, ssize_t *repeated)
{
    uint32_t shape = 0, handle = 0;
    uint64_t hash;
    if (frame->is_object) {
        shape = share_shape(enc, frame, &hash, repeated);
        hash = mix(frame->hash, hash);
    } else {
        hash = mix(frame->hash, SALT_ARRAY + frame->count);
    }
    /* With a new part, the whole is new too, and need not be looked for. */
    filter_prefetch(&enc->pool->filter, hash);
    if (!frame->is_new)
        handle = find_box(enc, frame, hash, shape);
    if (handle != 0) {
        collapse(enc, frame, handle);
        return hash;
    }
    put_box(enc, frame, shape);
    if (frame->is_new && enc->owner != FILTER_OWNER_UNKNOWN) {
        pl_filter_mark(&enc->pool->filter, hash, enc->owner);
    } else if (is_second_sight(enc, hash) && !frame->is_new) {
        const uint8_t *start = (const uint8_t *)enc->values.ptr + frame->values;
        handle = create_node(enc, hash, start, enc->values.len - frame->values, false);
    }
    if (handle != 0)
        collapse(enc, frame, handle);
    else
        enc->frames[enc->depth - 1].is_new = true;
    return hash;
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
    uint64_t hash = 0;
    if (enc->pool != NULL) {
        hash = end_shared(enc, frame, &repeated);
    } else {
        if (frame->is_object)
            repeated = settle_duplicates(enc, frame);
        put_box(enc, frame, 0);
    }
    if (enc->pinned > frame->values)
        enc->pinned = frame->values; /* what is there now was not looked at */
    enc->keys.len = frame->keys;
    enc->depth--;
    add_child(enc, hash);
    return repeated;
}

/* ---- whole values ---- */

/* Encodes a value anew: handles mean nothing outside their pool, and values without
 * may be shared in this one. */
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
    uint8_t *p = room(&enc->values, len);
    memcpy(p, node.at, len);
    commit(&enc->values, p + len);
    add_child(enc, 0);
}

struct pl_doc *pl_enc_finish(struct enc *enc)
{
    PL_REQUIRE(enc->depth == 0 && enc->frames[0].count == 1);
    const uint8_t *tape = (const uint8_t *)enc->values.ptr;
    struct pl_doc *doc;
    if (enc->pool != NULL) {
        pl_enc_no_uid(enc);
        doc = pl_pool_make_doc(enc->pool, tape, enc->values.len);
    } else {
        doc = pl_malloc(sizeof(*doc) + enc->values.len);
        atomic_init(&doc->refs, 1);
        doc->length = (uint32_t)enc->values.len;
        doc->base = NULL;
        memcpy(doc->tape, tape, enc->values.len);
    }
    pl_enc_reset(enc);
    return doc;
}
