/* A mutable JSON tree for the time of one request. Documents are immutable; a write goes document
 * -> tree -> prune, default, stamp -> document. All memory lies in one arena and is freed with it,
 * so no part is ever freed alone. One thread. */
#pragma once

#include "object/arena.h"
#include "base/buf.h"
#include "value/doc.h"

#include <stdbool.h>
#include <stdint.h>

struct pl_pool;
struct pl_tree_index;

struct pl_tree_item {
    struct pl_slice key; /* empty in arrays */
    struct pl_tree *value;
    struct pl_tree_item *next, *prev;
};

/* Fields may be read directly; change them through the functions below. */
struct pl_tree {
    enum pl_type type;
    bool boolean;
    struct pl_slice text; /* of a string (decoded) or a number (as written) */
    struct pl_tree_item *first, *last;
    size_t count;
    struct pl_tree_index *index; /* of an object with many members; NULL: none */
};

/* Visits members or elements in order; the current one may be removed. */
#define PL_TREE_FOR(item, tree)                                                                    \
    for (struct pl_tree_item *item = (tree) ? (tree)->first : NULL,                                \
                             *item##_next = item ? item->next : NULL;                              \
         item != NULL; item = item##_next, item##_next = item ? item->next : NULL)

/* ---- making: the result lives in the arena, and so do copies of the texts ---- */
struct pl_tree *pl_tree_object(struct pl_arena *arena);
struct pl_tree *pl_tree_array(struct pl_arena *arena);
struct pl_tree *pl_tree_bool(struct pl_arena *arena, bool value);
struct pl_tree *pl_tree_int(struct pl_arena *arena, int64_t value);
struct pl_tree *pl_tree_str(struct pl_arena *arena, struct pl_slice text);
struct pl_tree *pl_tree_strz(struct pl_arena *arena, const char *text);
struct pl_tree *pl_tree_from_node(struct pl_arena *arena, struct pl_node node);
struct pl_tree *pl_tree_copy(struct pl_arena *arena, const struct pl_tree *tree);
/* An array of the texts of a list such as "get,list"; empty for "". */
struct pl_tree *pl_tree_texts(struct pl_arena *arena, const char *list);
void pl_tree_push_texts(struct pl_arena *arena, struct pl_tree *array, const char *list);
/* From JSON that is part of the program; invalid JSON is a broken invariant. */
struct pl_tree *pl_tree_literal(struct pl_arena *arena, const char *json);

/* ---- reading: NULL trees are accepted and read as absent; results are parts of the tree ---- */
struct pl_tree *pl_tree_get(const struct pl_tree *object, struct pl_slice key);
struct pl_tree *pl_tree_getz(const struct pl_tree *object, const char *key);
/* Follows a constant path: "metadata.name". */
struct pl_tree *pl_tree_dig(const struct pl_tree *object, const char *path);
struct pl_tree *pl_tree_at(const struct pl_tree *array, size_t index);
enum pl_type pl_tree_type(const struct pl_tree *tree); /* PL_MISSING for NULL */
bool pl_tree_is(const struct pl_tree *tree, enum pl_type type);
/* The empty slice for anything but a string. */
struct pl_slice pl_tree_text(const struct pl_tree *tree);
struct pl_slice pl_tree_text_at(const struct pl_tree *object, const char *path);
bool pl_tree_integer(const struct pl_tree *tree, int64_t *value);
bool pl_tree_equal(const struct pl_tree *a, const struct pl_tree *b);
/* Is the text an element of the list? */
bool pl_tree_has_text(const struct pl_tree *list, struct pl_slice text);

/* ---- changing ---- */
/* Replaces in place, or appends. */
void pl_tree_set(struct pl_arena *arena, struct pl_tree *object, struct pl_slice key,
                 struct pl_tree *value);
void pl_tree_setz(struct pl_arena *arena, struct pl_tree *object, const char *key,
                  struct pl_tree *value);
void pl_tree_set_strz(struct pl_arena *arena, struct pl_tree *object, const char *key,
                      const char *text);
/* Sets the member only if it is absent or null; returns the member. The member lives in the arena
 * of its tree. */
struct pl_tree *pl_tree_default(struct pl_arena *arena, struct pl_tree *object, const char *key,
                                struct pl_tree *value);
/* The object member with this name, created when absent (or when it is not an object). */
struct pl_tree *pl_tree_child(struct pl_arena *arena, struct pl_tree *object, const char *key);
/* Appends a member that the object does not have; the key is not copied. */
void pl_tree_add(struct pl_arena *arena, struct pl_tree *object, struct pl_slice key,
                 struct pl_tree *value);
void pl_tree_push(struct pl_arena *arena, struct pl_tree *array, struct pl_tree *value);
bool pl_tree_remove(struct pl_tree *object, struct pl_slice key);
void pl_tree_removez(struct pl_tree *object, const char *key);
/* Unlinks an item of this object or array. */
void pl_tree_unlink(struct pl_tree *tree, struct pl_tree_item *item);
/* Gives a member another name, which no other member may have; the text is not copied. */
void pl_tree_rename(struct pl_tree *object, struct pl_tree_item *item, struct pl_slice key);

/* Orders the members of all objects by name. */
void pl_tree_sort(struct pl_tree *tree);
/* Of this object alone. */
void pl_tree_sort_members(struct pl_tree *object);

/* ---- out ---- */
/* An independent document if pool is NULL. The caller owns a reference. */
struct pl_doc *pl_tree_doc(const struct pl_tree *tree, struct pl_pool *pool);
void pl_tree_write(struct pl_buf *out, const struct pl_tree *tree);
/* An upper bound for the number of bytes that pl_tree_write appends. Computing it is much faster
 * than writing. */
size_t pl_tree_bytes_at_most(const struct pl_tree *tree);
