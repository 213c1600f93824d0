/* Evaluates a predicate: a tree of conditions over an event. Leaves that are functions of scripts
 * are asked elsewhere, and their answers are passed in. No side effect, no clock; depth is limited.
 */
#include "event/predicate.h"

#include "base/alloc.h"
#include "base/check.h"
#include "object/meta.h"
#include "object/path.h"
#include "object/selector.h"

enum predicate_type {
    CONSTANT,
    GENERATION,
    RESOURCE_VERSION,
    LABELS,
    ANNOTATIONS,
    FINALIZERS,
    FIELDS,
    SELECTOR,
    EXTERNAL,
    ALL,
    ANY,
    NONE,
    FUNCS,
};

struct pl_predicate {
    enum predicate_type type;
    bool pass;                    /* CONSTANT */
    int leaf;                     /* EXTERNAL */
    unsigned depth;               /* 1 for a leaf */
    struct pl_selector *selector; /* owned; SELECTOR */
    struct pl_path **paths;       /* owned; FIELDS */
    struct pl_predicate **parts;  /* owned; compositions; NULL parts of FUNCS pass */
    size_t count;                 /* of paths or parts */
};

/* ---- making ---- */

static struct pl_predicate *predicate_create(enum predicate_type type)
{
    struct pl_predicate *predicate = PL_NEW(struct pl_predicate);
    predicate->type = type;
    predicate->depth = 1;
    return predicate;
}

void pl_predicate_destroy(struct pl_predicate *predicate)
{
    if (predicate == NULL)
        return;
    for (size_t i = 0; predicate->paths != NULL && i < predicate->count; i++)
        pl_path_destroy(predicate->paths[i]);
    for (size_t i = 0; predicate->parts != NULL && i < predicate->count; i++)
        pl_predicate_destroy(predicate->parts[i]);
    pl_selector_destroy(predicate->selector);
    pl_free(predicate->paths);
    pl_free(predicate->parts);
    pl_free(predicate);
}

struct pl_predicate *pl_predicate_constant(bool pass)
{
    struct pl_predicate *predicate = predicate_create(CONSTANT);
    predicate->pass = pass;
    return predicate;
}

struct pl_predicate *pl_predicate_generation_changed(void)
{
    return predicate_create(GENERATION);
}

struct pl_predicate *pl_predicate_resource_version_changed(void)
{
    return predicate_create(RESOURCE_VERSION);
}

struct pl_predicate *pl_predicate_label_changed(void)
{
    return predicate_create(LABELS);
}

struct pl_predicate *pl_predicate_annotation_changed(void)
{
    return predicate_create(ANNOTATIONS);
}

struct pl_predicate *pl_predicate_finalizers_changed(void)
{
    return predicate_create(FINALIZERS);
}

struct pl_predicate *pl_predicate_fields_changed(const char *const *paths, size_t count,
                                                 struct pl_err *err)
{
    if (count == 0) {
        pl_err_set(err, PL_EINVAL, "fields_changed needs at least one path, as in \"spec\"");
        return NULL;
    }
    struct pl_predicate *predicate = predicate_create(FIELDS);
    predicate->paths = pl_calloc(count, sizeof(struct pl_path *));
    predicate->count = count;
    for (size_t i = 0; i < count; i++) {
        predicate->paths[i] = pl_path_parse(pl_slice_z(paths[i]), err);
        if (predicate->paths[i] == NULL) {
            pl_err_prefix(err, "fields_changed(\"%s\")", paths[i]);
            pl_predicate_destroy(predicate);
            return NULL;
        }
    }
    return predicate;
}

struct pl_predicate *pl_predicate_label_selector(struct pl_selector *selector)
{
    struct pl_predicate *predicate = predicate_create(SELECTOR);
    predicate->selector = selector;
    return predicate;
}

struct pl_predicate *pl_predicate_external(int leaf)
{
    struct pl_predicate *predicate = predicate_create(EXTERNAL);
    predicate->leaf = leaf;
    return predicate;
}

static struct pl_predicate *compose(enum predicate_type type, struct pl_predicate *const *parts,
                                    size_t count, struct pl_err *err)
{
    struct pl_predicate *predicate = predicate_create(type);
    predicate->parts = pl_calloc(count, sizeof(struct pl_predicate *));
    predicate->count = count;
    for (size_t i = 0; i < count; i++) {
        predicate->parts[i] = parts[i];
        if (parts[i] == NULL)
            continue;
        if (predicate->depth <= parts[i]->depth)
            predicate->depth = parts[i]->depth + 1;
    }
    if (predicate->depth <= PL_PREDICATE_DEPTH)
        return predicate;
    pl_predicate_destroy(predicate);
    pl_err_set(err, PL_ELIMIT, "predicates are nested over %d deep", PL_PREDICATE_DEPTH);
    return NULL;
}

struct pl_predicate *pl_predicate_all(struct pl_predicate *const *parts, size_t count,
                                      struct pl_err *err)
{
    return compose(ALL, parts, count, err);
}

