/* Every request, with the times of its arrival and of its complete answer. */
#pragma once

#include "net/http_server.h"

#include <stdint.h>

struct load_request {
    int64_t came_ns, answered_ns; /* monotonic; answered 0: not yet, or cut */
    uint64_t bytes;               /* of the answer's body */
    int status;
    const char *method; /* static */
    char *target;       /* owned; path and query */
};

struct load_record {
    struct load_request *requests; /* owned */
    size_t count, cap;
    size_t dropped; /* beyond LOAD_RECORD_MAX */
    /* Of all of them, also the dropped ones. */
    uint64_t reads, writes, bytes;
    int64_t first_ns; /* when the first one came */
};

enum { LOAD_RECORD_MAX = 1 << 20 };
#define LOAD_NO_RECORD SIZE_MAX

void load_record_clear(struct load_record *record);
size_t load_record_begin(struct load_record *record, const struct pl_exchange *exchange,
                         int64_t now_ns);
/* Sets the number of bytes sent so far, for an answer that is still being sent. */
void load_record_sent(struct load_record *record, size_t request, uint64_t bytes);
void load_record_end(struct load_record *record, size_t request, int status, int64_t now_ns);
/* A JSON object; with every request in `requests` if wanted. */
void load_record_report(const struct load_record *record, struct pl_buf *out, bool each);
