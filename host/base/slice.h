/* Borrowed bytes: a pointer and a length, not NUL-terminated. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct pl_slice {
    const char *ptr; /* borrowed; the function that gives it says for how long */
    size_t len;
};

static inline struct pl_slice pl_slice(const char *ptr, size_t len)
{
    return (struct pl_slice){ptr, len};
}

/* NULL gives the empty slice. */
static inline struct pl_slice pl_slice_z(const char *text)
{
    return (struct pl_slice){text, text ? strlen(text) : 0};
}

static inline bool pl_slice_eq(struct pl_slice a, struct pl_slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* The first c; NULL: there is none. */
static inline const char *pl_slice_chr(struct pl_slice text, char c)
{
    return text.len > 0 ? memchr(text.ptr, c, text.len) : NULL;
}

static inline bool pl_slice_has_break(struct pl_slice text)
{
    return pl_slice_chr(text, '\n') != NULL || pl_slice_chr(text, '\r') != NULL;
}

static inline bool pl_slice_eqz(struct pl_slice a, const char *text)
{
    return pl_slice_eq(a, pl_slice_z(text));
}

/* Orders by bytes; of two texts with a common prefix the shorter is first. */
static inline int pl_slice_cmp(struct pl_slice a, struct pl_slice b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return c ? c : (a.len > b.len) - (a.len < b.len);
}

/* The text without the white space around it. */
static inline struct pl_slice pl_slice_trim(struct pl_slice text)
{
    while (text.len > 0 && strchr(" \t\r\n", text.ptr[0]) != NULL)
        text.ptr++, text.len--;
    while (text.len > 0 && strchr(" \t\r\n", text.ptr[text.len - 1]) != NULL)
        text.len--;
    return text;
}

/* For printf("%.*s", PL_FMT(s)). */
#define PL_FMT(s) (int)(s).len, (s).ptr ? (s).ptr : ""
