#include "net/process.h"

#include "base/clock.h"
#include "support/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Real processes on a real loop; waits are for the end of the process, with a limit. */

struct run {
    struct pl_loop *loop;
    int calls;
    char output[256];
    size_t output_len;
    struct pl_err err;
};

static void on_done(void *arg, struct pl_slice output, const struct pl_err *err)
{
    struct run *run = arg;
    run->calls++;
    run->output_len = output.len;
    snprintf(run->output, sizeof run->output, "%.*s", PL_FMT(output));
    pl_err_clear(&run->err);
    if (err != NULL)
        run->err = *err;
}

static const char *const env[] = {"PATH=/usr/bin:/bin", "GREETING=hello", NULL};

static void wait_done(struct run *run)
{
    for (int i = 0; i < 1000 && run->calls == 0; i++)
        pl_loop_turn(run->loop, 10);
}

static struct run run_shell(const char *script, struct pl_process_options options)
{
    struct run run = {.loop = pl_loop_create(pl_clock_system())};
    const char *const args[] = {"-c", script, NULL};
    options.file = "sh";
    options.args = args;
    options.env = env;
    pl_process_start(run.loop, &options, on_done, &run);
    CHECK_INT(run.calls, 0);
    wait_done(&run);
    CHECK_INT(run.calls, 1);
    pl_loop_destroy(run.loop);
    return run;
}

TEST(output_is_what_the_program_wrote_in_its_own_environment)
{
    struct run run = run_shell("echo \"$GREETING$HOME\"", (struct pl_process_options){0});
    CHECK_INT(run.err.code, 0);
    CHECK_STR(run.output, "hello\n");
}

TEST(arguments_reach_the_program_as_they_are)
{
    struct run run = {.loop = pl_loop_create(pl_clock_system())};
    const char *const args[] = {"-c", "printf '%s|' \"$@\"", "sh", "a b", "$HOME;`id`", "", NULL};
    pl_process_start(run.loop, &(struct pl_process_options){.file = "sh", .args = args, .env = env},
                     on_done, &run);
    wait_done(&run);
    CHECK_STR(run.output, "a b|$HOME;`id`||");
    pl_loop_destroy(run.loop);
}

TEST(a_failure_tells_the_status_and_the_last_line_of_stderr)
{
    struct run run = run_shell("echo out; echo first >&2; echo no login >&2; exit 3",
                               (struct pl_process_options){0});
    CHECK_INT(run.err.code, PL_ENETWORK);
    CHECK_STR(run.err.message, "sh failed with exit status 3: no login");
    CHECK_INT(run.output_len, 4);
}

TEST(a_program_that_is_not_there_is_an_error_told_later)
{
    struct run run = {.loop = pl_loop_create(pl_clock_system())};
    pl_process_start(run.loop,
                     &(struct pl_process_options){.file = "/nonexistent/plugin", .env = env},
                     on_done, &run);
    CHECK_INT(run.calls, 0);
    wait_done(&run);
    CHECK_INT(run.err.code, PL_ENETWORK);
    CHECK(strstr(run.err.message, "cannot run /nonexistent/plugin") != NULL);
    pl_loop_destroy(run.loop);
}

TEST(output_over_the_limit_ends_it)
{
    struct run run =
        run_shell("yes", (struct pl_process_options){.max_output = 10000, .timeout_ms = 10000});
    CHECK_INT(run.err.code, PL_ELIMIT);
}

TEST(the_deadline_kills_it_and_its_children)
{
    struct run run = run_shell("echo waiting >&2; sleep 1000 & sleep 1000",
                               (struct pl_process_options){.timeout_ms = 200});
    CHECK_INT(run.err.code, PL_ETIMEOUT);
    CHECK(strstr(run.err.message, "waiting") != NULL);
}

TEST(a_cancelled_process_is_killed_and_not_heard_of_again)
{
    struct run run = {.loop = pl_loop_create(pl_clock_system())};
    const char *const args[] = {"1000", NULL};
    struct pl_process *process = pl_process_start(
        run.loop, &(struct pl_process_options){.file = "sleep", .args = args, .env = env}, on_done,
        &run);
    pl_loop_turn(run.loop, 0);
    pl_process_cancel(process);
    for (int i = 0; i < 5; i++)
        pl_loop_turn(run.loop, 0);
    CHECK_INT(run.calls, 0);
    pl_loop_destroy(run.loop);
}

/* Replaces the function of the C library: as on a busy machine, a killed process does not die for a
 * while. */
static bool spares;

__attribute__((visibility("default"))) int kill(pid_t pid, int signum)
{
    return spares ? 0 : (int)syscall(SYS_kill, pid, signum);
}

TEST(a_loop_that_ends_waits_for_a_killed_process_to_die)
{
    struct run run = {.loop = pl_loop_create(pl_clock_system())};
    const char *const args[] = {"0.4", NULL};
    struct pl_process *process = pl_process_start(
        run.loop, &(struct pl_process_options){.file = "sleep", .args = args, .env = env}, on_done,
        &run);
    pl_loop_turn(run.loop, 0);
    spares = true;
    pl_process_cancel(process);
    pl_loop_destroy(run.loop);
    spares = false;
    CHECK_INT(run.calls, 0);
    CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
    CHECK_INT(errno, ECHILD);
}

TEST(a_long_line_of_stderr_is_cut_and_bytes_of_output_are_kept)
{
    struct run run = run_shell("head -c 100000 /dev/zero | tr '\\0' x >&2; printf 'a\\nb'",
                               (struct pl_process_options){0});
    CHECK_INT(run.err.code, 0);
    CHECK_STR(run.output, "a\nb");
}

TEST_MAIN()
