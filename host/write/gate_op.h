/* One write in the gate. Private to the gate_*.c files. */
#pragma once

#include "base/map.h"
#include "shard/shards.h"
#include "write/gate.h"
#include "sync/informers.h"
#include "write/noop.h"
#include "sync/site.h"

struct pl_gate {
    struct pl_site *site;           /* borrowed for life */
    struct pl_informers *informers; /* borrowed for life */
    const void *cluster;            /* the cluster in its sources' specs; NULL: the host's own */
    struct pl_gate *parent;         /* borrowed for life; NULL: none */
    struct pl_list children;        /* gates that have this one as parent: their back-pointers */
    struct pl_link sibling;         /* in the parent's children */
    bool dry_run;
    bool closed;
    char *rule, *message;             /* owned; the reason for being closed */
    const struct pl_fence *fence;     /* borrowed; NULL: this replica may make every write */
    struct pl_shards_follower shards; /* without a parent */
    struct pl_list ops;               /* not finished yet */
    struct pl_applied *applied;
    struct pl_map
        said; /* undeclared writes that were logged; the values point to the gate itself */
    struct pl_gate_stats stats;
    uint64_t made_up;          /* counter for uids and versions of objects that only shadows see */
    struct pl_series *skipped; /* NULL: no metrics */
};

enum pl_gate_stage {
    PL_GATE_RESOLVING, /* finding the resource */
    PL_GATE_LOOKING,   /* reading the object that the owner takes over, or the owner */
    PL_GATE_SENDING,
    PL_GATE_REFRESHING, /* reading the object after a subresource's write */
    PL_GATE_EXPLAINING, /* finding the operation of a JSON patch that does not fit */
    PL_GATE_FINISHING,  /* decided; the caller is told a little later */
};

struct pl_gate_op {
    struct pl_link link; /* in the gate's ops */
    struct pl_gate *gate;
    struct pl_write w; /* documents are counted, texts are in `texts` */
    char *texts[13];   /* owned */
    char *key;         /* owned: "ns/name" */
    pl_written_fn on_written;
    void *arg;
    enum pl_gate_stage stage;
    struct pl_op *op;                   /* under way, or NULL */
    const struct pl_resource *resource; /* from discovery; NULL while resolving */
    struct pl_doc *watched[2];          /* counted; bare: before, and after as merged here */
    size_t tests_in_front; /* operations of a JSON patch that were added in front of the script's */
    struct pl_doc *existing; /* counted; the object before the write, as far as known */
    struct pl_task task;
    struct pl_timer again;  /* for waiting until the server knows the owner's kind */
    int64_t again_until_ns; /* 0: it was not refused for that reason */
    bool canceled;
    bool fenced; /* passes only while the gate's fence is open */
    bool cut;    /* ended by the fence */
    bool failed; /* with err */
    struct pl_err err;
    struct pl_doc *result;             /* counted */
    const struct pl_exec_result *exec; /* the answer's, while it is told */
    struct pl_buf warnings;            /* of the answer to the write */
    bool skipped, gone;
};

static inline bool pl_gate_op_is_apply(const struct pl_gate_op *op)
{
    return op->w.verb == PL_VERB_PATCH && op->w.patch_type == PL_PATCH_APPLY;
}

/* The object itself or its status; other subresources have documents of other kinds. */
static inline bool pl_gate_op_is_object(const struct pl_gate_op *op)
{
    return op->w.subresource.len == 0 || pl_slice_eqz(op->w.subresource, "status");
}

static inline bool pl_gate_op_is_status(const struct pl_gate_op *op)
{
    return pl_slice_eqz(op->w.subresource, "status");
}

static inline bool pl_gate_op_creates(const struct pl_gate_op *op)
{
    return op->w.verb == PL_VERB_CREATE && op->w.subresource.len == 0;
}

static inline bool pl_gate_op_is_raw(const struct pl_gate_op *op)
{
    return op->w.raw_path.len > 0;
}

/* ---- gate_op.c ---- */

/* The writer's declaration; NULL: a task without a controller. Borrowed as long as the write lives.
 */
const struct pl_controller_spec *pl_gate_writer(const struct pl_gate_op *op);

/* Sets EREFUSED with the rule as its reason, and returns it. */
int pl_gate_refuse(struct pl_err *err, const char *rule, const char *fmt, ...) PL_PRINTF(3, 4);

/* gate_fence.c: step 1, and again before each attempt. */
bool pl_gate_is_fenced(const struct pl_gate *gate, const struct pl_write *write);
bool pl_gate_is_allowed(const struct pl_gate_op *op);
/* Sets the op's error to the reason why it is not allowed. */
void pl_gate_refuse_closed(struct pl_gate_op *op);
/* If the closing of the gate, its fence or a shard has caused the op's failure, the error says so.
 */
