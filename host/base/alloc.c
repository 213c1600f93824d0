/* Allocation that ends the process where it would fail, with a message on stderr. The program could
 * neither log nor undo anything then. Sizes that are products are checked for overflow. Callers
 * check limits on data of outsiders before they allocate. */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 1 << 10 };

static void *checked(void *ptr, size_t size)
{
    if (ptr == NULL && size != 0) {
        fprintf(stderr, "perilune: out of memory allocating %zu bytes\n", size);
        abort();
    }
    return ptr;
}

static size_t product(size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        fprintf(stderr, "perilune: allocation of %zu x %zu bytes overflows\n", count, size);
        abort();
    }
    return total;
}

void *pl_malloc(size_t size)
{
    return checked(malloc(size ? size : 1), size);
}

/* Small blocks are allocated often: malloc takes them from the thread's own list, calloc does not.
 */
void *pl_calloc(size_t count, size_t size)
{
    size_t total = product(count, size);
    if (total > SMALL)
        return checked(calloc(1, total), total);
    return memset(pl_malloc(total), 0, total);
}

void *pl_realloc(void *ptr, size_t size)
{
    return checked(realloc(ptr, size ? size : 1), size);
}

void *pl_reallocarray(void *ptr, size_t count, size_t size)
{
    return pl_realloc(ptr, product(count, size));
}

char *pl_strdup(const char *text)
{
    return pl_memdup0(text, strlen(text));
}

char *pl_strdup_or_null(const char *text)
{
    return text != NULL ? pl_strdup(text) : NULL;
}

char *pl_memdup0(const void *bytes, size_t len)
{
    char *copy = pl_malloc(len + 1);
    if (len != 0)
        memcpy(copy, bytes, len);
    copy[len] = '\0';
    return copy;
}

char *pl_format(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = NULL;
    int len = vasprintf(&text, fmt, args);
    va_end(args);
    return checked(len < 0 ? NULL : text, 1);
}

void pl_free(void *ptr)
{
    free(ptr);
}
