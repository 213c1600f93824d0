/* Error codes and the error record.
 *
 * Functions return 0 or a negative enum pl_code. If a person or a script needs the reason, the last
 * parameter is a caller-owned struct pl_err * (may be NULL). The function that detects the error
 * fills it, and callers may prefix it with context. An error is either returned or logged, never
 * both. */
#pragma once

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>

#define PL_CODES(X)                                                                                \
    X(OK, 0, "ok")                                                                                 \
    X(EINVAL, -1, "invalid argument")                                                              \
    X(ESYNTAX, -2, "malformed input")                                                              \
    X(ELIMIT, -3, "over a limit")                                                                  \
    X(ENOTFOUND, -4, "not found")                                                                  \
    X(EEXIST, -5, "exists already")                                                                \
    X(EAGAIN, -6, "nothing ready")                                                                 \
    X(ECLOSED, -7, "closed")                                                                       \
    X(ECANCELED, -8, "canceled")                                                                   \
    X(ETIMEOUT, -9, "timed out")                                                                   \
    X(ENETWORK, -10, "network error")                                                              \
    X(EAPI, -11, "the API server answered with an error")                                          \
    X(EREFUSED, -12, "refused by the host")                                                        \
    X(EIO, -13, "input/output error")                                                              \
    X(ESCRIPT, -14, "script error")                                                                \
    X(EUNSUPPORTED, -15, "not supported")

enum pl_code {
#define PL_CODE_ENUM(name, value, text) PL_##name = (value),
    PL_CODES(PL_CODE_ENUM)
#undef PL_CODE_ENUM
};

#define PL_ERR_MESSAGE 1024

struct pl_err {
    int code;               /* enum pl_code, 0 for none */
    int status;             /* HTTP status with PL_EAPI, else 0 */
    int64_t retry_after_ms; /* from Retry-After, -1 when absent */
    int64_t offset;         /* byte offset in the input with PL_ESYNTAX, else -1 */
    int line;               /* line in the input or script, counted from 1; 0 when unknown */
    char reason[64];        /* Status.reason with PL_EAPI, the gate's rule with PL_EREFUSED */
    char message[PL_ERR_MESSAGE];
};

/* Clears err. Accepts NULL. */
void pl_err_clear(struct pl_err *err);

/* Fills err (if any) and returns code, so that `return pl_err_set(...)` works.
 * The message is cut at a character boundary when too long. */
int pl_err_set(struct pl_err *err, int code, const char *fmt, ...) PL_PRINTF(3, 4) PL_COLD;

/* Puts formatted context and ": " in front of the message. */
void pl_err_prefix(struct pl_err *err, const char *fmt, ...) PL_PRINTF(2, 3) PL_COLD;

/* "ENOTFOUND" and "not found"; "?" for a number that is no code. Literals. */
const char *pl_code_name(int code);
const char *pl_code_text(int code);
