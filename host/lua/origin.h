/* What one generation of scripts is made of: every file that was read, with its text, and who read
 * it; names that were looked for in vain; folders that were listed. All lanes of a generation read
 * through it, also one that is replaced later and files that are read at run time, so that a
 * generation never mixes two states of the disk. And two generations can be compared, also what a
 * single controller or index is made of. Counted; any thread. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "crypto/sha256.h"

#include <stdbool.h>

struct pl_origin;

struct pl_origin *pl_origin_create(void);
struct pl_origin *pl_origin_ref(struct pl_origin *origin);
void pl_origin_unref(struct pl_origin *origin);

/* ---- while scripts load and run ---- */

/* Appends the file's text, from the disk when it is read for the first time. reader: the script
 * that wants it; NULL: the host. *is_new (may be NULL): it was. */
PL_MUST_USE int pl_origin_read(struct pl_origin *origin, const char *reader, const char *path,
                               struct pl_buf *out, bool *is_new, struct pl_err *err);
/* Is there such a file? No is remembered too. */
bool pl_origin_is_file(struct pl_origin *origin, const char *reader, const char *path);
/* The scripts of a PATH as pl_script_find finds them. */
char **pl_origin_find(struct pl_origin *origin, const char *path, struct pl_err *err);
/* A file that everything depends on (--config), which somebody else has read. */
void pl_origin_add_common(struct pl_origin *origin, const char *path, struct pl_slice text);
/* unit ("controller x", "index v1/Pod x") is declared in this script. */
void pl_origin_add_unit(struct pl_origin *origin, const char *unit, const char *path);

/* Loading is over: what is read from now on is read at run time. */
void pl_origin_seal(struct pl_origin *origin);

/* ---- comparing ---- */

/* Is the disk still what was read? Of each file its folder's entry is compared (size, times,
 * inode), and the text where that is not enough. May block as long as the disk does. If not, *path
 * (may be NULL) names one thing that is not, which the caller frees. */
bool pl_origin_is_current(struct pl_origin *origin, char **path);
/* Files that `before` read at run time are read again for `now`, for scripts that both have. */
void pl_origin_carry_over(struct pl_origin *now, struct pl_origin *before);
/* Does the unit's script, something that it read, or something common differ? */
bool pl_origin_unit_changed(struct pl_origin *before, struct pl_origin *now, const char *unit);
/* Of everything that the unit is made of; "" when there is no such unit. */
void pl_origin_unit_digest(struct pl_origin *origin, const char *unit,
                           char out[2 * PL_SHA256_BYTES + 1]);
/* Of everything. */
void pl_origin_digest(struct pl_origin *origin, char out[2 * PL_SHA256_BYTES + 1]);

/* Visits files, names that were looked for, and folders, for watching them. */
void pl_origin_each(struct pl_origin *origin,
                    void (*visit)(void *arg, const char *path, bool is_folder), void *arg);
/* How many there are. */
size_t pl_origin_count(struct pl_origin *origin);
