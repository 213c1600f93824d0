/* Reports events on watched files: inotify on their folders, which survives editors that replace
 * files and the swap of ..data in a ConfigMap volume. The caller has to find out what has changed,
 * and whether the content differs: one save may cause several reports. Loop's thread, except for
 * filling a set. */
#pragma once

#include "base/err.h"
#include "net/loop.h"

struct pl_files;

/* path: one file with an event, for the log. The callback may use another set, and destroy. */
typedef void (*pl_files_fn)(void *arg, const char *path);

/* NULL and err when the system has no free inotify instance. */
struct pl_files *pl_files_create(struct pl_loop *loop, pl_files_fn on_event, void *arg,
                                 struct pl_err *err);
/* Accepts NULL. */
void pl_files_destroy(struct pl_files *files);

/* ---- sets of watched files ---- */

/* Files to be watched together. Their folders are watched as soon as they are added, but events are
 * reported only when the set is used; then also the events since its creation. */
struct pl_files_set;

/* The caller owns the set, until pl_files_use takes it. One at a time: it must be used or freed
 * before the next is created. It may outlive `files`; then it can only be freed. */
struct pl_files_set *pl_files_set_create(struct pl_files *files);
/* Any thread, one at a time; may block as long as the file system does. The file may be missing;
 * its folder must exist. */
PL_MUST_USE int pl_files_set_add(struct pl_files_set *set, const char *path, struct pl_err *err);
/* The same for whatever the path names: also where symbolic links lead, the links themselves, and
 * the first missing step when the folder is missing. To keep following the path after an event,
 * fill another set. */
PL_MUST_USE int pl_files_set_add_path(struct pl_files_set *set, const char *path,
                                      struct pl_err *err);
/* The same as pl_files_set_add for all files of a folder whose names end with suffix, also those
 * that appear later. */
PL_MUST_USE int pl_files_set_add_folder(struct pl_files_set *set, const char *path,
                                        const char *suffix, struct pl_err *err);
/* Any thread. Accepts NULL. */
void pl_files_set_free(struct pl_files_set *set);

/* Takes the set and watches it from now on instead of the former one. */
void pl_files_use(struct pl_files *files, struct pl_files_set *set);
