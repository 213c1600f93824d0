#include "driver.h"

#include "base/alloc.h"
#include "base/check.h"
#include "event/event.h"
#include "event/predicate.h"
#include "object/meta.h"
#include "object/selector.h"

/* ---- events ---- */

/* The object of a tombstone instead of the tombstone. */
static struct pl_doc *object_in(struct pl_node node, bool *stale)
{
    struct pl_node key, obj;
    *stale = is_tombstone(node, &key, &obj);
    return doc_of(*stale ? obj : node);
}

bool event_of(struct pl_slice op, struct pl_node step, struct pl_event *event)
{
    static const char *const ops[PL_EVENT_TYPES] = {"create", "update", "delete", "generic"};
    size_t type = 0;
    while (type < PL_EVENT_TYPES && !pl_slice_eqz(op, ops[type]))
        type++;
    if (type == PL_EVENT_TYPES)
        return false;
    *event = (struct pl_event){.type = (enum pl_event_type)type};
    bool is_update = event->type == PL_EVENT_UPDATE;
    event->object = object_in(pl_node_getz(step, is_update ? "new" : "obj"), &event->stale);
    if (is_update)
        event->old = doc_of(pl_node_getz(step, "old"));
    event->initial = bool_of(pl_node_getz(step, "initial"), false);
    return true;
}

void event_free(struct pl_event *event)
{
    pl_doc_unref(event->object);
    pl_doc_unref(event->old);
}

/* ---- predicates ---- */

/* Namespace filters are functions of the test's: external leaves, numbered from 0. */
struct test_predicate {
    struct pl_predicate *tree;
    char *filters[16]; /* by leaf: the namespace that passes */
    int filter_count;
};

static struct pl_predicate *tree_of(struct test_predicate *self, struct pl_node node);

static struct pl_predicate *filter_of(struct test_predicate *self, struct pl_node node)
{
    PL_REQUIRE(self->filter_count < (int)PL_ARRAY_LEN(self->filters));
    self->filters[self->filter_count] = text_of(pl_node_getz(node, "namespace"));
    return pl_predicate_external(self->filter_count++);
}

static struct pl_predicate *selector_of(struct pl_node node)
{
    struct pl_selector *selector = pl_selector_from_node(pl_node_getz(node, "selector"), NULL);
    return selector ? pl_predicate_label_selector(selector) : NULL;
}

static struct pl_predicate *funcs_of(struct pl_node node)
{
    static const char *const names[PL_EVENT_TYPES] = {"create", "update", "delete", "generic"};
    struct pl_predicate *parts[PL_EVENT_TYPES] = {NULL};
    for (int i = 0; i < PL_EVENT_TYPES; i++)
        if (pl_node_type(pl_node_getz(node, names[i])) == PL_BOOL)
            parts[i] = pl_predicate_constant(pl_node_bool(pl_node_getz(node, names[i])));
    return pl_predicate_funcs(parts, NULL);
}

typedef struct pl_predicate *(*compose_fn)(struct pl_predicate *const *, size_t, struct pl_err *);

static struct pl_predicate *composition_of(struct test_predicate *self, compose_fn compose,
                                           struct pl_node of)
{
    size_t count = pl_node_type(of) == PL_ARRAY ? pl_node_len(of) : 1;
    struct pl_predicate **parts = pl_calloc(count, sizeof(struct pl_predicate *));
    bool whole = true;
    for (size_t i = 0; i < count; i++) {
        parts[i] = tree_of(self, pl_node_type(of) == PL_ARRAY ? pl_node_at(of, i) : of);
        whole = whole && parts[i] != NULL;
    }
    struct pl_predicate *tree = compose(parts, count, NULL);
    pl_free(parts);
    if (whole)
        return tree;
    pl_predicate_destroy(tree);
    return NULL;
}

static struct pl_predicate *tree_of(struct test_predicate *self, struct pl_node node)
{
    static const struct {
        const char *type;
        struct pl_predicate *(*make)(void);
    } changes[] = {{"generationChanged", pl_predicate_generation_changed},
                   {"resourceVersionChanged", pl_predicate_resource_version_changed},
                   {"labelChanged", pl_predicate_label_changed},
                   {"annotationChanged", pl_predicate_annotation_changed}};
    static const struct {
        const char *type;
        compose_fn compose;
    } compositions[] = {
        {"and", pl_predicate_all}, {"or", pl_predicate_any}, {"not", pl_predicate_none}};
    struct pl_node type = pl_node_getz(node, "type");
    for (size_t i = 0; i < PL_ARRAY_LEN(changes); i++)
        if (pl_node_str_eq(type, pl_slice_z(changes[i].type)))
            return changes[i].make();
    for (size_t i = 0; i < PL_ARRAY_LEN(compositions); i++)
        if (pl_node_str_eq(type, pl_slice_z(compositions[i].type)))
            return composition_of(self, compositions[i].compose, pl_node_getz(node, "of"));
    if (pl_node_str_eq(type, pl_slice_z("labelSelector")))
        return selector_of(node);
    if (pl_node_str_eq(type, pl_slice_z("funcs")))
        return funcs_of(node);
    return filter_of(self, node);
}

struct test_predicate *predicate_of(struct pl_node node)
{
    struct test_predicate *self = PL_NEW(struct test_predicate);
    self->tree = tree_of(self, node);
    if (self->tree != NULL)
        return self;
    predicate_free(self);
    return NULL;
}

void predicate_free(struct test_predicate *self)
{
    if (self == NULL)
        return;
    for (int i = 0; i < self->filter_count; i++)
        pl_free(self->filters[i]);
    pl_predicate_destroy(self->tree);
    pl_free(self);
}

static enum pl_verdict filter(void *arg, int leaf, const struct pl_event *event)
{
    const struct test_predicate *self = arg;
    struct pl_scratch room;
    if (event->object == NULL)
        return PL_VERDICT_DROP;
    struct pl_slice ns = pl_meta_namespace(pl_doc_root(event->object), &room);
    return pl_slice_eqz(ns, self->filters[leaf]) ? PL_VERDICT_PASS : PL_VERDICT_DROP;
}

bool predicate_passes(const struct test_predicate *self, const struct pl_event *event)
{
    return pl_predicate_test(self->tree, event, filter, (void *)self) == PL_VERDICT_PASS;
}

/* ---- the component ---- */

struct predicates {
    struct test_predicate *predicate; /* NULL: it cannot be built */
};

static void *predicates_create(struct clock *clock, struct pl_node options, const char **skip)
{
    PL_UNUSED(clock);
    PL_UNUSED(skip);
    struct predicates *self = PL_NEW(struct predicates);
    self->predicate = predicate_of(pl_node_getz(options, "predicate"));
    return self;
}

static void predicates_step(void *arg, struct pl_slice op, struct pl_node step,
                            struct pl_build *out)
{
    struct predicates *self = arg;
    struct pl_event event;
    if (self->predicate == NULL) {
        put_error(out, "invalid");
    } else if (event_of(op, step, &event)) {
        pl_build_bool(out, predicate_passes(self->predicate, &event));
        event_free(&event);
    } else {
        pl_build_null(out); /* build */
    }
}

static void predicates_destroy(void *arg)
{
    struct predicates *self = arg;
    predicate_free(self->predicate);
    pl_free(self);
}

const struct component predicates_component = {
    .name = "predicates",
    .create = predicates_create,
    .step = predicates_step,
    .destroy = predicates_destroy,
};
