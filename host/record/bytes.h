/* Numbers and texts as they lie in a record: integers of seven bits a byte, the lowest first, and
 * texts behind their length. Reading checks everything, as a record may come from anywhere. */
#pragma once

#include "base/buf.h"

#include <stdint.h>

void pl_bytes_put_int(struct pl_buf *out, uint64_t value);
void pl_bytes_put_text(struct pl_buf *out, struct pl_slice text);

/* What is left to read. Once something did not fit, `bad` stays, and zeros are read. */
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
