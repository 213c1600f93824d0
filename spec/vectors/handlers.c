#include "handlers.h"

#include "base/alloc.h"
#include "store/workqueue.h"
#include "object/meta.h"

#include <stdio.h>
#include <stdlib.h>

/* One call that a handler made to the queue. */
struct call {
    struct pl_request request; /* into the requests */
    int priority;
    int64_t after_ns; /* 0: none */
    bool rate_limited;
};

struct handlers {
    bool priorities, pipeline;
    bool is_builder;
    const char *refused; /* the builder's mistake */
    struct built built;  /* one nameless watch without a builder */
};

/* ---- making ---- */

static void owner_init(struct pl_handler *core, struct pl_node node)
{
    struct pl_scratch room;
    struct pl_node owner = pl_node_getz(node, "owner");
    struct pl_slice group = pl_node_str(pl_node_getz(owner, "group"), &room);
    snprintf(core->owner.group, sizeof(core->owner.group), "%.*s", PL_FMT(group));
    struct pl_slice kind = pl_node_str(pl_node_getz(owner, "kind"), &room);
    snprintf(core->owner.kind, sizeof(core->owner.kind), "%.*s", PL_FMT(kind));
    core->by = PL_MAP_OWNER;
    core->every_owner = !bool_of(pl_node_getz(node, "controllerOnly"), false);
    core->owner_cluster_scoped = pl_node_str_eq(pl_node_getz(node, "scope"), pl_slice_z("Cluster"));
}

void handler_init(struct test_handler *handler, struct pl_node node)
{
    static const char *const names[PL_EVENT_TYPES] = {"create", "update", "delete", "generic"};
    struct pl_node type = pl_node_getz(node, "type");
    *handler = (struct test_handler){.core = {.by = PL_MAP_SELF}};
    if (pl_node_str_eq(type, pl_slice_z("forOwner"))) {
        owner_init(&handler->core, node);
    } else if (pl_node_str_eq(type, pl_slice_z("map"))) {
        handler->core.by = PL_MAP_EXTERNAL;
        handler->map = text_of(pl_node_getz(node, "fn"));
    } else if (pl_node_str_eq(type, pl_slice_z("funcs"))) {
        handler->is_funcs = true;
        for (int i = 0; i < PL_EVENT_TYPES; i++)
            handler->funcs[i] = text_of(pl_node_getz(node, names[i]));
    }
}

void watch_add_predicates(struct watch *watch, struct pl_node list)
{
    size_t count = pl_node_len(list);
    watch->predicates = pl_reallocarray(watch->predicates, watch->predicate_count + count,
                                        sizeof(struct test_predicate *));
    for (size_t i = 0; i < count; i++)
        watch->predicates[watch->predicate_count++] = predicate_of(pl_node_at(list, i));
}

void watch_deinit(struct watch *watch)
{
    for (size_t i = 0; i < watch->predicate_count; i++)
        predicate_free(watch->predicates[i]);
    pl_free(watch->predicates);
    pl_free(watch->handler.map);
    for (int i = 0; i < PL_EVENT_TYPES; i++)
        pl_free(watch->handler.funcs[i]);
}

static void single_watch(struct handlers *self, struct pl_node options)
{
    self->built.watches = pl_calloc(1, sizeof(struct watch));
    self->built.count = 1;
    handler_init(&self->built.watches[0].handler, pl_node_getz(options, "handler"));
    watch_add_predicates(&self->built.watches[0], pl_node_getz(options, "predicates"));
}

static void *handlers_create(struct clock *clock, struct pl_node options, const char **skip)
{
    PL_UNUSED(clock);
    PL_UNUSED(skip);
    struct handlers *self = PL_NEW(struct handlers);
    struct pl_node builder = pl_node_getz(options, "builder");
    self->priorities = pl_node_str_eq(pl_node_getz(options, "queue"), pl_slice_z("priority"));
    self->is_builder = !pl_node_is_missing(builder);
    self->pipeline = self->is_builder || bool_of(pl_node_getz(options, "pipeline"), false);
    if (self->is_builder)
        self->refused = build_controller(builder, &self->built);
    else
        single_watch(self, options);
    return self;
}

static void handlers_destroy(void *arg)
{
    struct handlers *self = arg;
    for (size_t i = 0; i < self->built.count; i++)
        watch_deinit(&self->built.watches[i]);
    pl_free(self->built.watches);
    pl_free(self->built.name);
    pl_free(self);
}

/* ---- the test's map functions ---- */

/* "ns/name" or "name"; a bare name is in `ns`. */
static void add_ref(struct pl_requests *out, const char *ref, struct pl_slice ns)
{
    const char *slash = strchr(ref, '/');
    if (slash != NULL)
        pl_requests_add(out, pl_slice(ref, (size_t)(slash - ref)), pl_slice_z(slash + 1));
    else
        pl_requests_add(out, ns, pl_slice_z(ref));
}

/* Takes the text apart. */
static void add_refs(struct pl_requests *out, char *list, struct pl_slice ns)
{
    char *ref;
    while ((ref = strsep(&list, ",")) != NULL)
        if (*ref != '\0')
            add_ref(out, ref, ns);
}

