/* The state that all files of the API server share, and the context of one request. */
#pragma once

#include "apicall/commands.h"
#include "apicall/request.h"
#include "apicall/responder.h"
#include "apicall/services.h"
#include "apicall/user.h"
#include "apistore/registry.h"
#include "apistore/storage.h"
#include "base/map.h"
#include "base/rand.h"
#include "base/timer.h"
#include "format/regex_cache.h"
#include "net/http.h"
#include "schema/status.h"
#include "value/pool.h"

#define PL_API_MAX_OBJECT ((size_t)3 << 19) /* 1.5 MiB, etcd's limit */

#define PL_API_MADE_PLACES 256

struct pl_api_ctx;
struct pl_api_job;
struct pl_api_disk;

struct pl_api {
    struct pl_timers *timers; /* borrowed */
    struct pl_rand rand;
    uint64_t made_seed;                /* seed of names and uids; 0: drawn from rand */
    uint32_t made[PL_API_MADE_PLACES]; /* number of objects made in each place */
    struct pl_pool *pool;              /* owned; NULL: documents share no values */
    struct pl_api_registry *registry;  /* owned */
    struct pl_api_storage *storage;    /* owned */
    struct pl_map resources;           /* "apps/v1": its answer of discovery, owned text */
    uint64_t resources_at;             /* the registry's changes when they were made */
    struct pl_api_disk *disk;          /* owned; NULL: memory only */
    char *token;                       /* owned; NULL: no authentication */
    uint8_t token_key[32]; /* signs the tokens of service accounts; kept in the data folder */
    char *host;            /* owned; NULL: requests for any host are answered */
    /* Called for each object that was stored. -1 with the status filled in fails the request. */
    int (*stored)(struct pl_api_ctx *ctx, struct pl_doc *doc);
    /* Runs a request; called again for a request whose answers have arrived. */
    bool (*run)(struct pl_api *api, const struct pl_api_call *call, struct pl_api_responder out,
                struct pl_api_job *job);
    int64_t bookmark_ns;
    bool bare;                        /* without default roles */
    bool no_shard_selector;           /* lists and watches ignore shardSelector */
    bool unprotected;                 /* nobody takes care of volumes, see api.h */
    size_t watch_unread, watch_bytes; /* unread bytes of all watches, and their limit */
    unsigned next_ip, next_port;      /* the last ones that Services were given */
    struct pl_regex_cache patterns;   /* the expressions of CRDs' schemas */
    struct pl_map chosen;             /* addresses and ports that clients chose for Services */
    struct pl_transport transport;    /* the transport to webhooks; ops NULL: none */
    struct pl_api_services services;  /* find NULL: none */
    struct pl_api_commands commands;  /* answer NULL: only annotations answer */
};

struct pl_api_ctx {
    struct pl_api *api;
    struct pl_api_request request;
    struct pl_api_status status;
    struct pl_arena arena;
    struct pl_api_responder responder;
    struct pl_api_user user;  /* who sends the request; without a name: the server itself */
    struct pl_api_type *type; /* of the request's resource */
    size_t version;           /* index of the served version */
    struct pl_tree *charges;  /* the amounts that quotas will have used; NULL: no quota counts it */
    struct pl_tree *strict;   /* members of the body that a strict decoder refuses, found before its
                                 type is read; NULL: nothing */
    struct pl_tree *warnings; /* texts for Warning headers; NULL: none */
    struct pl_tree *delete_options; /* of a deletion, as webhooks see them; NULL: another request */
    struct pl_api_responder
        outside; /* the responder of the whole request; ops NULL: the server's own write */
    struct pl_api_job *job; /* its questions to webhooks (ask.h); NULL: none */
    bool is_waiting;        /* -1 means: run it again after they have answered */
    uint64_t seed;          /* seed of generated values: the same in each run */
    int64_t now_ns;         /* the request's time, on the wall clock: the same in each run */
    struct pl_rand rand;
    struct pl_doc **held; /* owned array of references that live as long as the context */
    size_t held_count;
};

