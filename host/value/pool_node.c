/* The pool's nodes: finding, adding, counting and freeing them. */
#include "value/pool_node.h"

#include "base/check.h"
#include "base/text.h"

/* ---- equality of content: the same text, the same order of members ---- */

static bool same_value(const uint8_t *base, const uint8_t *a, const uint8_t *b);

static struct pl_slice pool_node_text_of(const uint8_t *at, struct pl_scratch *scratch)
{
    return pl_node_str((struct pl_node){NULL, at}, scratch);
}

static bool same_shape(const struct tape_box *a, const struct tape_box *b)
{
    if (a->key == b->key)
        return true;
    if (a->key == NULL || b->key == NULL)
        return false;
    const uint8_t *p = a->key, *q = b->key;
    for (uint32_t i = 0; i < a->count; i++) {
        struct pl_slice x, y;
        p = tape_key(p, &x);
        q = tape_key(q, &y);
        if (!pl_slice_eq(x, y))
            return false;
    }
    return true;
}

static bool same_box(const uint8_t *base, const struct tape_box *a, const struct tape_box *b)
{
    if (a->count != b->count || !same_shape(a, b))
        return false;
    /* The usual case: children that can be handles are handles, so equal values have equal bytes.
     */
    if (a->values_len == b->values_len && memcmp(a->first, b->first, a->values_len) == 0)
        return true;
    const uint8_t *p = a->first, *q = b->first;
    for (uint32_t i = 0; i < a->count; i++, p = tape_skip(p), q = tape_skip(q)) {
        if (!same_value(base, p, q))
            return false;
    }
    return true;
}

static bool same_value(const uint8_t *base, const uint8_t *a, const uint8_t *b)
{
    struct pl_scratch of_a, of_b;
    struct tape_box x, y;
    a = tape_resolve(base, a);
    b = tape_resolve(base, b);
    if (a == b)
        return true;
    if (tape_is_box(*a) || tape_is_box(*b))
        return pl_tape_open(base, a, &x) && pl_tape_open(base, b, &y) && same_box(base, &x, &y);
    if (*a == *b) {
        size_t len = (size_t)(tape_skip(a) - a);
        return len == (size_t)(tape_skip(b) - b) && memcmp(a, b, len) == 0;
    }
    /* Pooled strings are not packed, others may be. */
    struct pl_slice s = pool_node_text_of(a, &of_a), t = pool_node_text_of(b, &of_b);
    return s.ptr != NULL && t.ptr != NULL && pl_slice_eq(s, t);
}

/* ---- finding ---- */

uint32_t pl_pool_find_str(const struct pl_pool *pool, uint64_t hash, struct pl_slice text)
{
    struct table_probe probe = table_probe(&pool->table, hash);
    uint32_t handle;
    while ((handle = table_next(&probe)) != 0) {
        const struct pool_node *node = pool_node(pool, handle);
        struct pl_scratch none;
        if (node->hash == hash && !node->is_shape &&
            pl_slice_eq(pool_node_text_of(node->value, &none), text))
            return handle;
    }
    return 0;
}

uint32_t pl_pool_find_shape(const struct pl_pool *pool, uint64_t hash, struct pl_slice keys)
{
    struct table_probe probe = table_probe(&pool->table, hash);
    uint32_t handle;
    while ((handle = table_next(&probe)) != 0) {
        const struct pool_node *node = pool_node(pool, handle);
        if (node->hash != hash || !node->is_shape)
            continue;
        uint32_t count, len;
        const uint8_t *have = tape_shape(node->value, &count, &len);
        if (len == keys.len && memcmp(have, keys.ptr, len) == 0)
            return handle;
    }
    return 0;
}

uint32_t pl_pool_find_box(const struct pl_pool *pool, uint64_t hash, const struct tape_box *box)
{
    struct table_probe probe = table_probe(&pool->table, hash);
    uint32_t handle;
    while ((handle = table_next(&probe)) != 0) {
        const struct pool_node *node = pool_node(pool, handle);
        struct tape_box have;
        if (node->hash == hash && !node->is_shape &&
            pl_tape_open(pool->nodes.base, node->value, &have) &&
            same_box(pool->nodes.base, &have, box))
            return handle;
    }
    return 0;
}

/* ---- counting ---- */

static void ref_one(struct pl_pool *pool, uint32_t handle)
{
    pool_node(pool, handle)->refs++;
}

static inline void unref_one(struct pl_pool *pool, uint32_t handle)
{
    if (--pool_node(pool, handle)->refs == 0)
        pl_buf_add(&pool->dead, &handle, sizeof(handle));
}

enum walk { WALK_REF, WALK_UNREF };

/* Counts every handle in a sequence of values up or down; containers outside the pool nest. */
static inline __attribute__((always_inline)) void count_one(struct pl_pool *pool, uint32_t handle,
                                                            enum walk walk, struct pl_buf *list)
{
    if (walk == WALK_UNREF) {
        unref_one(pool, handle);
        return;
    }
    ref_one(pool, handle);
    if (list != NULL)
        pl_buf_add(list, &handle, sizeof(handle));
}

