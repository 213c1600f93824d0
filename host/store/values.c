/* The index values of one object: texts in one buffer, without duplicates, in the order in which
 * they were added. Beyond PL_VALUES_MAX the set is marked as over, and the store treats the object
 * as one without values. */
#include "store/store.h"

static bool holds_value(const struct pl_values *values, struct pl_slice value)
{
    size_t at = 0;
    struct pl_slice have;
    while (pl_values_next(values, &at, &have))
        if (pl_slice_eq(have, value))
            return true;
    return false;
}

void pl_values_add(struct pl_values *values, struct pl_slice value)
{
    if (holds_value(values, value))
        return;
    if (values->count >= PL_VALUES_MAX || value.len > UINT32_MAX) {
        values->over = true;
        return;
    }
    uint32_t len = (uint32_t)value.len;
    pl_buf_add(&values->text, &len, sizeof(len));
    pl_buf_add_slice(&values->text, value);
    values->count++;
}

void pl_values_clear(struct pl_values *values)
{
    pl_buf_clear(&values->text);
    values->count = 0;
    values->over = false;
}

void pl_values_deinit(struct pl_values *values)
{
    pl_buf_deinit(&values->text);
    *values = (struct pl_values){0};
}

bool pl_values_next(const struct pl_values *values, size_t *at, struct pl_slice *value)
{
    uint32_t len;
    if (*at >= values->text.len)
        return false;
    memcpy(&len, values->text.ptr + *at, sizeof(len));
    *value = pl_slice(values->text.ptr + *at + sizeof(len), len);
    *at += sizeof(len) + len;
    return true;
}
