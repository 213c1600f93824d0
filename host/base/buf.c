/* Growable bytes. They are NUL-terminated after each change, so C functions can read them directly.
 * The capacity doubles, so appending n bytes costs O(n) in total. Appended bytes must not lie in
 * the same buffer, since growing moves it. */
#include "base/buf.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

void pl_buf_deinit(struct pl_buf *buf)
{
    pl_free(buf->ptr);
    *buf = PL_BUF_INIT;
}

void pl_buf_clear(struct pl_buf *buf)
{
    buf->len = 0;
    if (buf->ptr != NULL)
        buf->ptr[0] = '\0';
}

void pl_buf_grow(struct pl_buf *buf, size_t more)
{
    size_t need;
    PL_REQUIRE(!__builtin_add_overflow(buf->len, more, &need) && need < SIZE_MAX / 2);
    size_t cap = buf->cap ? buf->cap * 2 : 64;
    while (cap < need + 1)
        cap *= 2;
    buf->ptr = pl_realloc(buf->ptr, cap);
    buf->cap = cap;
}

void pl_buf_add(struct pl_buf *buf, const void *bytes, size_t len)
{
    pl_buf_reserve(buf, len);
    if (len != 0)
        memcpy(buf->ptr + buf->len, bytes, len);
    buf->len += len;
    buf->ptr[buf->len] = '\0';
}

void pl_buf_add_slice(struct pl_buf *buf, struct pl_slice s)
{
    pl_buf_add(buf, s.ptr, s.len);
}

void pl_buf_add_z(struct pl_buf *buf, const char *text)
{
    pl_buf_add(buf, text, strlen(text));
}

void pl_buf_add_char(struct pl_buf *buf, char c)
{
    pl_buf_reserve(buf, 1);
    buf->ptr[buf->len++] = c;
    buf->ptr[buf->len] = '\0';
}

/* A text that fits into the room behind the last one is formatted once. */
void pl_buf_add_f(struct pl_buf *buf, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    pl_buf_reserve(buf, 1);
    size_t room = buf->cap - buf->len;
    int len = vsnprintf(buf->ptr + buf->len, room, fmt, args);
    va_end(args);
    PL_REQUIRE(len >= 0);
    if ((size_t)len >= room) {
        pl_buf_reserve(buf, (size_t)len);
        vsnprintf(buf->ptr + buf->len, (size_t)len + 1, fmt, again);
    }
    va_end(again);
    buf->len += (size_t)len;
}

void pl_buf_drop_front(struct pl_buf *buf, size_t n)
{
    PL_REQUIRE(n <= buf->len);
    if (n == 0)
        return;
    memmove(buf->ptr, buf->ptr + n, buf->len - n + 1);
    buf->len -= n;
}

const char *pl_buf_z(const struct pl_buf *buf)
{
    return buf->ptr ? buf->ptr : "";
}

struct pl_slice pl_buf_slice(const struct pl_buf *buf)
{
    return pl_slice(pl_buf_z(buf), buf->len);
}

char *pl_buf_take(struct pl_buf *buf)
{
    char *text = buf->ptr ? buf->ptr : pl_memdup0("", 0);
    *buf = PL_BUF_INIT;
    return text;
}
