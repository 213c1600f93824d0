/* The internals of a reflector, only for reflector*.c. I/O thread. */
#pragma once

#include "sync/backoff.h"
#include "base/map.h"
#include "sync/reflector.h"
#include "kube/status.h"
#include "object/meta.h"

/* The reason for cancelling a watch. */
enum watch_ending {
    END_BY_SERVER,
    END_BY_ERROR_EVENT,
    END_BY_SILENCE,
    END_BY_DEADLINE,
    END_BY_OLD_RV,
    END_BY_LATE_BOOKMARK, /* of a streamed list */
    END_BY_SINK,          /* the sink refused a streamed list */
    END_BY_SHARDS,        /* other shards have to be watched */
};

/* The action after a pause or a wait for our turn. */
enum reflector_next {
    NEXT_SYNC, /* a list, streamed if possible, and then a watch */
    NEXT_LIST, /* a list in the same cycle (rule 79) */
    NEXT_PAGE, /* the page of the list that was cut */
    NEXT_WATCH,
};

#define PL_LIST_PAGE 500 /* objects (rule 52) */
#define PL_LIST_SOME 64  /* this many are delivered before more input is received */

struct pl_reflector {
    struct pl_reflector_options o; /* its texts are owned */
    enum pl_reflector_state state;
    bool stopped;
    void (*ended)(void *arg);
    void *ended_arg;
    struct pl_timer pause;
    struct pl_reconnect turn; /* its turn among those of the cluster */
    enum reflector_next next; /* after pause and turn */
    struct pl_backoff backoff;
    struct pl_trouble trouble;
    struct pl_wait wait;

    struct pl_buf rv;    /* of the last list, event or bookmark */
    bool rv_unavailable; /* the server could not list by it */
    bool doubtful;       /* the server may not know it any more; ask before a watch */
    struct {
        struct pl_doc *object; /* counted; NULL: none */
        struct pl_buf rv;      /* its version */
    } witness;                 /* the newest known object */
    bool paginated;            /* the server has no watch cache (rule 53) */
    int expired_in_row;        /* watches that expired without progress */

    struct pl_op *list;   /* under way, or NULL */
    struct pl_docs items; /* objects of the list so far, except those that the sink has taken */
    bool begun;           /* the sink has taken some */
    bool untaken;         /* the sink was asked, and takes none of this list */
    struct pl_timer more; /* delivers the next objects to the sink */
    /* The result of the list once the request for its next page has ended; code 0: the list
     * continues. */
    struct pl_err refused;
    const char *why_refused; /* the log message for it */
    struct pl_buf asked_rv, page_rv, token;
    struct pl_buf shards;       /* shardSelector of the list */
    struct pl_buf watch_shards; /* shardSelector of the watch */
    int page;
    int page_limit; /* objects in a page; less than PL_LIST_PAGE after a list was cut */
    bool small;     /* lists were cut: use pages despite rule 52 */
    bool whole;     /* requested without a limit, as a page had expired (rule 55) */
    bool retried;   /* requested without a version (rule 51) */

    struct pl_watch *watch;  /* under way, or NULL */
    struct pl_timer guard;   /* time limit of opening, settling, silence */
    struct pl_timer at_most; /* our own end of a watch */
    int64_t asked_ns, opened_ns, heard_ns;
    bool synthetic; /* begun at "" or "0": the first events are unordered (rule 62) */
    bool progress;  /* rv moved */
    bool complained, silence_said;

    /* A list that is streamed (rules 75-79, 81); what the sink does not take at once gathers in
     * items. */
    bool streaming;
    struct pl_map by_key; /* key -> place in items + 1; only after a change (keyed) */
    bool keyed;
    size_t came;    /* events of objects so far */
    size_t counted; /* `came` when the wait for the bookmark last began */
    int64_t began_ns;
    int streams_cut;            /* streams that were cut in this cycle */
    int64_t no_stream_until_ns; /* because of this source's experience */

