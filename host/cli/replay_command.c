/* perilune replay FILE [PATH...]: what a host has recorded, run again; with PATHs other scripts,
 * and what they would write. Exit codes: 0 as it was, 1 it can't be read or loaded, or with
 * --exit-code the other scripts write something else, 2 usage, 3 it goes another way. */
#include "base/base.h"
#include "base/alloc.h"
#include "cli/commands.h"
#include "format/units.h"
#include "operate/show.h"
#include "record/reader.h"
#include "record/rehearse.h"
#include "record/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIFFERS 3

static const struct pl_flag table[] = {
    {.name = "until", .metavar = "TIME", .help = "stop at this time, such as 2026-01-31T08:00:00Z"},
    {.name = "key",
     .metavar = "KIND NS/NAME",
     .help = "only runs of this key: print their calls, or compare them; KIND is the kind of the "
             "controller's For, or its name"},
    {.name = "break",
     .metavar = "LINE",
     .help = "stop at this line of a script, such as main.lua:44, and evaluate Lua from standard "
             "input"},
    {.name = "exit-code",
     .type = PL_FLAG_SWITCH,
     .help = "with PATH...: exit with 1 when something differs"},
};

static void say(void *arg, const char *line)
{
    PL_UNUSED(arg);
    printf("%s\n", line);
}

/* A line that is typed; NULL: there is none any more. */
static char *ask(void *arg)
{
    char *line = NULL;
    size_t size = 0;
    PL_UNUSED(arg);
    if (isatty(STDIN_FILENO))
        printf("> ");
    fflush(stdout);
    ssize_t len = getline(&line, &size, stdin);
    char *copy = NULL;
    if (len >= 0)
        copy = pl_memdup0(line, (size_t)(len > 0 && line[len - 1] == '\n' ? len - 1 : len));
    free(line);
    return copy;
}

static void print_time(int64_t wall_ns)
{
    char text[40];
    pl_time_text(wall_ns, 3, text);
    printf("%s", text);
}

static void print_replayed(const struct pl_reader *reader, const struct pl_replay_options *options,
                           const struct pl_replayed *replayed)
{
    printf("replayed %zu runs with %zu calls", replayed->runs, replayed->calls);
    if (replayed->first_ns > 0) {
        printf(", ");
        print_time(replayed->first_ns);
        printf(" to ");
        print_time(replayed->last_ns > replayed->first_ns ? replayed->last_ns : replayed->first_ns);
    }
    if (options->key != NULL && replayed->told == 0)
        printf("; no run of %s %s is in it", options->controller, options->key);
    if (replayed->skipped > 0)
        printf("; %zu runs had begun before the record", replayed->skipped);
    if (replayed->limited > 0)
        printf("; %zu were ended by a limit, which is not replayed", replayed->limited);
    if (reader->gap)
        printf("; the host left entries out because its disk was too slow");
    if (reader->cut)
        printf("; the file ends in the middle of an entry because the host was killed");
    printf("\n");
}

/* Says that the breakpoint's line never ran, if so. */
static void print_unstopped(const struct pl_breakpoint_options *breakpoint, size_t stops)
{
    if (breakpoint->line > 0 && stops == 0)
        printf("no run has come to the breakpoint at %s%s%d\n",
               breakpoint->file != NULL ? breakpoint->file : "line ",
               breakpoint->file != NULL ? ":" : "", breakpoint->line);
}

static int finish(const struct pl_reader *reader, const struct pl_replay_options *options,
                  const struct pl_replayed *replayed)
{
    print_replayed(reader, options, replayed);
    print_unstopped(&options->breakpoint, replayed->stops);
    if (replayed->quit)
        return PL_EXIT_OK;
    if (replayed->difference == NULL) {
        printf("everything happened as it was recorded\n");
        return PL_EXIT_OK;
    }
    printf("the replay differs at %s\n", replayed->difference);
    return DIFFERS;
}

/* "KIND NS/NAME": kind, which is freed with *key, which points into it. */
static int read_key(const char *text, char **kind, const char **key, struct pl_err *err)
{
    char *copy = pl_strdup(text), *space = strchr(copy, ' ');
    if (space == NULL || space == copy || space[1] == '\0') {
        pl_free(copy);
        return pl_err_set(err, PL_EINVAL,
                          "--key takes KIND NS/NAME, such as 'Website default/blog', not \"%s\"",
                          text);
    }
    *space = '\0';
    *kind = copy;
    *key = space + 1;
    return 0;
}

static int read_options(const struct pl_flags *flags, struct pl_replay_options *options,
                        char **kind, char **file, struct pl_err *err)
{
    const char *stop = pl_flags_text(flags, "break");
    const char *until = pl_flags_text(flags, "until"), *key = pl_flags_text(flags, "key");
    *options = (struct pl_replay_options){.say = say, .breakpoint = {.ask = ask, .say = say}};
    if (until != NULL && !pl_time_parse(pl_slice_z(until), &options->until_ns))
        return pl_err_set(err, PL_EINVAL,
                          "--until takes a time such as 2026-01-31T08:00:00Z, not \"%s\"", until);
    int rc = key != NULL ? read_key(key, kind, &options->key, err) : 0;
    options->controller = *kind;
    if (rc == 0 && stop != NULL)
        rc = pl_breakpoint_parse(stop, file, &options->breakpoint.line, err);
    options->breakpoint.file = *file;
    return rc;
}

