/* Base64 with padding (RFC 4648), as Secrets and kubeconfig files carry it. Any thread. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

void pl_base64_encode(struct pl_slice bytes, struct pl_buf *out);
/* Appends the decoded bytes. Line breaks and spaces between the letters are skipped. Returns false
 * and appends nothing when the text is not base64. */
bool pl_base64_decode(struct pl_slice text, struct pl_buf *out);
