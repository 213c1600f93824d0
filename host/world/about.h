/* What a chooser is told of a request or an event beyond its method and path: who waits for it, the
 * name of what is made, the version that an event brings. */
#pragma once

#include "control/controller.h"
#include "lane/asker.h"
#include "world/point.h"
#include "world/target.h"

struct pl_about {
    char *name;       /* owned: of what a create makes; "" where the server picks it */
    char version[24]; /* of the object of an event; "" */
    struct pl_asker asker;
};

typedef bool (*pl_who_fn)(void *arg, const struct pl_sought *asked, struct pl_asker *out);

/* Adds to a point of REQUEST; about must live as long as the point. who may be NULL. */
void pl_about_request(struct pl_about *about, struct pl_point *point,
                      const struct pl_target *target, struct pl_slice body, pl_who_fn who,
                      void *arg);
/* Adds to a point of EVENT from the text of the event, a line of JSON. */
void pl_about_event(struct pl_about *about, struct pl_point *point, struct pl_slice text);
bool pl_ran_failed(const struct pl_ran *ran);
/* Tells of a run that has ended. */
void pl_about_ran(const struct pl_chooser *chooser, const char *host, const char *controller,
                  const struct pl_ran *ran);
void pl_about_deinit(struct pl_about *about);