void pl_gate_explain(struct pl_gate_op *op);

/* gate_check.c: steps 2 and 3. 0, or the refusal. */
PL_MUST_USE int pl_gate_check(struct pl_gate_op *op, struct pl_err *err);
/* Only declared names may be added to finalizers. */
PL_MUST_USE int pl_gate_check_finalizers(struct pl_gate_op *op, struct pl_err *err);
/* Logs one line for each controller, kind and verb without a declaration. */
void pl_gate_check_rights(struct pl_gate_op *op);

/* gate_body.c: the document that is sent. */
/* A missing namespace of a created or applied object is that of a namespaced owner, or default. */
void pl_gate_fill_namespace(struct pl_gate_op *op);
PL_MUST_USE int pl_gate_set_owner(struct pl_gate_op *op, struct pl_err *err);
/* Step 4: uid and resourceVersion of the object that was read. */
void pl_gate_carry(struct pl_gate_op *op);

/* True when the server refused the patch without saying which operation failed. */
bool pl_gate_is_unexplained(const struct pl_gate_op *op, const struct pl_answer *answer);
/* Adds to the op's error the operation that does not fit the current object, if there is one. */
void pl_gate_name_operation(struct pl_gate_op *op, const struct pl_doc *live);

/* gate_cache.c: what the caches know. */
/* A reference to the cached object, whole and from a synced source, or NULL. */
struct pl_doc *pl_gate_cached(struct pl_gate_op *op);
/* True when a synced source covers the object, so that NULL from pl_gate_cached means absent. */
bool pl_gate_is_covered(struct pl_gate_op *op);
/* Step 5. The cached object (a reference) when the write would change nothing, else NULL. */
struct pl_doc *pl_gate_unchanged(struct pl_gate_op *op);
/* Step 8: writes a successful answer to the caches. */
void pl_gate_through(struct pl_gate_op *op, struct pl_doc *answer);
/* The object is gone. uid: of the object; empty: of any cached one. */
void pl_gate_through_gone(struct pl_gate_op *op, struct pl_slice uid);
/* True when some source of the kind covers the object's key. */
bool pl_gate_is_known(struct pl_gate_op *op);
/* True when some source of the kind keeps managedFields. */
bool pl_gate_wants_managed_fields(struct pl_gate_op *op);
/* The name under which an apply is remembered. */
void pl_gate_applied_name(const struct pl_gate_op *op, struct pl_buf *out);

/* gate_raw.c: begins a write to a path, which always ends later. */
void pl_gate_start_raw(struct pl_gate_op *op);

/* gate_send.c: step 7. */
/* The time for a request to the server, 0: as the client has it. 0, or PL_ETIMEOUT: there is none
 * left. */
PL_MUST_USE int pl_gate_timeout(const struct pl_gate_op *op, int64_t *timeout_ns,
                                struct pl_err *err);
/* Reads `name` of a resource in the namespace of the write. Another object than that of the write
 * is read with the host's own rights. */
void pl_gate_get(struct pl_gate_op *op, enum pl_gate_stage stage,
                 const struct pl_resource *resource, struct pl_slice name, pl_answer_fn on_answer);
/* Sends the write and follows it to its end. */
void pl_gate_send(struct pl_gate_op *op);
void pl_gate_send_within(struct pl_gate_op *op, int64_t timeout_ns);
void pl_gate_log_dry_run(const struct pl_gate_op *op);

/* gate_end.c: each ends the write, and frees it after its caller was told. */
void pl_gate_finish(struct pl_gate_op *op);
void pl_gate_fail(struct pl_gate_op *op, const struct pl_err *err);
/* The caller is told when the work that runs now has ended. */
void pl_gate_finish_later(struct pl_gate_op *op);

/* gate_hold.c: step 6, for shadows. */
/* True when a shadow sees this object, or knows that there is none: *doc is a reference, or NULL.
 */
bool pl_gate_shadow_sees(struct pl_gate_op *op, struct pl_doc **doc);
/* True when the server has to be asked for the object before the write's result can be computed. */
bool pl_gate_shadow_must_look(struct pl_gate_op *op);
/* Decides a held write: its result or its error. */
void pl_gate_hold(struct pl_gate_op *op);
/* Records the expected result of a write that is sent. */
void pl_gate_watch(struct pl_gate_op *op);
/* Records the answer to it. */
void pl_gate_watched(struct pl_gate_op *op, struct pl_doc *answer);
