/* Shapes: the names of an object's members, in order. Objects of one kind have only a few different
 * shapes.
 *
 * A large shape has an index sorted by name, and repeated names are also found by sorting. So an
 * object with many members, which an outsider may send, costs n log n and not n squared. Small ones
 * are compared pairwise, after a bit set has excluded most pairs. */
#include "value/shape.h"
#include "value/tape.h"

#include "base/alloc.h"

#include <stdlib.h>

struct named {
    struct pl_slice name;
    uint32_t offset, ordinal;
};

static int by_name_then_place(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = pl_slice_cmp(x->name, y->name);
    return order != 0 ? order : (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

/* The caller frees it. */
static struct named *sorted_names(uint32_t count, struct pl_slice keys)
{
    struct named *names = pl_reallocarray(NULL, count, sizeof(*names));
    const uint8_t *first = (const uint8_t *)keys.ptr, *at = first;
    for (uint32_t i = 0; i < count; i++) {
        names[i].offset = (uint32_t)(at - first);
        names[i].ordinal = i;
        at = tape_key(at, &names[i].name);
    }
    qsort(names, count, sizeof(*names), by_name_then_place);
    return names;
}

size_t pl_shape_room(uint32_t count, size_t keys_len)
{
    return 10 + keys_len + (count >= TAPE_BIG ? (size_t)8 * count : 0);
}

uint8_t *pl_shape_put(uint8_t *out, uint32_t count, struct pl_slice keys)
{
    out = tape_put_varint(out, count);
    out = tape_put_varint(out, (uint32_t)keys.len);
    memcpy(out, keys.ptr, keys.len);
    out += keys.len;
    if (count < TAPE_BIG)
        return out;
    struct named *names = sorted_names(count, keys);
    for (uint32_t i = 0; i < count; i++, out += 8) {
        tape_put_uint(out, 4, names[i].offset);
        tape_put_uint(out + 4, 4, names[i].ordinal);
    }
    pl_free(names);
    return out;
}

/* For few names: a set of bits, computed from a name's length and outer bytes, excludes nearly all
 * pairs. Only a name whose bit is already set is compared with the names before it. */
static bool few_repeat(uint32_t count, struct pl_slice keys)
{
    struct pl_slice names[TAPE_BIG];
    uint64_t seen = 0;
    const uint8_t *at = (const uint8_t *)keys.ptr;
    for (uint32_t i = 0; i < count; i++) {
        at = tape_key(at, &names[i]);
        struct pl_slice name = names[i];
        unsigned mix = (unsigned)name.len;
        if (name.len > 0)
            mix = mix * 7 + (uint8_t)name.ptr[0] + (uint8_t)name.ptr[name.len - 1] * 5u +
                  (uint8_t)name.ptr[name.len / 2] * 3u;
        uint64_t bit = UINT64_C(1) << (mix & 63);
        for (uint32_t j = 0; (seen & bit) != 0 && j < i; j++) {
            if (pl_slice_eq(names[j], name))
                return true;
        }
        seen |= bit;
    }
    return false;
}

bool pl_shape_repeats(uint32_t count, struct pl_slice keys, bool *repeated, uint32_t *second)
{
    if (count < TAPE_BIG && repeated == NULL)
        return few_repeat(count, keys);
    struct named *names = sorted_names(count, keys);
    uint32_t first_second = UINT32_MAX;
    for (uint32_t i = 1; i < count; i++) {
        if (!pl_slice_eq(names[i - 1].name, names[i].name))
            continue;
        if (names[i].ordinal < first_second)
            first_second = names[i].ordinal;
        if (repeated != NULL)
            repeated[names[i - 1].ordinal] = true;
    }
    pl_free(names);
    if (second != NULL)
        *second = first_second;
    return first_second != UINT32_MAX;
}
