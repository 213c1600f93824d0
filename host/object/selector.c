/* Parsed label and field selectors (see selector_parse.c, selector_node.c): requirements, sorted as
 * the API server prints them, and matching.
 *
 * Matching looks at many objects in a row, so it uses hints about where the last object had the
 * label, and the document's Bloom filter. A filter or a hint may only exclude an object; the labels
 * themselves decide. A missing label satisfies "!=" and "notin", as on the server. */
#include "object/selector_make.h"

#include "base/alloc.h"
#include "base/text.h"
#include "object/label.h"
#include "value/label_bloom.h"

#include <stdlib.h>

/* ---- requirements ---- */

struct pl_requirement *pl_selector_add(struct pl_selector *selector, struct pl_slice key,
                                       enum pl_selector_op op)
{
    selector->items =
        pl_reallocarray(selector->items, selector->count + 1, sizeof(*selector->items));
    struct pl_requirement *item = &selector->items[selector->count];
    *item = (struct pl_requirement){.key = pl_text_copy(key), .op = op, .order = selector->count};
    selector->count++;
    return item;
}

int pl_requirement_add_value(struct pl_requirement *item, struct pl_slice value, struct pl_err *err)
{
    int rc = pl_label_check_value(value, err);
    if (rc != 0)
        return rc;
    /* The capacity doubles, so that long value lists stay linear. */
    if ((item->count & (item->count - 1)) == 0)
        item->values =
            pl_reallocarray(item->values, item->count ? item->count * 2 : 1, sizeof(*item->values));
    item->values[item->count++] = pl_text_copy(value);
    return 0;
}

static int selector_by_key(const void *a, const void *b)
{
    const struct pl_requirement *x = a, *y = b;
    int c = strcmp(x->key, y->key);
    return c ? c : (x->order > y->order) - (x->order < y->order);
}

static void sort_values(struct pl_requirement *item)
{
    if (item->count < 2)
        return;
    qsort(item->values, item->count, sizeof(*item->values), pl_text_order);
    size_t kept = 1;
    for (size_t i = 1; i < item->count; i++) {
        if (strcmp(item->values[i], item->values[kept - 1]) == 0)
            pl_free(item->values[i]);
        else
            item->values[kept++] = item->values[i];
    }
    item->count = kept;
}

/* Accepts what strconv.ParseInt accepts in base 10. */
static bool parse_integer(struct pl_slice text, int64_t *value)
{
    bool negative = text.len != 0 && text.ptr[0] == '-';
    size_t i = text.len != 0 && (negative || text.ptr[0] == '+');
    int64_t sum = 0;
    if (i == text.len)
        return false;
    for (; i < text.len; i++) {
        int digit = text.ptr[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, negative ? -digit : digit, &sum))
            return false;
    }
    *value = sum;
    return true;
}

int pl_requirement_finish(struct pl_requirement *item, struct pl_err *err)
{
    bool ordered = item->op == PL_OP_GREATER || item->op == PL_OP_LESS;
    if (ordered && item->count != 0 && !parse_integer(pl_slice_z(item->values[0]), &item->number))
        return pl_err_set(err, PL_EINVAL,
                          "\"%s\" is not an integer: label \"%s\" is compared with %c",
                          item->values[0], item->key, item->op == PL_OP_LESS ? '<' : '>');
    sort_values(item);
    return 0;
}

void pl_selector_destroy(struct pl_selector *selector)
{
    if (selector == NULL)
        return;
    for (size_t i = 0; i < selector->count; i++) {
        struct pl_requirement *item = &selector->items[i];
        pl_free(item->key);
        for (size_t k = 0; k < item->count; k++)
            pl_free(item->values[k]);
        pl_free(item->values);
    }
    pl_free(selector->items);
    pl_free(selector);
}

struct pl_selector *pl_selector_made(struct pl_selector *selector, int failed)
{
    if (failed) {
        pl_selector_destroy(selector);
        return NULL;
    }
    if (selector->count > 1)
        qsort(selector->items, selector->count, sizeof(*selector->items), selector_by_key);
    return selector;
}

/* ---- matching ---- */

