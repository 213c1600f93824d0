/* One write on its way through the gate. Private to the gate_*.c files. */
#pragma once

#include "base/map.h"
#include "write/gate.h"
#include "sync/informers.h"
#include "write/noop.h"
#include "sync/site.h"

struct pl_gate {
    struct pl_site *site;           /* borrowed for life */
    struct pl_informers *informers; /* borrowed for life */
    const void *cluster;            /* of its sources' specs; NULL: the host's own */
    struct pl_gate *parent;         /* borrowed for life; NULL: none */
    struct pl_list children;        /* gates whose parent this is: their back-pointers */
    struct pl_link sibling;         /* in the parent's children */
    bool dry_run;
    bool closed;
    char *rule, *message;         /* owned; why it is closed */
    const struct pl_fence *fence; /* borrowed; NULL: every write is this replica's to make */
    struct pl_list ops;           /* not finished yet */
    struct pl_applied *applied;
    struct pl_map said; /* undeclared writes that were logged; values are the gate itself */
    struct pl_gate_stats stats;
    uint64_t made_up;          /* uids and versions of objects that only shadows see */
    struct pl_series *skipped; /* NULL: no metrics */
};

enum pl_gate_stage {
    PL_GATE_RESOLVING, /* which resource is it? */
    PL_GATE_LOOKING,   /* what does the owner take over? */
    PL_GATE_SENDING,
    PL_GATE_REFRESHING, /* what did a subresource's write do to the object? */
    PL_GATE_EXPLAINING, /* which operation of a JSON patch does not fit? */
    PL_GATE_FINISHING,  /* decided; told a little later */
};

struct pl_gate_op {
    struct pl_link link; /* in the gate's ops */
    struct pl_gate *gate;
    struct pl_write w; /* documents are counted, texts are in `texts` */
    char *texts[12];   /* owned */
    char *key;         /* owned: "ns/name" */
    pl_written_fn on_written;
    void *arg;
    enum pl_gate_stage stage;
    struct pl_op *op;                   /* under way, or NULL */
    const struct pl_resource *resource; /* from discovery; NULL while resolving */
    struct pl_doc *watched[2];          /* counted; bare: before, and after as merged here */
    size_t tests_in_front;              /* operations of a JSON patch that are not the script's */
    struct pl_doc *existing;            /* counted; what was there before, as far as is known */
    struct pl_task task;
    struct pl_timer again;  /* while it waits for the server to know the owner's kind */
    int64_t again_until_ns; /* 0: it has not been refused for that */
    bool canceled;
    bool fenced; /* passes only while the gate's fence is open */
    bool cut;    /* ended by the fence */
    bool failed; /* with err */
    struct pl_err err;
    struct pl_doc *result;  /* counted */
    struct pl_buf warnings; /* of the answer to the write */
    bool skipped, gone;
};

static inline bool pl_gate_op_is_apply(const struct pl_gate_op *op)
{
    return op->w.verb == PL_VERB_PATCH && op->w.patch_type == PL_PATCH_APPLY;
}

/* The object itself or its status; other subresources have documents of their own kinds. */
static inline bool pl_gate_op_is_object(const struct pl_gate_op *op)
{
    return op->w.subresource.len == 0 || pl_slice_eqz(op->w.subresource, "status");
}

static inline bool pl_gate_op_is_status(const struct pl_gate_op *op)
{
    return pl_slice_eqz(op->w.subresource, "status");
}

static inline bool pl_gate_op_is_raw(const struct pl_gate_op *op)
{
    return op->w.raw_path.len > 0;
}

/* ---- gate_op.c ---- */

/* What the writer declared; NULL: it is a task of nobody's. */
const struct pl_controller_spec *pl_gate_writer(const struct pl_gate_op *op);

/* EREFUSED with the rule as its reason; always returns that. */
int pl_gate_refuse(struct pl_err *err, const char *rule, const char *fmt, ...) PL_PRINTF(3, 4);

/* gate_check.c: steps 2 and 3. 0, or the refusal. */
PL_MUST_USE int pl_gate_check(struct pl_gate_op *op, struct pl_err *err);
/* Only names that the controller declared may be added to finalizers. */
PL_MUST_USE int pl_gate_check_finalizers(struct pl_gate_op *op, struct pl_err *err);
/* One log line for each controller, kind and verb that no declaration covers. */
void pl_gate_check_rights(struct pl_gate_op *op);

/* gate_body.c: the document that is sent. */
/* A namespaced owner fills a missing namespace of what is created or applied. */
void pl_gate_follow_owner(struct pl_gate_op *op);
PL_MUST_USE int pl_gate_set_owner(struct pl_gate_op *op, struct pl_err *err);
/* Step 4: uid and resourceVersion of what was read. */
void pl_gate_carry(struct pl_gate_op *op);

/* The server refuses such a patch without a word about which operation it was. */
bool pl_gate_is_unexplained(const struct pl_gate_op *op, const struct pl_answer *answer);
/* Adds to the op's error which operation does not fit the object as it is now; none, when all do.
 */
void pl_gate_name_operation(struct pl_gate_op *op, const struct pl_doc *live);

/* gate_cache.c: what the caches know. */
/* A reference to the cached object, whole and from a synced source, or NULL. */
struct pl_doc *pl_gate_cached(struct pl_gate_op *op);
/* True when a synced source would know of it, so that NULL from pl_gate_cached means absent. */
bool pl_gate_is_covered(struct pl_gate_op *op);
/* Step 5. The cached object (a reference) when the write would change nothing, else NULL. */
struct pl_doc *pl_gate_unchanged(struct pl_gate_op *op);
/* Step 8: what a successful answer says. */
void pl_gate_through(struct pl_gate_op *op, struct pl_doc *answer);
/* The object is gone. uid: whose; empty: whatever is cached. */
void pl_gate_through_gone(struct pl_gate_op *op, struct pl_slice uid);
/* Some source of the kind has the object's key. */
bool pl_gate_is_known(struct pl_gate_op *op);
/* Some source of the kind wants managedFields. */
bool pl_gate_wants_managed_fields(struct pl_gate_op *op);
/* Under which name an apply is remembered. */
void pl_gate_applied_name(const struct pl_gate_op *op, struct pl_buf *out);

/* gate_raw.c: writes to a path. */
/* 0, or EREFUSED "dry-run"; in a dry run the body of a delete says so afterwards. */
PL_MUST_USE int pl_gate_check_raw(struct pl_gate_op *op, struct pl_err *err);
/* What it sends, for whoever compares. */
void pl_gate_note_raw(struct pl_gate_op *op);

/* gate_hold.c: step 6, for shadows. */
/* A shadow sees this object, or knows that there is none: *doc is a reference, or NULL. */
bool pl_gate_shadow_sees(struct pl_gate_op *op, struct pl_doc **doc);
/* The server has to be asked what is there before it can be said what the write would make. */
bool pl_gate_shadow_must_look(struct pl_gate_op *op);
/* Decides a held write: its result or its error. */
void pl_gate_hold(struct pl_gate_op *op);
/* A write that is sent, for whoever compares: what it will make. */
void pl_gate_watch(struct pl_gate_op *op);
/* The answer to it. */
void pl_gate_watched(struct pl_gate_op *op, struct pl_doc *answer);
