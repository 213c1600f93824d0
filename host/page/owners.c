/* One page of the tree. The For store is walked in pieces, so that 100,000 objects delay nothing,
 * and the first keys of the page are kept sorted. Their children are found by the index of
 * controllers' uids that every store has.
 *
 * A reference keeps the informer during the walk, and the controller is looked up by name at its
 * end, since there may have been a reload. Everything has a limit: roots of a page, children of an
 * object, levels, objects in total. */
#include "page/owners.h"

#include "base/alloc.h"
#include "base/text.h"
#include "control/report.h"
#include "object/meta.h"
#include "sync/informers.h"
#include "value/build.h"

#include <string.h>

#define PIECE        2000 /* objects in one turn */
#define CHILDREN_MAX 50   /* limit of one object's children */
#define DEPTH_MAX    5
#define OBJECTS_MAX  2000 /* of a page */

struct pl_owners {
    struct pl_owners_request o;
    char *name, *filter, *after;  /* owned; name: the controller's */
    struct pl_informer *informer; /* a reference */
    struct pl_store_walk walk;
    struct pl_docs piece;
    struct pl_task next;
    struct {
        char *key; /* owned */
        struct pl_doc *doc;
    } roots[PL_OWNERS_ROOTS];
    size_t count, matching; /* matching: keys that the filter lets pass */
    size_t built;           /* objects of the answer */
};

/* ---- the page's roots ---- */