struct pl_predicate *pl_predicate_any(struct pl_predicate *const *parts, size_t count,
                                      struct pl_err *err)
{
    return compose(ANY, parts, count, err);
}

struct pl_predicate *pl_predicate_none(struct pl_predicate *const *parts, size_t count,
                                       struct pl_err *err)
{
    return compose(NONE, parts, count, err);
}

struct pl_predicate *pl_predicate_funcs(struct pl_predicate *const parts[PL_EVENT_TYPES],
                                        struct pl_err *err)
{
    return compose(FUNCS, parts, PL_EVENT_TYPES, err);
}

/* ---- evaluating ---- */

struct evaluation {
    const struct pl_event *event;
    pl_leaf_fn leaf;
    void *arg;
};

/* Absent, null, {} and [] are equal for labels, annotations and finalizers. */
static bool same_members(struct pl_node a, struct pl_node b)
{
    if (pl_node_len(a) == 0 || pl_node_len(b) == 0)
        return pl_node_len(a) == pl_node_len(b);
    return pl_node_equal(a, b);
}

static struct pl_node finalizers_of(struct pl_node object)
{
    return pl_node_dig(object, "metadata", "finalizers");
}

static bool same_fields(const struct pl_predicate *predicate, struct pl_node a, struct pl_node b)
{
    for (size_t i = 0; i < predicate->count; i++)
        if (!pl_node_equal(pl_path_find(predicate->paths[i], a),
                           pl_path_find(predicate->paths[i], b)))
            return false;
    return true;
}

static bool predicate_has_changed(const struct pl_predicate *predicate,
                                  const struct pl_event *event)
{
    struct pl_node was = pl_doc_root(event->old), is = pl_doc_root(event->object);
    switch (predicate->type) {
    case GENERATION:
        return pl_meta_generation(was) != pl_meta_generation(is);
    case RESOURCE_VERSION:
        return !pl_meta_same_rv(was, is);
    case LABELS:
        return !same_members(pl_meta_labels(was), pl_meta_labels(is));
    case ANNOTATIONS:
        return !same_members(pl_meta_annotations(was), pl_meta_annotations(is));
    case FINALIZERS:
        return !same_members(finalizers_of(was), finalizers_of(is));
    case FIELDS:
        return !same_fields(predicate, was, is);
    default:
        PL_UNREACHABLE();
    }
}

static bool change_passes(const struct pl_predicate *predicate, const struct pl_event *event)
{
    if (event->type != PL_EVENT_UPDATE)
        return true;
    return event->old != NULL && event->object != NULL && predicate_has_changed(predicate, event);
}

static enum pl_verdict verdict(bool pass)
{
    return pass ? PL_VERDICT_PASS : PL_VERDICT_DROP;
}

static enum pl_verdict predicate_evaluate(const struct pl_predicate *predicate,
                                          const struct evaluation *evaluation);

/* The first part that gives `decisive` decides. If no part does, the result is unknown when a
 * part's is. */
static enum pl_verdict evaluate_parts(const struct pl_predicate *predicate,
                                      const struct evaluation *evaluation, enum pl_verdict decisive)
{
    bool open = false;
    for (size_t i = 0; i < predicate->count; i++) {
        enum pl_verdict part = predicate_evaluate(predicate->parts[i], evaluation);
        if (part == decisive)
            return decisive;
        open = open || part == PL_VERDICT_ASK;
    }
    return open ? PL_VERDICT_ASK : verdict(decisive == PL_VERDICT_DROP);
}

static enum pl_verdict turned(enum pl_verdict given)
{
    return given == PL_VERDICT_ASK ? PL_VERDICT_ASK : verdict(given == PL_VERDICT_DROP);
}

static enum pl_verdict predicate_evaluate(const struct pl_predicate *predicate,
                                          const struct evaluation *evaluation)
{
    const struct pl_event *event = evaluation->event;
    if (predicate == NULL)
        return PL_VERDICT_PASS;
    switch (predicate->type) {
    case CONSTANT:
        return verdict(predicate->pass);
    case SELECTOR:
        return verdict(
            event->object != NULL &&
            pl_selector_matches(predicate->selector, pl_meta_labels(pl_doc_root(event->object))));
    case EXTERNAL:
        return evaluation->leaf ? evaluation->leaf(evaluation->arg, predicate->leaf, event)
                                : PL_VERDICT_ASK;
    case ALL:
        return evaluate_parts(predicate, evaluation, PL_VERDICT_DROP);
    case ANY:
        return evaluate_parts(predicate, evaluation, PL_VERDICT_PASS);
    case NONE:
        return turned(evaluate_parts(predicate, evaluation, PL_VERDICT_PASS));
    case FUNCS:
        return predicate_evaluate(predicate->parts[event->type], evaluation);
    default:
        return verdict(change_passes(predicate, event));
    }
}

enum pl_verdict pl_predicate_test(const struct pl_predicate *predicate,
                                  const struct pl_event *event, pl_leaf_fn leaf, void *arg)
{
    return predicate_evaluate(predicate, &(struct evaluation){event, leaf, arg});
}
