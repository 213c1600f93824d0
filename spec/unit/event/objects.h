/* Objects and events from JSON text for control's tests. */
#pragma once

#include "event/event.h"
#include "support/test.h"
#include "value/scan.h"

/* NULL for NULL. */
static inline struct pl_doc *object_of(const char *json)
{
    if (json == NULL)
        return NULL;
    struct pl_err err;
    struct pl_doc *doc = pl_scan_text(pl_slice_z(json), &(struct pl_scan_options){0}, &err);
    if (doc == NULL)
        TEST_FAIL("%s: %s", json, err.message);
    REQUIRE(doc != NULL);
    return doc;
}

/* {"metadata":META} */
static inline struct pl_doc *with_meta(const char *meta)
{
    char text[1024];
    if (meta == NULL)
        return NULL;
    snprintf(text, sizeof(text), "{\"metadata\":%s}", meta);
    return object_of(text);
}

static inline void drop_event(struct pl_event *event)
{
    pl_doc_unref(event->object);
    pl_doc_unref(event->old);
    *event = (struct pl_event){0};
}
