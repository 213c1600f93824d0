/* One operation that the I/O thread does while a task of a script waits. Private to host/lane.
 *
 * A binding fills an operation on the lane and hands it to pl_co_wait. The I/O thread works on it
 * (op_io.c) and posts it back. The lane pushes its results and resumes the task. It is completed
 * exactly once, also when cancelled. */
#pragma once

#include "base/err.h"
#include "base/timer.h"
#include "cluster/cluster.h"
#include "lua/state.h"
#include "net/http.h"
#include "net/mailbox.h"
#include "sync/informer.h"
#include "sync/read.h"
#include "write/gate.h"

#include <stdatomic.h>

struct pl_cache;
struct pl_exec;

enum pl_lop_type {
    PL_LOP_READ,  /* get or list from the server */
    PL_LOP_WRITE, /* through the gate */
    PL_LOP_SYNC,  /* until a cache has synced */
    PL_LOP_KEY,   /* until an object of a cache changes */
    PL_LOP_SLEEP,
    PL_LOP_ENQUEUE,
    PL_LOP_SELECT, /* set the kinds that a source follows */
    PL_LOP_HTTP,
    PL_LOP_SAY, /* send to the dialog and get its answer */
};

#define PL_LOP_TEXTS 18

struct pl_lop {
    struct pl_msg msg;    /* to the I/O thread and back */
    struct pl_msg cancel; /* at most once, to the I/O thread */
    atomic_int refs;      /* of the task, and of the cancel message while it travels */
    enum pl_lop_type type;
    struct pl_lane *lane; /* back-pointer */
    struct pl_co *task;   /* owned by the lane; NULL: no task waits any more */
    struct pl_exec *exec; /* of the task; with a reference */
    bool cancel_sent;     /* owned by the lane */
    bool woken; /* owned by the lane: it was cancelled to return early, which is no error */
    int64_t deadline_ns;       /* monotonic, shortly after the run's; 0: none */
    char *texts[PL_LOP_TEXTS]; /* owned: texts of the slices below */
    size_t text_count;
    struct pl_secrets hidden; /* owned: values of Secrets in its key or URL */
    struct pl_slice cluster;  /* ptr NULL: the host's own */
    const char *verb, *kind;  /* for errors: literal; text below */
    const char *called;       /* the client's function, for errors: text below; NULL: the verb */
    struct pl_slice key;      /* for errors */
    struct pl_cache *cache;   /* SYNC and KEY: borrowed */
    int controller;           /* index of the caller's declaration */
    union {
        struct pl_read read;
        struct pl_write write; /* documents counted */
        struct {
            struct pl_slice controller, key;
            int priority;
            bool is_channel; /* `controller` is a channel's name */
        } enqueue;
        struct {
            struct pl_slice controller;
            size_t source;
            struct pl_slice kinds;   /* one a line */
            struct pl_slice unknown; /* groups and versions that could not be asked, one a line */
        } select;
        struct {
            struct pl_slice method, url, body, ca, cert, server_name, key;
            struct pl_http_header *headers; /* owned array, texts in `blob` */
            size_t header_count;
            struct pl_buf blob; /* name\0value\0... */
            bool insecure;
            int64_t timeout_ms;
            size_t max_response;
        } http;
        struct pl_slice watch_key; /* KEY */
        uint64_t place;            /* SLEEP: of its call in the script */
        struct {
            struct pl_slice text;
            bool failed;
        } say;
    } in;
    int64_t delay_ns; /* SLEEP, ENQUEUE, KEY, SYNC: duration */

    struct { /* written by the I/O thread before it is posted back */
        struct pl_err err;
        struct pl_doc *doc; /* counted; a Status on failure */
        struct pl_docs items;
        bool skipped, gone, flag;
        bool is_text;           /* READ: the answer is `body` */
        int status;             /* HTTP; of a command its exit code, with `flag` */
        struct pl_buf blob;     /* HTTP: headers as name\0value\0; of a command its stderr */
        struct pl_buf body;     /* of a command its stdout */
        struct pl_buf warnings; /* READ, WRITE: text\0 each */
    } out;

    struct {                 /* used only by the I/O thread */
        struct pl_link link; /* lane->io.ops */
        bool done, canceled;
        int64_t started_ns;
        void *work; /* pl_read_op, pl_gate_op, pl_http_call */
        struct pl_timer timer;
        bool timed;
        struct pl_sync_wait sync;
        struct pl_key_watch watch;
        struct pl_index_wait indexed;
        struct pl_tls_options tls;
        char *url;
    } io;

    /* Lane: pushes the results of success and returns their number; s->task is the waiting task. */
    int (*push)(lua_State *L, struct pl_state *s, struct pl_lop *op);
    bool missing_is_nil;       /* a read of a missing object succeeds without a document */
    unsigned push_flags;       /* PL_OBJECT_* for the pushed object */
    struct pl_slice owner_uid; /* lists: keep only objects that this uid controls; ptr NULL: all */
    bool each;                 /* lists: the caller wants the batch itself */
    int options;               /* registry reference for push; LUA_NOREF: none */
};

/* The caller owns the first reference, until pl_co_wait takes it. */
struct pl_lop *pl_lop_create(enum pl_lop_type type);
void pl_lop_unref(struct pl_lop *op);
/* A copy that lives as long as the operation. ptr NULL stays NULL. */
struct pl_slice pl_lop_text(struct pl_lop *op, struct pl_slice text);
/* Sets its key: "namespace/name", or "name". */
void pl_lop_set_key(struct pl_lop *op, struct pl_slice ns, struct pl_slice name);

/* ---- the I/O thread ---- */

/* Begins the operation. An operation of an abandoned lane does nothing. */
void pl_lop_start_io(struct pl_lop *op);
/* Takes the cancel message's reference. */
void pl_lop_cancel_io(struct pl_lop *op);
/* Its lane was abandoned: it ends without a report. */
void pl_lop_abandon_io(struct pl_lop *op);
