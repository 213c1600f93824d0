/* Failures: the status in the request's context, and its text. The code that fails fills it. The
 * first call sets code, reason and message; causes and details are added. Messages are
 * kube-apiserver's, because clients and people search for them. The number of causes is limited. */
#include "schema/status.h"

#include "base/map.h"

#include <stdarg.h>
#include <stdio.h>

/* Nobody reads more causes. */
#define MAX_CAUSES 200

static struct pl_slice format(struct pl_arena *arena, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *text = pl_arena_alloc(arena, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, fmt, args);
    return pl_arena_utf8(arena, pl_slice(text, (size_t)len)); /* it may quote arbitrary bytes */
}

int pl_api_fail(struct pl_api_status *status, int code, const char *reason, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    struct pl_arena *arena = status->arena;
    *status = (struct pl_api_status){.arena = arena, .code = code, .reason = reason};
    status->message = format(arena, fmt, args);
    va_end(args);
    return -1;
}

void pl_api_fail_about(struct pl_api_status *status, struct pl_slice group, struct pl_slice kind,
                       struct pl_slice name)
{
    status->has_details = true;
    status->group = pl_arena_copy(status->arena, group);
    status->kind = pl_arena_copy(status->arena, kind);
    status->name = pl_arena_copy(status->arena, name);
}

static struct pl_tree *cause_of(struct pl_arena *arena, const char *reason, struct pl_slice field,
                                struct pl_slice message)
{
    struct pl_tree *cause = pl_tree_object(arena);
    if (*reason != '\0')
        pl_tree_set_strz(arena, cause, "reason", reason);
    pl_tree_setz(arena, cause, "message", pl_tree_str(arena, message));
    if (field.len > 0)
        pl_tree_setz(arena, cause, "field", pl_tree_str(arena, field));
    return cause;
}

void pl_api_fail_cause(struct pl_api_status *status, const char *reason, struct pl_slice field,
                       struct pl_slice message)
{
    status->has_details = true;
    if (status->causes == NULL)
        status->causes = pl_tree_array(status->arena);
    if (status->causes->count < MAX_CAUSES)
        pl_tree_push(status->arena, status->causes,
                     cause_of(status->arena, reason, field, message));
}

int pl_api_fail_internal(struct pl_api_status *status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    struct pl_slice why = format(status->arena, fmt, args);
    va_end(args);
    pl_api_fail(status, 500, "InternalError", "Internal error occurred: %.*s", PL_FMT(why));
    pl_api_fail_cause(status, "", pl_slice("", 0), why);
    return -1;
}

int pl_api_bad_request(struct pl_api_status *status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    struct pl_slice message = format(status->arena, fmt, args);
    va_end(args);
    return pl_api_fail(status, 400, "BadRequest", "%.*s", PL_FMT(message));
}

int pl_api_no_resource(struct pl_api_status *status)
{
    pl_api_fail(status, 404, "NotFound", "the server could not find the requested resource");
    status->has_details = true;
    return -1;
}

int pl_api_no_page(struct pl_api_status *status)
{
    pl_api_fail(status, 404, "NotFound", "404 page not found\n");
    status->is_plain = true;
    return -1;
}

int pl_api_no_method(struct pl_api_status *status)
{
    pl_api_fail(status, 405, "MethodNotAllowed",
                "the server does not allow this method on the requested resource");
    status->has_details = true;
    return -1;
}

void pl_api_fault(struct pl_api_faults *faults, const char *reason, struct pl_slice field,
                  const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    struct pl_slice message = format(faults->arena, fmt, args);
    va_end(args);
    if (faults->causes == NULL)
        faults->causes = pl_tree_array(faults->arena);
    if (faults->causes->count < MAX_CAUSES)
        pl_tree_push(faults->arena, faults->causes,
                     cause_of(faults->arena, reason, field, message));
}

/* Adds the fault to the set. True if it was not there: messages name a fault once. */
static bool is_first(struct pl_map *seen, struct pl_tree *cause)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_tree_write(&text, cause);
    bool first = pl_map_put(seen, pl_buf_slice(&text), cause) == NULL;
    pl_buf_deinit(&text);
    return first;
}

struct pl_slice pl_api_faults_text(const struct pl_api_faults *faults)
{
    struct pl_buf buf = PL_BUF_INIT;
    struct pl_map seen = PL_MAP_INIT;
    PL_TREE_FOR(item, faults->causes)
    {
        if (!is_first(&seen, item->value))
            continue;
        if (seen.count > 1)
            pl_buf_add_z(&buf, ", ");
        struct pl_slice field = pl_tree_text_at(item->value, "field");
        if (field.len > 0) {
            pl_buf_add_slice(&buf, field);
            pl_buf_add_z(&buf, ": ");
        }
        pl_buf_add_slice(&buf, pl_tree_text_at(item->value, "message"));
    }
    bool several = seen.count > 1;
    struct pl_slice text =
        pl_arena_f(faults->arena, "%s%s%s", several ? "[" : "", pl_buf_z(&buf), several ? "]" : "");
    pl_map_deinit(&seen);
    pl_buf_deinit(&buf);
    return text;
}

int pl_api_fail_faults(struct pl_api_status *status, const struct pl_api_faults *faults,
                       struct pl_slice group, struct pl_slice kind, struct pl_slice name)
{
    if (faults->causes == NULL)
        return 0;
    struct pl_slice text = pl_api_faults_text(faults);
    pl_api_fail(status, 422, "Invalid", "%.*s%s%.*s \"%.*s\" is invalid: %.*s", PL_FMT(kind),
                group.len > 0 ? "." : "", PL_FMT(group), PL_FMT(name), PL_FMT(text));
    pl_api_fail_about(status, group, kind, name);
    status->causes = faults->causes;
    return -1;
}

static void status_set_text(struct pl_arena *arena, struct pl_tree *object, const char *key,
                            struct pl_slice text)
{
    if (text.len > 0)
        pl_tree_setz(arena, object, key, pl_tree_str(arena, text));
}

void pl_api_status_write(const struct pl_api_status *status, struct pl_buf *out)
{
    struct pl_arena *arena = status->arena;
    struct pl_tree *root = pl_tree_object(arena);
    pl_tree_set_strz(arena, root, "kind", "Status");
    pl_tree_set_strz(arena, root, "apiVersion", "v1");
    struct pl_tree *meta = pl_tree_child(arena, root, "metadata");
    status_set_text(arena, meta, "continue", status->continue_token);
    pl_tree_set_strz(arena, root, "status", "Failure");
    status_set_text(arena, root, "message", status->message);
    status_set_text(arena, root, "reason", pl_slice_z(status->reason));
    if (status->has_details || status->causes != NULL || status->retry_after > 0) {
        struct pl_tree *details = pl_tree_child(arena, root, "details");
        status_set_text(arena, details, "name", status->name);
        status_set_text(arena, details, "group", status->group);
        status_set_text(arena, details, "kind", status->kind);
        if (status->causes != NULL)
            pl_tree_setz(arena, details, "causes", status->causes);
        if (status->retry_after > 0)
            pl_tree_setz(arena, details, "retryAfterSeconds",
                         pl_tree_int(arena, status->retry_after));
    }
    pl_tree_setz(arena, root, "code", pl_tree_int(arena, status->code));
    pl_tree_write(out, root);
}
