/* An OpenAPI 2.0 document in protobuf, the form in which client-go asks for it. Pure. */
#pragma once

#include "base/buf.h"
#include "object/tree.h"

/* Appends the document (a tree of an object) as a message of type openapi.v2.Document. Members that
 * the message has no place for are left out. */
void pl_swagger_write(struct pl_buf *out, const struct pl_tree *document);
