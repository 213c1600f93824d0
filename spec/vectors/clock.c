#include "driver.h"

#include "base/check.h"

int64_t duration_of(struct pl_node node, int64_t otherwise)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"ns", 1},        {"us", PL_US},         {"ms", PL_MS},
                 {"s", PL_SECOND}, {"m", 60 * PL_SECOND}, {"h", 3600 * PL_SECOND}};
    struct pl_scratch room;
    struct pl_slice text = pl_node_str(node, &room);
    if (text.ptr == NULL)
        return otherwise;
    int64_t number = 0;
    size_t at = text.len > 0 && text.ptr[0] == '-';
    bool negative = at == 1;
    for (; at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9'; at++)
        number = number * 10 + (text.ptr[at] - '0');
    struct pl_slice unit = pl_slice(text.ptr + at, text.len - at);
    for (size_t i = 0; i < PL_ARRAY_LEN(units); i++)
        if (pl_slice_eqz(unit, units[i].name))
            return (negative ? -number : number) * units[i].ns;
    PL_UNREACHABLE();
}
