#include "net/headers.h"

#include "base/alloc.h"

#include <ctype.h>

struct pl_http_header *pl_headers_copy(const struct pl_http_header *headers, size_t count)
{
    struct pl_http_header *copy = pl_calloc(count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        char *name = pl_strdup(headers[i].name);
        for (char *c = name; *c != '\0'; c++)
            *c = (char)tolower((unsigned char)*c);
        copy[i] = (struct pl_http_header){name, pl_strdup(headers[i].value)};
    }
    return copy;
}

void pl_headers_free(struct pl_http_header *headers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pl_free((char *)headers[i].name);
        pl_free((char *)headers[i].value);
    }
    pl_free(headers);
}
