/* Checks of scalars of built-in kinds, with Go's messages. Private to typed*.c. */
#pragma once

#include "gotype/message.h"
#include "object/tree.h"

/* Go's word for the JSON value: "string", "number", "bool", "array", "object". Literals. */
const char *pl_typed_json_name(const struct pl_tree *value);
/* The type of a field's values as Go spells it: "int32", "v1.Protocol", "v1.PodSpec". */
struct pl_slice pl_typed_go_name(struct pl_arena *arena, const struct pl_message_field *field);
/* True when the value fits; a value with several spellings is then rewritten to its canonical one.
 * Otherwise *error is the whole message about a malformed text (a time, a quantity, base64), or
 * *wants is the Go type that was expected. For every form but messages. */
bool pl_typed_scalar(struct pl_arena *arena, const struct pl_message_field *field,
                     struct pl_tree *value, struct pl_slice *wants, struct pl_slice *error);
/* The same for a time; micro: of six digits. The zero time becomes null, as Go writes it. */
bool pl_typed_time(struct pl_arena *arena, struct pl_tree *value, bool micro,
                   struct pl_slice *error);
