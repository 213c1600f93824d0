/* Events (events.k8s.io/v1): messages about an object for people.
 *
 * Recording never waits and never fails. The first Event of its kind is created; repetitions (the
 * same object, type, reason, note, action and reporting controller) raise the count of its series,
 * at most once in PL_EVENT_INTERVAL and less and less often, but always up to the last count. Too
 * many notes for one object and reason, or more than fits in memory while the server is away, are
 * dropped and counted (perilune_events_dropped_total{type,why}), Normal ones before Warnings. A
 * series that was quiet for PL_EVENT_FORGET is forgotten. An Event that is gone from the server is
 * created anew.
 *
 * Events are writes of the host, not a script's writes to objects: they do not pass the write gate
 * and do not require leadership (a replica that lost it may say so). With --dry-run they are logged
 * instead; those of a shadow generation never come here. I/O thread. */
#pragma once

#include "base/base.h"
#include "base/slice.h"
#include "value/doc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_recorder;
struct pl_site;

#define PL_EVENT_INTERVAL   (6 * PL_SECOND)   /* time between the first writes of one series */
#define PL_EVENT_SLOWEST    (60 * PL_SECOND)  /* time between its later writes */
#define PL_EVENT_FORGET     (360 * PL_SECOND) /* age at which a quiet series is forgotten */
#define PL_EVENT_NOTES      10                /* burst of new notes of one object and reason */
#define PL_EVENT_NOTE_EVERY (30 * PL_SECOND)  /* time after which one more note may follow */
#define PL_EVENT_SERIES     2048              /* limit of remembered series */
#define PL_EVENT_WAITING    1000              /* limit of unsent series */
#define PL_EVENT_SHARE      250 /* limit of unsent series of one controller and reason */
#define PL_EVENT_RATE       20  /* requests a second */
#define PL_EVENT_BURST      100 /* burst of requests */
#define PL_EVENT_FLIGHT     4   /* limit of requests under way */

/* The object of an Event. ns empty: cluster-scoped; uid and rv may be empty. */
struct pl_object_ref {
    struct pl_slice api_version, kind, ns, name, uid, rv;
};

/* All texts are borrowed for the call. A text that is too long for the API server is cut; invalid
 * UTF-8 is replaced. */
struct pl_report {
    struct pl_object_ref regarding; /* api_version, kind and name are required */
    bool warning;                   /* else Normal */
    struct pl_slice reason;         /* "Scaled"; required */
    struct pl_slice note;           /* the sentence for people */
    struct pl_slice action;         /* empty: "Reconcile" */
    struct pl_slice controller;     /* reportingController; empty: "perilune" */
    bool dry_run;                   /* only logged */
};

struct pl_recorder_options {
    struct pl_site *site;             /* borrowed for life */
    const char *instance;             /* reportingInstance; copied; NULL: "perilune" */
    const struct pl_object_ref *self; /* our own pod; copied; NULL: none */
    bool dry_run;                     /* of all reports */
};

/* The caller owns the recorder. */
struct pl_recorder *pl_recorder_create(const struct pl_recorder_options *options);
/* No request may be under way. Accepts NULL. */
void pl_recorder_destroy(struct pl_recorder *recorder);

void pl_recorder_event(struct pl_recorder *recorder, const struct pl_report *report);

/* An Event about the host itself, on its own pod; outside of a pod it is only logged. */
void pl_recorder_own_event(struct pl_recorder *recorder, bool warning, const char *reason,
                           const char *note);
/* `count` reports were lost before they came here: counted as dropped for memory. */
void pl_recorder_lost(struct pl_recorder *recorder, uint64_t count);

/* The host is stopping: pending Events are sent at once, and failures are not retried. Events are
 * still accepted. The site is held until the last one is sent. Idempotent. */
void pl_recorder_drain(struct pl_recorder *recorder);

struct pl_recorder_stats {
    size_t series, waiting, in_flight;
    uint64_t sent, dropped;
};
void pl_recorder_stats(const struct pl_recorder *recorder, struct pl_recorder_stats *stats);
