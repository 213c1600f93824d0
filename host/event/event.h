/* What happened to one object of one source, and the requests it leads to. */
#pragma once

#include "base/slice.h"
#include "value/doc.h"

#include <stdbool.h>

enum pl_event_type { PL_EVENT_CREATE, PL_EVENT_UPDATE, PL_EVENT_DELETE, PL_EVENT_GENERIC };
#define PL_EVENT_TYPES 4

enum pl_again {
    PL_AGAIN_NOT,
    PL_AGAIN_RELOAD, /* by code that has changed */
    PL_AGAIN_RESYNC, /* as events were left out */
};

/* Borrowed unless the holder says otherwise. */
struct pl_event {
    enum pl_event_type type;
    struct pl_doc *object; /* the new one; of a deletion the last known state */
    struct pl_doc *old;    /* of an update, else NULL */
    bool stale;   /* a deletion that was missed: object is the last state we knew (rule 141) */
    bool initial; /* of the first list, or shown again */
    enum pl_again again; /* nothing happened: it is looked at anew */
};

/* One object to reconcile. */
struct pl_request {
    struct pl_slice ns, name; /* ns empty: cluster-scoped */
};
