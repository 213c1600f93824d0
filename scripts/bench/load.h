/* The load server: an API server for measuring clients. Lists, watches and discovery come from
 * memory. A control port starts streams of updates and returns what was recorded. Everything runs
 * on one loop's thread, except the emitter's alarm (load_emit.c). */
#pragma once

#include "load_data.h"
#include "load_record.h"

#include "base/list.h"
#include "net/http_server.h"

struct load_emitter;

struct load {
    struct pl_loop *loop; /* borrowed */
    struct load_kind kinds[LOAD_KINDS];
    struct pl_list watches[LOAD_KINDS]; /* struct load_stream whose initial events are sent */
    uint64_t rv;                        /* the newest of all kinds */
    struct load_record record;
    struct load_emitter *emitter; /* owned */
    /* How it behaves; /settings of the control port. */
    bool echo;          /* a write comes back as a watch event, as from a real server */
    bool whole_at_zero; /* a limit is ignored at resourceVersion=0, as with a watch cache */
    bool watch_list;    /* sendInitialEvents is supported */
};

/* ---- load_api.c: the API for clients ---- */
extern const struct pl_server_ops load_api_ops; /* arg: struct load */

/* ---- load_control.c: the control port ---- */
extern const struct pl_server_ops load_control_ops; /* arg: struct load */

/* ---- load_discovery.c ---- */
/* Returns true if the path is one of discovery; it is answered then. */
bool load_discovery(struct load *load, struct pl_exchange *exchange, size_t request);

/* ---- load_stream.c: lists and watches ---- */
struct load_stream;
enum load_form { LOAD_JSON, LOAD_PARTIAL /* PartialObjectMetadata */, LOAD_PROTOBUF };
void load_list(struct load *load, enum load_kind_id id, struct pl_exchange *exchange,
               size_t request, enum load_form form);
void load_watch(struct load *load, enum load_kind_id id, struct pl_exchange *exchange,
                size_t request, enum load_form form);
/* Appends the event to the buffer of every watcher of the kind. */
void load_watch_add(struct load *load, enum load_kind_id id, const char *type,
                    const struct load_object *object);
/* Sends these buffers. */
void load_watch_flush(struct load *load, enum load_kind_id id);
/* The unread bytes of the slowest watcher; -1 without a watcher. */
int64_t load_watch_unread(const struct load *load, enum load_kind_id id);
/* Calls `then` once, later, when a watcher that is behind has read everything. Returns false if
 * none is behind. */
bool load_watch_on_drained(struct load *load, enum load_kind_id id, void (*then)(struct load *));

/* Gives the object and its kind a new version. */
void load_touch(struct load *load, enum load_kind_id id, struct load_object *object);

/* ---- load_emit.c: updates and deletions by the server itself ---- */
struct load_emission {
    enum load_kind_id kind;
    bool deletes;
    uint32_t count;
    uint32_t rate;        /* a second; 0: as fast as the watchers read */
    bool sentinel;        /* the last update has LOAD_SENTINEL for its revision */
    uint32_t most_unread; /* unread bytes that pause the stream; 0: never (with a rate) */
};
struct load_emitter *load_emitter_create(struct load *load);
void load_emitter_destroy(struct load_emitter *emitter);
/* Returns false if an emission is under way or nobody watches. */
bool load_emitter_start(struct load_emitter *emitter, const struct load_emission *emission);
void load_emitter_stop(struct load_emitter *emitter);
/* A client wrote `seen` to an object of the kind at `now_ns`. */
void load_emitter_answered(struct load_emitter *emitter, enum load_kind_id kind, uint64_t seen,
                           int64_t now_ns);
/* Its state as members of a JSON object; with each latency in ns if wanted. */
void load_emitter_report(const struct load_emitter *emitter, struct pl_buf *out, bool latencies);
