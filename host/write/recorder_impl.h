/* The internals of the recorder, only for recorder*.c. */
#pragma once

#include "sync/backoff.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "base/timer.h"
#include "base/wait.h"
#include "sync/site.h"
#include "write/recorder.h"
#include "sync/trouble.h"

/* The memory budget for one controller, type and reason, over all objects. */
struct pl_event_share {
    struct pl_slice key; /* owned */
    size_t groups;       /* number of groups that hold it */
    size_t waiting;      /* unsent series */
};

/* One object in one share: limits its notes. */
struct pl_event_group {
    struct pl_slice key; /* owned */
    struct pl_event_share *share;
    size_t series; /* number of series that hold it */
    double tokens;
    int64_t filled_ns; /* monotonic: when tokens were last counted */
};

enum pl_event_text {
    PL_EVENT_API_VERSION,
    PL_EVENT_KIND,
    PL_EVENT_NS, /* of the object */
    PL_EVENT_NAME,
    PL_EVENT_UID,
    PL_EVENT_RV,
    PL_EVENT_REASON,
    PL_EVENT_NOTE,
    PL_EVENT_ACTION,
    PL_EVENT_CONTROLLER,
    PL_EVENT_TEXTS,
};

/* One Event and its count. */
struct pl_event_series {
    struct pl_link link; /* waiting, resting, or flying */
    struct pl_recorder *recorder;
    struct pl_event_group *group;
    struct pl_slice key;         /* owned */
    char *texts[PL_EVENT_TEXTS]; /* owned, cut and clean */
    char *event_name;            /* owned; NULL until it is to be created */
    bool warning;
    bool exists; /* at the server, as far as we know */
    enum { PL_SERIES_WAITING, PL_SERIES_FLYING, PL_SERIES_RESTING } state;
    int tries;                 /* of this write that the server answered with an error */
    int64_t count;             /* so far */
    int64_t sent, written;     /* count in the write under way; count that the server has */
    int64_t first_ns, last_ns; /* wall */
    int64_t interval_ns;       /* interval between the next write and the following one */
    int64_t next_ns;           /* monotonic: time of the next write at the earliest */
    struct pl_timer timer;     /* resting: for the next write, or for forgetting */
};

struct pl_recorder {
    struct pl_site *site;        /* borrowed */
    struct pl_timers *timers;    /* the cluster's */
    char *instance;              /* owned */
    char *self[PL_EVENT_RV + 1]; /* owned: the pod's reference; [NAME] NULL: none */
    bool dry_run, draining;
    struct pl_map by_key; /* series key -> struct pl_event_series, owned */
    struct pl_map groups; /* key -> struct pl_event_group */
    struct pl_map shares; /* key -> struct pl_event_share */
    struct pl_map closed; /* namespace -> struct closed of recorder_send.c: forbidden there */
    struct pl_list warnings, normals; /* waiting, oldest first */
    struct pl_list resting;           /* the longest quiet one first */
    struct pl_list flying;
    size_t waiting, in_flight;
    double tokens; /* tokens of the rate limit */
    int64_t filled_ns;
    struct pl_backoff backoff;
    struct pl_timer pace; /* the next token, or the end of the backoff */
    bool backing_off;
    struct pl_wait wait;
    struct pl_trouble away, refused;
    struct pl_buf scratch;
    uint64_t writes, dropped;
    struct pl_series *recorded[2];    /* metrics by type */
    struct pl_metric *dropped_metric; /* NULL: none */
};

static inline int64_t pl_recorder_now(const struct pl_recorder *r)
{
    return pl_clock_mono(r->timers->clock);
}

/* Adds the tokens since the last count. */
static inline void pl_recorder_fill(double *tokens, int64_t *filled_ns, int64_t now,
                                    double per_second, double most)
{
    *tokens += (double)(now - *filled_ns) / (double)PL_SECOND * per_second;
    *filled_ns = now;
    if (*tokens > most)
        *tokens = most;
}

/* ---- recorder.c ---- */

/* Removes it from its list; for WAITING the caller puts it into a list. */
void pl_recorder_set_state(struct pl_event_series *series, int state);
/* Frees it, and its group and share if no other series hold them. */
void pl_recorder_forget(struct pl_event_series *series);
/* The same, and counts the unwritten repetitions. */
void pl_recorder_drop(struct pl_event_series *series, const char *why);

/* ---- recorder_send.c ---- */

/* Queues it for writing: as the last of its type, or first if it has waited before. */
void pl_recorder_wait_for_turn(struct pl_event_series *series, bool first);
/* Waits until its next write is due, or until it is forgotten. */
void pl_recorder_rest(struct pl_event_series *series);
/* Sends as much as rate, pauses and requests under way allow. */
void pl_recorder_pump(struct pl_recorder *r);
void pl_recorder_drop_waiting(struct pl_recorder *r, const char *why);
/* Events are forbidden in this namespace: no attempts for a while. */
bool pl_recorder_is_closed(const struct pl_recorder *r, struct pl_slice ns);
void pl_recorder_free_closed(struct pl_recorder *r);

/* ---- recorder_body.c ---- */

/* A copy of at most `limit` bytes, cut at a character, clean UTF-8. The caller frees it. */
char *pl_event_text(struct pl_slice text, size_t limit);
/* The Event's own name, from the object's and 16 digits; owned. */
char *pl_event_name(struct pl_slice object, uint64_t digits);
/* The namespace that the Event is in. Lives as long as the series. */
const char *pl_event_namespace(const struct pl_event_series *series);
/* The Event as it is created. The caller owns a reference. */
struct pl_doc *pl_event_body(const struct pl_event_series *series);
/* The merge patch that raises the series. The caller owns a reference. */
struct pl_doc *pl_event_patch(const struct pl_event_series *series);
