/* perilune profile: where the scripts of a running host compute, as folded stacks or as a picture.
 */
#include "admin/admin.h"
#include "base/buf.h"
#include "operate/flame.h"
#include "operate/operate.h"
#include "operate/show.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct pl_flag table[] = {
    PL_ADMIN_FLAGS,
    {.name = "seconds",
     .type = PL_FLAG_INTEGER,
     .fallback = "10",
     .metavar = "N",
     .least = 1,
     .most = PL_PROFILE_SECONDS_MAX,
     .help = "how long to sample; at most 600"},
    {.name = "output",
     .letter = 'o',
     .metavar = "FILE",
     .help = "file for the stacks, or for the flame graph if its name ends with .svg (default: "
             "stdout)"},
    {.name = "svg", .metavar = "FILE", .help = "file for a flame graph, besides the stacks"},
};

static int write_file(const char *path, struct pl_slice text, struct pl_err *err)
{
    FILE *file = path != NULL ? fopen(path, "w") : stdout;
    bool ok = file != NULL && fwrite(text.ptr, 1, text.len, file) == text.len && fflush(file) == 0;
    int why = errno;
    if (file != NULL && file != stdout)
        ok = fclose(file) == 0 && ok;
    return ok ? 0
              : pl_err_set(err, PL_EIO, "%s: %s", path != NULL ? path : "stdout", strerror(why));
}

static int write_picture(const char *path, struct pl_slice stacks, int64_t samples,
                         struct pl_err *err)
{
    struct pl_buf picture = PL_BUF_INIT;
    char title[120];
    snprintf(title, sizeof title, "where scripts compute: %lld samples, callers below",
             (long long)samples);
    pl_flame_write(stacks, title, &picture);
    int rc = write_file(path, pl_buf_slice(&picture), err);
    pl_buf_deinit(&picture);
    return rc;
}

static bool is_svg(const char *path)
{
    size_t len = path != NULL ? strlen(path) : 0;
    return len > 4 && strcmp(path + len - 4, ".svg") == 0;
}

static int write_profile(const struct pl_flags *flags, struct pl_node answer, struct pl_err *err)
{
    struct pl_scratch scratch;
    struct pl_slice stacks = pl_show_text(answer, "stacks", &scratch);
    const char *output = pl_flags_text(flags, "output"), *svg = pl_flags_text(flags, "svg");
    int64_t samples = pl_show_int(answer, "samples");
    if (samples == 0)
        fprintf(stderr, "perilune profile: no script was seen computing (compiled code is not "
                        "visible, see --jit)\n");
    int rc = svg != NULL ? write_picture(svg, stacks, samples, err) : 0;
    if (rc == 0 && is_svg(output))
        rc = write_picture(output, stacks, samples, err);
    else if (rc == 0 && (output != NULL || svg == NULL))
        rc = write_file(output, stacks, err);
    return rc;
}

/* Before the time is spent: a file that can't be written is known at once. */
static int profile_check_file(const char *path, struct pl_err *err)
{
    FILE *file = path != NULL ? fopen(path, "a") : NULL;
    if (path == NULL || (file != NULL && fclose(file) == 0))
        return 0;
    return pl_err_set(err, PL_EIO, "%s: %s", path, strerror(errno));
}

static int ask_profile(const struct pl_flags *flags, struct pl_err *err)
{
    if (profile_check_file(pl_flags_text(flags, "output"), err) != 0 ||
        profile_check_file(pl_flags_text(flags, "svg"), err) != 0)
        return err->code;
    struct pl_build *request = pl_admin_request_begin("profile");
    pl_build_put_int(request, "seconds", pl_flags_integer(flags, "seconds"));
    struct pl_doc *answer = pl_admin_ask_host(flags, request, err);
    int rc = answer != NULL ? write_profile(flags, pl_doc_root(answer), err) : err->code;
    pl_doc_unref(answer);
    return rc;
}

int pl_command_profile(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_flags flags;
    struct pl_err err;
    pl_err_clear(&err);
    int exit_code = PL_EXIT_OK;
    if (pl_command_flags(self, &flags, table, PL_ARRAY_LEN(table), argc, argv, &exit_code)) {
        if (ask_profile(&flags, &err) != 0)
            exit_code = pl_admin_failed(self, &err);
    }
    pl_flags_deinit(&flags);
    return exit_code;
}
