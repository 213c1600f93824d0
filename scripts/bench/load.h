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
    struct pl_list watches[LOAD_KINDS]; /* struct load_stream that have had their beginning */
    uint64_t rv;                        /* the newest of all kinds */
    struct load_record record;
    struct load_emitter *emitter; /* owned */
    /* How it behaves; /settings of the control port. */
    bool echo;          /* a write comes back as a watch event, as from a real server */
    bool whole_at_zero; /* a limit is not heeded at resourceVersion=0, as with a watch cache */
    bool watch_list;    /* sendInitialEvents is understood */
};

/* ---- load_api.c: what clients see ---- */
extern const struct pl_server_ops load_api_ops; /* arg: struct load */

/* ---- load_control.c: what the benchmark sees ---- */
extern const struct pl_server_ops load_control_ops; /* arg: struct load */

/* ---- load_discovery.c ---- */
/* True when the path was one of discovery and has been answered. */
bool load_discovery(struct load *load, struct pl_exchange *exchange, size_t request);

/* ---- load_stream.c: lists and watches ---- */
struct load_stream;
enum load_form { LOAD_JSON, LOAD_PARTIAL /* PartialObjectMetadata */, LOAD_PROTOBUF };
void load_list(struct load *load, enum load_kind_id id, struct pl_exchange *exchange,
               size_t request, enum load_form form);
void load_watch(struct load *load, enum load_kind_id id, struct pl_exchange *exchange,
                size_t request, enum load_form form);
/* Appends the event to what every watcher of the kind is about to get. */
void load_watch_add(struct load *load, enum load_kind_id id, const char *type,
                    const struct load_object *object);
/* Sends it. */
void load_watch_flush(struct load *load, enum load_kind_id id);
/* What the slowest watcher has not taken yet, in bytes; -1 when nobody watches. */
int64_t load_watch_unread(const struct load *load, enum load_kind_id id);
/* Calls `then` once, later, when a watcher who is behind has taken everything. False: none is. */
bool load_watch_on_drained(struct load *load, enum load_kind_id id, void (*then)(struct load *));

/* Gives the object another version, and the kind. */
void load_touch(struct load *load, enum load_kind_id id, struct load_object *object);

/* ---- load_emit.c: updates and deletions by the server itself ---- */
struct load_emission {
    enum load_kind_id kind;
    bool deletes;
    uint32_t count;
    uint32_t rate;        /* a second; 0: as fast as the watchers take it */
    bool sentinel;        /* the last update has LOAD_SENTINEL for its revision */
    uint32_t most_unread; /* bytes that stop the stream for a while; 0: never (with a rate) */
};
struct load_emitter *load_emitter_create(struct load *load);
void load_emitter_destroy(struct load_emitter *emitter);
/* False when one is under way or nobody watches. */
bool load_emitter_start(struct load_emitter *emitter, const struct load_emission *emission);
void load_emitter_stop(struct load_emitter *emitter);
/* A client wrote `seen` to an object of the kind at `now_ns`. */
void load_emitter_answered(struct load_emitter *emitter, enum load_kind_id kind, uint64_t seen,
                           int64_t now_ns);
/* Its state as members of a JSON object; with each latency in ns if wanted. */
void load_emitter_report(const struct load_emitter *emitter, struct pl_buf *out, bool latencies);
