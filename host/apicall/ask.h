/* Questions to webhooks in the middle of a request. A request never waits: it asks, ends without an
 * answer, and is run again from its beginning once everything that it asked has been answered. What
 * it asks must therefore follow from the request and the store alone, and nothing may be stored
 * before all of it was answered. Other requests go on meanwhile. One thread. */
#pragma once

#include "apicall/core.h"
#include "net/http.h"

#define PL_API_ASKS_MAX 1000 /* of one request */

/* One question as it was answered. */
struct pl_api_reply {
    struct pl_link link;    /* private */
    struct pl_api_job *job; /* private */
    uint64_t key;           /* of the question */
    bool done;
    struct pl_err err; /* code 0: it was answered */
    int status;        /* HTTP */
    struct pl_buf body;
    struct pl_http_call *call;
    struct pl_tls_options tls;
    char *ca_pem, *url, *server_name; /* owned */
    char question_uid[37];
};

struct pl_api_question {
    uint64_t key;                 /* the same question has the same key each time */
    const char *uid;              /* of the review; NULL: nobody asks for it */
    const struct pl_tree *client; /* clientConfig: url, or service, and caBundle */
    struct pl_slice body;         /* JSON */
    int64_t timeout_ms;
};

/* The reply, borrowed until the request ends; NULL: it is asked now, or was before, and the request
 * ends with -1. A question that cannot be asked at all is answered with why. */
const struct pl_api_reply *pl_api_ask(struct pl_api_ctx *ctx,
                                      const struct pl_api_question *question);

/* Has an answer to a question with that key come, or is it on its way? */
bool pl_api_is_asked(const struct pl_api_ctx *ctx, uint64_t key);

/* ---- for api.c ---- */

/* The request has run and waits: it is run again later. The call's texts were copied. */
void pl_api_job_wait(struct pl_api_ctx *ctx);
/* What is made up for the request is what was made up for it before. */
void pl_api_job_seed(const struct pl_api_job *job, struct pl_api_ctx *ctx);
/* Calls again, in place of running the request, when everything has been answered. For watches. */
void pl_api_job_resume(struct pl_api_job *job, void (*again)(void *arg), void *arg);
/* Nobody wants to know any more: it frees itself when the last answer has come. Accepts NULL. */
void pl_api_job_drop(struct pl_api_job *job);
/* The request has ended: frees what it asked. Accepts NULL. */
void pl_api_job_end(struct pl_api_job *job);
/* Runs a request; true when it waits for questions. */
bool pl_api_run(struct pl_api *api, const struct pl_api_call *call, struct pl_api_responder out,
                struct pl_api_job *job);
