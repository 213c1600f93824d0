/* Questions to webhooks in the middle of a request. A request never waits. It asks, ends without an
 * answer, and runs again from its beginning when all its questions have been answered. So its
 * questions must depend only on the request and the store, and it must store nothing before all of
 * them were answered. Times, uids, names, addresses and ports that the server generates are the
 * same in each run. Other requests are served meanwhile. One thread. */
#pragma once

#include "apicall/core.h"
#include "net/http.h"

#define PL_API_ASKS_MAX 1000 /* per request */

/* One question and its answer. */
struct pl_api_reply {
    struct pl_link link;    /* private */
    struct pl_api_job *job; /* private */
    uint64_t key;           /* the question's key */
    bool done;
    struct pl_err err; /* code 0: answered */
    int status;        /* HTTP */
    struct pl_buf body;
    struct pl_http_call *call;
    struct pl_tls_options tls;
    char *ca_pem, *url, *server_name; /* owned */
    char question_uid[37];
};

struct pl_api_question {
    uint64_t key;                 /* the same question has the same key in each run */
    const char *uid;              /* the review's uid; NULL: not needed */
    const struct pl_tree *client; /* clientConfig: url, or service, and caBundle */
    struct pl_slice body;         /* JSON */
    int64_t timeout_ms;
};

/* The reply, borrowed until the request ends. NULL: the question is open, and the request ends with
 * -1. A question that cannot be asked at all is answered with the reason. */
const struct pl_api_reply *pl_api_ask(struct pl_api_ctx *ctx,
                                      const struct pl_api_question *question);

/* True if a question with that key was answered or is open. */
bool pl_api_is_asked(const struct pl_api_ctx *ctx, uint64_t key);

/* ---- for api.c ---- */

/* The request has run and waits; it runs again later. The call's texts were copied. */
void pl_api_job_wait(struct pl_api_ctx *ctx);
/* The time and the seed of generated values: the same in each run of the request. */
void pl_api_job_seed(const struct pl_api_job *job, struct pl_api_ctx *ctx);
/* Calls `again` when everything was answered, instead of running the request again. For watches.
 */
void pl_api_job_resume(struct pl_api_job *job, void (*again)(void *arg), void *arg);
/* Nobody needs the result any more: the job frees itself after the last answer. Accepts NULL. */
void pl_api_job_drop(struct pl_api_job *job);
/* The request has ended: frees its questions. Accepts NULL. */
void pl_api_job_end(struct pl_api_job *job);
