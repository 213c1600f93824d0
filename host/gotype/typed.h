/* Objects of built-in kinds as Go reads and writes them. Wrong types are errors with Go's messages.
 * Unknown fields and duplicate members are reported. Empty values are dropped, and fields that Go
 * always writes get their empty value. Pure; trees and texts live in the arena. The depth is that
 * of the tree, which its parser has limited. */
#pragma once

#include "gotype/message.h"
#include "object/tree.h"

/* The findings about an object. Zero-initialise all fields but the arena. */
struct pl_typed {
    struct pl_arena *arena; /* borrowed */
    struct pl_tree *strict; /* messages such as "unknown field \"a.b\"", in order; NULL: none */
    bool keeps_nulls;       /* nulls of members stay: a manager that states them owns the members */
    bool of_map;            /* messages are those of Go's converter of maps, not of its parser */
    struct pl_slice
        error; /* Go's message about the first value of a wrong type; empty: there is none */
};

/* Makes a tree of JSON that was checked already. The tree keeps duplicate members. */
struct pl_tree *pl_typed_parse(struct pl_arena *arena, struct pl_slice json);
/* Drops all but the last of members that come twice, and adds `duplicate field "a.b[0].c"` for each
 * name to `strict`, an array (NULL: not needed). For trees of pl_typed_parse. */
void pl_typed_drop_twins(struct pl_arena *arena, struct pl_tree *value, struct pl_tree *strict);
/* Reads the object in place. Afterwards it has only fields of the type, no duplicates (the last one
 * counts), and no nulls. Returns 0, or -1 with `error` set. */
int pl_typed_read(struct pl_typed *t, struct pl_tree *object, struct pl_message type);
/* Writes the object in place as Go would marshal it after it was stored: empty values with
 * omitempty are dropped, and fields that are always written are added, except those that would be
 * null. Only for objects that pl_typed_read has accepted. */
void pl_typed_fill(struct pl_arena *arena, struct pl_tree *object, struct pl_message type);
/* The same, with the nulls of lists and maps that Go always writes. This is the last step before an
 * object is stored: everywhere else a null counts as a value that somebody has set. */
void pl_typed_fill_nulls(struct pl_arena *arena, struct pl_tree *object, struct pl_message type);
/* The same, but empty lists and maps stay as they were sent: their writer owns them. */
void pl_typed_fill_absent(struct pl_arena *arena, struct pl_tree *object, struct pl_message type);
/* Orders the members as Go writes them. */
void pl_typed_order(struct pl_arena *arena, struct pl_tree *object, struct pl_message type);
/* The errors of pl_typed_read in the words of server-side apply: the first value of a wrong type,
 * with a path such as .spec.containers[name="c"].tty. NULL when there is none. In the arena. */
const char *pl_typed_apply_error(struct pl_arena *arena, const struct pl_tree *object,
                                 struct pl_message type);
/* Such a message: wants is "map", "list", "string", "boolean" or "number". */
const char *pl_typed_apply_wrong(struct pl_arena *arena, struct pl_slice path, const char *wants,
                                 const struct pl_tree *value);
/* The byte at which base64 text is malformed, as Go counts; -1: it is well-formed. */
int64_t pl_typed_base64_fault(struct pl_slice text);
