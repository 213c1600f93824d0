/* Documents that the host itself builds call by call: requests, patches, answers, Lua tables.
 * Each call is checked: a value without a name, or an object closed twice, is a bug of the caller
 * and ends the process. Callers check text from outside as UTF-8 first.
 *
 * A builder with a pool encodes twice: first without the pool, since other threads may add to it
 * while this document grows, then as a copy into the pool in one turn. */
#include "value/build.h"
#include "value/encode.h"
#include "value/pool.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>

struct pl_build {
    struct enc enc;
    struct pl_pool *pool; /* borrowed for life, or NULL */
    bool has_key;         /* the next value belongs to this member */
};

struct pl_build *pl_build_create(struct pl_pool *pool)
{
    struct pl_build *b = PL_NEW(struct pl_build);
    b->pool = pool;
    /* Not pooled while it grows: the pool's turn is free between the calls. */
    pl_enc_init(&b->enc, NULL, false);
    return b;
}

void pl_build_destroy(struct pl_build *b)
{
    if (b == NULL)
        return;
    pl_enc_deinit(&b->enc);
    pl_free(b);
}

/* Checks that a value may come here: one at the root, after a key in objects. */
static void expect_value(struct pl_build *b)
{
    const struct enc_frame *frame = &b->enc.frames[b->enc.depth];
    PL_REQUIRE(b->enc.depth > 0 || frame->count == 0);
    PL_REQUIRE(frame->is_object == b->has_key);
    b->has_key = false;
}

void pl_build_object(struct pl_build *b)
{
    expect_value(b);
    PL_REQUIRE(b->enc.depth < PL_BUILD_DEPTH);
    pl_enc_begin(&b->enc, true);
}

void pl_build_array(struct pl_build *b)
{
    expect_value(b);
    PL_REQUIRE(b->enc.depth < PL_BUILD_DEPTH);
    pl_enc_begin(&b->enc, false);
}

void pl_build_end(struct pl_build *b)
{
    PL_REQUIRE(b->enc.depth > 0 && !b->has_key);
    pl_enc_end(&b->enc);
}

void pl_build_key(struct pl_build *b, struct pl_slice key)
{
    PL_REQUIRE(b->enc.frames[b->enc.depth].is_object && !b->has_key);
    pl_enc_key(&b->enc, key);
    b->has_key = true;
}

void pl_build_keyz(struct pl_build *b, const char *key)
{
    pl_build_key(b, pl_slice_z(key));
}

void pl_build_null(struct pl_build *b)
{
    expect_value(b);
    pl_enc_tag(&b->enc, TAG_NULL);
}

void pl_build_bool(struct pl_build *b, bool value)
{
    expect_value(b);
    pl_enc_tag(&b->enc, value ? TAG_TRUE : TAG_FALSE);
}

void pl_build_int(struct pl_build *b, int64_t value)
{
    expect_value(b);
    pl_enc_int(&b->enc, value);
}

/* Servers read an integer with an exponent as a float, so whole doubles below this are written out.
 */
#define INTEGER_MAX 1e21

void pl_build_double(struct pl_build *b, double value)
{
    PL_REQUIRE(isfinite(value));
    if (value == floor(value) && fabs(value) <= 9007199254740992.0) {
        pl_build_int(b, (int64_t)value);
        return;
    }
    char text[32];
    if (value == floor(value) && fabs(value) < INTEGER_MAX)
        snprintf(text, sizeof(text), "%.0f", value);
    else
        pl_text_of_double(value, text);
    pl_build_number(b, pl_slice_z(text));
}

void pl_build_number(struct pl_build *b, struct pl_slice text)
{
    expect_value(b);
    pl_enc_number(&b->enc, text);
}

void pl_build_str(struct pl_build *b, struct pl_slice text)
{
    expect_value(b);
    pl_enc_str(&b->enc, text);
}

void pl_build_strz(struct pl_build *b, const char *text)
{
    pl_build_str(b, pl_slice_z(text));
}

void pl_build_put_bool(struct pl_build *b, const char *key, bool value)
{
    pl_build_keyz(b, key);
    pl_build_bool(b, value);
}

void pl_build_put_int(struct pl_build *b, const char *key, int64_t value)
{
    pl_build_keyz(b, key);
    pl_build_int(b, value);
}

void pl_build_put_str(struct pl_build *b, const char *key, struct pl_slice text)
{
    pl_build_keyz(b, key);
    pl_build_str(b, text);
}

void pl_build_put_strz(struct pl_build *b, const char *key, const char *text)
{
    pl_build_put_str(b, key, pl_slice_z(text));
}

void pl_build_node(struct pl_build *b, struct pl_node node)
{
    expect_value(b);
    pl_enc_node(&b->enc, node);
}

struct pl_doc *pl_build_finish(struct pl_build *b)
{
    PL_REQUIRE(!b->has_key);
    struct pl_doc *doc = pl_enc_finish(&b->enc);
    if (b->pool == NULL)
        return doc;
    struct pl_doc *shared = pl_doc_from_node(pl_doc_root(doc), b->pool);
    pl_doc_unref(doc);
    return shared;
}

struct pl_doc *pl_build_close(struct pl_build *b)
{
    struct pl_doc *doc = pl_build_finish(b);
    pl_build_destroy(b);
    return doc;
}

struct pl_doc *pl_doc_from_node(struct pl_node node, struct pl_pool *pool)
{
    if (pl_node_is_missing(node))
        return NULL;
    struct enc enc;
    struct pl_scratch scratch;
    pl_pool_enter(pool);
    pl_enc_init(&enc, pool, false);
    struct pl_slice uid = pl_node_str(pl_node_dig(node, "metadata", "uid"), &scratch);
    if (uid.ptr != NULL)
        pl_enc_owner(&enc, uid);
    else
        pl_enc_no_uid(&enc);
    pl_enc_node(&enc, node);
    struct pl_doc *doc = pl_enc_finish(&enc);
    pl_enc_deinit(&enc);
    pl_pool_leave(pool);
    return doc;
}

void pl_build_text(struct pl_build *b, struct pl_slice text)
{
    if (pl_is_utf8(text)) {
        pl_build_str(b, text);
        return;
    }
    char *clean = pl_memdup0(text.ptr, text.len);
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)clean[i] >= 0x80)
            clean[i] = '?';
    pl_build_str(b, pl_slice(clean, text.len));
    pl_free(clean);
}

void pl_build_put_text(struct pl_build *b, const char *key, struct pl_slice text)
{
    pl_build_keyz(b, key);
    pl_build_text(b, text);
}
