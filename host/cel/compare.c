/* Equality and order. Numbers of different types compare by value. A list of a
 * document with list type "set" compares regardless of order, one with list type "map" by its keys,
 * as the API server stores them. Values of unrelated types are unequal, which is not an error. */
#include "cel/finder.h"

#include <math.h>
#include <string.h>

/* ---- numbers ---- */

static bool compare_is_number(struct pl_cel v)
{
    return v.kind == PL_CEL_INT || v.kind == PL_CEL_UINT || v.kind == PL_CEL_DOUBLE;
}

static int order(bool less, bool greater)
{
    return greater - less;
}

/* An int or uint and a double, as CEL compares them: by their values as doubles. 2: not a number.
 */
static int compare_whole_double(struct pl_cel whole, double d)
{
    double a = whole.kind == PL_CEL_INT ? (double)whole.i : (double)whole.u;
    return isnan(d) ? 2 : order(a<d, a> d);
}

static int compare_numbers(struct pl_cel a, struct pl_cel b)
{
    if (a.kind == PL_CEL_DOUBLE && b.kind == PL_CEL_DOUBLE)
        return isnan(a.d) || isnan(b.d) ? 2 : order(a.d<b.d, a.d> b.d);
    if (b.kind == PL_CEL_DOUBLE)
        return compare_whole_double(a, b.d);
    if (a.kind == PL_CEL_DOUBLE) {
        int c = compare_whole_double(b, a.d);
        return c == 2 ? 2 : -c;
    }
    __int128 x = a.kind == PL_CEL_INT ? (__int128)a.i : (__int128)a.u;
    __int128 y = b.kind == PL_CEL_INT ? (__int128)b.i : (__int128)b.u;
    return order(x<y, x> y);
}

/* ---- order ---- */

static int compare_times(struct pl_cel_time a, struct pl_cel_time b)
{
    if (a.seconds != b.seconds)
        return order(a.seconds<b.seconds, a.seconds> b.seconds);
    return order(a.ns<b.ns, a.ns> b.ns);
}

int pl_cel_compare(struct pl_cel a, struct pl_cel b)
{
    if (compare_is_number(a) && compare_is_number(b))
        return compare_numbers(a, b);
    if (a.kind != b.kind)
        return 2;
    switch (a.kind) {
    case PL_CEL_BOOL:
        return order(a.b<b.b, a.b> b.b);
    case PL_CEL_STRING:
    case PL_CEL_BYTES: {
        int c = pl_slice_cmp(a.s, b.s);
        return order(c<0, c> 0);
    }
    case PL_CEL_TIMESTAMP:
    case PL_CEL_DURATION:
        return compare_times(a.t, b.t);
    default:
        return 2;
    }
}

/* ---- equality ---- */

bool pl_cel_same_element(struct pl_cel_eval *eval, const struct pl_cel_type *type, struct pl_cel a,
                         struct pl_cel b)
{
    if (type->is_set)
        return pl_cel_equal(eval, a, b);
    for (size_t i = 0; i < type->list_key_count; i++) {
        struct pl_cel x = pl_cel_null(), y = pl_cel_null();
        pl_cel_map_get(eval, a, pl_cel_string(type->list_keys[i]), &x);
        pl_cel_map_get(eval, b, pl_cel_string(type->list_keys[i]), &y);
        if (!pl_cel_equal(eval, x, y))
            return false;
    }
    return true;
}

/* The order does not count: sets, and map lists by their keys. */
static bool have_same_elements(struct pl_cel_eval *eval, const struct pl_cel_list *a,
                               const struct pl_cel_list *b)
{
    struct pl_cel_finder finder = pl_cel_finder_of(eval, b, a->type);
    for (size_t i = 0; i < a->count; i++) {
        size_t at = pl_cel_finder_find(eval, &finder, a->items[i]);
        if (at == SIZE_MAX)
            return false;
        if (a->type->is_map_list && !pl_cel_equal(eval, a->items[i], b->items[at]))
            return false;
    }
    return true;
}

