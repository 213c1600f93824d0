/* Details of a request or an event for a chooser, beyond its method and path: the run that waits
 * for it, the name of a created object, the version of an event. */
#pragma once

#include "control/controller.h"
#include "lane/asker.h"
#include "lane/lanes.h"
#include "world/point.h"
#include "world/target.h"

struct pl_point_details {
    char *name;       /* owned: of a created object; "" if the server chooses it */
    char version[24]; /* of the object of an event; "" */
    struct pl_asker asker;
};

typedef bool (*pl_who_fn)(void *arg, const struct pl_sought *asked, struct pl_asker *out);

/* Adds details to a REQUEST point; about must live as long as the point. who may be NULL. */
void pl_point_details_request(struct pl_point_details *about, struct pl_point *point,
                              const struct pl_target *target, struct pl_slice body, pl_who_fn who,
                              void *arg);
/* Adds details to an EVENT point from the text of the event, a line of JSON. */
void pl_point_details_event(struct pl_point_details *about, struct pl_point *point,
                            struct pl_slice text);
bool pl_ran_failed(const struct pl_ran *ran);
/* Reports a run that has ended. */
void pl_point_details_ran(const struct pl_chooser *chooser, const char *host,
                          const char *controller, const struct pl_ran *ran);
/* Reports a predicate or an index function that has raised. */
void pl_point_details_fault(const struct pl_chooser *chooser, const char *host,
                            const struct pl_ask_fault *fault);
void pl_point_details_deinit(struct pl_point_details *about);
