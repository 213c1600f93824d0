/* Shared by the files of the registrar. Private to host/webhook. I/O thread. */
#pragma once

#include "base/list.h"
#include "base/timer.h"
#include "webhook/kept_object.h"
#include "webhook/registrar.h"

/* One maintained object. */
struct pl_registrar_item {
    struct pl_registrar *r; /* back-pointer */
    struct pl_registrar_item *next;
    enum pl_hook_sort sort;
    struct pl_kind kind;    /* convert: the converted kind, without a version */
    char *name;             /* owned; NULL: a CRD that is not there */
    struct pl_kept *kept;   /* NULL: not yet */
    struct pl_doc *desired; /* counted; NULL: nothing */
    struct pl_registration_memory memory;
    char *refused; /* owned: why its last write failed; NULL: it did not */
    bool dirty, wanted;
    bool applying;          /* the last write was an apply, not a removal */
    int takes;              /* how often this host has removed it since it was wanted */
    int64_t taken_ns;       /* mono: time of the last such removal */
    bool removing, removed; /* pl_registrar_remove */
};

struct pl_registrar_entry {
    const struct pl_hook_spec *spec; /* of the edition */
    const struct pl_hook_kind *kind;
    char *plural;  /* owned; NULL: not known */
    char *unknown; /* owned: why the plural or the CRD is not known; NULL: it is, or nobody asked */
    bool failed;   /* the question for it failed: the server may serve the kind */
};

struct pl_registrar {
    struct pl_registrar_options o;
    struct pl_site *site;
    struct pl_timers *timers;
    char *url, *ca_pem; /* owned */
    bool ca_known;
    struct pl_edition **editions; /* owned array of references */
    size_t edition_count;
    struct pl_registrar_entry *entries; /* owned */
    size_t entry_count, asked;          /* entries whose kind was asked for */
    bool asking, unknown;
    struct pl_registrar_item *items;
    struct pl_list shots; /* single requests under way */
    struct pl_timer again, limit;
    bool finding;                     /* a list of CRDs is under way */
    bool looked[PL_HOOK_CONVERT + 1]; /* for strays, by sort */
    void (*removed)(void *arg);
    void *removed_arg;
};

/* ---- registrar.c ---- */

const struct pl_resource *pl_registrar_resource(enum pl_hook_sort sort);
struct pl_registration_target pl_registrar_target(const struct pl_registrar *r);
/* Starts again from the plurals, soon: something is missing, or a request failed. */
void pl_registrar_again(struct pl_registrar *r);
/* Whether a handler converts the kind. */
bool pl_registrar_converts(const struct pl_registrar *r, const struct pl_kind *kind);
/* Finds or makes the item. kind: NULL for a configuration. */
struct pl_registrar_item *pl_registrar_item_of(struct pl_registrar *r, enum pl_hook_sort sort,
                                               const struct pl_kind *kind);
/* Gives each item its desired state. */
void pl_registrar_want_all(struct pl_registrar *r);
/* An earlier process has written that object: it is removed, unless it is wanted. name: of the
 * CRD. */
void pl_registrar_leave(struct pl_registrar *r, enum pl_hook_sort sort, const struct pl_kind *kind,
                        struct pl_slice name);

/* Remembers and logs why the webhook of the entry can't be registered yet; NULL: it can. */
void pl_registrar_note_unknown(struct pl_registrar_entry *entry, const char *why);

/* ---- registrar_lists.c ---- */

/* Looks for the CRDs of declared conversions that have no name yet. */
void pl_registrar_find_crds(struct pl_registrar *r);
/* Looks once for registrations of ours that nobody wants: configurations under another name, and
 * what an earlier process has left. */
void pl_registrar_look_for_strays(struct pl_registrar *r);
/* At the end: cancels the requests. */
void pl_registrar_end_lists(struct pl_registrar *r);
