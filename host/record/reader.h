/* The content of a record file: its streams, each with its entries in order, and the scripts. A
 * malformed file is refused. If the file ends in the middle of a frame because its host was killed,
 * it is read up to there. One thread. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "record/bytes.h"

struct pl_reader_stream {
    uint64_t generation, seed;
    int lane;
    bool whole;             /* the stream is complete from its beginning */
    struct pl_slice *items; /* entries */
    size_t count, cap;
};

struct pl_reader_scripts {
    uint64_t generation;
    char *json; /* owned */
    size_t len;
};

/* One entry in the order of all streams. */
struct pl_reader_entry {
    size_t stream; /* index */
    struct pl_slice text;
};

struct pl_reader {
    char *info; /* owned, JSON */
    bool secrets;
    struct pl_reader_scripts *scripts;
    size_t script_count;
    struct pl_reader_stream *streams; /* indexed by number */
    size_t stream_count;
    struct pl_reader_entry *entries;
    size_t entry_count, entry_cap;
    bool cut;     /* the last frame is incomplete */
    bool gap;     /* the host left entries out */
    char **texts; /* owned: unpacked chunks */
    size_t text_count;
    size_t bytes; /* unpacked */
};

PL_MUST_USE int pl_reader_open(struct pl_reader *reader, const char *path, struct pl_err *err);
void pl_reader_deinit(struct pl_reader *reader);
/* NULL if there are none. Borrowed from the reader. */
const struct pl_reader_scripts *pl_reader_scripts_of(const struct pl_reader *reader,
                                                     uint64_t generation);
/* The same as pl_reader_open, for the text of a file. */
PL_MUST_USE int pl_reader_parse(struct pl_reader *reader, struct pl_slice file, struct pl_err *err);
