/* Watches: streams of the events of one kind. */
#pragma once

#include "apicall/core.h"

/* Sends one event to every watch that selects it. */
void pl_api_watch_deliver(struct pl_api *api, const struct pl_api_event *event);
/* Ends all watches of a kind: its definition changed or is gone. */
void pl_api_watch_end_all(struct pl_api_type *type);
