/* Where the documents of objects lie that are not filled (lazy.h), with what is known of their
 * levels.
 *
 * A userdata costs the call of its finalizer and a look of the collector at each cycle: of a small
 * object as much as its tables cost. So a few objects that are pushed one after the other share
 * one, which goes when none of them is left. Private to host/lua. */
#pragma once

#include "lua/state.h"
#include "value/doc.h"

#define PL_SHELF_DOCS   4
#define PL_SHELF_LEVELS 24 /* more are allocated */

/* A level that is not filled. Lives on the shelf of its document. */
struct pl_level {
    struct pl_node node;
    uint64_t taken; /* bit i: member i is an entry of the table, or was */
    unsigned flags; /* the object's */
};
#define PL_LEVEL_TAKEN 64 /* a read of a member from this one on fills the level */

static inline bool pl_level_has_taken(const struct pl_level *level, size_t member)
{
    return member < PL_LEVEL_TAKEN && (level->taken >> member & 1);
}

struct pl_more_levels;
struct pl_shelf {
    struct pl_doc *docs[PL_SHELF_DOCS]; /* counted */
    unsigned doc_count, level_count;
    size_t bytes;                 /* counted in the state's `pinned` */
    struct pl_more_levels **more; /* owned, `more_count` of them */
    size_t more_count;
    const void *tables[PL_SHELF_LEVELS]; /* whose levels the first are; never followed */
    struct pl_level levels[PL_SHELF_LEVELS];
};

void pl_shelf_open(struct pl_state *s);
/* Puts the document on the open shelf, or on a new one, with a reference of its own; pushes that
 * shelf. */
void pl_shelf_push(lua_State *L, struct pl_state *s, struct pl_doc *doc);
/* The next document lies on another one. */
void pl_shelf_close(struct pl_state *s);
/* The level of that table, which is new. flags: the object's. number: of the newest level. */
struct pl_level *pl_shelf_add(struct pl_shelf *shelf, const void *table, unsigned flags,
                              struct pl_node node, unsigned *number);
/* The level of that number; NULL: there is none. */
struct pl_level *pl_shelf_at(struct pl_shelf *shelf, double number);

/* Will pl_shelf_find find it? Else its table has to say its number. */
static inline bool pl_shelf_knows(const struct pl_shelf *shelf, const struct pl_level *level)
{
    return level >= shelf->levels && level < shelf->levels + PL_SHELF_LEVELS;
}

/* By its table, which says no more than that while it may be gone. The latest is the likeliest. */
static inline struct pl_level *pl_shelf_find(struct pl_shelf *shelf, const void *table)
{
    unsigned i = shelf->level_count < PL_SHELF_LEVELS ? shelf->level_count : PL_SHELF_LEVELS;
    while (i-- > 0) {
        if (shelf->tables[i] == table)
            return &shelf->levels[i];
    }
    return NULL;
}
