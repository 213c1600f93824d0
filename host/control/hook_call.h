/* One call of a webhook handler: its questions and answers. It travels with its run
 * (control/reconciler.h) from the I/O thread to the handler and back; the core never sees Lua.
 * Counted: its creator may answer the client before the run has ended. The questions are written
 * before the run starts; the handler's side writes the answers before the run finishes, and they
 * are read after that. */
#pragma once

#include "event/hook_spec.h"
#include "value/doc.h"

#include <stdatomic.h>

struct pl_hook_call {
    atomic_int refs;
    enum pl_hook_sort sort;
    char *name;   /* owned: of the webhook that is asked; NULL: unknown */
    bool dry_run; /* its writes are sent as dry runs */
    /* validate, mutate: how many of object, old and request are made for the handler; of object
     * always */
    int parameters;

    struct pl_doc *review; /* counted: as it came; of admission until pl_hook_call_open */
    /* validate, mutate: from pl_hook_call_open on */
    struct pl_doc *object, *old; /* counted; NULL: there is none, or it is not made */
    struct pl_doc *request;      /* counted: the request as scripts see it; NULL as above */
    /* convert */
    char *desired; /* owned: apiVersion */

    struct {
        /* validate, mutate: {allowed, message, causes: [{field, message}], warnings, audit},
         * counted; NULL: there is none. Empty members are absent. */
        struct pl_doc *said;
        struct pl_doc *patch; /* counted; NULL: no difference */
        /* convert: one for each object of the review so far; counted */
        struct pl_doc **objects;
        size_t count;
    } answer;
};

/* The caller owns the first reference. */
struct pl_hook_call *pl_hook_call_create(enum pl_hook_sort sort);
/* Takes a reference. Accepts NULL. Returns call, for chaining. */
struct pl_hook_call *pl_hook_call_ref(struct pl_hook_call *call);
void pl_hook_call_unref(struct pl_hook_call *call); /* accepts NULL; any thread */
/* Once, before a handler of validate or mutate runs, on its thread: makes what it sees of the
 * review. */
void pl_hook_call_open(struct pl_hook_call *call);
/* Takes the document: the next object of the answer. */
void pl_hook_call_add(struct pl_hook_call *call, struct pl_doc *object);
/* The objects of a ConversionReview. */
struct pl_node pl_hook_call_objects(const struct pl_hook_call *call);
