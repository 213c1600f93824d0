/* Shared by handlers.c and builder.c: the watches of an invented controller. */
#pragma once

#include "driver.h"

#include "event/handler.h"

/* A handler of the product, or functions of the test's. */
struct test_handler {
    struct pl_handler core;
    char *map;                   /* of a map handler: the function; NULL: none */
    char *funcs[PL_EVENT_TYPES]; /* of a funcs handler; NULL: does nothing */
    bool is_funcs;
};

/* Events that pass the predicates go to the handler. */
struct watch {
    struct test_handler handler;
    struct test_predicate **predicates; /* owned */
    size_t predicate_count;
};

void handler_init(struct test_handler *handler, struct pl_node node);
/* Adds predicates of a list. */
void watch_add_predicates(struct watch *watch, struct pl_node list);
void watch_deinit(struct watch *watch);

/* builder.c: the watches of options.builder; the code of the mistake when it is refused. */
struct built {
    struct watch *watches; /* owned */
    size_t count;
    char *name; /* owned */
};
const char *build_controller(struct pl_node builder, struct built *built);
