/* What one run does to the world, kept instead of done, or beside it: the writes that reach the
 * gate and what else leaves the host. A shadow's run has one that holds (nothing is sent, and the
 * run sees what it wrote); a run that a shadow is compared with has one that watches.
 *
 * Counted. Effects belong to the I/O thread; the view may be used from any thread. */
#pragma once

#include "base/err.h"
#include "base/secrets.h"
#include "kube/client.h"
#include "value/docs.h"

struct pl_capture;

#define PL_CAPTURE_EFFECTS 64                /* of one run; more are counted */
#define PL_CAPTURE_BYTES   ((size_t)4 << 20) /* of the documents of one run's effects */

/* One thing that was done. Two of one name in one run are one: from before the first to after the
 * last. */
struct pl_effect {
    char *name; /* owned: "v1/Pod default/a", "apps/v1/Deployment default/a scale", "POST http://x/"
                 */
    const char *verb; /* literal: "create", "apply", "request", "event" */
    bool is_write;    /* of an object of the cluster */
    bool is_secret;   /* values of its data must not be shown */
    /* Without what the server owns; counted. */
    struct pl_doc *before; /* NULL: there was none, or it is not known */
    struct pl_doc *after;  /* NULL: it is gone, or what becomes of it is not known */
    struct pl_doc *sent;   /* what was asked for; NULL: nothing but the verb */
    const char *note;      /* literal; NULL: none */
    bool several;          /* more than one write is in it */
};

struct pl_capture *pl_capture_create(void);
struct pl_capture *pl_capture_ref(struct pl_capture *capture);
/* Any thread. Accepts NULL. */
void pl_capture_unref(struct pl_capture *capture);

/* What must not be shown of it; copied. */
void pl_capture_hide(struct pl_capture *capture, const struct pl_secrets *secrets);
const struct pl_secrets *pl_capture_hidden(const struct pl_capture *capture);

/* Takes the documents (of `effect`); name and the rest are copied. */
void pl_capture_add(struct pl_capture *capture, const struct pl_effect *effect);
size_t pl_capture_count(const struct pl_capture *capture);
const struct pl_effect *pl_capture_at(const struct pl_capture *capture, size_t i);
/* NULL: there is none of that name. */
const struct pl_effect *pl_capture_find(const struct pl_capture *capture, const char *name);
/* Somebody else changed an object while the run wrote to it: what the server answered is not what
 * another run can know. */
void pl_capture_disturb(struct pl_capture *capture);
bool pl_capture_is_disturbed(const struct pl_capture *capture);
/* Effects over the limits, which are not kept. */
size_t pl_capture_dropped(const struct pl_capture *capture);

/* Something other than a write: an event, a request to others, a key queued. sent: borrowed; may
 * be NULL. */
void pl_capture_note(struct pl_capture *capture, const char *verb, const char *name,
                     struct pl_slice sent);

/* ---- the view: objects as this run sees them, whatever the caches say ---- */

/* What the run will probably find, if it looks. doc NULL: it is not there. */
void pl_capture_expect(struct pl_capture *capture, const struct pl_kind *kind, struct pl_slice key,
                       struct pl_doc *doc);
/* doc NULL: it is not there. first: what the run found; only when nothing but an expectation is
 * known of it yet. */
void pl_capture_show(struct pl_capture *capture, const struct pl_kind *kind, struct pl_slice key,
                     struct pl_doc *doc, bool first);
/* True: *doc (a reference, or NULL for absent) is what the run sees. */
bool pl_capture_sees(struct pl_capture *capture, const struct pl_kind *kind, struct pl_slice key,
                     struct pl_doc **doc);
/* The newest that the run itself knows of an object: the answer to its last write. */
void pl_capture_answered(struct pl_capture *capture, const struct pl_kind *kind,
                         struct pl_slice key, struct pl_doc *answer);
/* That, or what it found; a reference, or NULL when it knows nothing of it. */
struct pl_doc *pl_capture_newest(struct pl_capture *capture, const struct pl_kind *kind,
                                 struct pl_slice key);
/* Changes the answer of a list: what the run sees otherwise is taken out, and what it sees is
 * added, whether or not it fits the list; of an index, whose values are not known here, only what
 * was among them. */
void pl_capture_amend(struct pl_capture *capture, const struct pl_kind *kind, bool of_index,
                      struct pl_docs *docs);
/* What `later` shows and `capture` knows nothing of. */
void pl_capture_show_more(struct pl_capture *capture, struct pl_capture *later);

/* ---- what a write would make (capture_merge.c) ---- */

struct pl_intent {
    enum pl_verb verb;
    enum pl_patch_type patch_type;
    const struct pl_kind *kind;
    bool is_status, has_status;
    struct pl_node body;     /* PL_MISSING: none */
    struct pl_node existing; /* PL_MISSING: there is none */
    const char *made_up;     /* uid and resourceVersion of what it creates, or of its new version */
    const char *now;         /* RFC 3339: deletion and creation timestamps */
};
/* *after: the object as merged here, without defaults and admission: a reference, or NULL when it
 * is gone. EAPI with a reason where the server would refuse: NotFound, AlreadyExists, Invalid. */
PL_MUST_USE int pl_intent_merge(const struct pl_intent *intent, struct pl_doc **after,
                                struct pl_err *err);
/* An object without what the server owns (versions, uids also of owners, times, managedFields), so
 * that two can be compared. PL_MISSING gives NULL. */
struct pl_doc *pl_intent_bare(struct pl_node object);
/* What begins with this was made up here. */
#define PL_MADE_UP "shadow-"
