/* Who wrote which fields: metadata.managedFields. */
#pragma once

#include "schema/fieldset.h"
#include "schema/status.h"

/* One write. */
struct pl_api_writer {
    struct pl_arena *arena;
    struct pl_slice manager, api_version, subresource; /* subresource: "" or "status" */
    struct pl_tree *now;                               /* the time as a string */
    const struct pl_schema *schema;
    bool owns_status;         /* false: writes to the main resource do not change status */
    bool status_has_meta;     /* writes to the status may change metadata such as labels */
    bool makes_status;        /* a new object may come with a status */
    const char *seen_version; /* of conflicts; NULL: that of each entry */
    bool is_silent;           /* takes fields without an entry of its own (scale) */
    const struct pl_api_other_form
        *other; /* NULL: the objects have the same form in all versions */
};

/* An update in the form of the other version of its kind. Managers whose entries have that version
 * lose the fields that differ in it. All borrowed. */
struct pl_api_other_form {
    struct pl_slice api_version;
    const struct pl_schema *schema;
    const struct pl_tree *live, *object;
};

/* The initial managedFields entries: those in `sent` if present, none if they were reset ([] or
 * [{}]), else those of the live object. The sent entries count only if all of them are well-formed.
 */
struct pl_tree *pl_api_managed_base(struct pl_arena *arena, const struct pl_tree *live,
                                    const struct pl_tree *sent);

/* Records an update from `live` to `object`. Returns the new entries (NULL: none). */
struct pl_tree *pl_api_managed_update(const struct pl_api_writer *writer,
                                      const struct pl_tree *entries, const struct pl_tree *live,
                                      const struct pl_tree *object);

/* Server-side apply: merges `config` into live (NULL: a new object), removes fields that the
 * manager no longer states, and returns the object with its new managedFields. Without force,
 * conflicts give NULL and 409. Removes from config the fields that it may not set. */
struct pl_tree *pl_api_managed_apply(const struct pl_api_writer *writer, const struct pl_tree *live,
                                     struct pl_tree *config, bool force,
                                     struct pl_api_status *status);

/* The configuration merged into the live object by the schema's rules: nothing is removed, and
 * nobody owns anything. */
struct pl_tree *pl_api_managed_merge(struct pl_arena *arena, const struct pl_tree *live,
                                     const struct pl_tree *config, const struct pl_schema *schema);

/* True if they differ only in times. */
bool pl_api_managed_same(const struct pl_tree *a, const struct pl_tree *b);

/* ---- for apply.c ---- */

/* A copy of the object without fields that nobody owns, and without fields that this writer may not
 * write. */
struct pl_tree *pl_api_managed_strip(const struct pl_api_writer *writer,
                                     const struct pl_tree *object);
/* The manager's own entry for that operation; NULL if there is none. */
struct pl_tree *pl_api_managed_find(const struct pl_api_writer *writer,
                                    const struct pl_tree *entries, const char *operation);
/* A new entry in the writer's arena. It takes `fields`, which are sorted in place. */
struct pl_tree *pl_api_managed_entry(const struct pl_api_writer *writer, const char *operation,
                                     struct pl_tree *fields, bool with_time);
/* A new array of the same entries, in the order of storage; NULL if there are none. */
struct pl_tree *pl_api_managed_sorted(struct pl_arena *arena, struct pl_tree *entries);
