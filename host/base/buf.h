/* Growable bytes. Zero-initialise or PL_BUF_INIT; always NUL-terminated once written to. */
#pragma once

#include "base/base.h"
#include "base/slice.h"

struct pl_buf {
    char *ptr; /* owned */
    size_t len;
    size_t cap;
};

#define PL_BUF_INIT ((struct pl_buf){NULL, 0, 0})

void pl_buf_deinit(struct pl_buf *buf);
/* Empties the buffer and keeps its memory. */
void pl_buf_clear(struct pl_buf *buf);
/* Makes room for at least `more` bytes after len, plus a NUL. */
static inline void pl_buf_reserve(struct pl_buf *buf, size_t more);
void pl_buf_add(struct pl_buf *buf, const void *bytes, size_t len);
void pl_buf_add_slice(struct pl_buf *buf, struct pl_slice s);
void pl_buf_add_z(struct pl_buf *buf, const char *text);
void pl_buf_add_char(struct pl_buf *buf, char c);
void pl_buf_add_f(struct pl_buf *buf, const char *fmt, ...) PL_PRINTF(2, 3);
/* Removes the first n bytes. */
void pl_buf_drop_front(struct pl_buf *buf, size_t n);
/* The text so far; "" when empty; borrowed until the next change. */
const char *pl_buf_z(const struct pl_buf *buf);
struct pl_slice pl_buf_slice(const struct pl_buf *buf);
/* Gives the memory (never NULL, NUL-terminated) to the caller and empties the buffer. */
char *pl_buf_take(struct pl_buf *buf);

/* Grows the memory; called by pl_buf_reserve when there is no room. */
void pl_buf_grow(struct pl_buf *buf, size_t more);

static inline void pl_buf_reserve(struct pl_buf *buf, size_t more)
{
    if (buf->cap - buf->len <= more)
        pl_buf_grow(buf, more);
}