/* The position of the key among the roots. */
static size_t owners_place_of(const struct pl_owners *tree, const char *key)
{
    size_t low = 0, high = tree->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(tree->roots[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void drop_root(struct pl_owners *tree, size_t i)
{
    pl_free(tree->roots[i].key);
    pl_doc_unref(tree->roots[i].doc);
}

static void add_root(struct pl_owners *tree, const char *key, struct pl_doc *doc)
{
    size_t at = owners_place_of(tree, key);
    bool is_there = at < tree->count && strcmp(tree->roots[at].key, key) == 0;
    if (at == PL_OWNERS_ROOTS || is_there)
        return;
    if (tree->count == PL_OWNERS_ROOTS)
        drop_root(tree, --tree->count);
    memmove(&tree->roots[at + 1], &tree->roots[at], (tree->count - at) * sizeof tree->roots[0]);
    tree->roots[at].key = pl_strdup(key);
    tree->roots[at].doc = pl_doc_ref(doc);
    tree->count++;
}

static void owners_look_at(struct pl_owners *tree, struct pl_doc *doc)
{
    struct pl_buf key = PL_BUF_INIT;
    pl_meta_put_key(pl_doc_root(doc), &key);
    if (strstr(pl_buf_z(&key), tree->filter) != NULL) {
        tree->matching++;
        if (strcmp(pl_buf_z(&key), tree->after) > 0)
            add_root(tree, pl_buf_z(&key), doc);
    }
    pl_buf_deinit(&key);
}

/* ---- an object ---- */

static void build_object(struct pl_owners *tree, struct pl_build *b, const struct pl_informer *of,
                         struct pl_node object)
{
    struct pl_buf key = PL_BUF_INIT;
    char kind[PL_KIND_TEXT];
    pl_meta_put_key(object, &key);
    pl_build_put_text(b, "kind", pl_slice_z(pl_kind_text(pl_informer_kind(of), kind)));
    pl_build_put_text(b, "key", pl_buf_slice(&key));
    pl_build_put_bool(b, "deleting", pl_meta_is_deleting(object));
    pl_buf_deinit(&key);
    tree->built++;
}

/* The text of its condition "Ready" or "Available"; nothing when it has none. */
static void build_condition(struct pl_build *b, struct pl_node object)
{
    struct pl_node conditions = pl_node_getz(pl_node_getz(object, "status"), "conditions");
    for (struct pl_iter it = pl_iter(conditions); pl_iter_next(&it);) {
        struct pl_scratch type, status, reason;
        struct pl_slice name = pl_node_str(pl_node_getz(it.value, "type"), &type);
        if (!pl_slice_eqz(name, "Ready") && !pl_slice_eqz(name, "Available"))
            continue;
        pl_build_keyz(b, "condition");
        pl_build_object(b);
        pl_build_put_text(b, "type", name);
        pl_build_put_text(b, "status", pl_node_str(pl_node_getz(it.value, "status"), &status));
        pl_build_put_text(b, "reason", pl_node_str(pl_node_getz(it.value, "reason"), &reason));
        pl_build_end(b);
        return;
    }
}

static void build_queued(const struct pl_owners *tree, struct pl_build *b, const char *key)
{
    struct pl_manager *manager = tree->o.manager;
    struct pl_controller *controller = pl_manager_find(manager, pl_slice_z(tree->name));
    struct pl_key_report report;
    if (controller == NULL)
        return;
    pl_controller_report_key(controller, pl_slice_z(key), &report);
    const char *state = report.paused           ? "paused"
                        : report.queued.running ? "running"
                        : report.queued.ready   ? "ready"
                        : report.queued.delayed ? "delayed"
                                                : "at rest";
    pl_build_put_strz(b, "state", state);
    pl_build_put_int(b, "failures", report.failures);
    if (report.waits_for != NULL)
        pl_build_put_text(b, "waits_for", pl_slice_z(report.waits_for));
    if (report.last_error != NULL)
        pl_build_put_text(b, "last_error", pl_slice_z(report.last_error));
}

/* ---- children ---- */

struct below {
    struct pl_owners *tree;
    struct pl_build *b;
    size_t depth, shown, left_out;
};

static void build_children(struct pl_owners *tree, struct pl_build *b, struct pl_node owner,
                           size_t depth);

static void build_child(struct below *below, const struct pl_informer *of, struct pl_node object)
{
    if (below->shown == CHILDREN_MAX || below->tree->built >= OBJECTS_MAX) {
        below->left_out++;
        return;
    }
    below->shown++;
    pl_build_object(below->b);
    build_object(below->tree, below->b, of, object);
    build_condition(below->b, object);
    build_children(below->tree, below->b, object, below->depth + 1);
    pl_build_end(below->b);
}

/* Informers of one kind with other namespaces or selectors may have the same object: it is shown
 * once. */
static bool is_shown(struct pl_informers *informers, size_t i, struct pl_node object)
{
    const struct pl_kind *kind = pl_informer_kind(pl_informers_at(informers, i));
    struct pl_buf key = PL_BUF_INIT;
    bool found = false;
    pl_meta_put_key(object, &key);
    for (size_t j = 0; j < i && !found; j++) {
        struct pl_informer *earlier = pl_informers_at(informers, j);
        if (!pl_kind_eq(pl_informer_kind(earlier), kind))
            continue;
        struct pl_doc *same = pl_store_get(pl_informer_store(earlier), pl_buf_slice(&key));
        found = same != NULL;
        pl_doc_unref(same);
    }
    pl_buf_deinit(&key);
    return found;
}

static void build_children_in(struct below *below, struct pl_informers *informers, size_t i,
                              struct pl_slice uid)
{
    struct pl_informer *of = pl_informers_at(informers, i);
    struct pl_docs found = {0};
    if (pl_store_by_index(pl_informer_store(of), PL_INDEX_CONTROLLER_UID, uid, 0, &found) == 0)
        for (size_t at = 0; at < found.count; at++)
            if (!is_shown(informers, i, pl_doc_root(found.items[at])))
                build_child(below, of, pl_doc_root(found.items[at]));
    pl_docs_deinit(&found);
}

static void build_children(struct pl_owners *tree, struct pl_build *b, struct pl_node owner,
                           size_t depth)
{
    struct pl_informers *informers = pl_cluster_informers(tree->o.cluster);
    struct below below = {.tree = tree, .b = b, .depth = depth};
    struct pl_scratch scratch;
    struct pl_slice uid = pl_meta_uid(owner, &scratch);
    if (uid.len == 0 || depth == DEPTH_MAX)
        return;
    pl_build_keyz(b, "children");
    pl_build_array(b);
    for (size_t i = 0; i < pl_informers_count(informers); i++)
        build_children_in(&below, informers, i, uid);
    pl_build_end(b);
    if (below.left_out > 0)
        pl_build_put_int(b, "left_out", (int64_t)below.left_out);
}

/* ---- the answer ---- */

static struct pl_doc *build_page(struct pl_owners *tree)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_put_text(b, "controller", pl_slice_z(tree->name));
    pl_build_put_int(b, "total", (int64_t)pl_store_count(pl_informer_store(tree->informer)));
    pl_build_put_int(b, "matching", (int64_t)tree->matching);
    pl_build_keyz(b, "objects");
    pl_build_array(b);
    for (size_t i = 0; i < tree->count; i++) {
        struct pl_node object = pl_doc_root(tree->roots[i].doc);
        pl_build_object(b);
        build_object(tree, b, tree->informer, object);
        build_condition(b, object);
        build_queued(tree, b, tree->roots[i].key);
        build_children(tree, b, object, 0);
        pl_build_end(b);
    }
    pl_build_end(b);
    pl_build_end(b);
    return pl_build_close(b);
}

static void owners_finish(struct pl_owners *tree, struct pl_doc *result)
{
    tree->o.done(tree->o.arg, result);
    for (size_t i = 0; i < tree->count; i++)
        drop_root(tree, i);
    pl_docs_deinit(&tree->piece);
    pl_informer_unref(tree->informer);
    pl_free(tree->name);
    pl_free(tree->filter);
    pl_free(tree->after);
    pl_free(tree);
}

static void owners_go_on(struct pl_task *task)
{
    struct pl_owners *tree = PL_CONTAINER_OF(task, struct pl_owners, next);
    bool more = pl_store_walk(pl_informer_store(tree->informer), &tree->walk, PIECE, &tree->piece);
    for (size_t i = 0; i < tree->piece.count; i++)
        owners_look_at(tree, tree->piece.items[i]);
    pl_docs_deinit(&tree->piece);
    if (more)
        pl_loop_defer(tree->o.loop, &tree->next, owners_go_on);
    else
        owners_finish(tree, build_page(tree));
}

void pl_owners_give_up(struct pl_owners *tree)
{
    pl_loop_undefer(&tree->next);
    owners_finish(tree, NULL);
}

/* ---- beginning ---- */

static struct pl_informer *for_informer(const struct pl_controller *controller)
{
    const struct pl_controller_spec *spec = pl_controller_spec(controller);
    for (size_t i = 0; i < spec->source_count; i++)
        if (spec->sources[i].role == PL_SOURCE_FOR)
            return pl_controller_informer(controller, i);
    return NULL;
}

struct pl_owners *pl_owners_begin(const struct pl_owners_request *request)
{
    struct pl_informer *informer = for_informer(request->controller);
    if (informer == NULL)
        return NULL;
    struct pl_owners *tree = PL_NEW(struct pl_owners);
    tree->o = *request;
    tree->name = pl_strdup(pl_controller_spec(request->controller)->name);
    tree->filter = pl_text_copy(request->filter);
    tree->after = pl_text_copy(request->after);
    tree->informer = pl_informer_ref(informer);
    pl_loop_defer(request->loop, &tree->next, owners_go_on);
    return tree;
}
