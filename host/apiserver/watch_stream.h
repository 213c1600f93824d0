/* What a watch sends, and when. A client that does not take what was written gets no more until
 * it has: what it has yet to be told stays in the kind's objects and in the history, which all
 * watches share. When it falls out of the history it is told 410. Private to the watch*.c files. */
#pragma once

#include "apicall/core.h"
#include "apicall/select.h"

struct pl_api_watch {
    struct pl_link link; /* in its type's table.watches */
    struct pl_api *api;  /* back-pointer */
    struct pl_api_type *type;
    size_t version;
    enum pl_api_form form;
    bool in_proto;
    struct pl_api_select select;
    struct pl_api_responder responder;
    struct pl_timer timeout, bookmark;
    uint64_t rv;   /* events up to here were sent or are not wanted; of the state: its version */
    bool in_state; /* the objects as of rv are being sent */
    struct pl_buf next; /* the key of the first one that was not */
    bool bookmarks, had_columns;
    bool marks_state;       /* a bookmark ends the state */
    bool waits;             /* for the client to take what was written */
    bool converting;        /* for the webhook that converts what comes next */
    struct pl_api_job *job; /* what it has asked that webhook; NULL: nothing */
    bool busy, closed;      /* the client may leave while we write */
    size_t unread;          /* bytes, when it was last looked at; part of the API's watch_unread */
};

/* Sends what there is to send now; later events follow by themselves. The watch may be gone
 * after the call. */
void pl_api_watch_run(struct pl_api_watch *watch);
/* Tells the client and ends the watch. */
void pl_api_watch_end(struct pl_api_watch *watch);
/* The same after an ERROR event: how a watch says that its version is of no use. */
void pl_api_watch_end_with(struct pl_api_watch *watch, const struct pl_api_status *status);
/* Ends a watch from a version that there is no history of, or not yet. */
void pl_api_watch_expire(struct pl_api_watch *watch);
/* False when the client left; the watch is not destroyed here. */
bool pl_api_watch_bookmark(struct pl_api_watch *watch, bool initial_end);
/* Frees it. The client is not told. */
void pl_api_watch_destroy(struct pl_api_watch *watch);
