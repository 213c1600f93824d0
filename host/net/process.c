/* Programs that the host runs, such as credential plugins. A process leads its own session, so that
 * killing it reaches its children too. Its input is empty.
 *
 * It has ended when both pipes are closed and the exit status is known. A time-out or too much
 * output ends it at once, since a process that escaped the kill may hold a pipe for ever. on_done
 * is called exactly once and never inside the start. A killed process must be reaped: the loop's
 * end waits for that, up to a limit. */
#include "net/process.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/log.h"

#include <uv.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#define MAX_OUTPUT ((size_t)1 << 20)
#define MAX_LINE   1000  /* limit of a line of stderr in the log */
#define MAX_LOGGED 65536 /* limit of stderr in the log in total */

/* The process leads its own session, so that a kill also reaches children that keep its pipes open.
 * It is done when both pipes are closed and the exit status is known. The memory is freed when the
 * last of the four handles has closed. */
struct pl_process {
    struct pl_loop *loop;
    char *name;
    uv_process_t handle;
    uv_pipe_t out, err_pipe;
    uv_timer_t timer;
    int handles; /* handles that are not closed yet */
    int ends;    /* events still to come: the ends of two pipes and the exit */
    bool spawned, reaped;
    struct pl_buf output;
    struct pl_buf line; /* a line of stderr that is not complete yet */
    size_t max_output, logged;
    char last_line[256]; /* of stderr */
    struct pl_err failure;
    pl_process_fn on_done; /* NULL once called or cancelled */
    void (*on_line)(void *arg, struct pl_slice line);
    void *arg;
    char chunk[4096];
};

static void on_process_closed_cb(uv_handle_t *handle)
{
    struct pl_process *process = handle->data;
    if (--process->handles > 0)
        return;
    pl_buf_deinit(&process->output);
    pl_buf_deinit(&process->line);
    pl_free(process->name);
    pl_free(process);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_process_closed_cb);
}

/* The loop may be about to be destroyed, and then nobody would reap the killed process. It usually
 * dies at once; if it does not (a dead network disk), the loop reaps it later. */
static void reap(struct pl_process *process)
{
    for (int i = 0; process->spawned && !process->reaped && i < 50; i++) {
        process->reaped = waitpid(process->handle.pid, NULL, WNOHANG) == process->handle.pid;
        if (!process->reaped)
            poll(NULL, 0, 1);
    }
}

static void close_all(struct pl_process *process)
{
    close_handle((uv_handle_t *)&process->timer);
    close_handle((uv_handle_t *)&process->out);
    close_handle((uv_handle_t *)&process->err_pipe);
    reap(process);
    if (!process->spawned || process->reaped)
        close_handle((uv_handle_t *)&process->handle);
}

static void kill_group(struct pl_process *process)
{
    if (process->spawned)
        uv_kill(-process->handle.pid, SIGKILL);
}

static void process_finish(struct pl_process *process)
{
    pl_process_fn on_done = process->on_done;
    process->on_done = NULL;
    if (on_done == NULL)
        return;
    bool failed = process->failure.code != 0;
    if (failed && process->last_line[0] != '\0') {
        size_t len = strlen(process->failure.message);
        snprintf(process->failure.message + len, sizeof process->failure.message - len, ": %s",
                 process->last_line);
    }
    on_done(process->arg, pl_buf_slice(&process->output), failed ? &process->failure : NULL);
    close_all(process);
}

static void end_one(struct pl_process *process)
{
    if (--process->ends == 0)
        process_finish(process);
}

/* Nothing more is waited for: a process that escaped the kill may hold the pipes. */
static void fail_now(struct pl_process *process, int code, const char *what)
{
    pl_err_set(&process->failure, code, "%s %s", process->name, what);
    kill_group(process);
    process_finish(process);
}

static void on_timeout_cb(uv_timer_t *timer)
{
    struct pl_process *process = timer->data;
    if (!process->spawned) /* it could not be started: this only reports it later */
        process_finish(process);
    else
        fail_now(process, PL_ETIMEOUT, "did not end in time and was killed");
}

static void log_line(struct pl_process *process)
{
    struct pl_slice line = pl_buf_slice(&process->line);
    while (line.len > 0 && (unsigned char)line.ptr[line.len - 1] <= ' ')
        line.len--;
    if (line.len > 0 && process->on_line != NULL) {
        process->on_line(process->arg, line);
    } else if (line.len > 0) {
        snprintf(process->last_line, sizeof process->last_line, "%.*s", PL_FMT(line));
        process->logged += line.len;
        if (process->logged <= MAX_LOGGED)
            pl_log(PL_LOG_WARN, "stderr of another program", pl_str("program", process->name),
                   pl_strn("line", line));
    }
    pl_buf_clear(&process->line);
}

