/* perilune check PATH...: prints the declarations of scripts, without a cluster. */
#include "cli/declared.h"
#include "cli/load.h"
#include "cli/remote.h"
#include "cli/tool_command.h"
#include "cli/webhook.h"

#include <stdio.h>

static void print_options(const struct pl_source_options *options)
{
    for (size_t i = 0; options->namespaces != NULL && options->namespaces[i] != NULL; i++)
        printf(" namespace=%s", options->namespaces[i]);
    if (options->labels != NULL)
        printf(" labels=%s", options->labels);
    if (options->fields != NULL)
        printf(" fields=%s", options->fields);
    if (options->metadata_only)
        printf(" metadata_only");
    if (options->managed_fields)
        printf(" managed_fields");
}

static void print_head(const struct pl_controller_spec *spec)
{
    if (spec->schedule != NULL)
        printf("task %s (%s): at %s", spec->name, spec->declared_at, spec->schedule);
    else if (spec->task.form == PL_TASK_EVERY)
        printf("task %s (%s): every %g s%s", spec->name, spec->declared_at,
               (double)spec->task.period_ns / (double)PL_SECOND,
               spec->task.immediate ? ", at once" : "");
    else if (spec->task.form == PL_TASK_RUN)
        printf("task %s (%s): runs with the host", spec->name, spec->declared_at);
    else
        printf("controller %s (%s)", spec->name, spec->declared_at);
    printf("\n");
}

static void print_controller(const struct pl_controller_spec *spec)
{
    if (spec->hook != NULL)
        pl_webhook_print(spec);
    else
        print_head(spec);
    for (char **channel = spec->channels; channel != NULL && *channel != NULL; channel++)
        printf("  %-8s %s\n", "channel", *channel);
    for (size_t i = 0; i < spec->source_count; i++) {
        const struct pl_source_spec *source = &spec->sources[i];
        char kind[PL_KIND_TEXT];
        printf("  %-8s %s", pl_source_role_name(source->role), pl_kind_text(&source->kind, kind));
        print_options(&source->options);
        if (source->cluster_name != NULL)
            printf(" cluster=%s", source->cluster_name);
        printf("%s\n", pl_source_is_family(source) ? " (kinds that a function selects)" : "");
    }
    for (size_t i = 0; i < spec->write_count; i++) {
        char kind[PL_KIND_TEXT];
        printf("  %-8s %s", "writes", pl_kind_text(&spec->writes[i].kind, kind));
        for (char **verb = spec->writes[i].verbs; *verb != NULL; verb++)
            printf(" %s", *verb);
        printf("\n");
    }
}

static void print_cluster(const struct pl_remote_spec *cluster)
{
    printf("cluster %s:", cluster->name);
    if (cluster->secret_name != NULL)
        printf(" Secret %s/%s, key %s", cluster->secret_ns, cluster->secret_name,
               cluster->secret_key);
    else
        printf(" %s",
               cluster->kubeconfig != NULL ? cluster->kubeconfig : "the host's own kubeconfig");
    printf("%s%s\n", cluster->context != NULL ? ", context " : "",
           cluster->context != NULL ? cluster->context : "");
}

static void print_declarations(const struct pl_declarations *declarations)
{
    for (size_t i = 0; i < declarations->controller_count; i++)
        print_controller(&declarations->controllers[i]);
    for (size_t i = 0; i < declarations->cluster_count; i++)
        print_cluster(&declarations->clusters[i]);
    for (size_t i = 0; i < declarations->index_count; i++) {
        const struct pl_index_spec *index = &declarations->indexes[i];
        char kind[PL_KIND_TEXT];
        printf("index %s of %s: %s (%s)\n", index->name, pl_kind_text(&index->kind, kind),
               index->path != NULL ? index->path : "a function", index->declared_at);
    }
}

/* Checks kinds, fields and types; returns the exit code. */
static int check_judge(const struct pl_command *self, const struct pl_options *options,
                       struct pl_lanes *lanes, const struct pl_declarations *declarations)
{
    struct pl_tool_ask ask = {.options = options};
    struct pl_tool tool = {.module = "perilune.tool.check", .ask = pl_tool_answer, .arg = &ask};
    struct pl_build *input = pl_tool_input_begin(self, &options->flags);
    pl_declared_build(lanes, declarations, input);
    fflush(stdout);
    int exit_code = pl_tool_command(self, &tool, input);
    pl_remote_close(ask.remote);
    return exit_code;
}

int pl_command_check(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_options options;
    int exit_code = PL_EXIT_OK;
    if (pl_options_read(&options, self, argc, argv, &exit_code)) {
        options.lanes.count = 1;
        struct pl_declarations declarations = {0};
        struct pl_lanes *lanes = pl_load(&options, &options.lanes, &declarations);
        if (lanes != NULL) {
            print_declarations(&declarations);
            exit_code = check_judge(self, &options, lanes, &declarations);
            pl_lanes_destroy(lanes);
        } else {
            exit_code = PL_EXIT_FAILURE;
        }
        pl_declarations_deinit(&declarations);
    }
    pl_options_deinit(&options);
    return exit_code;
}
