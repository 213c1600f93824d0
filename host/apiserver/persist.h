/* Stores the API's objects in a data folder and restores them. */
#pragma once

#include "apicall/core.h"

/* Called for every event, after the storage has changed and before the answer. */
void pl_api_persist_event(struct pl_api *api, const struct pl_api_event *event);
/* A kind is removed, with its events. */
void pl_api_persist_forget(struct pl_api *api, const struct pl_api_type *type);
/* -1 and 500 if the folder can't be written: such a write must not be acknowledged. */
int pl_api_persist_check(struct pl_api_ctx *ctx);