static bool selector_has_value(const struct pl_requirement *item, struct pl_node label)
{
    if (item->count == 1)
        return pl_node_str_eq(label, pl_slice_z(item->values[0]));
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(label, &scratch);
    size_t low = 0, high = item->count;
    while (text.ptr != NULL && low < high) {
        size_t middle = low + (high - low) / 2;
        int c = pl_slice_cmp(text, pl_slice_z(item->values[middle]));
        if (c == 0)
            return true;
        if (c < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

static bool matches_one(const struct pl_requirement *item, struct pl_node label)
{
    bool exists = pl_node_type(label) == PL_STRING;
    struct pl_scratch scratch;
    int64_t number;
    switch (item->op) {
    case PL_OP_EXISTS:
        return exists;
    case PL_OP_NOT_EXISTS:
        return !exists;
    case PL_OP_NOT_EQUALS:
    case PL_OP_NOT_IN:
        return !exists || !selector_has_value(item, label);
    case PL_OP_GREATER:
    case PL_OP_LESS:
        return exists && parse_integer(pl_node_str(label, &scratch), &number) &&
               (item->op == PL_OP_LESS ? number < item->number : number > item->number);
    default:
        return exists && selector_has_value(item, label);
    }
}

bool pl_selector_matches(const struct pl_selector *selector, struct pl_node labels)
{
    for (size_t i = 0; i < selector->count; i++)
        if (!matches_one(&selector->items[i], pl_node_getz(labels, selector->items[i].key)))
            return false;
    return true;
}

size_t pl_selector_hints(const struct pl_selector *selector)
{
    return selector->count + 2;
}

bool pl_selector_scans(const struct pl_selector *selector, struct pl_node object,
                       struct pl_hint *hints)
{
    struct pl_node metadata = pl_node_get_hinted(object, "metadata", hints++);
    struct pl_node labels = pl_node_get_hinted(metadata, "labels", hints++);
    pl_label_bloom_keep(object, labels);
    for (size_t i = 0; i < selector->count; i++)
        if (!matches_one(&selector->items[i],
                         pl_node_get_hinted(labels, selector->items[i].key, &hints[i])))
            return false;
    return true;
}

bool pl_selector_single(const struct pl_selector *selector, size_t *at, struct pl_slice *key,
                        struct pl_slice *value)
{
    while (*at < selector->count) {
        const struct pl_requirement *item = &selector->items[(*at)++];
        bool is_one =
            item->op == PL_OP_EQUALS || item->op == PL_OP_DOUBLE_EQUALS || item->op == PL_OP_IN;
        if (!is_one || item->count != 1)
            continue;
        *key = pl_slice_z(item->key);
        *value = pl_slice_z(item->values[0]);
        return true;
    }
    return false;
}

uint64_t pl_selector_bloom(const struct pl_selector *selector)
{
    uint64_t bits = 0;
    size_t at = 0;
    struct pl_slice key, value;
    while (pl_selector_single(selector, &at, &key, &value))
        bits |= pl_label_bloom(key, value);
    return bits;
}

bool pl_selector_is_empty(const struct pl_selector *selector)
{
    return selector->count == 0;
}

static void selector_add_text(const struct pl_requirement *item, struct pl_buf *out)
{
    static const char texts[][12] = {
        [PL_OP_EQUALS] = "=",    [PL_OP_DOUBLE_EQUALS] = "==", [PL_OP_NOT_EQUALS] = "!=",
        [PL_OP_IN] = " in (",    [PL_OP_NOT_IN] = " notin (",  [PL_OP_EXISTS] = "",
        [PL_OP_NOT_EXISTS] = "", [PL_OP_GREATER] = ">",        [PL_OP_LESS] = "<",
    };
    if (item->op == PL_OP_NOT_EXISTS)
        pl_buf_add_char(out, '!');
    pl_buf_add_z(out, item->key);
    pl_buf_add_z(out, texts[item->op]);
    for (size_t i = 0; i < item->count; i++) {
        if (i != 0)
            pl_buf_add_char(out, ',');
        pl_buf_add_z(out, item->values[i]);
    }
    if (item->op == PL_OP_IN || item->op == PL_OP_NOT_IN)
        pl_buf_add_char(out, ')');
}

void pl_selector_text(const struct pl_selector *selector, struct pl_buf *out)
{
    for (size_t i = 0; i < selector->count; i++) {
        if (i != 0)
            pl_buf_add_char(out, ',');
        selector_add_text(&selector->items[i], out);
    }
}
