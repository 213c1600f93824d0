/* Strategic merge patches: lists. Elements are identified by their merge key, scalars by their
 * value. Either is written as a text (the element's name in this file). */
#include "object/patch_strategic.h"

#include "base/alloc.h"
#include "base/text.h"
#include "object/go_map.h"
#include "base/buf.h"
#include "base/map.h"

#include <stdlib.h>

struct item {
    struct pl_node target, patch; /* either may be PL_MISSING */
    char *name;                   /* owned; NULL when the element has no name and matches none */
    size_t name_len;
    size_t order, server_order; /* positions in the lists that set the order, or NO_PLACE */
    size_t place;               /* keeps the sort stable */
};

#define NO_PLACE SIZE_MAX

struct items {
    struct item *items; /* owned */
    size_t count, cap;
    struct pl_map by_name;  /* name -> index + 1 of the first of that name */
    struct pl_doc **merged; /* counted: results for elements that a patch names twice */
    size_t merged_count;
    const char *merge_key; /* NULL for scalars */
};

/* ---- names ---- */

static bool add_scalar_name(struct pl_buf *out, struct pl_node node)
{
    struct pl_scratch scratch;
    int64_t integer;
    switch (pl_node_type(node)) {
    case PL_NULL:
        pl_buf_add_char(out, 'z');
        return true;
    case PL_BOOL:
        pl_buf_add_z(out, pl_node_bool(node) ? "t" : "f");
        return true;
    case PL_NUMBER:
        if (pl_node_int(node, &integer))
            pl_buf_add_f(out, "i%lld", (long long)integer);
        else
            pl_buf_add_f(out, "n%.*s", PL_FMT(pl_node_number(node, &scratch)));
        return true;
    case PL_STRING:
        pl_buf_add_char(out, 's');
        pl_buf_add_slice(out, pl_node_str(node, &scratch));
        return true;
    default:
        return false;
    }
}

/* Returns false when the element has no name: it is neither a scalar nor an object with the merge
 * key. */
static bool patch_strategic_list_add_name(struct pl_buf *out, struct pl_node element,
                                          const char *merge_key)
{
    if (merge_key != NULL)
        element = pl_node_getz(element, merge_key);
    return add_scalar_name(out, element);
}

static struct pl_slice patch_strategic_list_name_of(const struct item *item)
{
    return pl_slice(item->name, item->name_len);
}

static int bad_element(struct pl_smp *s, const struct items *items, struct pl_node element,
                       size_t index)
{
    if (items->merge_key == NULL)
        return pl_err_set(s->err, PL_EINVAL, "element %zu must be a scalar", index);
    if (pl_node_type(element) == PL_OBJECT)
        return pl_smp_refuse_element(s, element, items->merge_key);
    return pl_err_set(s->err, PL_EINVAL, "element %zu must be an object with \"%s\"", index,
                      items->merge_key);
}

/* The set of the list's names with their positions; of a repeated name the first position counts.
 */
static int name_places(struct pl_smp *s, const struct items *items, struct pl_node list,
                       struct pl_map *places)
{
    struct pl_buf name = PL_BUF_INIT;
    struct pl_iter it = pl_iter(list);
    int rc = 0;
    while (rc == 0 && pl_iter_next(&it)) {
        pl_buf_clear(&name);
        if (!patch_strategic_list_add_name(&name, it.value, items->merge_key))
            rc = bad_element(s, items, it.value, it.index);
        else if (!pl_map_has(places, pl_buf_slice(&name)))
            pl_map_put(places, pl_buf_slice(&name), (void *)(uintptr_t)(it.index + 1));
    }
    pl_buf_deinit(&name);
    return rc;
}

static size_t patch_strategic_list_place_of(const struct pl_map *places, const struct item *item)
{
    uintptr_t found =
        item->name ? (uintptr_t)pl_map_get(places, patch_strategic_list_name_of(item)) : 0;
    return found != 0 ? found - 1 : NO_PLACE;
}

/* ---- items ---- */

static void items_deinit(struct items *items)
{
    for (size_t i = 0; i < items->count; i++)
        pl_free(items->items[i].name);
    for (size_t i = 0; i < items->merged_count; i++)
        pl_doc_unref(items->merged[i]);
    pl_free(items->items);
    pl_free(items->merged);
    pl_map_deinit(&items->by_name);
}