/* ---- other scripts ---- */

static void print_difference(void *arg, const char *controller, const char *key, int64_t wall_ns,
                             struct pl_node difference, const char *error)
{
    PL_UNUSED(arg);
    print_time(wall_ns);
    printf(" %s %s\n", controller, key);
    if (error != NULL) {
        printf("  ! these scripts fail: %s\n", error);
        return;
    }
    pl_show_difference(difference, "then");
}

static int print_rehearsed(const struct pl_rehearsed_record *done, bool exit_code)
{
    printf("%zu of %zu runs write something else", done->different, done->runs);
    if (done->missing > 0)
        printf("; %zu runs belong to controllers that these scripts do not have", done->missing);
    if (done->unknown > 0)
        printf("; the record has no answer to %zu reads", done->unknown);
    if (done->veiled)
        printf("; values of Secrets are pseudonyms in the record, so they were not compared");
    printf("\n");
    return exit_code && done->different > 0 ? PL_EXIT_FAILURE : PL_EXIT_OK;
}

static int rehearse(const struct pl_reader *reader, const struct pl_flags *flags,
                    const struct pl_replay_options *replay)
{
    struct pl_rehearsed_record done;
    struct pl_err err;
    pl_err_clear(&err);
    const struct pl_rehearse_options options = {.paths = (const char *const *)flags->paths + 1,
                                                .path_count = flags->path_count - 1,
                                                .until_ns = replay->until_ns,
                                                .controller = replay->controller,
                                                .key = replay->key,
                                                .differs = print_difference,
                                                .breakpoint = replay->breakpoint};
    if (pl_rehearse_run(reader, &options, &done, &err) == 0) {
        print_unstopped(&replay->breakpoint, done.stops);
        return print_rehearsed(&done, pl_flags_switch(flags, "exit-code"));
    }
    fprintf(stderr, "%s\n", err.message);
    return PL_EXIT_FAILURE;
}

static int replay_same(const struct pl_reader *reader, const struct pl_replay_options *options)
{
    struct pl_replayed replayed;
    struct pl_err err;
    int exit_code = PL_EXIT_FAILURE;
    pl_err_clear(&err);
    if (pl_replay_run(reader, options, &replayed, &err) == 0)
        exit_code = finish(reader, options, &replayed);
    else
        fprintf(stderr, "perilune replay: %s\n", err.message);
    pl_replayed_deinit(&replayed);
    return exit_code;
}

static int replay(const struct pl_flags *flags, const struct pl_replay_options *options)
{
    struct pl_reader reader;
    struct pl_err err;
    int exit_code = PL_EXIT_FAILURE;
    pl_err_clear(&err);
    if (pl_reader_open(&reader, flags->paths[0], &err) != 0)
        fprintf(stderr, "perilune replay: %s\n", err.message);
    else if (flags->path_count > 1)
        exit_code = rehearse(&reader, flags, options);
    else
        exit_code = replay_same(&reader, options);
    pl_reader_deinit(&reader);
    return exit_code;
}

static int run(const struct pl_command *self, const struct pl_flags *flags)
{
    struct pl_replay_options options;
    struct pl_err err;
    char *kind = NULL, *file = NULL;
    pl_err_clear(&err);
    int exit_code = PL_EXIT_USAGE;
    if (flags->path_count == 0)
        exit_code = pl_command_misuse(self, "no FILE given");
    else if (read_options(flags, &options, &kind, &file, &err) != 0)
        fprintf(stderr, "perilune replay: %s\n", err.message);
    else
        exit_code = replay(flags, &options);
    pl_free(kind);
    pl_free(file);
    return exit_code;
}

/* "--key Website default/blog" is one value in two words. */
static char **join_key(int argc, char *const *argv, int *count)
{
    char **words = pl_calloc((size_t)argc + 1, sizeof *words);
    *count = 0;
    for (int i = 0; i < argc; i++) {
        bool two =
            strcmp(argv[i], "--key") == 0 && i + 2 < argc && strchr(argv[i + 1], ' ') == NULL;
        words[(*count)++] = pl_strdup(argv[i]);
        if (!two)
            continue;
        words[(*count)++] = pl_format("%s %s", argv[i + 1], argv[i + 2]);
        i += 2;
    }
    return words;
}

int pl_command_replay(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_flags flags;
    int exit_code = PL_EXIT_OK, count;
    char **words = join_key(argc, argv, &count);
    if (pl_command_flags(self, &flags, table, PL_ARRAY_LEN(table), count, words, &exit_code))
        exit_code = run(self, &flags);
    pl_flags_deinit(&flags);
    for (int i = 0; i < count; i++)
        pl_free(words[i]);
    pl_free(words);
    return exit_code;
}