    enum watch_ending ending;
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
/* The trouble has ended. */
void pl_reflector_works(struct pl_reflector *r);
/* Everything under way has ended: nothing points to the reflector any more. */
void pl_reflector_end_soon(struct pl_reflector *r);
/* One backoff for both loops (rules 83-85). */
void pl_reflector_pause(struct pl_reflector *r, enum reflector_next next, int64_t at_least_ns);
/* The kind is not served: asks often enough to find it soon after it is installed (F43). */
void pl_reflector_gone(struct pl_reflector *r, const struct pl_err *err);
/* Goes when it is our turn among the cluster's (F37); at once if no one else waits. */
void pl_reflector_go(struct pl_reflector *r, enum reflector_next next);
/* There was no answer at all. Pauses, or waits with the others for the server's return. */
void pl_reflector_unanswered(struct pl_reflector *r, enum reflector_next next, const char *message,
                             const struct pl_err *err);
/* There was an answer, or an event. */
void pl_reflector_heard(struct pl_reflector *r);
/* The object, or that of the sink where it is the same version; NULL: it is not kept. Takes and
 * gives a reference. */
struct pl_doc *pl_reflector_share(void *reflector, struct pl_doc *object);
/* A full list begins, in any form. */
void pl_reflector_begin_list(struct pl_reflector *r);
static inline bool pl_reflector_keeps(const struct pl_reflector *r, struct pl_doc *object,
                                      bool listed)
{
    return r->o.sink->keeps == NULL || r->o.sink->keeps(r->o.arg, object, listed);
}
/* The server refused a shardSelector: it does not get one again. */
bool pl_reflector_is_no_shards(struct pl_reflector *r, const struct pl_buf *asked,
                               const struct pl_err *err);

/* ---- reflector_list.c ---- */

void pl_reflector_list(struct pl_reflector *r);
/* Requests the page that was cut once more. */
void pl_reflector_list_on(struct pl_reflector *r);
void pl_reflector_send_list(struct pl_reflector *r, struct pl_call *call, pl_answer_fn done);
void pl_reflector_drop_pages(struct pl_reflector *r);
/* Whether the sink takes a list as it arrives, as far as known. */
bool pl_reflector_may_show(const struct pl_reflector *r);
/* Offers the first `count` items to the sink; taken items are removed. Returns its failure. */
PL_MUST_USE int pl_reflector_show(struct pl_reflector *r, size_t count, struct pl_err *err);

/* ---- reflector_watch.c ---- */

void pl_reflector_watch(struct pl_reflector *r);
/* Opens a watch, or (r->streaming) a streamed list that continues as a watch. */
void pl_reflector_open(struct pl_reflector *r, struct pl_slice rv);
void pl_reflector_end_watch(struct pl_reflector *r, enum watch_ending why);
/* Starts the timer after which the stream counts as a working watch. */
void pl_reflector_expect_to_settle(struct pl_reflector *r);
/* Warns about a stream once. */
void pl_reflector_complain(struct pl_reflector *r, const char *message, const char *text);
bool pl_reflector_is_expected(const struct pl_reflector *r, struct pl_node object);
void pl_reflector_watch_failed(struct pl_reflector *r, const struct pl_err *err);
/* The server has lost history that we have seen. */
void pl_reflector_went_back(struct pl_reflector *r);
void pl_reflector_is_another(struct pl_reflector *r, const char *reason);

/* ---- reflector_stream.c ---- */

bool pl_reflector_may_stream(const struct pl_reflector *r);
void pl_reflector_stream(struct pl_reflector *r);
/* The stream is open: starts the wait for its bookmark. */
void pl_reflector_stream_opened(struct pl_reflector *r);
/* object is borrowed. */
void pl_reflector_stream_event(struct pl_reflector *r, enum pl_watch_type type,
                               struct pl_doc *object);
/* It ended before its bookmark. err NULL: it ended normally. */
void pl_reflector_stream_ended(struct pl_reflector *r, const struct pl_err *err);

/* ---- reflector_version.c ---- */

/* An object has arrived, or all of them. */
void pl_reflector_saw(struct pl_reflector *r, enum pl_watch_type type, struct pl_doc *object);
void pl_reflector_saw_list(struct pl_reflector *r, const struct pl_docs *items, bool begun);
/* Asks the server before a watch from a doubtful version. */
void pl_reflector_ask_version(struct pl_reflector *r);