static void add_item(struct items *items, struct item item)
{
    if (items->count == items->cap) {
        items->cap = items->cap ? items->cap * 2 : 8;
        items->items = pl_reallocarray(items->items, items->cap, sizeof(*items->items));
    }
    items->items[items->count++] = item;
    if (item.name != NULL && !pl_map_has(&items->by_name, patch_strategic_list_name_of(&item)))
        pl_map_put(&items->by_name, patch_strategic_list_name_of(&item),
                   (void *)(uintptr_t)items->count);
}

/* Adds the current elements of the list, without the names in `gone`. */
static void add_target(struct items *items, struct pl_node target, const struct pl_map *gone)
{
    struct pl_buf name = PL_BUF_INIT;
    struct pl_iter it = pl_iter(target);
    while (pl_iter_next(&it)) {
        struct item item = {.target = it.value, .patch = PL_NODE_MISSING};
        pl_buf_clear(&name);
        bool named = patch_strategic_list_add_name(&name, it.value, items->merge_key);
        if (named && pl_map_has(gone, pl_buf_slice(&name)))
            continue;
        if (named) {
            item.name = pl_text_copy(pl_buf_slice(&name));
            item.name_len = name.len;
        }
        add_item(items, item);
    }
    pl_buf_deinit(&name);
}

static int write_item(struct pl_smp *s, const struct item *item, const struct pl_schema *schema)
{
    if (pl_node_is_missing(item->patch))
        pl_build_node(s->b, item->target);
    else if (pl_node_type(item->patch) == PL_OBJECT && pl_node_type(item->target) == PL_OBJECT)
        return pl_smp_object(s, item->target, item->patch, schema);
    else
        pl_smp_clean(s, item->patch);
    return 0;
}

/* The patch names an element a second time: the result so far becomes its target. */
static int patch_strategic_list_settle(struct pl_smp *s, struct items *items, struct item *item,
                                       const struct pl_schema *schema)
{
    struct pl_smp own = {.b = pl_build_create(NULL), .err = s->err};
    int rc = write_item(&own, item, schema);
    if (rc == 0) {
        struct pl_doc *doc = pl_build_finish(own.b);
        items->merged =
            pl_reallocarray(items->merged, items->merged_count + 1, sizeof(*items->merged));
        items->merged[items->merged_count++] = doc;
        item->target = pl_doc_root(doc);
        item->patch = PL_NODE_MISSING;
    }
    pl_build_destroy(own.b);
    return rc;
}

static int add_patch_element(struct pl_smp *s, struct items *items, struct pl_node element,
                             const struct pl_schema *schema)
{
    struct pl_buf name = PL_BUF_INIT;
    patch_strategic_list_add_name(&name, element, items->merge_key);
    uintptr_t found = (uintptr_t)pl_map_get(&items->by_name, pl_buf_slice(&name));
    if (found == 0) {
        struct item item = {.target = PL_NODE_MISSING, .patch = element, .name_len = name.len};
        item.name = pl_buf_take(&name);
        add_item(items, item);
        return 0;
    }
    pl_buf_deinit(&name);
    struct item *item = &items->items[found - 1];
    if (items->merge_key == NULL)
        return 0;
    if (!pl_node_is_missing(item->patch)) {
        int rc = patch_strategic_list_settle(s, items, item, schema);
        if (rc != 0)
            return rc;
    }
    item->patch = element;
    return 0;
}

/* ---- order ---- */

static int by_order(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    /* Elements that the patch names come first, in its order; then the others in the server's
     * order. */
    size_t i = x->order, j = y->order;
    if (i == NO_PLACE && j == NO_PLACE) {
        i = x->server_order;
        j = y->server_order;
    }
    return i != j ? (i < j ? -1 : 1) : (x->place > y->place) - (x->place < y->place);
}

/* Puts the elements that are in `order` into its order. Each other element goes before the first of
 * those that came after it on the server. */
