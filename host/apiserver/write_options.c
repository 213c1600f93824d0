/* The parameters of every write: field manager, dry run, field validation. Invalid ones are refused
 * as in kube-apiserver: before the body is read, as faults of CreateOptions, UpdateOptions,
 * PatchOptions or DeleteOptions. Objects are not read here. */
#include "apiserver/steps.h"

#define MAX_MANAGER 128

/* Quoted as in Go: unprintable characters are escaped. */
static struct pl_slice quoted(struct pl_arena *arena, struct pl_slice text)
{
    struct pl_buf out = PL_BUF_INIT;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '\n' || c == '\t' || c == '\r')
            pl_buf_add_f(&out, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
        else if (c < ' ' || c == 127)
            pl_buf_add_f(&out, "\\x%02x", c);
        else
            pl_buf_add_f(&out, "%s%c", c == '"' || c == '\\' ? "\\" : "", c);
    }
    struct pl_slice copy = pl_arena_copy(arena, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    return copy;
}

static void check_manager(struct pl_api_faults *faults, struct pl_slice manager)
{
    if (manager.len > MAX_MANAGER)
        pl_api_fault(faults, "FieldValueTooLong", pl_slice_z("fieldManager"),
                     "Too long: may not be more than %d bytes", MAX_MANAGER);
    for (size_t i = 0; i < manager.len; i++) {
        unsigned char c = (unsigned char)manager.ptr[i];
        if (c >= ' ' && c != 127)
            continue;
        struct pl_slice shown = quoted(faults->arena, manager);
        pl_api_fault(faults, "FieldValueInvalid", pl_slice_z("fieldManager"),
                     "Invalid value: \"%.*s\": invalid character U+%04X (at position %zu)",
                     PL_FMT(shown), (unsigned)c, i);
    }
}

static void check_validation(struct pl_api_faults *faults, struct pl_slice mode)
{
    static const char known[][8] = {"", "Ignore", "Strict", "Warn"};
    for (size_t i = 0; i < PL_ARRAY_LEN(known); i++)
        if (pl_slice_eqz(mode, known[i]))
            return;
    pl_api_fault(faults, "FieldValueNotSupported", pl_slice_z("fieldValidation"),
                 "Unsupported value: \"%.*s\": supported values: \"\", \"Ignore\", \"Strict\", "
                 "\"Warn\"",
                 PL_FMT(mode));
}

void pl_api_check_dry(struct pl_api_faults *faults, struct pl_slice dry)
{
    if (dry.ptr != NULL && !pl_slice_eqz(dry, "All")) /* also without a value */
        pl_api_fault(faults, "FieldValueNotSupported", pl_slice_z("dryRun"),
                     "Unsupported value: [\"%.*s\"]: supported values: \"All\"", PL_FMT(dry));
}

int pl_api_fail_options(struct pl_api_ctx *ctx, const struct pl_api_faults *faults,
                        const char *kind)
{
    return pl_api_fail_faults(&ctx->status, faults, pl_slice_z("meta.k8s.io"), pl_slice_z(kind),
                              pl_slice_z(""));
}

int pl_api_check_options(struct pl_api_ctx *ctx, const char *kind)
{
    struct pl_api_faults faults = {.arena = &ctx->arena};
    check_manager(&faults, ctx->request.field_manager);
    pl_api_check_dry(&faults, ctx->request.dry);
    check_validation(&faults, ctx->request.field_validation);
    return pl_api_fail_options(ctx, &faults, kind);
}
