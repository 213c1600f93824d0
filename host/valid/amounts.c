/* Amounts are in thousandths and do not overflow: they stop at the largest value. */
#include "valid/amounts.h"

#include "format/units.h"

#include <math.h>

#define MOST 9.2e18

/* ---- amounts ---- */

bool pl_amount_read(const struct pl_tree *value, struct pl_amount *amount)
{
    double base;
    if (value == NULL || value->type == PL_NULL || !pl_quantity_parse(value->text, &base))
        return false;
    double milli = ceil(base * 1000 - 1e-6);
    amount->milli = milli > MOST ? INT64_MAX : milli < -MOST ? INT64_MIN : (int64_t)milli;
    amount->is_binary = value->text.len > 0 && value->text.ptr[value->text.len - 1] == 'i';
    return true;
}

static struct pl_amount amount_sum(struct pl_amount a, struct pl_amount b)
{
    struct pl_amount sum = {0, a.milli == 0 ? b.is_binary : a.is_binary};
    if (__builtin_add_overflow(a.milli, b.milli, &sum.milli))
        sum.milli = b.milli > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

struct pl_slice pl_amount_text(struct pl_arena *arena, struct pl_amount amount)
{
    static const char suffixes[2][7][4] = {{"", "k", "M", "G", "T", "P", "E"},
                                           {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}};
    int64_t step = amount.is_binary ? 1024 : 1000, whole = amount.milli / 1000;
    size_t i = 0;
    if (amount.milli % 1000 != 0)
        return pl_arena_f(arena, "%lldm", (long long)amount.milli);
    while (whole != 0 && whole % step == 0 && i + 1 < PL_ARRAY_LEN(suffixes[0])) {
        whole /= step;
        i++;
    }
    return pl_arena_f(arena, "%lld%s", (long long)whole, suffixes[amount.is_binary][i]);
}

static struct pl_amount *usage_find(struct pl_usage *usage, struct pl_slice name)
{
    for (size_t i = 0; i < usage->count; i++)
        if (pl_slice_eq(usage->list[i].name, name))
            return &usage->list[i].amount;
    return NULL;
}

const struct pl_amount *pl_usage_get(const struct pl_usage *usage, struct pl_slice name)
{
    return usage_find((struct pl_usage *)usage, name);
}

void pl_usage_set(struct pl_usage *usage, struct pl_slice name, struct pl_amount amount)
{
    struct pl_amount *has = usage_find(usage, name);
    if (has != NULL)
        *has = amount;
    else
        pl_usage_add(usage, name, amount);
}

void pl_usage_add(struct pl_usage *usage, struct pl_slice name, struct pl_amount amount)
{
    struct pl_amount *has = usage_find(usage, name);
    if (has != NULL) {
        *has = amount_sum(*has, amount);
    } else if (usage->count < PL_USAGE_MAX) {
        usage->list[usage->count].name = name;
        usage->list[usage->count++].amount = amount;
    }
}

/* ---- containers ---- */

static void add_amounts(struct pl_usage *usage, const struct pl_tree *container, const char *list)
{
    struct pl_amount amount;
    PL_TREE_FOR(item, pl_tree_getz(pl_tree_getz(container, "resources"), list))
    if (pl_amount_read(item->value, &amount))
        pl_usage_add(usage, item->key, amount);
}

static void take_larger(struct pl_usage *most, const struct pl_usage *other)
{
    for (size_t i = 0; i < other->count; i++) {
        struct pl_amount *has = usage_find(most, other->list[i].name);
        if (has == NULL)
            pl_usage_add(most, other->list[i].name, other->list[i].amount);
        else if (other->list[i].amount.milli > has->milli)
            *has = other->list[i].amount;
    }
}

void pl_usage_of_containers(struct pl_usage *sums, const struct pl_tree *spec, const char *list)
{
    struct pl_usage beside = {.count = 0}, first = {.count = 0};
    PL_TREE_FOR(one, pl_tree_getz(spec, "containers"))
    add_amounts(sums, one->value, list);
    PL_TREE_FOR(one, pl_tree_getz(spec, "initContainers"))
    {
        if (pl_slice_eqz(pl_tree_text_at(one->value, "restartPolicy"), "Always")) {
            add_amounts(sums, one->value, list);
            add_amounts(&beside, one->value, list);
            continue;
        }
        struct pl_usage here = beside;
        add_amounts(&here, one->value, list);
        take_larger(&first, &here);
    }
    take_larger(sums, &first);
}
