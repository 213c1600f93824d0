/* All files of one generation of scripts: every file that was read, with its text and its readers;
 * names that were not found; folders that were listed. All lanes of a generation read through it,
 * including replacement lanes and reads at run time, so that a generation never mixes two states of
 * the disk. Two generations can be compared, as a whole or for a single controller or index.
 * Counted; any thread. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "crypto/sha256.h"

#include <stdbool.h>

struct pl_origin;

/* The caller owns the first reference. */
struct pl_origin *pl_origin_create(void);
/* Takes a reference; returns origin, for chaining. */
struct pl_origin *pl_origin_ref(struct pl_origin *origin);
void pl_origin_unref(struct pl_origin *origin);

/* ---- while scripts load and run ---- */

/* Appends the file's text, which is read from the disk the first time. reader: the script that
 * reads it; NULL: the host. *is_new (may be NULL): it was the first time. */
PL_MUST_USE int pl_origin_read(struct pl_origin *origin, const char *reader, const char *path,
                               struct pl_buf *out, bool *is_new, struct pl_err *err);
/* Whether the file exists. A negative answer is remembered too. */
bool pl_origin_is_file(struct pl_origin *origin, const char *reader, const char *path);
/* The scripts of a PATH, by the rules of pl_script_find. The caller frees them with pl_texts_free.
 * NULL and err if that fails. */
char **pl_origin_find(struct pl_origin *origin, const char *path, struct pl_err *err);
/* A file that affects everything (--config) and was read elsewhere. */
void pl_origin_add_common(struct pl_origin *origin, const char *path, struct pl_slice text);
/* Facts about the disk that the caller knows already: there is no such file; a PATH has these
 * scripts (NULL-terminated). Call it, as pl_origin_add_common, before anything is read. */
void pl_origin_add_missing(struct pl_origin *origin, const char *path);
void pl_origin_add_scripts(struct pl_origin *origin, const char *path, char *const *files);
/* Declares that unit ("controller x", "index v1/Pod x") is in this script. */
void pl_origin_add_unit(struct pl_origin *origin, const char *unit, const char *path);

/* Loading has finished: later reads are reads at run time. */
void pl_origin_seal(struct pl_origin *origin);

/* ---- comparing ---- */

/* Whether the disk still has what was read. It compares each file's folder entry (size, times,
 * inode), and the text if that is not conclusive. May block as long as the disk does. If not, *path
 * (may be NULL) names one difference; the caller frees it. */
bool pl_origin_is_current(struct pl_origin *origin, char **path);
/* Reads files again for `now` that `before` read at run time, for scripts that both have. */
void pl_origin_carry_over(struct pl_origin *now, struct pl_origin *before);
/* True when the unit's script, a file that it read, or a common file differs. */
bool pl_origin_unit_changed(struct pl_origin *before, struct pl_origin *now, const char *unit);
/* Digest of all files of the unit; "" when there is no such unit. */
void pl_origin_unit_digest(struct pl_origin *origin, const char *unit,
                           char out[2 * PL_SHA256_BYTES + 1]);
/* Digest of all files. */
void pl_origin_digest(struct pl_origin *origin, char out[2 * PL_SHA256_BYTES + 1]);

/* Visits files, names that were not found, and folders, for watching them. */
void pl_origin_each(struct pl_origin *origin,
                    void (*visit)(void *arg, const char *path, bool is_folder), void *arg);
