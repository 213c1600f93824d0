/* Records the callbacks of a request. */
#pragma once

#include "base/buf.h"
#include "net/http.h"
#include "support/test.h"

struct http_answer {
    int responses, status;
    struct pl_buf headers; /* "name: value\n" */
    struct pl_buf body;
    int pieces;
    int done, code;
    struct pl_err err;
    /* What on_body does. */
    int body_verdict;
    void (*on_piece)(struct http_answer *answer);
    void *arg;
};

static inline void http_answer_on_response(void *arg, const struct pl_http_response *response)
{
    struct http_answer *answer = arg;
    CHECK_INT(answer->done, 0);
    CHECK_INT(answer->responses, 0);
    answer->responses++;
    answer->status = response->status;
    for (size_t i = 0; i < response->header_count; i++)
        pl_buf_add_f(&answer->headers, "%s: %s\n", response->headers[i].name,
                     response->headers[i].value);
}

static inline int http_answer_on_body(void *arg, struct pl_slice piece)
{
    struct http_answer *answer = arg;
    CHECK_INT(answer->done, 0);
    CHECK_INT(answer->responses, 1);
    pl_buf_add_slice(&answer->body, piece);
    answer->pieces++;
    if (answer->on_piece != NULL)
        answer->on_piece(answer);
    return answer->body_verdict;
}

static inline void http_answer_on_done(void *arg, const struct pl_err *err)
{
    struct http_answer *answer = arg;
    CHECK_INT(answer->done, 0);
    answer->done++;
    answer->code = err != NULL ? err->code : 0;
    if (err != NULL)
        answer->err = *err;
}

static const struct pl_http_ops http_answer_ops = {http_answer_on_response, http_answer_on_body,
                                                   http_answer_on_done};

static inline void http_answer_deinit(struct http_answer *answer)
{
    pl_buf_deinit(&answer->headers);
    pl_buf_deinit(&answer->body);
}
