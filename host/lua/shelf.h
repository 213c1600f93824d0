/* Holds the documents of objects that are not filled (lazy.h), with the state of their levels.
 *
 * A userdata costs a call of its finalizer and some work of the collector in each cycle: for a
 * small object as much as its tables. So a few objects that are pushed one after the other share
 * one userdata, which is freed when none of them is left. Private to host/lua. */
#pragma once

#include "lua/state.h"
#include "value/doc.h"

#define PL_SHELF_DOCS   4
#define PL_SHELF_LEVELS 24 /* further levels are allocated */

/* An unfilled level. It lies on the shelf of its document. */
struct pl_level {
    struct pl_node node;
    uint64_t taken; /* bit i: member i is or was an entry of the table */
    unsigned flags; /* flags of the object */
};
#define PL_LEVEL_TAKEN 64 /* reading this member or a later one fills the level */

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
    const void *tables[PL_SHELF_LEVELS]; /* tables of the first levels; never dereferenced */
    struct pl_level levels[PL_SHELF_LEVELS];
};

void pl_shelf_open(struct pl_state *s);
/* Puts the document on the open shelf, or on a new one, with a new reference; pushes that shelf. */
void pl_shelf_push(lua_State *L, struct pl_state *s, struct pl_doc *doc);
/* The next document gets a new shelf. */
void pl_shelf_close(struct pl_state *s);
/* Adds the level of a new table. flags: the object's. number: of the newest level. The level
 * belongs to the shelf. */
struct pl_level *pl_shelf_add(struct pl_shelf *shelf, const void *table, unsigned flags,
                              struct pl_node node, unsigned *number);
/* The level of that number; NULL: there is none. It belongs to the shelf. */
struct pl_level *pl_shelf_at(struct pl_shelf *shelf, double number);

/* Whether pl_shelf_find will find it. Otherwise its table has to store its number. */
static inline bool pl_shelf_knows(const struct pl_shelf *shelf, const struct pl_level *level)
{
    return level >= shelf->levels && level < shelf->levels + PL_SHELF_LEVELS;
}

/* The level of a table, found by its address; the table itself may be gone. NULL: there is none. It
 * belongs to the shelf. Searches from the latest. */
static inline struct pl_level *pl_shelf_find(struct pl_shelf *shelf, const void *table)
{
    unsigned i = shelf->level_count < PL_SHELF_LEVELS ? shelf->level_count : PL_SHELF_LEVELS;
    while (i-- > 0) {
        if (shelf->tables[i] == table)
            return &shelf->levels[i];
    }
    return NULL;
}
