/* Decides, while a document is encoded, which values the pool shares. A value enters the pool when
 * a second object has it (filter.h). A container with a new part is new as well and is not looked
 * up.
 *
 * Nodes made for a document have no count until it is finished. So an encoder that pauses between
 * two pieces of text pins the handles that it has written, and settles the nodes that it made:
 * another thread may take the turn in between and must not free them.
 *
 * Guesses are hints. A wrong guess costs time and never changes the result. */
#include "value/share.h"
#include "value/pack.h"
#include "value/shape.h"

#include "base/hash.h"

enum {
    POOL_STR_MIN = 6, /* shorter strings are as small as a handle */
    EARLY_MAX = 512,  /* limit of values noted before the uid is known */
};

/* ---- guesses ---- */

/* Guesses are compared with undecoded text, so only plain nodes can be guessed. A guessed node
 * leaves the table when it is freed (pool_node.c). */
static void share_remember(struct enc *enc, uint32_t site, uint32_t handle)
{
    if (handle == 0 || !pool_node(enc->pool, handle)->is_plain)
        return;
    uint32_t *slot = share_slot(enc, site);
    pool_node(enc->pool, handle)->is_guessed = true;
    enc->pool->guess_marks[(slot - enc->pool->guesses) / POOL_GUESS_BLOCK] |=
        pool_guess_mark(handle);
    *slot = handle;
}

void pl_share_guess_names(struct enc *enc, const struct enc_frame *parent)
{
    struct enc_frame *frame = enc_top(enc);
    frame->site = share_site(parent);
    if (!frame->is_object || enc->refuse_duplicates)
        return;
    uint32_t handle = *share_slot(enc, frame->site), len;
    const struct pool_node *node = pool_node(enc->pool, handle);
    if (handle == 0 || !node->is_shape)
        return;
    frame->guess = tape_shape(node->value, &frame->guess_left, &len);
    frame->guess_shape = handle;
}

/* The names that were as guessed, as pl_enc_key would have written them. */
static struct pl_slice guessed_keys(const struct enc *enc, const struct enc_frame *frame)
{
    uint32_t count, len;
    const uint8_t *first =
        tape_shape(pool_node(enc->pool, frame->guess_shape)->value, &count, &len);
    return pl_slice((const char *)first, (size_t)(frame->guess - first));
}

void pl_share_drop_guess(struct enc *enc)
{
    struct enc_frame *frame = enc_top(enc);
    if (frame->guess == NULL)
        return;
    pl_buf_add_slice(&enc->keys, guessed_keys(enc, frame));
    frame->guess = NULL;
}

/* For all open objects at once: one buffer holds their names, one object's after another's. */
static void drop_all_guesses(struct enc *enc)
{
    struct pl_buf keys = PL_BUF_INIT;
    for (size_t i = 1; i <= enc->depth; i++) {
        struct enc_frame *frame = &enc->frames[i];
        size_t end = i < enc->depth ? enc->frames[i + 1].keys : enc->keys.len;
        struct pl_slice own = {NULL, 0};
        if (frame->guess != NULL)
            own = guessed_keys(enc, frame);
        else if (end > frame->keys)
            own = pl_slice(enc->keys.ptr + frame->keys, end - frame->keys);
        frame->keys = (uint32_t)keys.len;
        frame->guess = NULL;
        pl_buf_add_slice(&keys, own);
    }
    pl_buf_deinit(&enc->keys);
    enc->keys = keys;
}

/* ---- between documents and chunks ---- */

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

void pl_share_reset(struct enc *enc)
{
    for_handles(enc, &enc->created, pl_pool_settle);
    for_handles(enc, &enc->pins, pl_pool_unref);
    enc->pinned = 0;
    enc->early.len = 0;
    enc->owner = FILTER_OWNER_UNKNOWN;
    /* Streams of different kinds should not share guesses. */
    enc->frames[0].site = (uint32_t)((uintptr_t)enc >> 4);
}

void pl_enc_pause(struct enc *enc)
{
    if (enc->pool == NULL)
        return;
    drop_all_guesses(enc);
    if (enc->values.len > enc->pinned) {
        const uint8_t *values = (const uint8_t *)enc->values.ptr;
        pl_pool_ref_values(enc->pool, values + enc->pinned, values + enc->values.len, &enc->pins);
        enc->pinned = enc->values.len;
    }
    for_handles(enc, &enc->created, pl_pool_settle);
}

/* ---- sights ---- */

/* True when a value that is not in the pool should enter it now: another object had it before.
 * Before the uid is known, only values that several objects had count. */
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

