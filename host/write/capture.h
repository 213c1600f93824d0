/* A record of one run's effects outside the host: the writes that reach the gate and everything
 * else that leaves the host. A shadow's run has a capture that holds: nothing is sent, and the run
 * sees its own writes. A run that a shadow is compared with has a capture that watches.
 *
 * Counted. Effects belong to the I/O thread; the view may be used from any thread. */
#pragma once

#include "base/err.h"
#include "base/secrets.h"
#include "kube/client.h"
#include "value/docs.h"

struct pl_capture;

#define PL_CAPTURE_EFFECTS 64                /* limit for one run; more are only counted */
#define PL_CAPTURE_BYTES   ((size_t)4 << 20) /* limit for the documents of one run's effects */

/* One effect. Two effects of the same name in one run become one: from before the first to after
 * the last. */
struct pl_effect {
    char *name; /* owned: "v1/Pod default/a", "apps/v1/Deployment default/a scale", "POST http://x/"
                 */
    const char *verb; /* literal: "create", "apply", "request", "event" */
    bool is_write;    /* concerns an object of the cluster */
    bool is_secret;   /* values of its data must be hidden */
    /* Without members that the server sets; counted. */
    struct pl_doc *before; /* NULL: there was none, or it is unknown */
    struct pl_doc *after;  /* NULL: it was deleted, or the result is unknown */
    struct pl_doc *sent;   /* the request; NULL: only the verb */
    const char *note;      /* literal; NULL: none */
    bool several;          /* combines more than one write */
};

/* The caller owns the first reference. */
struct pl_capture *pl_capture_create(void);
/* Takes a reference. Accepts NULL. Returns capture, for chaining. */
struct pl_capture *pl_capture_ref(struct pl_capture *capture);
/* Any thread. Accepts NULL. */
void pl_capture_unref(struct pl_capture *capture);

/* Secrets to hide in it; copied. */
void pl_capture_hide(struct pl_capture *capture, const struct pl_secrets *secrets);
/* Part of the capture. */
const struct pl_secrets *pl_capture_hidden(const struct pl_capture *capture);

/* Takes the documents (of `effect`); name and the rest are copied. */
void pl_capture_add(struct pl_capture *capture, const struct pl_effect *effect);
size_t pl_capture_count(const struct pl_capture *capture);
/* Effect i in the order in which they were added; borrowed until another is added. */
const struct pl_effect *pl_capture_at(const struct pl_capture *capture, size_t i);
/* The effect with that name, as pl_capture_at; NULL: there is none. */
const struct pl_effect *pl_capture_find(const struct pl_capture *capture, const char *name);
/* Another client changed an object while the run wrote to it: another run could not know the
 * server's answer. */
void pl_capture_disturb(struct pl_capture *capture);
bool pl_capture_is_disturbed(const struct pl_capture *capture);
/* Effects over the limits, which were dropped. */
size_t pl_capture_dropped(const struct pl_capture *capture);

/* Notes an effect other than a write: an event, a request to another server, a queued key. sent:
 * borrowed; may be NULL. */
void pl_capture_note(struct pl_capture *capture, const char *verb, const char *name,
                     struct pl_slice sent);

/* ---- the view: objects as this run sees them, before the caches ---- */

/* The object that the run will probably find if it looks. doc NULL: there is none. */
void pl_capture_expect(struct pl_capture *capture, const struct pl_kind *kind, struct pl_slice key,
                       struct pl_doc *doc);
/* doc NULL: there is none. first: what the run found; ignored if more than an expectation is known.
 */
void pl_capture_show(struct pl_capture *capture, const struct pl_kind *kind, struct pl_slice key,
                     struct pl_doc *doc, bool first);
/* True: *doc (a reference, or NULL for absent) is the object that the run sees. */
bool pl_capture_sees(struct pl_capture *capture, const struct pl_kind *kind, struct pl_slice key,
                     struct pl_doc **doc);
/* The newest state that the run itself knows: the answer to its last write. */
void pl_capture_answered(struct pl_capture *capture, const struct pl_kind *kind,
                         struct pl_slice key, struct pl_doc *answer);
/* The state after the run's writes, or the one that the run found; a reference, or NULL when the
 * capture does not know the object. */
struct pl_doc *pl_capture_newest(struct pl_capture *capture, const struct pl_kind *kind,
                                 struct pl_slice key);
/* Changes the answer of a list: objects that the run sees differently are replaced or removed, and
 * its own objects are added, whether or not they match the list. For an index, whose values are
 * unknown here, only objects of the answer are changed. */
void pl_capture_amend(struct pl_capture *capture, const struct pl_kind *kind, bool of_index,
                      struct pl_docs *docs);
/* Adds objects of `later` that `capture` does not know. */
void pl_capture_show_more(struct pl_capture *capture, struct pl_capture *later);

/* ---- the result of a write (capture_merge.c) ---- */

struct pl_intent {
    enum pl_verb verb;
    enum pl_patch_type patch_type;
    const struct pl_kind *kind;
    bool is_status, has_status;
    struct pl_node body;     /* PL_MISSING: none */
    struct pl_node existing; /* PL_MISSING: there is none */
    const char *made_up; /* uid and resourceVersion of a created object, or of its new version */
    const char *now;     /* RFC 3339: deletion and creation timestamps */
};
/* *after: the object as merged here, without defaults and admission: a reference, or NULL when it
 * is deleted. EAPI with a reason if the server would refuse: NotFound, AlreadyExists, Invalid. */
PL_MUST_USE int pl_intent_merge(const struct pl_intent *intent, struct pl_doc **after,
                                struct pl_err *err);
/* An object without members that the server sets (versions, uids, also of owners, times,
 * managedFields), so that two can be compared. PL_MISSING gives NULL. The caller owns a reference.
 */
struct pl_doc *pl_intent_bare(struct pl_node object);
/* Prefix of values that were made up here. */
#define PL_MADE_UP "shadow-"
