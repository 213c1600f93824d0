#include "net/http.h"

#include <string.h>

const char *pl_http_header(const struct pl_http_response *response, const char *name)
{
    for (size_t i = 0; i < response->header_count; i++) {
        if (strcmp(response->headers[i].name, name) == 0)
            return response->headers[i].value;
    }
    return NULL;
}
