/* The inside of a reflector, shared by reflector*.c and by nobody else. I/O thread. */
#pragma once

#include "base/backoff.h"
#include "base/map.h"
#include "sync/reflector.h"
#include "kube/status.h"
#include "object/meta.h"

/* Why a watch that we cancelled had to end. */
enum ending {
    END_BY_SERVER,
    END_BY_ERROR_EVENT,
    END_BY_SILENCE,
    END_BY_DEADLINE,
    END_BY_OLD_RV,
    END_BY_LATE_BOOKMARK, /* of a streamed list */
    END_BY_SINK,          /* which refused a streamed list */
    END_BY_SHARDS,        /* others are to be watched */
};

/* What a pause, or a wait for our turn, leads to. */
enum next {
    NEXT_SYNC, /* a list, streamed where that works, and then a watch */
    NEXT_LIST, /* the same cycle goes on with a list (rule 79) */
    NEXT_PAGE, /* of the list that was cut */
    NEXT_WATCH,
};

#define PL_LIST_PAGE 500 /* objects (rule 52) */
#define PL_LIST_SOME 64  /* of them are seen before what came meanwhile is received */

struct pl_reflector {
    struct pl_reflector_options o; /* its texts are owned */
    enum pl_reflector_state state;
    bool stopped;
    void (*ended)(void *arg);
    void *ended_arg;
    struct pl_timer pause;
    struct pl_reconnect turn; /* among those of the cluster */
    enum next next;           /* after pause and turn */
    struct pl_backoff backoff;
    struct pl_trouble trouble;
    struct pl_wait wait;

    struct pl_buf rv;    /* of the last list, event or bookmark */
    bool rv_unavailable; /* the server could not list by it */
    bool doubtful;       /* does the server still know it? To be asked before a watch */
    struct {
        struct pl_doc *object; /* counted; NULL: none */
        struct pl_buf rv;      /* its version */
    } witness;                 /* the newest object that we know */
    bool paginated;            /* the server has no watch cache (rule 53) */
    int expired_in_row;        /* watches that expired without any progress between */

    struct pl_op *list;   /* under way, or NULL */
    struct pl_docs items; /* of the list so far, but for those that the sink has taken */
    bool begun;           /* it has taken some */
    bool untaken;         /* it was asked, and does not want any of this list's */
    struct pl_timer more; /* until it sees the next ones */
    /* How the list ends, once the request for its next page has ended; code 0: it goes on. */
    struct pl_err refused;
    const char *why_refused; /* what is said then */
    struct pl_buf asked_rv, page_rv, token;
    struct pl_buf shards;       /* what the list is asked for, */
    struct pl_buf watch_shards; /* and the watch */
    int page;
    int page_limit; /* objects; less than PL_LIST_PAGE after a list was cut */
    bool small;     /* lists were cut: pages, whatever rule 52 says */
    bool whole;     /* asked for without a limit, as a page had expired (rule 55) */
    bool retried;   /* asked for without a version (rule 51) */

    struct pl_watch *watch;  /* under way, or NULL */
    struct pl_timer guard;   /* opening, settling, silence */
    struct pl_timer at_most; /* our own end of a watch */
    int64_t opened_ns, heard_ns;
    bool synthetic; /* begun at "" or "0": what comes first is in no order (rule 62) */
    bool progress;  /* rv moved */
    bool complained, silence_said;

    /* A list that is streamed (rules 75-79, 81); what the sink does not take at once gathers in
     * items. */
    bool streaming;
    struct pl_map by_key; /* key -> place in items + 1; only once something changed (keyed) */
    bool keyed;
    size_t came;    /* events of objects, */
    size_t counted; /* and how many when the bookmark was last waited for */
    int64_t began_ns;
    int streams_cut;            /* in this cycle */
    int64_t no_stream_until_ns; /* by what this source has seen */

    enum ending ending;
    struct pl_err event_err;
};

static inline int64_t pl_reflector_now(const struct pl_reflector *r)
{
    return pl_clock_mono(r->o.listing.timers->clock);
}

static inline bool pl_rv_is_zero(struct pl_slice rv)
{
    return rv.len == 0 || pl_slice_eqz(rv, "0");
}

static inline void pl_buf_set(struct pl_buf *buf, struct pl_slice text)
{
    pl_buf_clear(buf);
    pl_buf_add_slice(buf, text);
}

/* ---- reflector.c ---- */

/* timeout_ns: until something else happens; 0: not ours to say. */
void pl_reflector_set_state(struct pl_reflector *r, enum pl_reflector_state state,
                            int64_t timeout_ns);
