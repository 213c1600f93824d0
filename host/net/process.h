/* Other programs, run without a shell: input none, output collected up to a limit, what they
 * write to stderr passed on to the log, a deadline. Loop's thread. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "net/loop.h"

struct pl_process;

struct pl_process_options {
    const char *file;        /* a path, or a name that is looked for in env's PATH */
    const char *const *args; /* behind the name, NULL-terminated; NULL: none. Copied. */
    const char *const *env;  /* NAME=value, NULL-terminated: the whole environment. Copied. */
    size_t max_output;       /* bytes; 0: 1 MiB. More is ELIMIT. */
    /* Each line of stderr, at most 64 KiB of it, the arg that of on_done; NULL: they are logged,
     * and an error ends with the last. */
    void (*on_line)(void *arg, struct pl_slice line);
    int64_t timeout_ms; /* 0: none. The process and its children are killed. */
};

/* output is what it wrote. err is NULL when it ended with status 0; else ENETWORK (could
 * not be started, ended badly), ETIMEOUT or ELIMIT with the last of its stderr. Both are
 * borrowed. Comes exactly once and never from inside start. */
typedef void (*pl_process_fn)(void *arg, struct pl_slice output, const struct pl_err *err);

/* Never NULL. */
struct pl_process *pl_process_start(struct pl_loop *loop, const struct pl_process_options *options,
                                    pl_process_fn on_done, void *arg);
/* Kills it; on_done is not called. Its memory goes within the loop's next turns. */
void pl_process_cancel(struct pl_process *process);
