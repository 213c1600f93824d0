/* Garbage collection: dependents are deleted with their owners, and the content of namespaces and
 * CRDs with these. Runs on a timer right after the write that caused it. */
#pragma once

#include "apicall/core.h"

/* The caller owns the result. */
struct pl_api_gc *pl_api_gc_create(struct pl_api *api);
void pl_api_gc_destroy(struct pl_api_gc *gc);
/* While it is held it only notes changes. When it is released it processes the objects that they
 * affect. */
void pl_api_gc_hold(struct pl_api_gc *gc, bool held);
/* Called for every event. Writes nothing itself. */
void pl_api_gc_note(struct pl_api_gc *gc, const struct pl_api_event *event);
