/* The building blocks of cells: values at simple paths, and ages in kubectl's format. An absent
 * value is empty or 0, never an error. The object is only read. */
#include "format/units.h"
#include "columns/cells.h"
#include "columns/cells_impl.h"
#include "schema/crd_path.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

struct pl_node pl_cell_at(struct pl_node object, const char *path)
{
    return pl_api_jsonpath(object, pl_slice_z(path));
}

int64_t pl_cell_int(struct pl_node object, const char *path)
{
    int64_t value = 0;
    pl_node_int(pl_cell_at(object, path), &value);
    return value;
}

bool pl_cell_add(struct pl_buf *out, struct pl_node object, const char *path)
{
    struct pl_scratch scratch;
    struct pl_node value = pl_cell_at(object, path);
    int64_t number;
    size_t before = out->len;
    if (pl_node_int(value, &number))
        pl_buf_add_f(out, "%" PRId64, number);
    else
        pl_buf_add_slice(out, pl_node_str(value, &scratch));
    return out->len > before;
}

void pl_cell_add_or(struct pl_buf *out, struct pl_node object, const char *path, const char *other)
{
    if (!pl_cell_add(out, object, path))
        pl_buf_add_z(out, other);
}

bool pl_cell_has(struct pl_node object, const char *path)
{
    struct pl_scratch scratch;
    return pl_node_str(pl_cell_at(object, path), &scratch).len > 0;
}

void pl_cell_separate(struct pl_buf *out, const char *separator)
{
    if (out->len > 0)
        pl_buf_add_z(out, separator);
}

void pl_cell_lower(struct pl_buf *out, size_t from)
{
    for (size_t i = from; i < out->len; i++)
        out->ptr[i] = (char)tolower((unsigned char)out->ptr[i]);
}

void pl_cell_age(struct pl_buf *out, struct pl_node time, int64_t now_ns)
{
    struct pl_scratch scratch;
    int64_t then;
    char age[32] = "<unknown>";
    if (pl_time_parse(pl_node_str(time, &scratch), &then))
        pl_api_age_text(now_ns - then, age);
    pl_buf_add_z(out, age);
}

bool pl_cell_is(struct pl_node object, const char *path, const char *text)
{
    struct pl_scratch scratch;
    return pl_slice_eqz(pl_node_str(pl_cell_at(object, path), &scratch), text);
}

struct pl_node pl_cell_condition_of(struct pl_node object, const char *type)
{
    struct pl_iter it = pl_iter(pl_cell_at(object, ".status.conditions"));
    while (pl_iter_next(&it))
        if (pl_cell_is(it.value, ".type", type))
            return it.value;
    return PL_NODE_MISSING;
}

bool pl_cell_condition(struct pl_node object, const char *type, const char *status)
{
    return pl_cell_is(pl_cell_condition_of(object, type), ".status", status);
}

void pl_api_age_text(int64_t age_ns, char out[32])
{
    int64_t s = age_ns / PL_SECOND, m = s / 60, h = m / 60, d = h / 24;
    if (s < 0)
        snprintf(out, 32, "<invalid>");
    else if (s < 120)
        snprintf(out, 32, "%" PRId64 "s", s);
    else if (m < 10 && s % 60 != 0)
        snprintf(out, 32, "%" PRId64 "m%" PRId64 "s", m, s % 60);
    else if (h < 3)
        snprintf(out, 32, "%" PRId64 "m", m);
    else if (h < 8 && m % 60 != 0)
        snprintf(out, 32, "%" PRId64 "h%" PRId64 "m", h, m % 60);
    else if (h < 48)
        snprintf(out, 32, "%" PRId64 "h", h);
    else if (d < 8 && h % 24 != 0)
        snprintf(out, 32, "%" PRId64 "d%" PRId64 "h", d, h % 24);
    else if (d < 730)
        snprintf(out, 32, "%" PRId64 "d", d);
    else if (d < INT64_C(8) * 365 && d % 365 != 0)
        snprintf(out, 32, "%" PRId64 "y%" PRId64 "d", d / 365, d % 365);
    else
        snprintf(out, 32, "%" PRId64 "y", d / 365);
}
