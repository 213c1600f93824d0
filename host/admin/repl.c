/* Sessions of the REPL. A session belongs to the connection that opened it: no one else can send it
 * a line. It ends with that connection, after ten minutes without a line, and when the host stops.
 * A line may start code that never ends; then closing has its own time limit, and the process may
 * end without waiting for it. */
#include "admin/repl.h"

#include "base/alloc.h"
#include "base/check.h"

#define SESSIONS_MAX 4
#define IDLE_NS      (600 * PL_SECOND)
#define CLIENT_NS    (IDLE_NS + 60 * PL_SECOND) /* the session's end is reported first */

struct session {
    struct pl_repls *repls; /* back-pointer */
    struct pl_repl *repl;   /* NULL: the place is free */
    int64_t id;
    struct pl_admin_call *call; /* unanswered; NULL: none */
    struct pl_admin_tie client; /* whose it is: ends with its connection */
    bool closing;
    struct pl_timer idle;
};

struct pl_repls {
    struct pl_repl_options options;
    struct pl_timers *timers;
    struct session sessions[SESSIONS_MAX];
    int64_t next_id;
    bool stopping;
    void (*stopped)(void *arg); /* NULL: already called, or not requested */
    void *stopped_arg;
    struct pl_timer limit;
};

/* ---- closing ---- */

static void check_stopped(struct pl_repls *repls)
{
    void (*stopped)(void *arg) = repls->stopped;
    if (stopped == NULL || !pl_repls_is_closed(repls))
        return;
    repls->stopped = NULL;
    pl_timer_stop(repls->timers, &repls->limit);
    stopped(repls->stopped_arg);
}

static void on_repl_closed(void *arg)
{
    struct session *session = arg;
    session->repl = NULL;
    session->closing = false;
    check_stopped(session->repls);
}

static void close_session(struct session *session)
{
    pl_timer_stop(session->repls->timers, &session->idle);
    pl_admin_untie(&session->client);
    if (session->closing)
        return;
    session->closing = true;
    pl_repl_close(session->repl, on_repl_closed, session);
}

static void on_repl_idle(struct pl_timer *timer)
{
    close_session(PL_CONTAINER_OF(timer, struct session, idle));
}

/* ---- lines ---- */

static void repl_reply(struct pl_admin_call *call, int64_t id, struct pl_slice text, bool failed,
                       bool ended)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_put_int(b, "session", id);
    pl_build_put_text(b, "text", text);
    pl_build_put_bool(b, "failed", failed);
    pl_build_put_bool(b, "ended", ended);
    pl_build_end(b);
    struct pl_doc *result = pl_build_close(b);
    pl_admin_reply(call, result);
}

static void on_told(void *arg, struct pl_slice text, bool failed, bool ended)
{
    struct session *session = arg;
    struct pl_admin_call *call = session->call;
    session->call = NULL;
    repl_reply(call, session->id, text, failed, ended);
    if (ended)
        close_session(session);
    else
        pl_timer_start(session->repls->timers, &session->idle, IDLE_NS, on_repl_idle);
}

/* A session that the client of the call has opened. */
static struct session *repl_find(struct pl_repls *repls, int64_t id,
                                 const struct pl_admin_call *call)
{
    for (size_t i = 0; i < SESSIONS_MAX; i++)
        if (repls->sessions[i].repl != NULL && !repls->sessions[i].closing &&
            repls->sessions[i].id == id && pl_admin_is_tied(&repls->sessions[i].client, call))
            return &repls->sessions[i];
    return NULL;
}

/* No one reads its results any more, even of a line that may never end. */
static void on_client_ended(struct pl_admin_tie *tie)
{
    close_session(PL_CONTAINER_OF(tie, struct session, client));
}

static struct session *open_session(struct pl_repls *repls, struct pl_admin_call *call)
{
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        struct session *session = &repls->sessions[i];
        if (session->repl != NULL)
            continue;
        session->repls = repls;
        session->id = ++repls->next_id;
        session->repl = pl_repl_open(&repls->options);
        pl_admin_tie(call, &session->client, CLIENT_NS, on_client_ended);
        return session;
    }
    return NULL;
}

