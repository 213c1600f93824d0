/* The cells of Events. The object is only read; a value may be absent. */
#include "columns/cells_impl.h"

#include <ctype.h>

static struct pl_node first_time(struct pl_node object)
{
    struct pl_node time = pl_cell_at(object, ".firstTimestamp");
    return pl_node_type(time) == PL_STRING ? time : pl_cell_at(object, ".eventTime");
}

void pl_cell_last_seen(struct pl_buf *out, struct pl_node object, int64_t now_ns)
{
    struct pl_node time = pl_cell_at(object, ".series.lastObservedTime");
    if (pl_node_type(time) != PL_STRING)
        time = pl_cell_at(object, ".lastTimestamp");
    pl_cell_age(out, pl_node_type(time) == PL_STRING ? time : first_time(object), now_ns);
}

void pl_cell_first_seen(struct pl_buf *out, struct pl_node object, int64_t now_ns)
{
    pl_cell_age(out, first_time(object), now_ns);
}

void pl_cell_event_object(struct pl_buf *out, struct pl_node object, int64_t now_ns)
{
    (void)now_ns;
    pl_cell_add(out, object, ".involvedObject.kind");
    pl_cell_lower(out, 0);
    if (!pl_cell_has(object, ".involvedObject.name"))
        return;
    pl_buf_add_char(out, '/');
    pl_cell_add(out, object, ".involvedObject.name");
}

void pl_cell_event_source(struct pl_buf *out, struct pl_node object, int64_t now_ns)
{
    (void)now_ns;
    if (!pl_cell_add(out, object, ".source.component"))
        pl_cell_add(out, object, ".reportingComponent");
    size_t before = out->len;
    pl_buf_add_z(out, before > 0 ? ", " : "");
    if (!pl_cell_add(out, object, ".source.host") &&
        !pl_cell_add(out, object, ".reportingInstance"))
        out->len = before;
}

void pl_cell_message(struct pl_buf *out, struct pl_node object, int64_t now_ns)
{
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(pl_cell_at(object, ".message"), &scratch);
    (void)now_ns;
    while (text.len > 0 && isspace((unsigned char)text.ptr[text.len - 1]))
        text.len--;
    while (text.len > 0 && isspace((unsigned char)*text.ptr))
        text = pl_slice(text.ptr + 1, text.len - 1);
    pl_buf_add_slice(out, text);
}
