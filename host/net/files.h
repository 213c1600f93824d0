/* Tells when something happens to watched files: inotify on their folders, which survives editors
 * that replace files and the swap of ..data in a ConfigMap volume. What has happened, and whether
 * the content is another one, is for the caller to find out: there may be several tells a save.
 * One loop's thread, but for filling a set. */
#pragma once

#include "base/err.h"
#include "net/loop.h"

struct pl_files;

/* path: one that something happened to, for the log. May use another set, and destroy. */
typedef void (*pl_files_fn)(void *arg, const char *path);

/* NULL and err when the system has no more inotify instances. */
struct pl_files *pl_files_create(struct pl_loop *loop, pl_files_fn on_event, void *arg,
                                 struct pl_err *err);
/* Accepts NULL. */
void pl_files_destroy(struct pl_files *files);

/* ---- what is watched ---- */

/* Files that may be watched together. The folders are watched from when they are added, but nothing
 * is told before the set is used; then also of what happened since it was created. */
struct pl_files_set;

/* One at a time: used or freed before the next. It may outlive `files`, to be freed. */
struct pl_files_set *pl_files_set_create(struct pl_files *files);
/* Any thread, one at a time; may block as long as the file's system does. A file, which may be
 * missing; its folder must be there. */
PL_MUST_USE int pl_files_set_add(struct pl_files_set *set, const char *path, struct pl_err *err);
/* The same: the files of a folder whose names end with suffix, also those that come and go. */
PL_MUST_USE int pl_files_set_add_folder(struct pl_files_set *set, const char *path,
                                        const char *suffix, struct pl_err *err);
/* Any thread. Accepts NULL. */
void pl_files_set_free(struct pl_files_set *set);

/* From now on the set, which it takes, in place of what was watched. */
void pl_files_use(struct pl_files *files, struct pl_files_set *set);
