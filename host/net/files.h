/* Tells when the content of watched files is no longer what it was: inotify on their
 * directories, which survives editors that replace files and the swap of ..data in a
 * ConfigMap volume; a quiet time, so that a burst of changes is one; and a look at the
 * content, so that a mere touch is none. One loop's thread. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "net/loop.h"

struct pl_files;

/* path: one that changed, for the log. May watch, clear and destroy. */
typedef void (*pl_files_fn)(void *arg, const char *path);

struct pl_files_options {
    int64_t quiet_ms; /* told so long after the last event; 0: 100 */
    int64_t cap_ms;   /* but at most so long after the first; 0: 1000 */
};

/* NULL and err when the system has no more inotify instances. options may be NULL. */
struct pl_files *pl_files_create(struct pl_loop *loop, const struct pl_files_options *options,
                                 pl_files_fn on_changed, void *arg, struct pl_err *err);
/* Accepts NULL. */
void pl_files_destroy(struct pl_files *files);

/* One file, which may be missing; its directory must be there. `content` is what is in
 * use: a file that differs already is told like a change. NULL: what is there now. */
int pl_files_watch(struct pl_files *files, const char *path, const struct pl_slice *content,
                   struct pl_err *err);
/* The files of a directory whose names end with suffix, also those that come and go. */
int pl_files_watch_dir(struct pl_files *files, const char *path, const char *suffix,
                       struct pl_err *err);
/* Forgets everything, e.g. before the files of another script generation are watched. */
void pl_files_clear(struct pl_files *files);
