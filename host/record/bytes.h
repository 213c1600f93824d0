/* The encoding of numbers and texts in a record: integers with seven bits per byte, the lowest
 * first, and texts after their length. Reading checks everything, because a record may come from
 * anywhere. Pure. */
#pragma once

#include "base/buf.h"

#include <stdint.h>

void pl_bytes_put_int(struct pl_buf *out, uint64_t value);
void pl_bytes_put_text(struct pl_buf *out, struct pl_slice text);

/* The rest of the input. After the first malformed value `bad` is set, and every read returns zero.
 */
struct pl_bytes {
    const char *at, *end;
    bool bad;
};

static inline struct pl_bytes pl_bytes_of(struct pl_slice text)
{
    return (struct pl_bytes){text.ptr, text.len > 0 ? text.ptr + text.len : text.ptr, false};
}

static inline bool pl_bytes_is_over(const struct pl_bytes *from)
{
    return from->bad || from->at >= from->end;
}

uint64_t pl_bytes_int(struct pl_bytes *from);
char pl_bytes_char(struct pl_bytes *from);
/* Borrowed from the record. */
struct pl_slice pl_bytes_text(struct pl_bytes *from);
struct pl_slice pl_bytes_take(struct pl_bytes *from, size_t len);
