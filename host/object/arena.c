/* Bump memory in blocks that are freed together. No allocation is freed alone, so an arena belongs
 * to one short piece of work, such as a request. Its size grows with the input of that work, and
 * the code that reads the input limits it. */
#include "object/arena.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "value/build.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)16 << 10)

struct pl_arena_block {
    struct pl_arena_block *next;
    _Alignas(16) char bytes[];
};

void pl_arena_deinit(struct pl_arena *arena)
{
    while (arena->blocks != NULL) {
        struct pl_arena_block *next = arena->blocks->next;
        pl_free(arena->blocks);
        arena->blocks = next;
    }
    *arena = (struct pl_arena){0};
}

void *pl_arena_alloc(struct pl_arena *arena, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (arena->blocks == NULL || size > arena->cap - arena->used) {
        size_t cap = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        struct pl_arena_block *block = pl_malloc(sizeof(*block) + cap);
        block->next = arena->blocks;
        arena->blocks = block;
        arena->cap = cap;
        arena->used = 0;
    }
    void *at = arena->blocks->bytes + arena->used;
    arena->used += size;
    return memset(at, 0, size);
}

struct pl_slice pl_arena_copy(struct pl_arena *arena, struct pl_slice text)
{
    char *copy = pl_arena_alloc(arena, text.len + 1);
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    return pl_slice(copy, text.len);
}

struct pl_slice pl_arena_lower(struct pl_arena *arena, struct pl_slice text)
{
    char *out = pl_arena_alloc(arena, text.len + 1);
    for (size_t i = 0; i < text.len; i++)
        out[i] = (char)tolower((unsigned char)text.ptr[i]);
    return pl_slice(out, text.len);
}

struct pl_slice pl_arena_utf8(struct pl_arena *arena, struct pl_slice text)
{
    if (pl_is_utf8(text))
        return text;
    struct pl_buf repaired = PL_BUF_INIT;
    pl_utf8_repair(text, &repaired);
    text = pl_arena_copy(arena, pl_buf_slice(&repaired));
    pl_buf_deinit(&repaired);
    return text;
}

struct pl_slice pl_arena_join(struct pl_arena *arena, struct pl_slice a, const char *between,
                              struct pl_slice b)
{
    size_t middle = strlen(between);
    char *out = pl_arena_alloc(arena, a.len + middle + b.len + 1);
    if (a.len > 0)
        memcpy(out, a.ptr, a.len);
    memcpy(out + a.len, between, middle);
    if (b.len > 0)
        memcpy(out + a.len + middle, b.ptr, b.len);
    return pl_slice(out, a.len + middle + b.len);
}

struct pl_slice pl_arena_path(struct pl_arena *arena, struct pl_slice path, struct pl_slice name)
{
    return pl_arena_join(arena, path, path.len > 0 ? "." : "", name);
}

/* A text that fits into the buffer is formatted once. */
struct pl_slice pl_arena_f(struct pl_arena *arena, const char *fmt, ...)
{
    char small[256];
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(small, sizeof(small), fmt, args);
    va_end(args);
    PL_REQUIRE(len >= 0);
    char *out = pl_arena_alloc(arena, (size_t)len + 1);
    if ((size_t)len < sizeof(small))
        memcpy(out, small, (size_t)len);
    else
        vsnprintf(out, (size_t)len + 1, fmt, again);
    va_end(again);
    return pl_slice(out, (size_t)len);
}
