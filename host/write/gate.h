/* The write gate: all writes of scripts leave the host through it. A refusal is EREFUSED with the
 * rule's name ("leader", "stopping", "partial", "scope", "adopt", "finalizer") as its reason. I/O
 * thread. The steps, in their order:
 *
 * 1. May this process write now? Not after the gate was closed, and for work of the leader only
 * while its fence is open. Asked again before each attempt and before a byte is sent.
 * 2. Is the document whole? An object that was read in part cannot be written back as a whole.
 * 3. Do scope, owners and finalizers allow it?
 * 4. The write gets the uid of the object that was read and, for updates, its resourceVersion.
 * 5. Would it change anything? If it certainly would not, it is not sent.
 * 6. A dry run is sent as one. A shadow's write is not sent: it is answered right after step 4.
 * 7. It is sent, within its deadline and the client's limit, with retries when the server asks.
 * 8. The answer is written to the caches before the writer continues. */
#pragma once

#include "event/controller_spec.h"
#include "kube/client.h"

struct pl_capture;
struct pl_gate;
struct pl_informer;
struct pl_informers;
struct pl_site;

/* The author of a write. Embedded in its owner. */
struct pl_writer {
    const struct pl_controller_spec *spec; /* its declaration */
    /* The informer of source i of the spec; NULL: it is not open. */
    struct pl_informer *(*informer)(const struct pl_writer *writer, size_t i);
};

/* Documents are borrowed for the call; references are taken. Slices are copied. */
struct pl_write {
    enum pl_verb verb; /* CREATE, UPDATE, PATCH, DELETE, DELETE_COLLECTION */
    enum pl_patch_type patch_type;
    struct pl_kind kind;
    struct pl_slice ns, name, subresource;
    /* As in pl_call: instead of kind and name, with CREATE, UPDATE, PATCH and DELETE. */
    struct pl_slice raw_path, headers;
    /* As in pl_call: a command. Neither a dry run nor a shadow runs it: it is skipped. */
    bool exec;
    struct pl_slice input;
    size_t most;
    int64_t timeout_ns; /* 0: the client's */
    struct pl_doc
        *body; /* the object (create, update, apply), the patch, or the subresource's body */
    struct pl_doc *base;  /* the object as it was read, if the write names one; NULL: unknown */
    bool partial;         /* the object came from `select` or a metadata-only source */
    struct pl_doc *owner; /* sets the controller reference; NULL: none */
    bool adopt;
    bool to_default;  /* of a namespaced kind, without a namespace: into "default", as by kubectl */
    bool force_write; /* send it even if it would change nothing */
    bool live;        /* from perilune.live: never skipped */
    bool dry_run;
    bool force; /* of applies */
    struct pl_slice field_manager, field_validation, propagation, labels, fields;
    struct pl_slice uid, rv; /* preconditions given by the script */
    int64_t grace_period;    /* -1: not given */
    int64_t deadline_ns;     /* monotonic, of the run; 0: none */
    /* The controller that writes, as it is now: a write without a change can be skipped if the
     * controller's sources would report a change. Borrowed until the write has ended. NULL: a task.
     */
    const struct pl_writer *controller;
    /* Writes of a controller that runs only while leading (by its spec) are behind the fence, and
     * writes without a controller, unless this is set. */
    bool any_replica;
    /* The shard of the run's key plus 1: behind the fence the shard must be held, too. 0: none. */
    unsigned shard;
    /* Records the result of the write; may be NULL. A reference is taken. */
    struct pl_capture *capture;
    /* For a shadow: answered with the object as merged here, and never sent. Reads may be sent. */
    bool held;
    /* The edition whose script writes: its declarations count, even after its controller has
     * adopted another edition. Borrowed until the write has ended. NULL: as `controller`. */
    const struct pl_writer *edition;
};

struct pl_written {
    const struct pl_err *err; /* NULL: success */
    struct pl_doc *object; /* as stored (or the cached one when skipped), or the decoded answer (a
                            * Status with failures that carry one); borrowed */
    const struct pl_exec_result *exec; /* borrowed; NULL: no command, or it was not run */
    struct pl_slice warnings;          /* the server's warnings, "text\0" each; borrowed */
    bool skipped;                      /* it would have changed nothing and was not sent */
    bool gone;                         /* a delete of an object that did not exist */
};
typedef void (*pl_written_fn)(void *arg, const struct pl_written *written);

struct pl_gate_options {
    struct pl_site *site;           /* borrowed for life */
    struct pl_informers *informers; /* borrowed for life */
    struct pl_gate *parent; /* of the host's own cluster: its fence and its end are this one's, too;
                             * borrowed for life; NULL: this is that one */
    const void *cluster;    /* the cluster in its sources' specs; NULL: the host's own */
    bool dry_run;           /* --dry-run: every write is sent with dryRun=All and logged */
};

/* The caller owns the gate. */
struct pl_gate *pl_gate_create(const struct pl_gate_options *options);
void pl_gate_destroy(struct pl_gate *gate);

/* A write under way; on_written comes exactly once, later. */
struct pl_gate_op;
/* The write lives until on_written returns. Never NULL. */
struct pl_gate_op *pl_gate_write(struct pl_gate *gate, const struct pl_write *write,
                                 pl_written_fn on_written, void *arg);
void pl_gate_op_cancel(struct pl_gate_op *op);

/* From now on every write is refused with this rule, and those in flight are cancelled (after the
 * grace period of a stop; or without the Lease, with leader election). */
void pl_gate_close(struct pl_gate *gate, const char *rule, const char *message);
bool pl_gate_is_open(const struct pl_gate *gate);

/* From now on writes of leaders pass only while the fence is open. It is asked when a write starts,
 * before a byte of it can leave, and on every retry. Borrowed while connections live. Call it once,
 * before the first write. */
void pl_gate_fence(struct pl_gate *gate, const struct pl_fence *fence);
/* The fence has closed: writes behind it that are under way end now, with the rule "leader". Later
 * writes are refused while it stays closed; no call is needed when it opens. */
void pl_gate_cut(struct pl_gate *gate);

struct pl_gate_stats {
    uint64_t sent, skipped, refused;
};
void pl_gate_stats(const struct pl_gate *gate, struct pl_gate_stats *stats);