static void add_error_output(struct pl_process *process, struct pl_slice piece)
{
    for (size_t i = 0; i < piece.len; i++) {
        if (piece.ptr[i] == '\n')
            log_line(process);
        else if (process->line.len < (process->on_line != NULL ? MAX_LOGGED : MAX_LINE))
            pl_buf_add_char(&process->line, piece.ptr[i]);
    }
}

static void on_alloc_cb(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    PL_UNUSED(suggested);
    struct pl_process *process = handle->data;
    *buf = uv_buf_init(process->chunk, sizeof process->chunk);
}

static void on_output_cb(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct pl_process *process = stream->data;
    if (process->on_done == NULL)
        return;
    if (n < 0) {
        uv_read_stop(stream);
        end_one(process);
    } else if (process->output.len + (size_t)n > process->max_output) {
        fail_now(process, PL_ELIMIT, "wrote too much and was killed");
    } else {
        pl_buf_add(&process->output, buf->base, (size_t)n);
    }
}

static void on_error_output_cb(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct pl_process *process = stream->data;
    if (process->on_done == NULL)
        return;
    if (n >= 0) {
        add_error_output(process, pl_slice(buf->base, (size_t)n));
        return;
    }
    uv_read_stop(stream);
    log_line(process);
    end_one(process);
}

static void on_exit_cb(uv_process_t *handle, int64_t status, int signum)
{
    struct pl_process *process = handle->data;
    process->reaped = true;
    if (process->on_done == NULL) {
        close_all(process);
        return;
    }
    if (signum != 0)
        pl_err_set(&process->failure, PL_ENETWORK, "%s was ended by signal %d", process->name,
                   signum);
    else if (status != 0)
        pl_err_set(&process->failure, PL_ENETWORK, "%s failed with exit status %d", process->name,
                   (int)status);
    end_one(process);
}

static int spawn(struct pl_process *process, const struct pl_process_options *options)
{
    size_t count = 1;
    for (size_t i = 0; options->args != NULL && options->args[i] != NULL; i++)
        count++;
    char **argv = pl_calloc(count + 1, sizeof *argv);
    argv[0] = process->name;
    for (size_t i = 1; i < count; i++)
        argv[i] = (char *)options->args[i - 1];
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_IGNORE},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&process->out},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
         .data.stream = (uv_stream_t *)&process->err_pipe},
    };
    uv_process_options_t spawn_options = {
        .exit_cb = on_exit_cb,
        .file = process->name,
        .args = argv,
        .env = (char **)options->env,
        .flags = UV_PROCESS_DETACHED,
        .stdio_count = 3,
        .stdio = stdio,
    };
    int code = uv_spawn(pl_loop_uv(process->loop), &process->handle, &spawn_options);
    pl_free(argv);
    return code;
}

struct pl_process *pl_process_start(struct pl_loop *loop, const struct pl_process_options *options,
                                    pl_process_fn on_done, void *arg)
{
    struct pl_process *process = PL_NEW(struct pl_process);
    process->loop = loop;
    process->name = pl_strdup(options->file);
    process->max_output = options->max_output ? options->max_output : MAX_OUTPUT;
    process->on_done = on_done;
    process->on_line = options->on_line;
    process->arg = arg;
    uv_pipe_init(pl_loop_uv(loop), &process->out, 0);
    uv_pipe_init(pl_loop_uv(loop), &process->err_pipe, 0);
    uv_timer_init(pl_loop_uv(loop), &process->timer);
    process->out.data = process->err_pipe.data = process;
    process->timer.data = process->handle.data = process;
    process->handles = 4;
    int code = spawn(process, options);
    uv_update_time(pl_loop_uv(loop));
    if (code != 0) {
        pl_err_set(&process->failure, PL_ENETWORK, "cannot run %s: %s", process->name,
                   uv_strerror(code));
        uv_timer_start(&process->timer, on_timeout_cb, 0, 0);
        return process;
    }
    process->spawned = true;
    process->ends = 3;
    uv_read_start((uv_stream_t *)&process->out, on_alloc_cb, on_output_cb);
    uv_read_start((uv_stream_t *)&process->err_pipe, on_alloc_cb, on_error_output_cb);
    if (options->timeout_ms > 0)
        uv_timer_start(&process->timer, on_timeout_cb, (uint64_t)options->timeout_ms, 0);
    return process;
}

void pl_process_cancel(struct pl_process *process)
{
    process->on_done = NULL;
    kill_group(process);
    close_all(process);
}
