/* The data folder of the API server: one SQLite database in WAL mode. It knows texts and versions,
 * not kinds. One thread. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_api_disk;

/* One object, or one event of the history (with its kind of change and perhaps the old object). */
struct pl_api_disk_row {
    uint64_t rv;
    int change; /* enum pl_api_change; of objects 0 */
    struct pl_slice group, plural, key;
    struct pl_slice text, old; /* documents as JSON; old is empty for an addition */
};

/* Opens the database. Makes the folder (mode 0700) and the database (0600) if they are missing.
 * NULL and err if that fails, if another process has it open, or if a newer version has written it.
 * The caller owns the result and closes it. */
struct pl_api_disk *pl_api_disk_open(const char *folder, struct pl_err *err);
/* Accepts NULL. */
void pl_api_disk_close(struct pl_api_disk *disk);

/* Calls on_row for each object, those of `first` (a plural) before all others, and then for each
 * event, oldest first. Rows are borrowed for the call. If on_row returns a value other than 0,
 * reading stops and fails with that value. */
struct pl_api_disk_reader {
    int (*on_object)(void *arg, const struct pl_api_disk_row *row, struct pl_err *err);
    int (*on_event)(void *arg, const struct pl_api_disk_row *row, struct pl_err *err);
};
PL_MUST_USE int pl_api_disk_read(struct pl_api_disk *disk, const char *first,
                                 const struct pl_api_disk_reader *reader, void *arg,
                                 struct pl_err *err);
/* The last version that was written; 0 if nothing was written. */
uint64_t pl_api_disk_version(const struct pl_api_disk *disk);

/* Writes one change: the object becomes row->text or is deleted (is_deletion), and the history gets
 * one event. After it returns, a crash of this process does not lose the change. A failure is kept.
 */
void pl_api_disk_write(struct pl_api_disk *disk, const struct pl_api_disk_row *row,
                       bool is_deletion);
/* Deletes the events of a kind that is gone: a new kind of the same name must not see them. */
void pl_api_disk_forget_events(struct pl_api_disk *disk, struct pl_slice group,
                               struct pl_slice plural);
/* Deletes the whole history. */
void pl_api_disk_compact(struct pl_api_disk *disk, uint64_t version);
/* Why a write failed; NULL if none failed. After a failure nothing is written any more. Borrowed:
 * lives as long as the disk. */
const char *pl_api_disk_failure(const struct pl_api_disk *disk);

/* A small value that is stored beside the objects. False if there is none of that name and size. */
bool pl_api_disk_get(struct pl_api_disk *disk, const char *name, void *out, size_t size);
void pl_api_disk_put(struct pl_api_disk *disk, const char *name, const void *value, size_t size);
