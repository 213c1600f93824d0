/* A record's file, read: its streams, each with its entries in their order, and the scripts. What
 * is not as it should be is refused; a file that ends in the middle of a frame, as that of a host
 * that was killed, is read up to there. One thread. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "record/bytes.h"

struct pl_reader_stream {
    uint64_t generation, seed;
    int lane;
    bool whole;             /* it is there from its beginning, and nothing is left out of it */
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
    struct pl_reader_stream *streams; /* at [number] */
    size_t stream_count;
    struct pl_reader_entry *entries;
    size_t entry_count, entry_cap;
    bool cut;     /* the last frame is not whole */
    bool gap;     /* the host left entries out */
    char **texts; /* owned: unpacked chunks */
    size_t text_count;
    size_t bytes; /* unpacked */
};

PL_MUST_USE int pl_reader_open(struct pl_reader *reader, const char *path, struct pl_err *err);
void pl_reader_deinit(struct pl_reader *reader);
/* NULL: there are none. */
const struct pl_reader_scripts *pl_reader_scripts_of(const struct pl_reader *reader,
                                                     uint64_t generation);
/* From the text of a file; what pl_reader_open does. */
PL_MUST_USE int pl_reader_parse(struct pl_reader *reader, struct pl_slice file, struct pl_err *err);
