/* An OpenAPI 2.0 document in protobuf, the form in which client-go requests it. Pure. */
#pragma once

#include "base/buf.h"
#include "object/tree.h"

/* Appends the document (an object) as a message of type openapi.v2.Document. Members for which the
 * message has no field are left out. */
void pl_swagger_write(struct pl_buf *out, const struct pl_tree *document);
