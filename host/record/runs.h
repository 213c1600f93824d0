/* The runs of all lanes of a record, each with its calls. Private to host/record. The replay's
 * thread. */
#pragma once

#include "record/reader.h"

struct pl_record_call {
    struct pl_slice call;   /* function, count, arguments */
    struct pl_slice result; /* count, values; ptr NULL: the call raised an error, or the record ends
                               before its result */
    uint64_t task;
    int64_t wall_ns; /* the last wall clock that the run had read before */
    bool used;
};

/* The wall clock that a script has read. */
struct pl_record_time {
    int64_t wall_ns;
    uint64_t task;
    size_t after; /* 1 + index of the task's last call before; 0: none */
    bool used;
};

struct pl_record_run {
    size_t begins;                        /* index of its first entry in the reader's order */
    struct pl_slice controller, texts[4]; /* key, namespace, name, context */
    int attempt;
    size_t causes_dropped;
    int64_t wall_ns;
    int64_t left_ns;              /* until its deadline; 0: it had none */
    struct pl_slice arguments;    /* of a webhook's handler: count, values; ptr NULL: it is none */
    struct pl_record_call *calls; /* owned */
    size_t count, cap;
    struct pl_record_time *times; /* owned */
    size_t time_count, time_cap;
    bool ended, failed;
};

struct pl_record_runs {
    struct pl_record_run **items; /* owned, in the order of their beginnings */
    size_t count, cap;
};

/* Borrows from the reader. */
void pl_record_runs_find(struct pl_record_runs *runs, const struct pl_reader *reader);
void pl_record_runs_deinit(struct pl_record_runs *runs);
