/* Scalars of built-in kinds: whether a value is one, in Go's words. Private to typed*.c. */
#pragma once

#include "gotype/message.h"
#include "object/tree.h"

/* What Go calls the JSON value: "string", "number", "bool", "array", "object". Literals. */
const char *pl_typed_json_name(const struct pl_tree *value);
/* The type of a field's values as Go spells it: "int32", "v1.Protocol", "v1.PodSpec". */
struct pl_slice pl_typed_go_name(struct pl_arena *arena, const struct pl_message_field *field);
/* Does the value fit (and is it put into its one form where it has several)? Else *error is the
 * whole message of a value that is no such text (a time, a quantity, base64), or *wants is the Go
 * type that it is not. For every form but messages. */
bool pl_typed_scalar(struct pl_arena *arena, const struct pl_message_field *field,
                     struct pl_tree *value, struct pl_slice *wants, struct pl_slice *error);
