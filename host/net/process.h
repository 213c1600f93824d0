/* Runs other programs without a shell: no input, output collected up to a limit, stderr passed to
 * the log, a deadline. Loop's thread. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "net/loop.h"

struct pl_process;

struct pl_process_options {
    const char *file;        /* a path, or a name that is searched in env's PATH */
    const char *const *args; /* arguments after the name, NULL-terminated; NULL: none. Copied. */
    const char *const *env;  /* NAME=value, NULL-terminated: the whole environment. Copied. */
    size_t max_output;       /* bytes; 0: 1 MiB. More is ELIMIT. */
    /* Each line of stderr, at most 64 KiB in total, with the arg of on_done. NULL: lines are
     * logged, and an error's message ends with the last line. */
    void (*on_line)(void *arg, struct pl_slice line);
    int64_t timeout_ms; /* 0: none. The process and its children are killed. */
};

/* output is the program's output. err is NULL when it ended with status 0; else ENETWORK (it could
 * not be started, or it failed), ETIMEOUT or ELIMIT with the last line of its stderr. Both are
 * borrowed. Called exactly once and never inside start. */
typedef void (*pl_process_fn)(void *arg, struct pl_slice output, const struct pl_err *err);

/* The options are copied. The result must not be used after on_done or pl_process_cancel; it frees
 * itself. Never NULL. */
struct pl_process *pl_process_start(struct pl_loop *loop, const struct pl_process_options *options,
                                    pl_process_fn on_done, void *arg);
/* Kills it; on_done is not called. The memory is freed within the loop's next turns. */
void pl_process_cancel(struct pl_process *process);
