/* A record of what a host's scripts did, as a file that is written while they do it. Any thread
 * adds; a thread of its own compresses and writes, so that nobody waits for a disk. The file holds
 * whole minutes, the oldest of which go when it would become larger than it may. */
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
    bool secrets;     /* values of Secrets are in it as they are */
    const char *version;
};
#define PL_RECORD_LEAST ((size_t)1 << 20)

/* The file is made anew, and its thread begins. NULL: without a path, or with err when it can't be.
 */
struct pl_record *pl_record_create(const struct pl_record_options *options, struct pl_err *err);
/* Writes the rest. Accepts NULL. Nothing may be added any more. */
void pl_record_destroy(struct pl_record *record);

/* ---- what tapes add; any thread ---- */

/* A new stream of entries; text: JSON that says of what. Returns its number, from 1. */
uint64_t pl_record_stream(struct pl_record *record, struct pl_slice text);
/* What a generation of scripts is made of, as JSON, once. */
void pl_record_scripts(struct pl_record *record, uint64_t generation, struct pl_slice text);
/* entry: its first byte says what it is; see record/tape.c. Copied. */
void pl_record_add(struct pl_record *record, uint64_t stream, struct pl_slice entry);
/* Key of pseudonyms: PL_VEIL_KEY bytes; NULL: values are shown. */
const unsigned char *pl_record_key(const struct pl_record *record);
