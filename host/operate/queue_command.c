/* perilune queue, pause and resume: shows and changes the queues of a running host. */
#include "base/base.h"
#include "operate/operate.h"
#include "operate/show.h"

#include <stdio.h>
#include <string.h>

static const struct pl_flag table[] = {
    PL_ADMIN_FLAGS,
    PL_OUTPUT_FLAG,
};

static void print_queued(struct pl_node queued, struct pl_slice controller)
{
    struct pl_scratch s[2];
    struct pl_node in = pl_node_getz(queued, "in_seconds");
    bool delayed = !pl_node_is_missing(in);
    double seconds = pl_node_double(delayed ? in : pl_node_getz(queued, "for_seconds"));
    printf("%-20.*s %-40.*s %-8.*s %s %8.1f s %6lld %6lld%s\n", PL_FMT(controller),
           PL_FMT(pl_show_text(queued, "key", &s[0])), PL_FMT(pl_show_text(queued, "state", &s[1])),
           delayed ? "in " : "for", seconds, (long long)pl_show_int(queued, "priority"),
           (long long)pl_show_int(queued, "requeues"),
           pl_node_bool(pl_node_getz(queued, "again")) ? "  and again" : "");
}

static void print_list(struct pl_node root)
{
    struct pl_iter queues = pl_iter(pl_node_getz(root, "queues"));
    printf("%-20s %-40s %-8s %14s %6s %6s\n", "CONTROLLER", "KEY", "STATE", "TIME", "PRIO",
           "TRIES");
    while (pl_iter_next(&queues)) {
        struct pl_scratch scratch;
        struct pl_slice controller = pl_show_text(queues.value, "controller", &scratch);
        struct pl_node keys = pl_node_getz(queues.value, "keys");
        struct pl_iter it = pl_iter(keys);
        while (pl_iter_next(&it))
            print_queued(it.value, controller);
        int64_t more = pl_show_int(queues.value, "total") - (int64_t)pl_node_len(keys);
        if (more > 0)
            printf("%-20.*s and %lld more\n", PL_FMT(controller), (long long)more);
    }
}

static void queue_print_text(struct pl_node root)
{
    if (!pl_node_is_missing(pl_node_getz(root, "queues")))
        print_list(root);
    else if (!pl_node_is_missing(pl_node_getz(root, "dropped")))
        puts(pl_node_bool(pl_node_getz(root, "dropped")) ? "dropped" : "it was not in the queue");
    else
        puts("done");
}

/* 0 for arguments that `perilune queue` takes, else the exit code. */
static int queue_check(const struct pl_command *self, const struct pl_flags *flags)
{
    const char *action = flags->path_count > 0 ? flags->paths[0] : "list";
    bool lists = strcmp(action, "list") == 0;
    if (!lists && strcmp(action, "requeue") != 0 && strcmp(action, "drop") != 0)
        return pl_command_misuse(self, "\"%s\" is not list, requeue or drop", action);
    if (lists && flags->path_count > 2)
        return pl_command_misuse(self, "list takes one controller or none");
    if (!lists && flags->path_count != 3)
        return pl_command_misuse(self, "%s takes a controller and a key", action);
    return 0;
}

static int pause_check(const struct pl_command *self, const struct pl_flags *flags)
{
    return flags->path_count == 2 ? 0 : pl_command_misuse(self, "it takes a kind and a key");
}

/* Arguments become members of these names, in order. */
static int queue_run(const struct pl_command *self, int argc, char *const *argv,
                     const char *const *members,
                     int (*check)(const struct pl_command *self, const struct pl_flags *flags))
{
    struct pl_flags flags;
    struct pl_err err;
    pl_err_clear(&err);
    int exit_code = PL_EXIT_OK;
    bool goes_on =
        pl_command_flags(self, &flags, table, PL_ARRAY_LEN(table), argc, argv, &exit_code);
    if (goes_on && (exit_code = check(self, &flags)) == 0) {
        struct pl_build *request = pl_admin_request_begin(self->name);
        for (size_t i = 0; i < flags.path_count; i++)
            pl_build_put_strz(request, members[i], flags.paths[i]);
        if (pl_show_ask(&flags, request, queue_print_text, &err) != 0)
            exit_code = pl_admin_failed(self, &err);
    }
    pl_flags_deinit(&flags);
    return exit_code;
}

int pl_command_queue(const struct pl_command *self, int argc, char *const *argv)
{
    static const char *const members[] = {"action", "controller", "key"};
    return queue_run(self, argc, argv, members, queue_check);
}

int pl_command_pause(const struct pl_command *self, int argc, char *const *argv)
{
    static const char *const members[] = {"kind", "key"};
    return queue_run(self, argc, argv, members, pause_check);
}
