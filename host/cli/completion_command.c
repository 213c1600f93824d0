/* perilune completion bash|zsh|fish: prints the script that completes commands and flags in a
 * shell.
 *
 * For `why` and `queue` that script asks a running host while the user types, by `perilune
 * completion keys COMMAND [WORD]`. It must end within 200 ms, whatever the host does, and print
 * nothing when there is none. So an alarm ends the process, and errors are not printed. */
#include "base/base.h"
#include "cli/tool_command.h"
#include "operate/admin_client.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define LIMIT_US 180000 /* the rest of 200 ms is for starting and printing */

static const struct pl_flag table[] = {PL_ADMIN_FLAGS};

static void completion_give_up(int signum)
{
    PL_UNUSED(signum);
    _exit(0);
}

static void limit_time(void)
{
    const struct itimerval limit = {.it_value = {.tv_usec = LIMIT_US}};
    signal(SIGALRM, completion_give_up);
    setitimer(ITIMER_REAL, &limit, NULL);
}

static int ask_host(void *arg, const char *what, struct pl_slice question, struct pl_buf *answer,
                    struct pl_err *err)
{
    PL_UNUSED(question);
    return pl_admin_ask_json(arg, what, answer, err);
}

int pl_command_completion(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_flags flags;
    int exit_code = PL_EXIT_OK;
    struct pl_tool tool = {.module = "perilune.tool.completion", .ask = ask_host, .arg = &flags};
    if (argc > 0 && strcmp(argv[0], "keys") == 0)
        limit_time();
    if (pl_command_flags(self, &flags, table, PL_ARRAY_LEN(table), argc, argv, &exit_code)) {
        struct pl_build *input = pl_tool_input_begin(self, &flags);
        struct pl_doc *commands = self->all();
        pl_build_keyz(input, "commands");
        pl_build_node(input, pl_doc_root(commands));
        pl_doc_unref(commands);
        exit_code = pl_tool_command(self, &tool, input);
    }
    pl_flags_deinit(&flags);
    return exit_code;
}
