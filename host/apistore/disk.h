/* A folder that keeps what the API server stores: one SQLite database in WAL mode. Knows texts and
 * versions, no kinds. One thread. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_api_disk;

/* One object, or one event of the history (which has a change and perhaps what was before). */
struct pl_api_disk_row {
    uint64_t rv;
    int change; /* enum pl_api_change; of objects 0 */
    struct pl_slice group, plural, key;
    struct pl_slice text, old; /* documents as JSON; old is empty for an addition */
};

/* Makes the folder (mode 0700) and the database (0600) where they are missing. NULL and err when
 * that fails, when another process has it open, or when it was written by a newer version. */
struct pl_api_disk *pl_api_disk_open(const char *folder, struct pl_err *err);
/* Accepts NULL. */
void pl_api_disk_close(struct pl_api_disk *disk);

/* on_row is called for each object, those of `first` (a plural) before all others, and then for
 * each event, oldest first. Rows are borrowed for the call. It stops and fails with what on_row
 * returns when that is not 0. */
struct pl_api_disk_reader {
    int (*on_object)(void *arg, const struct pl_api_disk_row *row, struct pl_err *err);
    int (*on_event)(void *arg, const struct pl_api_disk_row *row, struct pl_err *err);
};
PL_MUST_USE int pl_api_disk_read(struct pl_api_disk *disk, const char *first,
                                 const struct pl_api_disk_reader *reader, void *arg,
                                 struct pl_err *err);
/* The last version that was written; 0 when nothing was. */
uint64_t pl_api_disk_version(const struct pl_api_disk *disk);

/* Writes one change: the object becomes row->text, or goes (is_deletion), and the history has one
 * event more. When it returns, a crash of this process loses nothing of it. A failure is kept. */
void pl_api_disk_write(struct pl_api_disk *disk, const struct pl_api_disk_row *row,
                       bool is_deletion);
/* Events of a kind that is gone are no news for one of the same name. */
void pl_api_disk_forget_events(struct pl_api_disk *disk, struct pl_slice group,
                               struct pl_slice plural);
/* Forgets the whole history. */
void pl_api_disk_compact(struct pl_api_disk *disk, uint64_t version);
/* Why a write failed; NULL when none did. After a failure nothing is written any more. */
const char *pl_api_disk_failure(const struct pl_api_disk *disk);

/* A small value that is kept beside the objects; false when there is none of that size. */
bool pl_api_disk_get(struct pl_api_disk *disk, const char *name, void *out, size_t size);
void pl_api_disk_put(struct pl_api_disk *disk, const char *name, const void *value, size_t size);