static void repl_evaluate(struct session *session, struct pl_admin_call *call, const char *text)
{
    if (session->call != NULL) {
        pl_admin_fail(call, "session %lld is still busy with its last line",
                      (long long)session->id);
        return;
    }
    pl_timer_stop(session->repls->timers, &session->idle);
    session->call = call;
    if (pl_repl_eval(session->repl, pl_slice_z(text), on_told, session) == 0)
        return;
    session->call = NULL;
    pl_admin_fail(call, "session %lld has ended", (long long)session->id);
    close_session(session);
}

static void repl_run(void *arg, struct pl_admin_call *call)
{
    struct pl_repls *repls = arg;
    struct pl_node request = pl_admin_request(call);
    int64_t id = 0;
    bool known = pl_node_int(pl_node_getz(request, "session"), &id);
    bool ends = pl_node_bool(pl_node_getz(request, "close"));
    const char *text = pl_admin_text(call, "text");
    if (repls->stopping) {
        pl_admin_fail(call, "the host is stopping");
        return;
    }
    if (text == NULL && !ends) {
        pl_admin_fail(call, "repl takes a text to evaluate");
        return;
    }
    struct session *session = known  ? repl_find(repls, id, call)
                              : ends ? NULL
                                     : open_session(repls, call);
    if (session == NULL && known) {
        pl_admin_fail(call, "there is no session %lld of yours; it may have been idle for too long",
                      (long long)id);
    } else if (session == NULL) {
        pl_admin_fail(call, "%d sessions are open already", SESSIONS_MAX);
    } else if (ends) {
        close_session(session);
        repl_reply(call, id, pl_slice_z(""), false, true);
    } else {
        repl_evaluate(session, call, text);
    }
}

/* ---- life ---- */

struct pl_repls *pl_repls_create(struct pl_admin *admin, const struct pl_repl_options *options)
{
    static const struct pl_admin_command command = {"repl", repl_run};
    struct pl_repls *repls = PL_NEW(struct pl_repls);
    repls->options = *options;
    repls->timers = pl_loop_timers(options->loop);
    pl_admin_add(admin, &command, repls);
    return repls;
}

static void on_repl_limit(struct pl_timer *timer)
{
    struct pl_repls *repls = PL_CONTAINER_OF(timer, struct pl_repls, limit);
    void (*stopped)(void *arg) = repls->stopped;
    repls->stopped = NULL;
    stopped(repls->stopped_arg); /* the process ends a lane that does not end */
}

static void on_checked(struct pl_timer *timer)
{
    struct pl_repls *repls = PL_CONTAINER_OF(timer, struct pl_repls, limit);
    if (pl_repls_is_closed(repls))
        check_stopped(repls);
    else
        pl_timer_start(repls->timers, timer, PL_SECOND, on_repl_limit);
}

void pl_repls_stop(struct pl_repls *repls, void (*stopped)(void *arg), void *arg)
{
    repls->stopping = true;
    repls->stopped = stopped;
    repls->stopped_arg = arg;
    for (size_t i = 0; i < SESSIONS_MAX; i++)
        if (repls->sessions[i].repl != NULL)
            close_session(&repls->sessions[i]);
    if (stopped != NULL)
        pl_timer_start(repls->timers, &repls->limit, 0, on_checked);
}

bool pl_repls_is_closed(const struct pl_repls *repls)
{
    for (size_t i = 0; repls != NULL && i < SESSIONS_MAX; i++)
        if (repls->sessions[i].repl != NULL)
            return false;
    return true;
}

void pl_repls_destroy(struct pl_repls *repls)
{
    if (repls == NULL)
        return;
    PL_REQUIRE(pl_repls_is_closed(repls));
    pl_timer_stop(repls->timers, &repls->limit);
    pl_free(repls);
}
