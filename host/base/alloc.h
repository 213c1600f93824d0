/* Allocation that never returns NULL: running out of memory ends the process. In exchange, all data
 * that an outsider can inflate has a limit, which is checked before memory is allocated. All
 * functions may be called from any thread. Each result belongs to the caller, who frees it with
 * pl_free. */
#pragma once

#include <stddef.h>

void *pl_malloc(size_t size);
/* Zeroed memory; the product is checked for overflow. */
void *pl_calloc(size_t count, size_t size);
void *pl_realloc(void *ptr, size_t size);
/* realloc to count * size bytes; the product is checked for overflow. */
void *pl_reallocarray(void *ptr, size_t count, size_t size);
char *pl_strdup(const char *text);
/* The same; NULL for NULL. */
char *pl_strdup_or_null(const char *text);
/* Copies exactly len bytes and adds a terminating NUL. */
char *pl_memdup0(const void *bytes, size_t len);
/* printf into fresh memory; the caller frees it. */
char *pl_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Accepts NULL. */
void pl_free(void *ptr);

/* One zeroed struct. */
#define PL_NEW(type) ((type *)pl_calloc(1, sizeof(type)))
