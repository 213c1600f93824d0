/* Headers that outlive a call: copies with their names in lower case. */
#pragma once

#include "net/http.h"

/* Returns an owned array with owned texts. */
struct pl_http_header *pl_headers_copy(const struct pl_http_header *headers, size_t count);
/* Accepts NULL with 0. */
void pl_headers_free(struct pl_http_header *headers, size_t count);