static void map_object(const char *map, struct pl_doc *doc, struct pl_requests *out)
{
    struct pl_node object = pl_doc_root(doc);
    struct pl_scratch ns_room, name_room;
    struct pl_slice ns = pl_meta_namespace(object, &ns_room);
    char *text = NULL;
    if (doc == NULL)
        return;
    if (strcmp(map, "self") == 0) {
        pl_requests_add(out, ns, pl_meta_name(object, &name_room));
    } else if (strncmp(map, "fixed:", 6) == 0) {
        text = pl_strdup(map + 6);
        add_refs(out, text, pl_slice("", 0));
    } else if (strncmp(map, "label:", 6) == 0) {
        text = text_of(pl_node_getz(pl_meta_labels(object), map + 6));
        if (text != NULL)
            pl_requests_add(out, ns, pl_slice_z(text));
    } else if (strncmp(map, "annotationList:", 15) == 0) {
        text = text_of(pl_node_getz(pl_meta_annotations(object), map + 15));
        add_refs(out, text, ns);
    }
    pl_free(text);
}

/* ---- calls ---- */

static int compare_calls(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    struct pl_buf left = PL_BUF_INIT, right = PL_BUF_INIT;
    pl_buf_add_f(&left, "%.*s/%.*s", PL_FMT(x->request.ns), PL_FMT(x->request.name));
    pl_buf_add_f(&right, "%.*s/%.*s", PL_FMT(y->request.ns), PL_FMT(y->request.name));
    int order = strcmp(pl_buf_z(&left), pl_buf_z(&right));
    pl_buf_deinit(&left);
    pl_buf_deinit(&right);
    return order;
}

static void put_call(const struct handlers *self, const struct call *call, struct pl_build *out)
{
    pl_build_object(out);
    put_member_str(out, "ns", call->request.ns);
    put_member_str(out, "name", call->request.name);
    if (self->priorities)
        put_member_int(out, "priority", call->priority);
    if (call->after_ns != 0)
        put_member_int(out, "after", call->after_ns);
    if (call->rate_limited) {
        pl_build_keyz(out, "rateLimited");
        pl_build_bool(out, true);
    }
    pl_build_end(out);
}

/* "addAfter:1s" */
static int64_t delay_in(const char *func)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_strz(b, strchr(func, ':') + 1);
    struct pl_doc *doc = pl_build_finish(b);
    int64_t delay = duration_of(pl_doc_root(doc), 0);
    pl_doc_unref(doc);
    pl_build_destroy(b);
    return delay;
}

static struct call call_of(const char *func, const struct pl_event *event)
{
    struct call call = {.priority = pl_event_priority(event)};
    if (strncmp(func, "addAfter:", 9) == 0 || strncmp(func, "addOpts:", 8) == 0)
        call.after_ns = delay_in(func);
    else if (strcmp(func, "addRateLimited") == 0)
        call.rate_limited = true;
    else if (strncmp(func, "addPriority:", 12) == 0)
        call.priority = atoi(func + 12);
    return call;
}

/* Fills the requests and how each is to be queued; false when nothing is. */
static bool handle(const struct test_handler *handler, const struct pl_event *event,
                   struct pl_requests *requests, struct call *how)
{
    *how = (struct call){.priority = pl_event_priority(event)};
    if (handler->is_funcs) {
        if (handler->funcs[event->type] == NULL)
            return false;
        *how = call_of(handler->funcs[event->type], event);
        map_object("self", event->object, requests);
    } else if (!pl_handler_requests(&handler->core, event, requests)) {
        map_object(handler->map, event->old, requests);
        map_object(handler->map, event->object, requests);
    }
    return requests->count > 0;
}

static void put_calls(const struct handlers *self, const struct test_handler *handler,
                      const struct pl_event *event, struct pl_build *out)
{
    struct pl_requests requests = {0};
    struct call how;
    pl_build_array(out);
    if (handle(handler, event, &requests, &how)) {
        struct call *calls = pl_calloc(requests.count, sizeof(*calls));
        for (size_t i = 0; i < requests.count; i++) {
            calls[i] = how;
            calls[i].request = pl_requests_at(&requests, i);
        }
        qsort(calls, requests.count, sizeof(*calls), compare_calls);
        for (size_t i = 0; i < requests.count; i++)
            put_call(self, &calls[i], out);
        pl_free(calls);
    }
    pl_build_end(out);
    pl_requests_deinit(&requests);
}

/* ---- the way of an event ---- */

static bool is_whole(const struct pl_event *event)
{
    return event->object != NULL && (event->type != PL_EVENT_UPDATE || event->old != NULL);
}

static bool passes(const struct watch *watch, const struct pl_event *event)
{
    for (size_t i = 0; i < watch->predicate_count; i++)
        if (!predicate_passes(watch->predicates[i], event))
            return false;
    return true;
}

static void put_empty(struct pl_build *out)
{
    pl_build_array(out);
    pl_build_end(out);
}

static void notify(const struct handlers *self, const struct pl_event *event, size_t watch,
                   struct pl_build *out)
{
    if (watch >= self->built.count ||
        (self->pipeline && (!is_whole(event) || !passes(&self->built.watches[watch], event))))
        put_empty(out);
    else
        put_calls(self, &self->built.watches[watch].handler, event, out);
}

static void put_build(const struct handlers *self, struct pl_build *out)
{
    if (self->refused != NULL) {
        put_error(out, self->refused);
        return;
    }
    pl_build_object(out);
    put_member_str(out, "name", pl_slice_z(self->built.name));
    put_member_int(out, "watches", (int64_t)self->built.count);
    pl_build_end(out);
}

static void handlers_step(void *arg, struct pl_slice op, struct pl_node step, struct pl_build *out)
{
    struct handlers *self = arg;
    struct pl_event event;
    if (event_of(op, step, &event)) {
        notify(self, &event, (size_t)int_of(pl_node_getz(step, "watch"), 0), out);
        event_free(&event);
    } else {
        put_build(self, out);
    }
}

const struct component handlers_component = {
    .name = "handlers",
    .create = handlers_create,
    .step = handlers_step,
    .destroy = handlers_destroy,
};