void pl_reflector_note(struct pl_reflector *r, const char *message, const struct pl_err *err);
/* The trouble is over. */
void pl_reflector_works(struct pl_reflector *r);
/* Whatever was under way has ended: nobody points at us any more. */
void pl_reflector_end_soon(struct pl_reflector *r);
/* One backoff for both loops (rules 83-85). */
void pl_reflector_pause(struct pl_reflector *r, enum next next, int64_t at_least_ns);
/* The kind is not served: asked for often enough to be there soon after it is installed (F43). */
void pl_reflector_gone(struct pl_reflector *r, const struct pl_err *err);
/* As soon as it is our turn among the cluster's (F37); at once where nobody else wants one. */
void pl_reflector_go(struct pl_reflector *r, enum next next);
/* There was no answer at all. Pauses, or waits with the others for the server to come back. */
void pl_reflector_unanswered(struct pl_reflector *r, enum next next, const char *message,
                             const struct pl_err *err);
/* There was one, or an event. */
void pl_reflector_heard(struct pl_reflector *r);
/* The object, or that of the sink where it is the same version; NULL: it is not kept. Takes and
 * gives a reference. */
struct pl_doc *pl_reflector_share(void *reflector, struct pl_doc *object);
/* A list of all begins, in whatever form. */
void pl_reflector_begin_list(struct pl_reflector *r);
static inline bool pl_reflector_keeps(const struct pl_reflector *r, struct pl_doc *object,
                                      bool listed)
{
    return r->o.sink->keeps == NULL || r->o.sink->keeps(r->o.arg, object, listed);
}
/* The server refused a request for shards: it is not asked for them again. */
bool pl_reflector_is_no_shards(struct pl_reflector *r, const struct pl_buf *asked,
                               const struct pl_err *err);

/* ---- reflector_list.c ---- */

void pl_reflector_list(struct pl_reflector *r);
/* The page that was cut, once more. */
void pl_reflector_list_on(struct pl_reflector *r);
void pl_reflector_send_list(struct pl_reflector *r, struct pl_call *call, pl_answer_fn done);
void pl_reflector_drop_pages(struct pl_reflector *r);
/* Does the sink take a list as it comes, as far as it was asked? */
bool pl_reflector_may_show(const struct pl_reflector *r);
/* The sink may take the first `count` of the items, which go then. A failure is the sink's. */
PL_MUST_USE int pl_reflector_show(struct pl_reflector *r, size_t count, struct pl_err *err);

/* ---- reflector_watch.c ---- */

void pl_reflector_watch(struct pl_reflector *r);
/* Opens it: a watch, or (r->streaming) a list that is streamed and goes on as one. */
void pl_reflector_open(struct pl_reflector *r, struct pl_slice rv);
void pl_reflector_end_watch(struct pl_reflector *r, enum ending why);
/* Once the stream is taken to be a watch that works. */
void pl_reflector_expect_to_settle(struct pl_reflector *r);
/* Warns about a stream once. */
void pl_reflector_complain(struct pl_reflector *r, const char *message, const char *text);
bool pl_reflector_is_expected(const struct pl_reflector *r, struct pl_node object);
void pl_reflector_watch_failed(struct pl_reflector *r, const struct pl_err *err);
/* The server lost history that we have seen; and what says so. */
void pl_reflector_went_back(struct pl_reflector *r);
void pl_reflector_is_another(struct pl_reflector *r, const char *reason);

/* ---- reflector_stream.c ---- */

bool pl_reflector_may_stream(const struct pl_reflector *r);
void pl_reflector_stream(struct pl_reflector *r);
/* The stream is open: its bookmark is waited for. */
void pl_reflector_stream_opened(struct pl_reflector *r);
/* object is borrowed. */
void pl_reflector_stream_event(struct pl_reflector *r, enum pl_watch_type type,
                               struct pl_doc *object);
/* It ended before its bookmark. err NULL: in the normal way. */
void pl_reflector_stream_ended(struct pl_reflector *r, const struct pl_err *err);

/* ---- reflector_version.c ---- */

/* An object came, or all of them. */
void pl_reflector_saw(struct pl_reflector *r, enum pl_watch_type type, struct pl_doc *object);
void pl_reflector_saw_list(struct pl_reflector *r, const struct pl_docs *items, bool begun);
/* Before a watch from a version that is doubtful. */
void pl_reflector_ask_version(struct pl_reflector *r);