/* A context for the server's own writes: no request, no responder. */
void pl_api_ctx_init(struct pl_api_ctx *ctx, struct pl_api *api, struct pl_api_type *type);
void pl_api_ctx_deinit(struct pl_api_ctx *ctx);
/* Takes ownership of the document, which then lives as long as the context. Accepts NULL. */
void pl_api_ctx_hold(struct pl_api_ctx *ctx, struct pl_doc *doc);
/* A Warning header of the answer; the text is copied. */
void pl_api_warn(struct pl_api_ctx *ctx, struct pl_slice text);

/* The version of its kind in which the request is made. Part of the type. */
static inline struct pl_api_version *pl_api_ctx_version(const struct pl_api_ctx *ctx)
{
    return &ctx->type->versions[ctx->version];
}

/* ---- answering (answer.c) ---- */

void pl_api_answer(struct pl_api_ctx *ctx, int code, struct pl_slice json);
void pl_api_answer_tree(struct pl_api_ctx *ctx, int code, const struct pl_tree *tree);
struct pl_api_table_options; /* columns/table.h */
/* For a Table with the columns, and the rows that the request wants. */
struct pl_api_table_options pl_api_answer_table(const struct pl_api_ctx *ctx);
/* Answers with the object in the requested version and form. A request without a client has no
 * answer. */
void pl_api_answer_object(struct pl_api_ctx *ctx, int code, const struct pl_doc *doc);
void pl_api_answer_failure(struct pl_api_ctx *ctx);

/* The name that this version gives to a member of the stored object. */
struct pl_slice pl_api_served_name(const struct pl_api_version *version, struct pl_slice key);
/* An object as that version serves it. in_list: items of built-in kinds have no apiVersion and
 * kind. */
void pl_api_object_write(struct pl_buf *out, const struct pl_api_type *type, size_t version,
                         struct pl_node object, bool in_list);

/* ---- common steps ---- */

/* "ns/name" in the arena. */
struct pl_slice pl_api_key(struct pl_arena *arena, struct pl_slice ns, struct pl_slice name);
/* The request's time in the format of objects: the same in each run. In the request's arena. */
struct pl_tree *pl_api_ctx_now(struct pl_api_ctx *ctx);
/* The current time in the format of objects, where there is no request. In the arena. */
struct pl_tree *pl_api_now(struct pl_api *api, struct pl_arena *arena);
/* A version that does not exist yet: 504. */
int pl_api_fail_too_large(struct pl_api_ctx *ctx, uint64_t rv);
/* 404 about the request's type. */
int pl_api_fail_not_found(struct pl_api_ctx *ctx, struct pl_slice name);
/* 403 of admission: "pods \"p\" is forbidden: " and why. */
int pl_api_forbid(struct pl_api_ctx *ctx, struct pl_slice name, struct pl_slice why);
/* 409 with kube-apiserver's words around `why`. */
int pl_api_fail_conflict(struct pl_api_ctx *ctx, struct pl_slice name, const char *why);
/* The same in the words of kube-apiserver's storage about a stored object. */
struct pl_api_entry;
int pl_api_fail_storage(struct pl_api_ctx *ctx, struct pl_slice name,
                        const struct pl_api_entry *entry, const char *why);
/* The same: the request means an object with another uid. */
int pl_api_fail_uid(struct pl_api_ctx *ctx, struct pl_slice name, const struct pl_api_entry *entry,
                    struct pl_slice uid);
/* The stored object in the request's version. NULL with the status, or while it waits for its
 * conversion (convert.h). In the request's arena. */
struct pl_tree *pl_api_load(struct pl_api_ctx *ctx, const struct pl_doc *doc);
/* Converts an object from the request's version to the stored version, in place or by replacing it.
 * *shown becomes the object as a read in the request's version would show it. -1 as above. */
int pl_api_store_and_back(struct pl_api_ctx *ctx, struct pl_tree **object, struct pl_tree **shown);
/* Answers with the stored object in the request's version: `shown` is the object in that version,
 * whose labels and annotations count. */
void pl_api_answer_stored(struct pl_api_ctx *ctx, int code, const struct pl_doc *doc,
                          struct pl_tree *shown);