static void arrange(struct items *items, const struct pl_map *order, const struct pl_map *server)
{
    if (items->count < 2)
        return;
    size_t named = 0;
    for (size_t i = 0; i < items->count; i++) {
        struct item *item = &items->items[i];
        item->order = patch_strategic_list_place_of(order, item);
        item->server_order = patch_strategic_list_place_of(server, item);
        item->place = i;
        named += item->order != NO_PLACE;
    }
    qsort(items->items, items->count, sizeof(*items->items), by_order);
    struct item *sorted = pl_calloc(items->count, sizeof(*sorted));
    size_t right = 0, left = named;
    for (size_t i = 0; i < items->count; i++) {
        const struct item *l = left < items->count ? &items->items[left] : NULL;
        const struct item *r = right < named ? &items->items[right] : NULL;
        bool takes_left =
            r == NULL || (l != NULL && l->server_order != NO_PLACE && r->server_order != NO_PLACE &&
                          l->server_order < r->server_order);
        sorted[i] = takes_left ? *l : *r;
        if (takes_left)
            left++;
        else
            right++;
    }
    pl_free(items->items);
    items->items = sorted;
    items->cap = items->count;
}

static int refuse_order(struct pl_smp *s, const struct pl_smp_list *list)
{
    struct pl_buf patch = PL_BUF_INIT, order = PL_BUF_INIT;
    pl_go_map_node(&patch, list->patch);
    pl_go_map_node(&order, list->order);
    pl_smp_refuse(s, PL_EINVAL,
                  "The order in patch list:\n%s\n doesn't match $setElementOrder list:\n%s\n",
                  pl_buf_z(&patch), pl_buf_z(&order));
    pl_buf_deinit(&patch);
    pl_buf_deinit(&order);
    return PL_EINVAL;
}

/* Checks that the patch's elements come in the order that it sets. */
static int check_order(struct pl_smp *s, const struct items *items, const struct pl_smp_list *list,
                       const struct pl_map *order)
{
    struct pl_buf name = PL_BUF_INIT;
    struct pl_iter it = pl_iter(list->patch);
    uintptr_t last = 0;
    int rc = 0;
    while (rc == 0 && pl_node_len(list->order) != 0 && pl_iter_next(&it)) {
        if (pl_smp_is_directive(it.value))
            continue;
        pl_buf_clear(&name);
        patch_strategic_list_add_name(&name, it.value, items->merge_key);
        uintptr_t place = (uintptr_t)pl_map_get(order, pl_buf_slice(&name));
        if (place <= last)
            rc = refuse_order(s, list);
        last = place;
    }
    pl_buf_deinit(&name);
    return rc;
}

/* ---- whole lists ---- */

/* Reads the elements that are directives: the names to delete, and whether all elements are
 * replaced. */
static int read_directives(struct pl_smp *s, const struct items *items, struct pl_node patch,
                           struct pl_map *gone, bool *replaces)
{
    struct pl_buf name = PL_BUF_INIT;
    struct pl_iter it = pl_iter(patch);
    int rc = 0;
    while (rc == 0 && pl_iter_next(&it)) {
        struct pl_node directive = pl_smp_directive(it.value);
        bool replace = pl_node_str_eq(directive, pl_slice_z("replace"));
        *replaces = *replaces || replace;
        if (replace)
            continue;
        pl_buf_clear(&name);
        if (pl_node_str_eq(directive, pl_slice_z("merge")))
            rc = pl_smp_refuse(s, PL_EINVAL, "merging lists cannot yet be specified in the patch");
        else if (!patch_strategic_list_add_name(&name, it.value, items->merge_key))
            rc = bad_element(s, items, it.value, it.index);
        else if (pl_node_str_eq(directive, pl_slice_z("delete")))
            pl_map_put(gone, pl_buf_slice(&name), gone);
        else if (pl_smp_is_directive(it.value))
            rc = pl_smp_refuse_directive(s, it.value);
    }
    pl_buf_deinit(&name);
    return rc;
}

