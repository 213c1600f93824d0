/* Events (events.k8s.io/v1): what happened to an object, for people who look at it.
 *
 * Recording never waits and never fails. The first of its kind is created; the same again (object,
 * type, reason, note, action and reporting controller) raises the count of that Event's series, at
 * most once in PL_EVENT_INTERVAL and ever rarer, always up to the last count. Too many notes for
 * one object and reason, or more than fits in memory while the server is away, are dropped and
 * counted (perilune_events_dropped_total{type,why}), Normal ones before Warnings. A series that
 * was quiet for PL_EVENT_FORGET is forgotten, an Event that is gone from the server is created
 * anew.
 *
 * Events are writes of the host, not a script's writes to objects: they do not pass the write gate
 * and need no lead (who lost it may say so). With --dry-run they are logged instead; those of a
 * shadow generation never come here. I/O thread. */
#pragma once

#include "base/base.h"
#include "base/slice.h"
#include "value/doc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_recorder;
struct pl_site;

#define PL_EVENT_INTERVAL   (6 * PL_SECOND)   /* between writes of one series, at first */
#define PL_EVENT_SLOWEST    (60 * PL_SECOND)  /* and at last */
#define PL_EVENT_FORGET     (360 * PL_SECOND) /* a quiet series */
#define PL_EVENT_NOTES      10                /* new notes at once of one object and reason ... */
#define PL_EVENT_NOTE_EVERY (30 * PL_SECOND)  /* ... and one more each */
#define PL_EVENT_SERIES     2048              /* remembered */
#define PL_EVENT_WAITING    1000              /* not sent yet ... */
#define PL_EVENT_SHARE      250               /* ... and of them of one controller and reason */
#define PL_EVENT_RATE       20                /* requests a second, ... */
#define PL_EVENT_BURST      100               /* ... at once, ... */
#define PL_EVENT_FLIGHT     4                 /* ... and under way */

/* What an Event is about. ns empty: cluster-scoped; uid and rv may be empty. */
struct pl_object_ref {
    struct pl_slice api_version, kind, ns, name, uid, rv;
};

/* All texts are borrowed for the call; what is too long for the API server is cut, what is no
 * UTF-8 is replaced. */
struct pl_report {
    struct pl_object_ref regarding; /* api_version, kind and name are required */
    bool warning;                   /* else Normal */
    struct pl_slice reason;         /* "Scaled"; required */
    struct pl_slice note;           /* the sentence for people */
    struct pl_slice action;         /* empty: "Reconcile" */
    struct pl_slice controller;     /* reportingController; empty: "perilune" */
};

struct pl_recorder_options {
    struct pl_site *site;             /* borrowed for life */
    const char *instance;             /* reportingInstance; copied; NULL: "perilune" */
    const struct pl_object_ref *self; /* the pod that we are; copied; NULL: none */
    bool dry_run;
};

struct pl_recorder *pl_recorder_create(const struct pl_recorder_options *options);
/* Nothing may be under way. Accepts NULL. */
void pl_recorder_destroy(struct pl_recorder *recorder);

void pl_recorder_event(struct pl_recorder *recorder, const struct pl_report *report);

/* Something that befell the host itself, said of the pod that it is; outside of a pod only the log
 * has it. */
void pl_recorder_own_event(struct pl_recorder *recorder, bool warning, const char *reason,
                           const char *note);
/* So many were lost before they came here: counted as dropped for memory. */
void pl_recorder_lost(struct pl_recorder *recorder, uint64_t count);

/* The host is stopping: what is known is sent at once, and what fails is not tried again. Events
 * are still taken. The cluster is held until the last one is through. Idempotent. */
void pl_recorder_drain(struct pl_recorder *recorder);

struct pl_recorder_stats {
    size_t series, waiting, in_flight;
    uint64_t sent, dropped;
};
void pl_recorder_stats(const struct pl_recorder *recorder, struct pl_recorder_stats *stats);
