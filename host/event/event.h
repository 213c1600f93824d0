/* A change of one object of one source, and the request type. */
#pragma once

#include "base/slice.h"
#include "value/doc.h"

#include <stdbool.h>

enum pl_event_type { PL_EVENT_CREATE, PL_EVENT_UPDATE, PL_EVENT_DELETE, PL_EVENT_GENERIC };
#define PL_EVENT_TYPES 4

enum pl_again {
    PL_AGAIN_NOT,
    PL_AGAIN_RELOAD,   /* because the code has changed */
    PL_AGAIN_RESYNC,   /* because events were left out */
    PL_AGAIN_RETURNED, /* because another replica has acted meanwhile */
};

/* Borrowed unless the holder says otherwise. */
struct pl_event {
    enum pl_event_type type;
    struct pl_doc *object; /* the new object; for a deletion the last known state */
    struct pl_doc *old;    /* of an update, else NULL */
    bool stale;            /* a missed deletion: object is the last known state (rule 141) */
    bool initial;          /* of the first list, or delivered again */
    enum pl_again again;   /* no change: the object is only evaluated again */
};

/* One object to reconcile. */
struct pl_request {
    struct pl_slice ns, name; /* ns empty: cluster-scoped */
};
