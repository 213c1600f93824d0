/* One call of a webhook handler: what it is asked, and what it answered. It travels with its run
 * (control/reconciler.h) from the I/O thread to whoever runs handlers and back; the core never sees
 * Lua. Counted: who made it may answer its client before the run has ended. The questions are
 * written before the run starts; the answers by the handler's side before the run finishes, and
 * read after that. */
#pragma once

#include "event/hook_spec.h"
#include "value/doc.h"

#include <stdatomic.h>

struct pl_hook_call {
    atomic_int refs;
    enum pl_hook_sort sort;
    bool dry_run; /* what it writes is sent as a dry run */

    /* validate, mutate */
    struct pl_doc *object, *old; /* counted; NULL: there is none */
    struct pl_doc *request;      /* counted: what scripts see of the request */
    /* convert */
    struct pl_doc *review; /* counted: the ConversionReview */
    char *desired;         /* owned: apiVersion */

    struct {
        /* validate, mutate: {allowed, message, causes: [{field, message}], warnings, audit},
         * counted; NULL: there is none. Members that say nothing are absent. */
        struct pl_doc *said;
        struct pl_doc *patch; /* counted; NULL: nothing differs */
        /* convert: one an object of the review, as far as they came; counted */
        struct pl_doc **objects;
        size_t count;
    } answer;
};

struct pl_hook_call *pl_hook_call_create(enum pl_hook_sort sort);
struct pl_hook_call *pl_hook_call_ref(struct pl_hook_call *call); /* accepts NULL */
void pl_hook_call_unref(struct pl_hook_call *call);               /* accepts NULL; any thread */
/* Takes the document: the next object of the answer. */
void pl_hook_call_add(struct pl_hook_call *call, struct pl_doc *object);
/* The objects of a ConversionReview. */
struct pl_node pl_hook_call_objects(const struct pl_hook_call *call);
