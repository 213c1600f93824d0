/* Equality by meaning. Two nodes at one position are equal without a comparison; this makes
 * comparing documents of one pool cheap. */
#include "value/number.h"
#include "value/tape.h"

/* For values that are not containers. */
static bool same_bytes(struct pl_node a, struct pl_node b)
{
    size_t len = (size_t)(tape_skip(a.at) - a.at);
    return len == (size_t)(tape_skip(b.at) - b.at) && tape_text_eq(a.at, b.at, len);
}

static bool strings_equal(struct pl_node a, struct pl_node b)
{
    struct pl_scratch of_a, of_b;
    if (*a.at == *b.at && tape_is_packed(*a.at))
        return same_bytes(a, b);
    return pl_slice_eq(pl_node_str(a, &of_a), pl_node_str(b, &of_b));
}

static bool numbers_equal(struct pl_node a, struct pl_node b)
{
    struct pl_scratch of_a, of_b;
    if (*a.at != TAG_DIGITS && *b.at != TAG_DIGITS) /* an integer has only one representation */
        return same_bytes(a, b);
    return pl_number_eq(pl_node_number(a, &of_a), pl_node_number(b, &of_b));
}

static bool arrays_equal(struct pl_node a, struct pl_node b)
{
    struct pl_iter x = pl_iter(a), y = pl_iter(b);
    if (x.left != y.left)
        return false;
    while (pl_iter_next(&x) && pl_iter_next(&y)) {
        if (!pl_node_equal(x.value, y.value))
            return false;
    }
    return true;
}

/* Names are unique, so it is enough to compare the counts and to find every member of a in b.
 * Members are mostly in the same order; from the first difference on, each is looked up. */
static bool objects_equal(struct pl_node a, struct pl_node b)
{
    struct pl_iter x = pl_iter(a), y = pl_iter(b);
    if (x.left != y.left)
        return false;
    bool in_order = true;
    while (pl_iter_next(&x)) {
        if (in_order)
            in_order = pl_iter_next(&y) && pl_slice_eq(x.key, y.key);
        struct pl_node other = in_order ? y.value : pl_node_get(b, x.key);
        if (!pl_node_equal(x.value, other))
            return false;
    }
    return true;
}

bool pl_node_equal(struct pl_node a, struct pl_node b)
{
    if (pl_node_is_same(a, b))
        return true;
    enum pl_type type = pl_node_type(a);
    if (type != pl_node_type(b))
        return false;
    switch (type) {
    case PL_BOOL:
        return *a.at == *b.at;
    case PL_NUMBER:
        return numbers_equal(a, b);
    case PL_STRING:
        return strings_equal(a, b);
    case PL_ARRAY:
        return arrays_equal(a, b);
    case PL_OBJECT:
        return objects_equal(a, b);
    default:
        return true;
    }
}
