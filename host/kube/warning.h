/* Private to kube: the API server's warnings in the Warning headers of its answers (RFC 7234, 5.5):
 * unknown fields, deprecated versions. Pure. */
#pragma once

#include "base/buf.h"
#include "net/http.h"

/* Adds the texts of the response's warnings, "text\0" each; only some if they are many or long. A
 * header in another form than the API server's (`299 - "text"`) is skipped. */
void pl_warnings_add(struct pl_buf *out, const struct pl_http_response *response);
