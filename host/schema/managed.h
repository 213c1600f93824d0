/* Who wrote which fields: metadata.managedFields. */
#pragma once

#include "schema/fieldset.h"
#include "schema/status.h"

/* One write, for the record. */
struct pl_api_writer {
    struct pl_arena *arena;
    struct pl_slice manager, api_version, subresource; /* subresource: "" or "status" */
    struct pl_tree *now;                               /* the time as a string */
    const struct pl_schema *schema;
    bool owns_status;     /* writes to the main resource leave status alone (false), or not */
    bool status_has_meta; /* writes to the status may change labels and the like */
    bool is_silent;       /* takes fields from others without being named: scaling a custom kind */
};

/* The managedFields entries to start from: those sent in `sent` if any, none when they
 * were reset ([] or [{}]), else those of the live object. */
struct pl_tree *pl_api_managed_base(struct pl_arena *arena, const struct pl_tree *live,
                                    const struct pl_tree *sent);

/* Records that live became object by an update. Returns the new entries (NULL: none). */
struct pl_tree *pl_api_managed_update(const struct pl_api_writer *writer,
                                      const struct pl_tree *entries, const struct pl_tree *live,
                                      const struct pl_tree *object);

/* Server-side apply: merges `config` into live (NULL: there is none), removes what the
 * manager no longer states, and returns the object with its new managedFields. NULL and
 * 409 with the conflicts unless force. config loses what it may not set. */
struct pl_tree *pl_api_managed_apply(const struct pl_api_writer *writer, const struct pl_tree *live,
                                     struct pl_tree *config, bool force,
                                     struct pl_api_status *status);

/* Equal but for the times? */
bool pl_api_managed_same(const struct pl_tree *a, const struct pl_tree *b);

/* ---- for apply.c ---- */

/* A copy of the object without what nobody owns, and without what this writer may not write. */
struct pl_tree *pl_api_managed_strip(const struct pl_api_writer *writer,
                                     const struct pl_tree *object);
/* The manager's own entry for that operation; NULL when there is none. */
struct pl_tree *pl_api_managed_find(const struct pl_api_writer *writer,
                                    const struct pl_tree *entries, const char *operation);
struct pl_tree *pl_api_managed_entry(const struct pl_api_writer *writer, const char *operation,
                                     struct pl_tree *fields, bool with_time);
/* In the order in which they are kept; NULL when empty. */
struct pl_tree *pl_api_managed_sorted(struct pl_arena *arena, struct pl_tree *entries);
