/* A record of the work of a host's scripts, written to a file while they run. Any thread may add
 * entries. A separate thread compresses and writes, so that no other thread waits for a disk. The
 * file holds whole minutes; the oldest ones are dropped when it would exceed its limit. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_record;

#define PL_RECORD_MAGIC "perilune record 1\n"

struct pl_record_options {
    const char *path; /* NULL: nothing is recorded */
    size_t max;       /* bytes of the file; at least PL_RECORD_LEAST */
    bool secrets;     /* record the values of Secrets, not pseudonyms */
    const char *version;
};
#define PL_RECORD_LEAST ((size_t)1 << 20)

/* Creates the file and starts the thread. NULL without a path, or with err if that fails. The
 * caller owns the record. */
struct pl_record *pl_record_create(const struct pl_record_options *options, struct pl_err *err);
/* Writes the rest and frees the record. Nothing may be added any more. Accepts NULL. */
void pl_record_destroy(struct pl_record *record);

/* ---- what tapes add; any thread ---- */

/* Begins a stream of entries. text: JSON that describes it. Returns its number, from 1. */
uint64_t pl_record_stream(struct pl_record *record, struct pl_slice text);
/* Adds the files of a generation of scripts as JSON, once. */
void pl_record_scripts(struct pl_record *record, uint64_t generation, struct pl_slice text);
/* Adds an entry, which is copied. Its first byte is its type; see record/tape.c. */
void pl_record_add(struct pl_record *record, uint64_t stream, struct pl_slice entry);
/* Key of pseudonyms: PL_VEIL_KEY bytes of the record; NULL: values are shown. */
const unsigned char *pl_record_key(const struct pl_record *record);
