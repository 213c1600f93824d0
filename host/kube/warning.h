/* Private to kube: what the API server warns of in the Warning headers of its answers (RFC 7234,
 * 5.5): fields that it does not know, versions that go. Pure. */
#pragma once

#include "base/buf.h"
#include "net/http.h"

/* Adds the texts of the response's warnings, "text\0" each; some of them where they are many or
 * long. What is no warning as the API server writes them (`299 - "text"`) is passed over. */
void pl_warnings_add(struct pl_buf *out, const struct pl_http_response *response);
