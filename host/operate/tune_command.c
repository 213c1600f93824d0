/* perilune tune: changes the log's level and a controller's numbers in a running host for a limited
 * time. */
#include "base/base.h"
#include "control/tuning.h"
#include "operate/operate.h"
#include "operate/show.h"

#include <stdio.h>
#include <string.h>

static const struct pl_flag table[] = {
    PL_ADMIN_FLAGS,
    PL_OUTPUT_FLAG,
    {.name = "level",
     .type = PL_FLAG_CHOICE,
     .choices = "debug|info|warn|error",
     .help = "lowest level that is logged"},
    {.name = "controller",
     .type = PL_FLAG_TEXT,
     .metavar = "NAME",
     .with = "workers|retry-base|retry-max|retry-qps",
     .help = "the controller whose numbers change"},
    {.name = "workers",
     .with = "controller",
     .type = PL_FLAG_INTEGER,
     .metavar = "N",
     .least = 1,
     .most = PL_TUNE_WORKERS_MAX,
     .help = "how many runs at a time"},
    {.name = "retry-base",
     .with = "controller",
     .type = PL_FLAG_DURATION,
     .least = PL_MS,
     .most = PL_TUNE_DELAY_MAX,
     .metavar = "DURATION",
     .help = "first retry delay of a key that failed"},
    {.name = "retry-max",
     .with = "controller",
     .type = PL_FLAG_DURATION,
     .least = PL_MS,
     .most = PL_TUNE_DELAY_MAX,
     .metavar = "DURATION",
     .help = "longest retry delay"},
    {.name = "retry-qps",
     .with = "controller",
     .type = PL_FLAG_NUMBER,
     .most = PL_TUNE_QPS_MAX,
     .metavar = "N",
     .help = "retries per second, for all keys together"},
    {.name = "for",
     .with = "level|controller",
     .type = PL_FLAG_DURATION,
     .least = PL_SECOND,
     .most = PL_TUNE_FOR_MAX,
     .metavar = "DURATION",
     .help = "how long the change lasts: 15m if not given, at most 24h"},
    {.name = "reset", .type = PL_FLAG_SWITCH, .help = "undo all changes at once"},
};

static void tune_print_text(struct pl_node root)
{
    struct pl_scratch scratch;
    struct pl_node left = pl_node_getz(root, "log_level_left_seconds");
    printf("log level %.*s", PL_FMT(pl_show_text(root, "log_level", &scratch)));
    if (!pl_node_is_missing(left))
        printf(", for %.0f s more", pl_node_double(left));
    puts("");
    struct pl_iter it = pl_iter(pl_node_getz(root, "controllers"));
    while (pl_iter_next(&it)) {
        static const struct {
            const char *member, *before, *behind;
        } numbers[] = {{"retry_base_seconds", "first delay ", " s"},
                       {"retry_max_seconds", "longest delay ", " s"},
                       {"retry_qps", "retries ", "/s"}};
        printf("controller %.*s: workers %lld (declared %lld)",
               PL_FMT(pl_show_text(it.value, "controller", &scratch)),
               (long long)pl_show_int(it.value, "workers"),
               (long long)pl_show_int(it.value, "declared_workers"));
        for (size_t i = 0; i < PL_ARRAY_LEN(numbers); i++) {
            struct pl_node number = pl_node_getz(it.value, numbers[i].member);
            if (!pl_node_is_missing(number))
                printf(", %s%g%s", numbers[i].before, pl_node_double(number), numbers[i].behind);
        }
        printf(", for %.0f s more\n", pl_node_double(pl_node_getz(it.value, "left_seconds")));
    }
}

static void tune_put_text(struct pl_build *b, const char *member, const char *text)
{
    if (text != NULL)
        pl_build_put_strz(b, member, text);
}

static void put_integer(struct pl_build *b, const char *member, bool given, int64_t value)
{
    if (!given)
        return;
    pl_build_keyz(b, member);
    pl_build_int(b, value);
}

static struct pl_build *tune_request_of(const struct pl_flags *flags)
{
    struct pl_build *b = pl_admin_request_begin("tune");
    tune_put_text(b, "log_level", pl_flags_text(flags, "level"));
    tune_put_text(b, "controller", pl_flags_text(flags, "controller"));
    put_integer(b, "workers", pl_flags_text(flags, "workers") != NULL,
                pl_flags_integer(flags, "workers"));
    put_integer(b, "base_ms", pl_flags_text(flags, "retry-base") != NULL,
                pl_flags_duration(flags, "retry-base") / PL_MS);
    put_integer(b, "max_ms", pl_flags_text(flags, "retry-max") != NULL,
                pl_flags_duration(flags, "retry-max") / PL_MS);
    put_integer(b, "for_ms", pl_flags_text(flags, "for") != NULL,
                pl_flags_duration(flags, "for") / PL_MS);
    if (pl_flags_text(flags, "retry-qps") != NULL) {
        pl_build_keyz(b, "qps");
        pl_build_double(b, pl_flags_number(flags, "retry-qps"));
    }
    pl_build_keyz(b, "reset");
    pl_build_bool(b, pl_flags_switch(flags, "reset"));
    return b;
}

/* Checks combinations of flags. EINVAL when they do not go together. */
static int tune_check(const struct pl_flags *flags, struct pl_err *err)
{
    const char *base = pl_flags_text(flags, "retry-base"), *max = pl_flags_text(flags, "retry-max");
    if (pl_flags_switch(flags, "reset") &&
        (pl_flags_text(flags, "level") != NULL || pl_flags_text(flags, "controller") != NULL))
        return pl_err_set(err, PL_EINVAL, "--reset undoes all changes: use it alone");
    if (pl_flags_text(flags, "retry-qps") != NULL && pl_flags_number(flags, "retry-qps") <= 0)
        return pl_err_set(err, PL_EINVAL, "--retry-qps: \"%s\": it must be above 0",
                          pl_flags_text(flags, "retry-qps"));
    if (base != NULL && max != NULL &&
        pl_flags_duration(flags, "retry-base") > pl_flags_duration(flags, "retry-max"))
        return pl_err_set(err, PL_EINVAL, "--retry-base must not be longer than --retry-max");
    return 0;
}

int pl_command_tune(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_flags flags;
    struct pl_err err;
    pl_err_clear(&err);
    int exit_code = PL_EXIT_OK;
    if (pl_command_flags(self, &flags, table, PL_ARRAY_LEN(table), argc, argv, &exit_code)) {
        if (tune_check(&flags, &err) != 0)
            exit_code = pl_command_misuse(self, "%s", err.message);
        else if (pl_show_ask(&flags, tune_request_of(&flags), tune_print_text, &err) != 0)
            exit_code = pl_admin_failed(self, &err);
    }
    pl_flags_deinit(&flags);
    return exit_code;
}