static int merge_elements(struct pl_smp *s, struct items *items, const struct pl_smp_list *list,
                          struct pl_map *gone)
{
    struct pl_map order = PL_MAP_INIT, server = PL_MAP_INIT;
    const struct pl_schema *schema = pl_schema_items(list->schema);
    struct pl_iter it = pl_iter(list->patch);
    bool replaces = false;
    int rc = read_directives(s, items, list->patch, gone, &replaces);
    if (rc == 0 && !replaces)
        add_target(items, list->target, gone);
    for (size_t i = 0; i < items->count; i++)
        if (items->items[i].name != NULL &&
            patch_strategic_list_place_of(&server, &items->items[i]) == NO_PLACE)
            pl_map_put(&server, patch_strategic_list_name_of(&items->items[i]),
                       (void *)(uintptr_t)(i + 1));
    while (rc == 0 && pl_iter_next(&it)) {
        if (pl_smp_is_directive(it.value))
            continue;
        rc = add_patch_element(s, items, it.value, schema);
    }
    if (rc == 0 && !replaces) {
        /* Deleted names have no position: only the remaining elements are arranged. */
        rc = name_places(s, items, list->patch, &order);
        arrange(items, &order, &server);
    }
    pl_map_deinit(&order);
    pl_map_deinit(&server);
    return rc;
}

static int set_order(struct pl_smp *s, struct items *items, const struct pl_smp_list *list)
{
    struct pl_map order = PL_MAP_INIT, server = PL_MAP_INIT;
    struct pl_iter it = pl_iter(list->target);
    struct pl_buf name = PL_BUF_INIT;
    int rc = name_places(s, items, list->order, &order);
    if (rc == 0)
        rc = check_order(s, items, list, &order);
    while (rc == 0 && pl_iter_next(&it)) {
        pl_buf_clear(&name);
        if (patch_strategic_list_add_name(&name, it.value, items->merge_key) &&
            !pl_map_has(&server, pl_buf_slice(&name)))
            pl_map_put(&server, pl_buf_slice(&name), (void *)(uintptr_t)(it.index + 1));
    }
    if (rc == 0)
        arrange(items, &order, &server);
    pl_buf_deinit(&name);
    pl_map_deinit(&order);
    pl_map_deinit(&server);
    return rc;
}

static int write_items(struct pl_smp *s, const struct items *items, const struct pl_schema *schema)
{
    pl_build_array(s->b);
    for (size_t i = 0; i < items->count; i++) {
        int rc = write_item(s, &items->items[i], schema);
        if (rc != 0)
            return rc;
    }
    pl_build_end(s->b);
    return 0;
}

/* A new list is taken unchanged: elements with the same name are not merged. */
static void add_new_list(struct items *items, struct pl_node patch)
{
    struct pl_iter it = pl_iter(patch);
    while (pl_iter_next(&it)) {
        struct pl_buf name = PL_BUF_INIT;
        struct item item = {.target = PL_NODE_MISSING, .patch = it.value};
        if (pl_smp_is_directive(it.value))
            continue;
        if (patch_strategic_list_add_name(&name, it.value, items->merge_key)) {
            item.name_len = name.len;
            item.name = pl_buf_take(&name);
        }
        add_item(items, item);
    }
}

/* Fills items with the result for the list. */
static int merge_list(struct pl_smp *s, struct items *items, const struct pl_smp_list *list)
{
    struct pl_map gone = PL_MAP_INIT;
    struct items scalars = {.merge_key = NULL};
    int rc = name_places(s, &scalars, list->removed, &gone);
    if (rc == 0 && pl_node_is_missing(list->target))
        add_new_list(items, list->patch);
    else if (rc == 0)
        rc = merge_elements(s, items, list, &gone);
    if (rc == 0 && !pl_node_is_missing(list->order))
        rc = set_order(s, items, list);
    pl_map_deinit(&gone);
    return rc;
}

int pl_smp_list(struct pl_smp *s, const struct pl_smp_list *list)
{
    struct items items = {.merge_key = pl_schema_merge_key(list->schema)};
    bool merges = items.merge_key != NULL || pl_schema_merges_set(list->schema);
    bool patched = !pl_node_is_missing(list->patch);
    if (!merges && patched) {
        pl_smp_clean(s, list->patch);
        return 0;
    }
    if (!patched && pl_node_is_missing(list->order) && pl_node_is_missing(list->removed)) {
        pl_build_node(s->b, list->target);
        return 0;
    }
    int rc = merge_list(s, &items, list);
    if (rc == 0)
        rc = write_items(s, &items, pl_schema_items(list->schema));
    items_deinit(&items);
    return rc;
}