static void walk_values(struct pl_pool *pool, const uint8_t *at, const uint8_t *end, enum walk walk,
                        struct pl_buf *list)
{
    while (at < end) {
        uint8_t tag = *at;
        if (tag & TAG_HANDLE) {
            count_one(pool, tape_handle(at), walk, list);
            at += 4;
        } else if (!tape_is_box(tag)) {
            at = tape_skip(at);
        } else if (tag < TAG_OWN && (tag & 3) < 2) {
            /* Only children follow the header: continue inside. */
            unsigned w = 1u << (tag & 3);
            if (tag >= TAG_OBJECT)
                count_one(pool, tape_u32(at + 1 + w), walk, list);
            at += 1 + w + (tag >= TAG_OBJECT ? 4 : w);
        } else {
            struct tape_box box;
            pl_tape_open(pool->nodes.base, at, &box);
            if (tag < TAG_OWN && tag >= TAG_OBJECT)
                count_one(pool, tape_u32(box.first - 4), walk, list);
            walk_values(pool, box.first, box.first + box.values_len, walk, list);
            at = tape_skip(at);
        }
    }
}

static void forget_in_block(struct pl_pool *pool, size_t block, uint32_t handle)
{
    uint32_t *guesses = &pool->guesses[block * POOL_GUESS_BLOCK];
    uint64_t marks = 0;
    for (size_t i = 0; i < POOL_GUESS_BLOCK; i++) {
        if (guesses[i] == handle)
            guesses[i] = 0;
        else if (guesses[i] != 0)
            marks |= pool_guess_mark(guesses[i]);
    }
    pool->guess_marks[block] = marks;
}

/* Most blocks have no such mark, and need not be read. */
static void forget_guesses(struct pl_pool *pool, uint32_t handle)
{
    uint64_t mark = pool_guess_mark(handle);
    for (size_t block = 0; block < PL_ARRAY_LEN(pool->guess_marks); block++)
        if (pool->guess_marks[block] & mark)
            forget_in_block(pool, block, handle);
}

static void free_node(struct pl_pool *pool, uint32_t handle)
{
    struct pool_node *node = pool_node(pool, handle);
    if (node->is_guessed)
        forget_guesses(pool, handle);
    pl_table_remove(&pool->table, node->hash, handle);
    if (!node->is_shape)
        walk_values(pool, node->value, node->value + node->length, WALK_UNREF, NULL);
    pl_slab_free(&pool->nodes, node, sizeof(*node) + node->length);
}

/* Freeing a node may free others; a list instead of recursion keeps the stack flat. */
static void bury(struct pl_pool *pool)
{
    while (pool->dead.len > 0) {
        uint32_t handle;
        pool->dead.len -= sizeof(handle);
        memcpy(&handle, pool->dead.ptr + pool->dead.len, sizeof(handle));
        free_node(pool, handle);
    }
}

void pl_pool_unref(struct pl_pool *pool, uint32_t handle)
{
    unref_one(pool, handle);
    bury(pool);
}

void pl_pool_settle(struct pl_pool *pool, uint32_t handle)
{
    if (pool_node(pool, handle)->refs != 0)
        return;
    free_node(pool, handle);
    bury(pool);
}

void pl_pool_ref_values(struct pl_pool *pool, const uint8_t *at, const uint8_t *end,
                        struct pl_buf *list)
{
    walk_values(pool, at, end, WALK_REF, list);
}

void pl_pool_unref_values(struct pl_pool *pool, const uint8_t *at, const uint8_t *end)
{
    walk_values(pool, at, end, WALK_UNREF, NULL);
    bury(pool);
}

/* ---- adding ---- */

static bool text_is_plain(struct pl_slice text)
{
    return pl_text_plain(text) == text.len;
}

static bool shape_is_plain(const uint8_t *shape)
{
    uint32_t count, len;
    const uint8_t *at = tape_shape(shape, &count, &len);
    for (uint32_t i = 0; i < count; i++) {
        struct pl_slice key;
        at = tape_key(at, &key);
        if (key.len >= 0x80 || !text_is_plain(key))
            return false;
    }
    return true;
}

static bool value_is_plain(const uint8_t *value)
{
    struct pl_scratch none;
    return *value >= TAG_STR && text_is_plain(pool_node_text_of(value, &none));
}

uint32_t pl_pool_add(struct pl_pool *pool, uint64_t hash, const uint8_t *bytes, size_t len,
                     bool is_shape)
{
    struct pool_node *node = NULL;
    if (len <= POOL_NODE_MAX)
        node = pl_slab_alloc(&pool->nodes, sizeof(*node) + len);
    if (node == NULL)
        return 0;
    node->hash = hash;
    node->refs = 0;
    node->length = (uint32_t)len & POOL_NODE_MAX;
    node->is_shape = is_shape;
    node->is_guessed = false;
    memcpy(node->value, bytes, len);
    node->is_plain = is_shape ? shape_is_plain(node->value) : value_is_plain(node->value);
    if (!is_shape)
        walk_values(pool, node->value, node->value + len, WALK_REF, NULL);
    uint32_t handle = (uint32_t)((size_t)((uint8_t *)node - pool->nodes.base) / POOL_GRANULE);
    pl_table_add(&pool->table, hash, handle);
    return handle;
}
