/* The verbs of the API server, as asynchronous operations on the loop's thread.
 *
 * An operation completes exactly once, also when cancelled, and never inside the call that started
 * it. Answers 429 and 5xx with Retry-After are retried (at most 10 times, within the deadline; not
 * when the server has not reached the requested version, rule 57). A 401 is retried once if there
 * are fresh credentials. Reads are also retried after a lost connection, on a fresh connection, and
 * so is every request that the server has not processed. */
#pragma once

#include "base/metrics.h"
#include "base/rand.h"
#include "base/timer.h"
#include "base/wait.h"
#include "format/yaml.h"
#include "kube/kubeconfig.h"
#include "kube/resource.h"
#include "net/http.h"
#include "net/loop.h"
#include "value/scan.h"

struct pl_client;
struct pl_decode_thread;
struct pl_exec_result;
struct pl_op;

struct pl_client_options {
    struct pl_transport transport;      /* borrowed for life */
    struct pl_timers *timers;           /* borrowed for life */
    struct pl_rand *rand;               /* borrowed for life */
    struct pl_waits *waits;             /* borrowed for life; NULL: none */
    struct pl_metrics *metrics;         /* borrowed for life; NULL: none */
    struct pl_loop *loop;               /* for exec plugins; NULL when there are none (tests) */
    const struct pl_kubeconfig *config; /* borrowed for life */
    struct pl_pool *pool; /* documents of lists and watches share parts through it; may be NULL */
    struct pl_decode_thread *decode_thread; /* for large answers; borrowed for life; NULL: none */
    const char *user_agent;
    int64_t request_timeout_ns; /* 0: 30 s; watches have their own */
    /* Client-side limit, 0: off. It does not apply to watches (rule 74) and to requests with their
     * own connection lane: a flood of other requests must not cost the Lease. */
    double qps;
    int burst;
    /* If a watch is silent for this time, the client asks the server for its version on the same
     * connection. If no answer comes within half of the time, watches that are still silent end
     * with ETIMEOUT. 0: off. */
    int64_t probe_ns;
};

/* NULL and err (EINVAL) when the configuration cannot be used. The caller owns the client. */
struct pl_client *pl_client_create(const struct pl_client_options *options, struct pl_err *err);
/* From now on the client uses the server and the user of this configuration; borrowed for life, or
 * until the next call. Attempts under way continue unchanged; the next attempt of an operation goes
 * to the new server. After EINVAL nothing has changed. */
PL_MUST_USE int pl_client_configure(struct pl_client *client, const struct pl_kubeconfig *config,
                                    struct pl_err *err);
/* The configuration is still being read. Until the client is configured or held, operations wait,
 * each until its deadline, when it ends with ETIMEOUT and this message; watches fail with it. */
void pl_client_await(struct pl_client *client, const struct pl_err *why);
/* Until the client is configured, every attempt fails with this error. */
void pl_client_hold(struct pl_client *client, const struct pl_err *why);
/* Cancels all operations; their completions come before it returns. */
void pl_client_destroy(struct pl_client *client);

enum pl_verb {
    PL_VERB_GET,
    PL_VERB_LIST,
    PL_VERB_CREATE,
    PL_VERB_UPDATE,
    PL_VERB_PATCH,
    PL_VERB_DELETE,
    PL_VERB_DELETE_COLLECTION,
};
/* "get", "deletecollection". Literals. */
const char *pl_verb_name(enum pl_verb verb);

enum pl_patch_type { PL_PATCH_MERGE, PL_PATCH_JSON, PL_PATCH_STRATEGIC, PL_PATCH_APPLY };

/* A request. Slices are borrowed for the call that takes it, and copied; empty means "not given".
 */
