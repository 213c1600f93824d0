/* host.event: a script's report about an object. The script does not wait: the I/O thread takes a
 * note, records it and frees it. At most EVENTS_OUT are on their way; further ones within one slice
 * are only counted. */
#include "base/alloc.h"
#include "control/hook_call.h"
#include "write/capture.h"
#include "write/recorder.h"
#include "bind/list.h"
#include "lane/co.h"
#include "lane/effects.h"
#include "lane/lane.h"
#include "lua/lerr.h"
#include "lua/member.h"

#define EVENTS_OUT 16384

/* The arguments of host.event. */
enum text {
    API_VERSION,
    KIND,
    NS,
    NAME,
    UID,
    RV,
    REASON,
    NOTE,
    TEXTS,
};

struct event_note {
    struct pl_lane_note note;
    struct pl_lanes *lanes;     /* back-pointer: valid while lanes and notes exist */
    struct pl_lane *lane;       /* back-pointer, while the lanes run */
    struct pl_capture *capture; /* of the run, with a reference; NULL: none */
    struct pl_slice texts[TEXTS];
    struct pl_slice who; /* the controller or task */
    bool warning, dry_run;
    char bytes[]; /* what the slices point to */
};

static void event_drop(struct pl_lane_note *note)
{
    struct event_note *event = PL_CONTAINER_OF(note, struct event_note, note);
    atomic_fetch_sub(&event->lanes->events_out, 1);
    pl_capture_unref(event->capture);
    pl_free(event);
}

static void event_keep(struct event_note *event)
{
    const struct pl_slice *texts = event->texts;
    char *name =
        pl_format("event %s %.*s on %.*s/%.*s %.*s%s%.*s", event->warning ? "Warning" : "Normal",
                  PL_FMT(texts[REASON]), PL_FMT(texts[API_VERSION]), PL_FMT(texts[KIND]),
                  PL_FMT(texts[NS]), texts[NS].len > 0 ? "/" : "", PL_FMT(texts[NAME]));
    pl_capture_note(event->capture, "event", name, texts[NOTE]);
    pl_free(name);
}

static void event_take(struct pl_lane_note *note)
{
    struct event_note *event = PL_CONTAINER_OF(note, struct event_note, note);
    struct pl_lanes *lanes = event->lanes;
    struct pl_recorder *recorder = pl_cluster_recorder(lanes->cluster);
    const struct pl_slice *texts = event->texts;
    struct pl_report report = {
        .regarding = {texts[API_VERSION], texts[KIND], texts[NS], texts[NAME], texts[UID],
                      texts[RV]},
        .warning = event->warning,
        .reason = texts[REASON],
        .note = texts[NOTE],
        .controller = event->who,
        .dry_run = event->dry_run,
    };
    if (event->capture != NULL)
        event_keep(event);
    if (!atomic_load(&event->lane->abandoned) && !pl_lanes_hold(lanes))
        pl_recorder_event(recorder, &report);
    pl_recorder_lost(recorder, atomic_exchange(&lanes->events_lost, 0));
    event_drop(note);
}

static struct pl_slice event_put(char **at, struct pl_slice text)
{
    struct pl_slice copy = pl_slice(*at, text.len);
    memcpy(*at, text.ptr ? text.ptr : "", text.len);
    *at += text.len;
    return copy;
}

/* Checks the texts that the recorder needs. Borrowed from the arguments. */
static void event_check_texts(lua_State *L, struct pl_slice texts[TEXTS])
{
    for (int i = 0; i < TEXTS; i++) {
        bool needed = i == API_VERSION || i == KIND || i == NAME || i == REASON;
        texts[i] = pl_argument_text(L, i + 2);
        luaL_argcheck(L, !needed || texts[i].len > 0, i + 2, "expected a text that is not empty");
    }
}

/* Raises where nothing may be reported. A webhook has answered at its deadline: nothing of it is
 * written after that. A reconcile that timed out may still report it. */
static void event_check_place(lua_State *L, struct pl_state *s)
{
    if (s->lane == NULL || s->phase == PL_PHASE_LOAD)
        pl_lerr_raise(L, s, "event can't be called while the script is loaded");
    if (s->lane->lanes->options.dialog != NULL)
        pl_lerr_raise(L, s, "nothing can be changed here: only reads are allowed");
    const struct pl_exec *exec = s->task != NULL ? s->task->exec : NULL;
    if (exec != NULL && exec->hook != NULL)
        pl_co_raise_canceled(L, s);
}

/* event(warning, api_version, kind, ns|nil, name, uid|nil, version|nil, reason, note) */
static int event(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_slice texts[TEXTS], who = {"", 0};
    event_check_texts(L, texts);
    event_check_place(L, s);
    struct pl_lanes *lanes = s->lane->lanes;
    const struct pl_exec *exec = s->task != NULL ? s->task->exec : NULL;
    if (atomic_fetch_add(&lanes->events_out, 1) >= EVENTS_OUT) {
        atomic_fetch_sub(&lanes->events_out, 1);
        atomic_fetch_add(&lanes->events_lost, 1);
        return 0;
    }
    char *clean = pl_secrets_mask(&s->secrets, texts[NOTE]);
    if (clean != NULL)
        texts[NOTE] = pl_slice_z(clean);
    if (exec != NULL)
        who = pl_slice_z(lanes->controllers[exec->controller].name);
    size_t size = who.len;
    for (int i = 0; i < TEXTS; i++)
        size += texts[i].len;
    struct event_note *msg = pl_calloc(1, sizeof *msg + size);
    char *at = msg->bytes;
    msg->note.take = event_take;
    msg->note.drop = event_drop;
    msg->lanes = lanes;
    msg->lane = s->lane;
    msg->capture = exec != NULL ? pl_capture_ref(exec->capture) : NULL;
    msg->warning = lua_toboolean(L, 1);
    msg->dry_run = exec != NULL && exec->hook != NULL && exec->hook->dry_run;
    msg->who = event_put(&at, who);
    for (int i = 0; i < TEXTS; i++)
        msg->texts[i] = event_put(&at, texts[i]);
    pl_free(clean);
    pl_lane_send_io(s->lane, &msg->note.msg, PL_IO_NOTE);
    return 0;
}

const luaL_Reg pl_bind_events[] = {
    {"event", event},
    {NULL, NULL},
};
