/* Objects of built-in kinds as Go's types would take them in and write them out: wrong types are
 * mistakes in Go's words, fields that the type does not have and names that come twice are told,
 * what says nothing is dropped, and fields that are always written get their empty value. Pure;
 * trees and texts live in the arena. Depth is that of the tree, which whoever parsed it limited. */
#pragma once

#include "gotype/message.h"
#include "object/tree.h"

/* What is wrong with an object. Zero-initialise but for the arena. */
struct pl_typed {
    struct pl_arena *arena; /* borrowed */
    struct pl_tree *strict; /* "unknown field \"a.b\"" and such, in order; NULL: none */
    struct pl_slice error;  /* what Go says of the first value that does not fit; empty: all fit */
};

/* JSON that was checked already, as a tree that keeps members which come twice. */
struct pl_tree *pl_typed_parse(struct pl_arena *arena, struct pl_slice json);
/* Reads the object in place: afterwards it has only fields that the type has, once each (the last),
 * without nulls. 0, or -1 with error set. */
int pl_typed_read(struct pl_typed *t, struct pl_tree *object, struct pl_message type);
/* Writes it in place as Go would marshal it after it was stored: empties that are left out go, what
 * is always there comes, but for what would be null. For what pl_typed_read has passed. */
void pl_typed_fill(struct pl_arena *arena, struct pl_tree *object, struct pl_message type);
/* The same with the nulls: lists and the like that are always written. The last step before an
 * object is stored, since everybody else takes null for something that somebody said. */
void pl_typed_fill_nulls(struct pl_arena *arena, struct pl_tree *object, struct pl_message type);
/* Puts the members in the order in which Go writes them. */
void pl_typed_order(struct pl_arena *arena, struct pl_tree *object, struct pl_message type);
/* The same mistakes as server-side apply words them: the first of each kind of value that is none,
 * by a path such as .spec.containers[name="c"].tty. NULL when there is none. In the arena. */
const char *pl_typed_apply_error(struct pl_arena *arena, const struct pl_tree *object,
                                 struct pl_message type);