void pl_enc_uid(struct enc *enc, struct pl_slice uid)
{
    uint64_t hash = 0;
    pl_enc_put_str(enc, uid);
    if (enc->pool != NULL) {
        hash = pl_hash(uid.ptr, uid.len, enc->pool->seed);
        if (enc->owner == FILTER_OWNER_UNKNOWN)
            set_owner(enc, owner_of(hash));
        enc_top(enc)->is_new = true; /* no other object has it */
    }
    enc_add_child(enc, hash);
}

static uint32_t create_node(struct enc *enc, uint64_t hash, const uint8_t *bytes, size_t len,
                            bool is_shape)
{
    uint32_t handle = pl_pool_add(enc->pool, hash, bytes, len, is_shape);
    if (handle != 0)
        pl_buf_add(&enc->created, &handle, sizeof(handle));
    return handle;
}

/* ---- strings ---- */

/* The handle of a pooled string, 0 when it should not be pooled. */
static uint32_t find_or_add_str(struct enc *enc, uint64_t hash, struct pl_slice text)
{
    filter_prefetch(&enc->pool->filter, hash);
    uint32_t handle = pl_pool_find_str(enc->pool, hash, text);
    if (handle != 0)
        return handle;
    if (!is_second_sight(enc, hash)) {
        enc_top(enc)->is_new = true;
        return 0;
    }
    /* Not packed: a value that many documents share is read often. */
    size_t start = enc->values.len;
    pl_enc_put_plain(enc, text);
    handle = create_node(enc, hash, (const uint8_t *)enc->values.ptr + start,
                         enc->values.len - start, false);
    enc->values.len = start;
    return handle;
}

/* Some packed strings are as small as a handle. */
static bool put_short(struct enc *enc, struct pl_slice text)
{
    uint8_t *end = pl_pack_short(text, enc_room(&enc->values, PACK_MAX));
    if (end != NULL)
        enc_commit(&enc->values, end);
    return end != NULL;
}

uint64_t pl_share_str(struct enc *enc, struct pl_slice text)
{
    uint64_t hash = pl_hash(text.ptr, text.len, enc->pool->seed);
    if (text.len < POOL_STR_MIN) {
        pl_enc_put_plain(enc, text);
        return hash;
    }
    if (put_short(enc, text))
        return hash;
    uint32_t handle = find_or_add_str(enc, hash, text);
    share_remember(enc, share_site(enc_top(enc)), handle);
    if (handle != 0)
        enc_put_handle(enc, handle);
    else
        pl_enc_put_str(enc, text);
    return hash;
}

/* ---- containers ---- */

static uint64_t hash_keys(const struct enc *enc, const struct enc_frame *frame)
{
    struct pl_slice keys = enc_frame_keys(enc, frame);
    return pl_hash(keys.ptr, keys.len, enc->pool->seed ^ SALT_SHAPE);
}

/* The handle of an object's shape, 0 when it should not be pooled. Names are checked for duplicates
 * only if the pool does not have the shape. */
static uint32_t share_shape(struct enc *enc, struct enc_frame *frame, uint64_t *shape_hash,
                            ssize_t *repeated)
{
    if (frame->guess != NULL && frame->guess_left == 0) {
        *shape_hash = pool_node(enc->pool, frame->guess_shape)->hash;
        return frame->guess_shape;
    }
    pl_share_drop_guess(enc);
    uint64_t hash = *shape_hash = hash_keys(enc, frame);
    uint32_t handle = pl_pool_find_shape(enc->pool, hash, enc_frame_keys(enc, frame));
    if (handle != 0)
        return handle;
    *repeated = pl_enc_settle_duplicates(enc, frame);
    if (*repeated >= 0)
        return 0; /* the document is about to be dropped */
    hash = *shape_hash = hash_keys(enc, frame);
    if (!is_second_sight(enc, hash)) {
        frame->is_new = true;
        return 0;
    }
    struct pl_slice keys = enc_frame_keys(enc, frame);
    size_t start = enc->values.len;
    uint8_t *p = enc_room(&enc->values, pl_shape_room(frame->count, keys.len));
    enc_commit(&enc->values, pl_shape_put(p, frame->count, keys));
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
    enc_put_handle(enc, handle);
}

uint64_t pl_share_end(struct enc *enc, struct enc_frame *frame, ssize_t *repeated)
{
    uint32_t shape = 0, handle = 0;
    uint64_t hash;
    if (frame->is_object) {
        shape = share_shape(enc, frame, &hash, repeated);
        share_remember(enc, frame->site, shape);
        hash = enc_mix(frame->hash, hash);
    } else {
        hash = enc_mix(frame->hash, SALT_ARRAY + frame->count);
    }
    /* A container with a new part is new too, and need not be looked up. */
    filter_prefetch(&enc->pool->filter, hash);
    if (!frame->is_new)
        handle = find_box(enc, frame, hash, shape);
    if (handle != 0) {
        collapse(enc, frame, handle);
        return hash;
    }
    pl_enc_put_box(enc, frame, shape);
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
