/* The binary: finds the command and calls it. */
#include "base/base.h"
#include "base/check.h"
#include "base/nearest.h"
#include "cli/commands.h"
#include "crypto/tls_prepare.h"
#include "net/blocking_work.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void print_usage(FILE *to)
{
    size_t count;
    const struct pl_command *commands = pl_commands(&count);
    fputs("usage: perilune COMMAND [FLAGS] [PATH...]\n\ncommands:\n", to);
    for (size_t i = 0; i < count; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\nperilune COMMAND --help lists the command's flags.\n", to);
}

static int unknown_command(const char *name)
{
    const char *names[64];
    size_t count;
    const struct pl_command *commands = pl_commands(&count);
    PL_REQUIRE(count <= PL_ARRAY_LEN(names));
    for (size_t i = 0; i < count; i++)
        names[i] = commands[i].name;
    const char *best = pl_nearest(pl_slice_z(name), names, count);
    if (best != NULL)
        fprintf(stderr, "perilune: unknown command \"%s\"; did you mean \"%s\"?\n", name, best);
    else
        fprintf(stderr, "perilune: unknown command \"%s\"; --help lists them\n", name);
    return PL_EXIT_USAGE;
}

/* If a standard stream is closed, a socket or the loop's own pipe would get its number, and log
 * lines would be written there. */
static bool open_standard_streams(void)
{
    static const char names[][16] = {"standard input", "standard output", "standard error"};
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        /* The lowest free number is taken: this one. */
        if (fcntl(fd, F_GETFD) != -1 || open("/dev/null", O_RDWR) == fd)
            continue;
        fprintf(stderr, "perilune: %s is closed, and /dev/null cannot be opened: %s\n", names[fd],
                strerror(errno));
        return false;
    }
    return true;
}

/* The reader must not take a part of the output for all of it. */
static int flush(int exit_code)
{
    const char *failed = pl_command_flush_output();
    if (failed == NULL || exit_code != PL_EXIT_OK)
        return exit_code;
    fprintf(stderr, "perilune: standard output cannot be written: %s\n", failed);
    return PL_EXIT_FAILURE;
}

/* Does not wait for a disk that does not answer. */
static int main_finish(int exit_code)
{
    exit_code = flush(exit_code);
    if (pl_blocking_work_is_left())
        _exit(exit_code);
    return exit_code;
}

int main(int argc, char **argv)
{
    if (!open_standard_streams())
        return PL_EXIT_FAILURE;
    /* A reader that has gone is an error of the write, not the end of the process. */
    signal(SIGPIPE, SIG_IGN);
    const char *name = argc > 1 ? argv[1] : NULL;
    if (name == NULL) {
        print_usage(stderr);
        return PL_EXIT_USAGE;
    }
    char help[] = "--help";
    if (argc > 2 && strcmp(name, "help") == 0) { /* help COMMAND: COMMAND --help */
        name = argv[1] = argv[2];
        argv[2] = help;
        argc = 3;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_usage(stdout);
        return main_finish(PL_EXIT_OK);
    }
    if (strcmp(name, "--version") == 0)
        name = "version";
    size_t count;
    const struct pl_command *commands = pl_commands(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, commands[i].name) != 0)
            continue;
        pl_tls_spare_names();
        struct pl_command asked = commands[i];
        asked.all = pl_commands_describe;
        return main_finish(asked.run(&asked, argc - 2, argv + 2));
    }
    return unknown_command(name);
}