static bool equal_lists(struct pl_cel_eval *eval, struct pl_cel x, struct pl_cel y)
{
    const struct pl_cel_list *a = pl_cel_list_of(eval, x), *b = pl_cel_list_of(eval, y);
    if (a == b)
        return true;
    if (a->count != b->count)
        return false;
    if (a->type != NULL && (a->type->is_map_list || a->type->is_set))
        return have_same_elements(eval, a, b);
    for (size_t i = 0; i < a->count; i++)
        if (!pl_cel_equal(eval, a->items[i], b->items[i]))
            return false;
    return true;
}

static bool equal_maps(struct pl_cel_eval *eval, struct pl_cel x, struct pl_cel y)
{
    const struct pl_cel_map *a = pl_cel_map_of(eval, x), *b = pl_cel_map_of(eval, y);
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        struct pl_cel other;
        if (!pl_cel_map_get(eval, y, a->entries[i].key, &other) ||
            !pl_cel_equal(eval, a->entries[i].value, other))
            return false;
    }
    return true;
}

static bool equal_types(const struct pl_cel_type *a, const struct pl_cel_type *b)
{
    bool a_is_map = a->kind == PL_CEL_MAP || a->kind == PL_CEL_OBJECT;
    bool b_is_map = b->kind == PL_CEL_MAP || b->kind == PL_CEL_OBJECT;
    return a->kind == b->kind || (a_is_map && b_is_map);
}

static bool equal_optionals(struct pl_cel_eval *eval, struct pl_cel a, struct pl_cel b)
{
    if (a.value == NULL || b.value == NULL)
        return a.value == b.value;
    return pl_cel_equal(eval, *a.value, *b.value);
}

static bool equal_semvers(const struct pl_cel_semver *a, const struct pl_cel_semver *b)
{
    return a->major == b->major && a->minor == b->minor && a->patch == b->patch &&
           pl_slice_eq(a->pre, b->pre);
}

static bool equal_urls(const struct pl_cel_url *a, const struct pl_cel_url *b)
{
    return pl_slice_eq(a->scheme, b->scheme) && pl_slice_eq(a->host, b->host) &&
           pl_slice_eq(a->path, b->path) && pl_slice_eq(a->query, b->query);
}

bool pl_cel_equal(struct pl_cel_eval *eval, struct pl_cel a, struct pl_cel b)
{
    bool a_is_map = a.kind == PL_CEL_MAP || a.kind == PL_CEL_OBJECT;
    bool b_is_map = b.kind == PL_CEL_MAP || b.kind == PL_CEL_OBJECT;
    if (a_is_map && b_is_map)
        return equal_maps(eval, a, b);
    if (compare_is_number(a) && compare_is_number(b))
        return compare_numbers(a, b) == 0;
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case PL_CEL_NULL:
        return true;
    case PL_CEL_LIST:
        return equal_lists(eval, a, b);
    case PL_CEL_TYPE:
        return equal_types(a.of, b.of);
    case PL_CEL_OPTIONAL:
        return equal_optionals(eval, a, b);
    case PL_CEL_QUANTITY:
        return a.q->nano == b.q->nano;
    case PL_CEL_IP:
    case PL_CEL_CIDR:
        return a.ip->len == b.ip->len && a.ip->prefix == b.ip->prefix &&
               memcmp(a.ip->bytes, b.ip->bytes, a.ip->len) == 0;
    case PL_CEL_SEMVER:
        return equal_semvers(a.semver, b.semver);
    case PL_CEL_URL:
        return equal_urls(a.url, b.url);
    case PL_CEL_AUTHORIZER: /* reached only inside lists: == does not accept these types */
    case PL_CEL_PATH_CHECK:
    case PL_CEL_GROUP_CHECK:
    case PL_CEL_RESOURCE_CHECK:
    case PL_CEL_DECISION:
        return a.check == b.check;
    case PL_CEL_FORMAT:
        return pl_slice_eq(a.s, b.s);
    default:
        return pl_cel_compare(a, b) == 0;
    }
}
