/* A document while it is patched: an untouched value stays a position in a document; a touched
 * object or array has its own list of children. Copying shares positions, and so a patch of few
 * bytes can multiply a document: so the number of touched values and the work have limits. Private
 * to patch_json. */
#pragma once

#include "base/err.h"
#include "object/tree.h"

/* A value; it lies in the overlay's arena. */
struct pl_overlaid {
    /* PL_OBJECT or PL_ARRAY once it is touched, until then PL_MISSING. The members of a touched
     * object are values, too: each is the first member of a struct pl_overlaid. */
    struct pl_tree tree;
    struct pl_node node; /* the value while it is untouched; missing: null */
    /* Elements of a touched array, in two parts: [0, gap), and the last ones up to cap. Changes
     * happen at the gap, so a patch that goes through a long list in order moves each element
     * once. */
    struct pl_overlaid **elements;
    size_t count, cap, gap;
};

struct pl_overlay {
    struct pl_arena arena;
    size_t touched, work;
    struct pl_err *err; /* borrowed; may be NULL */
};

void pl_overlay_deinit(struct pl_overlay *overlay);
/* Functions that return an int return 0, or ELIMIT: the patch touches too much. */
int pl_overlay_spend(struct pl_overlay *overlay, size_t touched, size_t work);

struct pl_overlaid *pl_overlay_value(struct pl_overlay *overlay, struct pl_node node);
enum pl_type pl_overlay_type(const struct pl_overlaid *value);
/* Gives an object or an array its own list of children. */
int pl_overlay_touch(struct pl_overlay *overlay, struct pl_overlaid *value);
/* An independent copy. */
int pl_overlay_copy(struct pl_overlay *overlay, const struct pl_overlaid *from,
                    struct pl_overlaid **copy);

/* ---- children of a touched object; NULL: absent ---- */
struct pl_overlaid *pl_overlay_member(const struct pl_overlaid *object, struct pl_slice key);
/* Appends a member that is absent. The key must live as long as the overlay. */
int pl_overlay_add_member(struct pl_overlay *overlay, struct pl_overlaid *object,
                          struct pl_slice key, struct pl_overlaid *value);
void pl_overlay_remove_member(struct pl_overlaid *object, struct pl_slice key);

/* ---- children of a touched array ---- */
/* NULL: the array ends before it. */
struct pl_overlaid *pl_overlay_element(const struct pl_overlaid *array, size_t index);
int pl_overlay_insert(struct pl_overlay *overlay, struct pl_overlaid *array, size_t index,
                      struct pl_overlaid *value);
int pl_overlay_remove(struct pl_overlay *overlay, struct pl_overlaid *array, size_t index);

/* The value as a document, which the caller owns. NULL and ELIMIT: it is too large or too deep. */
struct pl_doc *pl_overlay_finish(const struct pl_overlaid *value, struct pl_err *err);