struct pl_call {
    enum pl_verb verb;
    const struct pl_resource
        *resource; /* borrowed until the operation completes; NULL with raw_path */
    /* Instead of resource: "/version", "/apis/apps/v1?x=y", escaped, for any verb except LIST. Only
     * the body, the patch's type and the dry run apply to it. */
    struct pl_slice raw_path;
    /* More headers: "name\0value\0...", names in lower case. In a raw call, accept and content-type
     * replace the client's own. */
    struct pl_slice headers;
    struct pl_slice ns, name, subresource;
    struct pl_slice query; /* of a GET: more parameters, escaped: "container=web&tailLines=10" */
    bool takes_text;       /* of a GET: a text answer is accepted, see pl_answer.text */
    struct pl_doc *body;   /* a reference is taken; NULL: none */
    /* With CREATE of pods/exec, whose body is a PodExecOptions: the command runs, over WebSocket,
     * and pl_answer.exec is its result. It is asked once: no attempt follows one that may have run.
     */
    bool exec;
    struct pl_slice input; /* of exec: its stdin; copied; ptr NULL: none */
    size_t most;           /* of exec: bytes of stdout and stderr together */
    enum pl_patch_type patch_type;
    struct pl_slice labels, fields; /* selectors in text form */
    struct pl_slice shards;         /* LIST: shardSelector */
    int64_t limit;                  /* 0: none */
    struct pl_slice continue_token;
    struct pl_slice rv, rv_match;
    struct pl_slice field_manager, field_validation, propagation;
    bool force;
    bool dry_run;
    bool metadata_only; /* PartialObjectMetadata(List) */
    bool
        cut_is_final; /* a GET whose answer was cut is not repeated: the caller will ask for less */
    /* LIST: called for each object as it arrives; takes and returns a reference, or NULL to leave
     * the object out. May be called before an attempt that fails. NULL: not used. */
    struct pl_doc *(*each_item)(void *arg, struct pl_doc *item);
    void *each_item_arg;
    /* LIST: the answer may be large, so the decode thread decodes it, and the next page is
     * requested as soon as its token is known. See pl_answer.next. */
    bool large;
    bool keep_managed_fields;
    int64_t grace_period;                 /* seconds; -1: not given. Note that 0 is a value. */
    struct pl_slice uid, precondition_rv; /* of deletes */
    int64_t timeout_ns;                   /* 0: the client's */
    int connection_lane;                  /* see pl_http_request.lane */
    bool (*may_send)(void *arg);          /* see pl_http_request; asked at every attempt */
    void *may_send_arg;
    /* See pl_http_request; NULL: none. Such a call uses PL_HTTP_LANE_FENCED, whatever
     * connection_lane says, and is limited like those of lane 0. */
    const struct pl_fence *fence;
};

struct pl_answer {
    const struct pl_err *err; /* NULL: success */
    int status;               /* HTTP status, 0: none */
    struct pl_doc
        *doc; /* the decoded answer (a Status for failures that have one); borrowed; may be NULL */
    /* With takes_text: an answer that is not JSON but text, at most PL_SCAN_BYTES, may be "";
     * borrowed. ptr NULL: the answer is a document. */
    struct pl_slice text;
    const struct pl_exec_result *exec; /* of exec that did not fail; borrowed */
    /* The server's warnings, "text\0" each; borrowed; empty: none. */
    struct pl_slice warnings;
    /* LIST: its objects; the callback may move them out; doc is the list without them. Each has
     * apiVersion and kind, even if the server left them out; with metadata_only (also in watches
     * and single answers) those of the requested kind. */
    struct pl_docs *items;
    /* For a large list that did not fail: the operation that fetches its next page, as if the
     * caller had started it, with the same on_answer and arg. The caller owns it. NULL: there is
     * none yet, or no such page. */
    struct pl_op *next;
};

typedef void (*pl_answer_fn)(void *arg, const struct pl_answer *answer);

/* The operation lives until on_answer returns. Never returns NULL. */
struct pl_op *pl_client_start(struct pl_client *client, const struct pl_call *call,
                              pl_answer_fn on_answer, void *arg);
/* on_answer follows, with PL_ECANCELED. */
void pl_op_cancel(struct pl_op *op);

/* ---- watches ---- */

enum pl_watch_type {
    PL_WATCH_ADDED,
    PL_WATCH_MODIFIED,
    PL_WATCH_DELETED,
    PL_WATCH_BOOKMARK,
    PL_WATCH_ERROR,   /* object is a Status */
    PL_WATCH_UNKNOWN, /* another type (rule 70) */
};

struct pl_watch_call {
    const struct pl_resource *resource;
    struct pl_slice ns, labels, fields, shards, rv;
    bool metadata_only, keep_managed_fields;
    bool initial_events;     /* WatchList: sendInitialEvents + resourceVersionMatch=NotOlderThan */
    int64_t timeout_seconds; /* timeoutSeconds parameter */
    int64_t silence_ns;      /* the stream is dead after this time without a byte; 0: never */
};

struct pl_watch_ops {
    /* The server answered 200: the stream is open. */
    void (*on_open)(void *arg);
    /* The sink takes the reference to object. */
    void (*on_event)(void *arg, enum pl_watch_type type, struct pl_doc *object);
    /* Called exactly once, last. err NULL: the stream ended normally. An HTTP error at opening is
     * EAPI with its Status; ESYNTAX when an event could not be decoded. */
    void (*on_end)(void *arg, const struct pl_err *err);
};

struct pl_watch;
/* The watch lives until on_end returns. Never returns NULL. */
struct pl_watch *pl_client_watch(struct pl_client *client, const struct pl_watch_call *call,
                                 const struct pl_watch_ops *ops, void *arg);
/* on_end follows, with PL_ECANCELED. */
void pl_watch_cancel(struct pl_watch *watch);
