/* The inside of reading, shared by read.c, read_list.c and read_check.c, and by nobody else. Lane's
 * thread. Functions that check raise an error of the script. */
#pragma once

#include "bind/bind.h"
#include "lane/cache.h"
#include "lane/effects.h"
#include "lua/lazy.h"
#include "write/capture.h"

/* ---- arguments ---- */

/* The kind at index. */
void pl_reading_kind(lua_State *L, struct pl_state *s, int index, struct pl_kind *kind);
/* Borrowed, lives as long as the state. Raises where there is no cluster to read from. */
struct pl_lanes *pl_reading_lanes(lua_State *L, struct pl_state *s);
/* The running controller, or the one whose event is being evaluated. */
int pl_reading_controller(const struct pl_state *s);
/* pl_lazy_push's flags for objects of the kind. */
unsigned pl_reading_flags(const struct pl_kind *kind, bool partial);

/* ---- operations; kind is the index of the kind's text ---- */

/* The caller owns the first reference, until pl_co_wait takes it. */
struct pl_lop *pl_reading_op(lua_State *L, struct pl_state *s, enum pl_lop_type type,
                             const char *verb, int kind);
/* Waits until the cache has synced, and returns "again". */
int pl_reading_wait_for_sync(lua_State *L, struct pl_state *s, struct pl_cache *cache, int kind);
/* Waits a while for the index, which is being built after a reload, and returns "again". */
int pl_reading_wait_for_index(lua_State *L, struct pl_state *s, struct pl_cache *cache,
                              const char *stored);

/* ---- what a read must not ask for ---- */

/* limited: pl_cache_choose's cache. */
int pl_reading_raise_outside(lua_State *L, struct pl_state *s, const struct pl_cache *limited,
                             struct pl_slice ns);
void pl_reading_check_shard(lua_State *L, struct pl_state *s, const struct pl_cache *cache,
                            struct pl_slice ns);
void pl_reading_check_scope(lua_State *L, struct pl_state *s, struct pl_cache *cache,
                            const char *called, struct pl_slice ns, struct pl_slice name);

/* ---- shadows ---- */

/* The objects that a shadow's run sees instead of those of the cache; NULL: this is no such run. */
struct pl_capture *pl_reading_view(const struct pl_state *s);
/* Whether a shadow follows this run. */
bool pl_reading_is_followed(const struct pl_state *s);
/* Tells the shadow that follows this run what it found; doc NULL: nothing. */
void pl_reading_tell(const struct pl_state *s, const struct pl_cache *cache,
                     const struct pl_kind *kind, struct pl_slice key, struct pl_doc *doc);

/* ---- read_list.c ---- */

/* (kind, options): list, or the batch of each. */
int pl_reading_list(lua_State *L, bool each);
