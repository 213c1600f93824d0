/* The points where a world can be disturbed. This file decides nothing: the chooser or a rule does,
 * and by default everything succeeds. */
#include "world/wire_impl.h"

#include "base/alloc.h"

#include <string.h>

static struct pl_point point_of(const struct wire_call *call, enum pl_point_kind kind)
{
    return (struct pl_point){.kind = kind,
                             .host = call->wire->o.host,
                             .controller = "",
                             .key = "",
                             .run_id = "",
                             .line = "",
                             .api_kind = "",
                             .name = "",
                             .version = "",
                             .call_id = call->id,
                             .by_run = call->by_run,
                             .verb = call->target.verb,
                             .object = call->target.object,
                             .subresource = call->target.subresource,
                             .writes = call->target.writes,
                             .status = kind == PL_POINT_REQUEST ? 0 : call->status};
}

static const char *wire_points_reason_of(int status)
{
    switch (status) {
    case 403:
        return "Forbidden";
    case 404:
        return "NotFound";
    case 409:
        return "Conflict";
    case 422:
        return "Invalid";
    case 429:
        return "TooManyRequests";
    case 503:
        return "ServiceUnavailable";
    case 504:
        return "Timeout";
    default:
        return "InternalError";
    }
}

/* The request never reaches the server. */
static void wire_points_refuse(struct wire_call *call, const struct pl_disturbance *what)
{
    call->server_done = true;
    if (what->status == 0) {
        pl_wire_tell_seen(call, pl_slice("", 0));
        pl_wire_end_with(call, PL_ENETWORK, "ConnectionRefused", "the connection was refused");
        return;
    }
    const struct pl_http_header header = {"content-type", "application/json"};
    const char *reason = what->reason != NULL ? what->reason : wire_points_reason_of(what->status);
    char *body = pl_format(
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
        "\"Failure\",\"message\":\"%s (the test says so)\",\"reason\":\"%s\",\"code\":%d}",
        reason, reason, what->status);
    call->sent = true;
    call->server_done = false;
    pl_wire_reply(call, what->status, &header, 1, pl_slice_z(body));
    pl_free(body);
}

static void on_later(struct pl_timer *timer)
{
    pl_wire_step_later(PL_CONTAINER_OF(timer, struct wire_call, later));
}

/* An old state of the list, from the server's history. */
static void list_as_of(struct wire_call *call, const char *version)
{
    static const char version_words[] = "resourceVersion";
    struct pl_slice query = call->target.query;
    struct pl_buf text = PL_BUF_INIT;
    for (size_t at = 0; at < query.len;) {
        size_t len = 0;
        while (at + len < query.len && query.ptr[at + len] != '&')
            len++;
        if (len < strlen(version_words) ||
            memcmp(query.ptr + at, version_words, strlen(version_words)) != 0)
            pl_buf_add_f(&text, "%.*s&", (int)len, query.ptr + at);
        at += len + 1;
    }
    pl_buf_add_f(&text, "resourceVersion=%s&resourceVersionMatch=Exact", version);
    pl_free(call->query);
    call->query = pl_buf_take(&text);
    call->target.query = pl_slice_z(call->query);
}

/* Asks the chooser at a point. */
static void wire_points_choose(struct wire_call *call, struct pl_point *point,
                               struct pl_disturbance *what)
{
    const struct pl_wire_options *o = &call->wire->o;
    struct pl_point_details about = {.name = NULL};
    if (point->kind == PL_POINT_REQUEST) {
        pl_point_details_request(&about, point, &call->target, pl_buf_slice(&call->body), o->who,
                                 o->who_arg);
        point->by_run = call->by_run = point->controller[0] != '\0';
    } else if (point->kind == PL_POINT_EVENT) {
        const struct wire_piece *piece =
            PL_CONTAINER_OF(pl_list_first(&call->pieces), struct wire_piece, link);
        pl_point_details_event(&about, point, pl_slice(piece->text, piece->len));
    }
    if (point->kind == PL_POINT_APPLIED && !call->is_stream && !pl_list_empty(&call->pieces)) {
        const struct wire_piece *answer =
            PL_CONTAINER_OF(pl_list_first(&call->pieces), struct wire_piece, link);
        point->body = pl_slice(answer->text, answer->len);
    }
    o->chooser->at(o->chooser->arg, point, what);
    pl_point_details_deinit(&about);
}

bool pl_wire_passes(struct wire_call *call, enum pl_point_kind kind)
{
    const struct pl_wire_options *o = &call->wire->o;
    struct pl_disturbance what = {PL_ACT_GO, 0, NULL, 0, 0};
    if (call->asked[kind])
        return true;
    call->asked[kind] = true;
    struct pl_point point = point_of(call, kind);
    bool ruled = o->rule != NULL && kind == PL_POINT_REQUEST && o->rule(o->arg, &point, &what);
    if (!ruled && o->chooser != NULL)
        wire_points_choose(call, &point, &what);
    switch (what.act) {
    case PL_ACT_CRASH:
        o->crash(o->crash_arg);
        return false;
    case PL_ACT_REFUSE:
        wire_points_refuse(call, &what);
        return false;
    case PL_ACT_LOSE:
        call->lost = true;
        call->lost_in_time = what.reason != NULL && strcmp(what.reason, "timeout") == 0;
        return true;
    case PL_ACT_LATER:
        pl_timer_start(pl_wire_timers(call), &call->later, what.delay_ns, on_later);
        return false;
    case PL_ACT_STALE:
        if (what.reason != NULL)
            list_as_of(call, what.reason);
        return true;
    case PL_ACT_CUT:
        pl_wire_drop_pieces(call);
        pl_wire_lose(call);
        return false;
    default:
        return true;
    }
}
