/* The conformance driver: answers language-neutral scenarios with the product's own store, queues,
 * limiters, predicates, handlers and leader election. Each component has one file, which is a thin
 * adapter.
 *
 * A scenario arrives as one line of JSON, and its answer is one line (main.c). */
#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "store/store.h"
#include "value/build.h"
#include "value/doc.h"

/* ---- the fake clock: clock.c ---- */

struct clock {
    int64_t now_ns;
};

/* "5ms", "-1s". A missing node is `otherwise`. */
int64_t duration_of(struct pl_node node, int64_t otherwise);

/* ---- components ---- */

struct component {
    const char *name;
    /* NULL with *skip set to the reason: this implementation does not have it. */
    void *(*create)(struct clock *clock, struct pl_node options, const char **skip);
    /* Adds exactly one value to out. */
    void (*step)(void *self, struct pl_slice op, struct pl_node step, struct pl_build *out);
    void (*destroy)(void *self);
    /* The next instant at which something happens by itself; false when there is none.
     * NULL: never. */
    bool (*next_due)(void *self, int64_t *due_ns);
    /* Called at each such instant, and after every step. May be NULL. */
    void (*settle)(void *self);
};

extern const struct component store_component;
extern const struct component deltafifo_component;
extern const struct component workqueue_component;
extern const struct component priorityqueue_component;
extern const struct component ratelimiter_component;
extern const struct component predicates_component;
extern const struct component handlers_component;
extern const struct component leaderelection_component;

/* ---- reading a step: json.c ---- */

/* Owned texts are the caller's to free with pl_free; NULL for what is no string. */
char *text_of(struct pl_node node);
bool bool_of(struct pl_node node, bool otherwise);
int64_t int_of(struct pl_node node, int64_t otherwise);
/* A document of the node; NULL for null and nothing. */
struct pl_doc *doc_of(struct pl_node node);

/* ---- writing a result: json.c ---- */

void put_error(struct pl_build *out, const char *code);
void put_flag(struct pl_build *out, const char *name);  /* {"blocked":true} */
void put_doc(struct pl_build *out, struct pl_doc *doc); /* null for NULL */
/* The names as an array; frees them. */
void put_names(struct pl_build *out, char **names);
void put_member_str(struct pl_build *out, const char *name, struct pl_slice text);
void put_member_int(struct pl_build *out, const char *name, int64_t value);

/* ---- objects, keys, transformations and index functions: objects.c ---- */

/* {"$tombstone":{"key":K,"obj":O}}: fills key and obj (PL_MISSING for null). */
bool is_tombstone(struct pl_node node, struct pl_node *key, struct pl_node *obj);
void put_tombstone(struct pl_build *out, struct pl_slice key, struct pl_doc *obj);
/* namespace/name of an object; of a tombstone the key it names, unless it is refused. */
int key_of(struct pl_node object, bool tombstones, struct pl_buf *out);

/* What options.transform names; "" for nothing. Returns a new reference, NULL for a refusal. */
struct pl_doc *transform_doc(const char *transform, struct pl_doc *doc);

/* Adds all indices of {"name":"function"}; EEXIST and no change when a name is taken. */
int add_indexers(struct pl_store *store, struct pl_node indexers);
/* The values a function gives for an object. */
int index_values(const char *function, struct pl_node object, struct pl_values *out);

/* ---- parts that components share ---- */

struct pl_ratelimit;
struct pl_ratelimit *limiter_of(struct pl_node node); /* ratelimiter.c */

struct pl_predicate;
struct pl_event;
/* predicates.c; NULL when it cannot be built. */
struct test_predicate;
struct test_predicate *predicate_of(struct pl_node node);
void predicate_free(struct test_predicate *predicate);
bool predicate_passes(const struct test_predicate *predicate, const struct pl_event *event);
/* Fills type, object and old from a step's op and arguments; free with event_free. */
bool event_of(struct pl_slice op, struct pl_node step, struct pl_event *event);
void event_free(struct pl_event *event);

/* The informer on top of the delta queue: informer.c. Same interface as a component. */
void *informer_create(struct clock *clock, struct pl_node options);
void informer_step(void *self, struct pl_slice op, struct pl_node step, struct pl_build *out);
void informer_destroy(void *self);

/* The plain queue that keeps only the newest object, which the product does not have: fifo.c. */
struct fifo;
struct fifo *fifo_create(void);
void fifo_destroy(struct fifo *fifo);
/* Ops add, update, delete, replace; false for any other. */
bool fifo_step(struct fifo *fifo, struct pl_slice op, struct pl_node step, struct pl_build *out);
bool fifo_is_empty(const struct fifo *fifo);
bool fifo_has_synced(const struct fifo *fifo);
void fifo_pop(struct fifo *fifo, struct pl_build *out); /* members key, obj, initial */
