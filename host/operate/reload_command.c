/* perilune reload: loads the scripts of a running host again. */
#include "base/base.h"
#include "operate/operate.h"
#include "operate/shadow_command.h"
#include "operate/show.h"

#include <stdio.h>
#include <string.h>

static const struct pl_flag table[] = {
    PL_ADMIN_FLAGS,
    PL_OUTPUT_FLAG,
    {.name = "wait",
     .type = PL_FLAG_SWITCH,
     .help = "wait until the guard of the new scripts has ended"},
    PL_SHADOW_FLAGS,
};

static void reload_print_text(struct pl_node answer)
{
    struct pl_scratch s[2];
    struct pl_slice message = pl_show_text(answer, "message", &s[1]);
    printf("%.*s: generation %lld\n", PL_FMT(pl_show_text(answer, "result", &s[0])),
           (long long)pl_show_int(answer, "generation"));
    if (message.len > 0)
        printf("%.*s\n", PL_FMT(message));
}

/* 1 when the old scripts continue. */
static int reload_ask(const struct pl_flags *flags, bool *taken, struct pl_err *err)
{
    struct pl_scratch scratch;
    struct pl_build *request = pl_admin_request_begin("reload");
    pl_build_put_bool(request, "wait", pl_flags_switch(flags, "wait"));
    struct pl_doc *answer = pl_admin_ask_host(flags, request, err);
    if (answer == NULL)
        return err->code;
    struct pl_slice result = pl_show_text(pl_doc_root(answer), "result", &scratch);
    *taken = !pl_slice_eqz(result, "rejected") && !pl_slice_eqz(result, "rolled_back");
    int rc = pl_show(flags, pl_doc_root(answer), reload_print_text, err);
    pl_doc_unref(answer);
    return rc;
}

int pl_command_reload(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_flags flags;
    struct pl_err err;
    pl_err_clear(&err);
    int exit_code = PL_EXIT_OK;
    bool taken = false;
    if (pl_command_flags(self, &flags, table, PL_ARRAY_LEN(table), argc, argv, &exit_code)) {
        if (pl_flags_switch(&flags, "shadow")) {
            exit_code = pl_shadow_command(self, &flags);
        } else if (flags.path_count > 0) {
            exit_code =
                pl_command_misuse(self, "paths are only taken with --shadow: %s", flags.paths[0]);
        } else if (reload_ask(&flags, &taken, &err) != 0) {
            exit_code = pl_admin_failed(self, &err);
        } else if (!taken) {
            exit_code = PL_EXIT_FAILURE;
        }
    }
    pl_flags_deinit(&flags);
    return exit_code;
}
