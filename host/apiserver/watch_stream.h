/* What a watch sends, and when. A client that does not read gets nothing more until it has read:
 * its unsent events stay in the kind's objects and in the history, which all watches share. When
 * its position falls out of the history, it gets 410. Private to the watch*.c files. */
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
    uint64_t rv;        /* events up to this version were handled; for the state: its version */
    bool in_state;      /* the objects as of rv are still being sent */
    struct pl_buf next; /* the key of the first unsent object */
    bool bookmarks, had_columns;
    bool marks_state;       /* a bookmark marks the end of the state */
    bool waits;             /* waits until the client has read */
    bool converting;        /* waits for the webhook that converts the next objects */
    struct pl_api_job *job; /* the open question to that webhook; NULL: none */
    bool busy, closed;      /* the client may leave during a write */
    size_t unread;          /* bytes at the last measurement; part of the API's watch_unread */
};

/* Sends all pending events; later events follow by themselves. The watch may be destroyed by the
 * call. */
void pl_api_watch_run(struct pl_api_watch *watch);
/* Tells the client and ends the watch. */
void pl_api_watch_end(struct pl_api_watch *watch);
/* The same after an ERROR event: the watch's version cannot be used. */
void pl_api_watch_end_with(struct pl_api_watch *watch, const struct pl_api_status *status);
/* Ends a watch whose version is forgotten or does not exist yet. */
void pl_api_watch_expire(struct pl_api_watch *watch);
/* False if the client has left. The watch is not destroyed here. */
bool pl_api_watch_bookmark(struct pl_api_watch *watch, bool initial_end);
/* Frees it without a word to the client. */
void pl_api_watch_destroy(struct pl_api_watch *watch);
