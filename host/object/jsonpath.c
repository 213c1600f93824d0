/* A path is a list of steps, and a step is a list of alternatives ([0,2] has two). Finding walks
 * the steps depth first, so that values come in document order. It counts the values that it looks
 * at, because "..*..*" looks at many. */
#include "object/jsonpath_impl.h"

#include <string.h>

#define LOOKS_MAX 1000000

struct finder {
    pl_jsonpath_visit visit;
    void *arg;
    size_t *looks; /* the number of values looked at, filters' paths included */
};

enum { GO_ON, ENOUGH, TOO_MUCH };

static int jsonpath_find(const struct finder *f, const struct pl_jsonpath *path, size_t i,
                         struct pl_node node);

static bool keep_first(void *arg, struct pl_node value)
{
    *(struct pl_node *)arg = value;
    return false;
}

static bool holds(enum path_relation relation, double a, double b)
{
    switch (relation) {
    case EQUAL:
        return a == b;
    case UNEQUAL:
        return a != b;
    case LESS:
        return a < b;
    case AT_MOST:
        return a <= b;
    case MORE:
        return a > b;
    default:
        return a >= b;
    }
}

static int compare_texts(struct pl_slice a, const char *b)
{
    size_t len = strlen(b), least = a.len < len ? a.len : len;
    int order = least > 0 ? memcmp(a.ptr, b, least) : 0;
    return order != 0 ? order : (a.len > len) - (a.len < len);
}

/* Values of different types are unequal and have no order. */
static bool jsonpath_fits(const struct path_filter *filter, struct pl_node value)
{
    struct pl_scratch scratch;
    enum pl_type type = pl_node_type(value);
    if (filter->relation == IS_THERE)
        return type != PL_MISSING;
    if (type != filter->type)
        return filter->relation == UNEQUAL && type != PL_MISSING;
    if (type == PL_STRING)
        return holds(filter->relation, compare_texts(pl_node_str(value, &scratch), filter->text),
                     0);
    if (type == PL_NUMBER)
        return holds(filter->relation, pl_node_double(value), filter->number);
    bool same = type == PL_NULL || pl_node_bool(value) == filter->yes;
    return filter->relation == EQUAL ? same : filter->relation == UNEQUAL && !same;
}

static int find_filtered(const struct finder *f, const struct pl_jsonpath *path, size_t i,
                         const struct path_filter *filter, struct pl_node node)
{
    int rc = GO_ON;
    struct pl_iter it = pl_iter(node);
    while (rc == GO_ON && pl_node_type(node) == PL_ARRAY && pl_iter_next(&it)) {
        struct pl_node value = PL_NODE_MISSING;
        const struct finder inner = {keep_first, &value, f->looks};
        rc = jsonpath_find(&inner, filter->path, 0, it.value);
        if (rc == TOO_MUCH)
            return rc;
        rc = jsonpath_fits(filter, value) ? jsonpath_find(f, path, i + 1, it.value) : GO_ON;
    }
    return rc;
}

/* Negative indices count from the end. */
static int64_t jsonpath_place(int64_t at, int64_t len)
{
    at = at < 0 ? at + len : at;
    return at < 0 ? 0 : at > len ? len : at;
}

static int find_slice(const struct finder *f, const struct pl_jsonpath *path, size_t i,
                      const struct path_part *part, struct pl_node node)
{
    int64_t len = (int64_t)pl_node_len(node);
    int64_t from = part->has_start ? jsonpath_place(part->start, len) : 0;
    int64_t to = part->has_end ? jsonpath_place(part->end, len) : len;
    int rc = GO_ON;
    for (int64_t at = from; at < to && rc == GO_ON; at += part->by)
        rc = jsonpath_find(f, path, i + 1, pl_node_at(node, (size_t)at));
    return rc;
}

static int find_index(const struct finder *f, const struct pl_jsonpath *path, size_t i,
                      int64_t index, struct pl_node node)
{
    int64_t at = index < 0 ? index + (int64_t)pl_node_len(node) : index;
    return at < 0 ? GO_ON : jsonpath_find(f, path, i + 1, pl_node_at(node, (size_t)at));
}

static int find_all(const struct finder *f, const struct pl_jsonpath *path, size_t i,
                    struct pl_node node)
{
    int rc = GO_ON;
    struct pl_iter it = pl_iter(node);
    while (rc == GO_ON && pl_iter_next(&it))
        rc = jsonpath_find(f, path, i + 1, it.value);
    return rc;
}

static int find_part(const struct finder *f, const struct pl_jsonpath *path, size_t i,
                     const struct path_part *part, struct pl_node node)
{
    bool is_array = pl_node_type(node) == PL_ARRAY;
    switch (part->type) {
    case PART_NAME:
        return jsonpath_find(f, path, i + 1, pl_node_getz(node, part->name));
    case PART_ALL:
        return find_all(f, path, i, node);
    case PART_INDEX:
        return is_array ? find_index(f, path, i, part->start, node) : GO_ON;
    case PART_SLICE:
        return is_array ? find_slice(f, path, i, part, node) : GO_ON;
    default:
        return find_filtered(f, path, i, &part->filter, node);
    }
}

static int find_step(const struct finder *f, const struct pl_jsonpath *path, size_t i,
                     struct pl_node node)
{
    const struct path_step *step = &path->steps[i];
    int rc = GO_ON;
    if (pl_node_is_missing(node))
        return rc;
    if (++*f->looks > LOOKS_MAX)
        return TOO_MUCH;
    for (size_t j = 0; j < step->count && rc == GO_ON; j++)
        rc = find_part(f, path, i, &step->parts[j], node);
    struct pl_iter it = pl_iter(node);
    while (step->deep && rc == GO_ON && pl_iter_next(&it))
        rc = find_step(f, path, i, it.value);
    return rc;
}

static int jsonpath_find(const struct finder *f, const struct pl_jsonpath *path, size_t i,
                         struct pl_node node)
{
    if (i < path->count)
        return find_step(f, path, i, node);
    if (pl_node_is_missing(node))
        return GO_ON;
    return f->visit(f->arg, node) ? GO_ON : ENOUGH;
}

int pl_jsonpath_each(const struct pl_jsonpath *path, struct pl_node root, pl_jsonpath_visit visit,
                     void *arg, struct pl_err *err)
{
    size_t looks = 0;
    const struct finder f = {visit, arg, &looks};
    if (jsonpath_find(&f, path, 0, root) == TOO_MUCH)
        return pl_err_set(err, PL_ELIMIT, "the path looks at more than a million values");
    return 0;
}

struct pl_node pl_jsonpath_first(const struct pl_jsonpath *path, struct pl_node root)
{
    struct pl_node value = PL_NODE_MISSING;
    return pl_jsonpath_each(path, root, keep_first, &value, NULL) == 0 ? value : PL_NODE_MISSING;
}
