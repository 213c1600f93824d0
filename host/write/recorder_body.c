/* The Events of the recorder as documents, within the API server's limits. */
#include "write/recorder_impl.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/utf8.h"
#include "format/units.h"
#include "value/build.h"

#include <ctype.h>

#define NAME_MAX_BYTES (253 - 17) /* leaves room for "." and 16 digits */

char *pl_event_text(struct pl_slice text, size_t limit)
{
    size_t len = pl_utf8_cut(text, limit);
    char *copy = pl_memdup0(text.len > 0 ? text.ptr : "", len);
    bool is_clean = pl_is_utf8(pl_slice(copy, len));
    for (size_t i = 0; i < len; i++)
        if (copy[i] == '\0' || (!is_clean && (unsigned char)copy[i] >= 0x80))
            copy[i] = '?';
    return copy;
}

/* Objects may have names that Events may not have ("system:node"). */
char *pl_event_name(struct pl_slice object, uint64_t digits)
{
    struct pl_buf name = PL_BUF_INIT;
    for (size_t i = 0; i < object.len && name.len < NAME_MAX_BYTES; i++) {
        char c = object.ptr[i];
        bool fits = pl_is_alnum(c);
        bool may_separate = name.len > 0 && pl_is_alnum(name.ptr[name.len - 1]);
        if (fits)
            pl_buf_add_char(&name, (char)tolower((unsigned char)c));
        else if (may_separate)
            pl_buf_add_char(&name, c == '.' ? '.' : '-');
    }
    while (name.len > 0 && !pl_is_alnum(name.ptr[name.len - 1]))
        name.len--;
    if (name.len > 0)
        pl_buf_add_char(&name, '.');
    pl_buf_add_f(&name, "%016llx", (unsigned long long)digits);
    return pl_buf_take(&name);
}

const char *pl_event_namespace(const struct pl_event_series *series)
{
    const char *ns = series->texts[PL_EVENT_NS];
    return ns[0] != '\0' ? ns : "default";
}

static void recorder_body_put(struct pl_build *b, const char *key, const char *value)
{
    if (value[0] == '\0')
        return;
    pl_build_put_strz(b, key, value);
}

static void put_micro_time(struct pl_build *b, const char *key, int64_t wall_ns)
{
    char text[40];
    pl_time_text(wall_ns, 6, text);
    recorder_body_put(b, key, text);
}

static void put_series(struct pl_build *b, const struct pl_event_series *series)
{
    pl_build_keyz(b, "series");
    pl_build_object(b);
    pl_build_put_int(b, "count", series->count);
    put_micro_time(b, "lastObservedTime", series->last_ns);
    pl_build_end(b);
}

struct pl_doc *pl_event_body(const struct pl_event_series *series)
{
    char *const *texts = series->texts;
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    recorder_body_put(b, "apiVersion", "events.k8s.io/v1");
    recorder_body_put(b, "kind", "Event");
    pl_build_keyz(b, "metadata");
    pl_build_object(b);
    recorder_body_put(b, "name", series->event_name);
    recorder_body_put(b, "namespace", pl_event_namespace(series));
    pl_build_end(b);
    put_micro_time(b, "eventTime", series->first_ns);
    if (series->count > 1)
        put_series(b, series);
    recorder_body_put(b, "type", series->warning ? "Warning" : "Normal");
    recorder_body_put(b, "reason", texts[PL_EVENT_REASON]);
    recorder_body_put(b, "note", texts[PL_EVENT_NOTE]);
    recorder_body_put(b, "action", texts[PL_EVENT_ACTION]);
    recorder_body_put(b, "reportingController", texts[PL_EVENT_CONTROLLER]);
    recorder_body_put(b, "reportingInstance", series->recorder->instance);
    pl_build_keyz(b, "regarding");
    pl_build_object(b);
    recorder_body_put(b, "apiVersion", texts[PL_EVENT_API_VERSION]);
    recorder_body_put(b, "kind", texts[PL_EVENT_KIND]);
    recorder_body_put(b, "namespace", texts[PL_EVENT_NS]);
    recorder_body_put(b, "name", texts[PL_EVENT_NAME]);
    recorder_body_put(b, "uid", texts[PL_EVENT_UID]);
    recorder_body_put(b, "resourceVersion", texts[PL_EVENT_RV]);
    pl_build_end(b);
    pl_build_end(b);
    return pl_build_close(b);
}

struct pl_doc *pl_event_patch(const struct pl_event_series *series)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    put_series(b, series);
    pl_build_end(b);
    return pl_build_close(b);
}
