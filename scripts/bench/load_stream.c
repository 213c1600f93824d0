/* Lists and watches. Both are sent in pieces that fit a processor's cache. The next piece follows
 * when the client has taken the last one, so no answer is ever completely in memory. */
#include "load.h"
#include "load_protobuf.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 128 << 10, BOOKMARK_S = 60 };

struct load_stream {
    struct pl_link link; /* in load->watches when the initial events are sent; else in no list */
    struct load *load;
    struct load_kind *kind;
    enum load_kind_id id;
    struct pl_exchange *exchange;
    size_t request;
    enum load_form form;
    bool is_watch;
    bool wants_bookmark; /* at the end of the initial events */
    bool bookmarks;      /* once a minute */
    bool first;          /* no item was sent yet */
    uint64_t since;      /* only newer objects; 0: all */
    uint64_t version;    /* of the list; the initial events end with it */
    uint32_t next;       /* object to look at next */
    uint32_t room;       /* objects that still fit in the page */
    struct pl_buf out;
    struct pl_timer timer;           /* the next bookmark */
    void (*then)(struct load *load); /* for load_watch_on_drained */
};

static void pump(void *arg);

/* ---- the form of an object ---- */

static void add_object(struct load_stream *s, struct pl_buf *out, const struct load_object *object)
{
    struct pl_slice text = load_text(s->kind, object);
    if (s->form == LOAD_PARTIAL) {
        pl_buf_add_z(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":"
                          "\"meta.k8s.io/v1\",\"metadata\":");
        pl_buf_add_slice(out, load_metadata(s->kind, object));
        pl_buf_add_char(out, '}');
    } else if (!s->is_watch && s->kind->bare > 0) {
        pl_buf_add_char(out, '{');
        pl_buf_add(out, text.ptr + 1 + s->kind->bare, text.len - 1 - s->kind->bare);
    } else {
        pl_buf_add_slice(out, text);
    }
}

static void add_event(struct load_stream *s, const char *type, const struct load_object *object)
{
    if (s->form == LOAD_PROTOBUF) {
        load_protobuf_add_event(&s->out, s->kind, type, object);
        return;
    }
    pl_buf_add_f(&s->out, "{\"type\":\"%s\",\"object\":", type);
    add_object(s, &s->out, object);
    pl_buf_add_z(&s->out, "}\n");
}

static void add_bookmark(struct load_stream *s, uint64_t version, bool ends_initial)
{
    bool partial = s->form == LOAD_PARTIAL;
    if (s->form == LOAD_PROTOBUF) {
        load_protobuf_add_bookmark(&s->out, s->kind, version, ends_initial);
        return;
    }
    pl_buf_add_f(&s->out,
                 "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\","
                 "\"metadata\":{\"resourceVersion\":\"%llu\",\"creationTimestamp\":null%s}}}\n",
                 partial ? "PartialObjectMetadata" : s->kind->kind,
                 partial ? "meta.k8s.io/v1" : s->kind->api_version, (unsigned long long)version,
                 ends_initial ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
}

/* ---- a stream's life ---- */

static void finish(struct load_stream *s)
{
    struct load *load = s->load;
    void (*then)(struct load * load) = s->then;
    pl_link_unlink(&s->link);
    pl_timer_stop(pl_loop_timers(load->loop), &s->timer);
    pl_buf_deinit(&s->out);
    pl_free(s);
    if (then != NULL)
        then(load);
}

static void on_close(void *arg)
{
    finish(arg);
}

static void send(struct load_stream *s)
{
    load_record_sent(&s->load->record, s->request, s->out.len);
    pl_exchange_write(s->exchange, pl_buf_slice(&s->out));
    pl_buf_clear(&s->out);
}

static struct load_stream *create(struct load *load, enum load_kind_id id,
                                  struct pl_exchange *exchange, size_t request, enum load_form form)
{
    struct load_stream *s = PL_NEW(struct load_stream);
    s->load = load;
    s->id = id;
    s->kind = &load->kinds[id];
    s->exchange = exchange;
    s->request = request;
    s->form = form;
    s->first = true;
    s->room = UINT32_MAX;
    s->version = load->rv;
    return s;
}

static void end_list(struct load_stream *s)
{
    struct load *load = s->load;
    if (s->form != LOAD_PROTOBUF)
        pl_buf_add_z(&s->out, "]}");
    send(s);
    pl_exchange_end(s->exchange);
    load_record_end(&load->record, s->request, 200, pl_loop_now(load->loop));
    finish(s);
}

static void on_bookmark_due(struct pl_timer *timer)
{
    struct load_stream *s = PL_CONTAINER_OF(timer, struct load_stream, timer);
    add_bookmark(s, s->load->rv, false);
    send(s);
    pl_timer_start(pl_loop_timers(s->load->loop), timer, BOOKMARK_S * PL_SECOND, on_bookmark_due);
}

/* The initial events have been sent: from here on events are sent as they happen. */
static void go_live(struct load_stream *s)
{
    if (s->wants_bookmark) {
        add_bookmark(s, s->version, true);
        load_record_end(&s->load->record, s->request, 200, pl_loop_now(s->load->loop));
    }
    if (s->out.len > 0)
        send(s);
    pl_list_push(&s->load->watches[s->id], &s->link);
    if (s->bookmarks)
        pl_timer_start(pl_loop_timers(s->load->loop), &s->timer, BOOKMARK_S * PL_SECOND,
                       on_bookmark_due);
}

/* Appends objects until the piece is full; returns false if none is left. */
static bool fill(struct load_stream *s)
{
    struct load_kind *kind = s->kind;
    while (s->next < kind->count && s->room > 0 && s->out.len < PIECE) {
        const struct load_object *object = &kind->objects[s->next++];
        if (s->since > 0 && load_number(kind, object, object->rv) <= s->since)
            continue;
        if (object->deleted && s->since == 0)
            continue;
        if (s->is_watch) {
            const char *type = object->deleted ? "DELETED" : s->since > 0 ? "MODIFIED" : "ADDED";
            add_event(s, type, object);
        } else {
            pl_buf_add_z(&s->out, s->first ? "" : ",");
            add_object(s, &s->out, object);
            s->first = false;
            s->room--;
        }
    }
    return s->next < kind->count && s->room > 0;
}

static void pump(void *arg)
{
    struct load_stream *s = arg;
    while (fill(s)) {
        send(s);
        if (pl_exchange_unread(s->exchange) > 0) {
            pl_exchange_on_drained(s->exchange, pump);
            return;
        }
    }
    if (s->is_watch)
        go_live(s);
    else
        end_list(s);
}

/* ---- requests ---- */

static uint64_t query_number(struct pl_exchange *exchange, const char *name)
{
    struct pl_buf value = PL_BUF_INIT;
    uint64_t number = 0;
    if (pl_query_get(pl_exchange_query(exchange), name, &value))
        number = strtoull(pl_buf_z(&value), NULL, 10);
    pl_buf_deinit(&value);
    return number;
}

static bool query_is(struct pl_exchange *exchange, const char *name, const char *wanted)
{
    struct pl_buf value = PL_BUF_INIT;
    bool is = pl_query_get(pl_exchange_query(exchange), name, &value) &&
              strcmp(pl_buf_z(&value), wanted) == 0;
    pl_buf_deinit(&value);
    return is;
}

/* The head of a list names the next page, so the end of the page is computed first. */
static uint32_t page_end(const struct load_stream *s, uint64_t limit)
{
    uint32_t i = s->next;
    for (; i < s->kind->count && limit > 0; i++)
        limit -= !s->kind->objects[i].deleted;
    while (i < s->kind->count && s->kind->objects[i].deleted)
        i++;
    return i;
}

static void begin_list(struct load_stream *s, const char *continues)
{
    bool partial = s->form == LOAD_PARTIAL;
    pl_buf_add_f(&s->out, "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{",
                 partial ? "PartialObjectMetadata" : s->kind->kind,
                 partial ? "meta.k8s.io/v1" : s->kind->api_version);
    pl_buf_add_f(&s->out, "\"resourceVersion\":\"%llu\"", (unsigned long long)s->version);
    if (*continues != '\0')
        pl_buf_add_f(&s->out, ",\"continue\":\"%s\"", continues);
    pl_buf_add_z(&s->out, "},\"items\":[");
}

/* In one piece, because the length comes before the items. */
static void send_protobuf_list(struct load_stream *s, const char *continues)
{
    size_t at = load_protobuf_begin_list(&s->out, s->kind, s->version, continues);
    for (; s->next < s->kind->count && s->room > 0; s->next++) {
        const struct load_object *object = &s->kind->objects[s->next];
        if (object->deleted)
            continue;
        load_protobuf_add_item(&s->out, s->kind, object);
        s->room--;
    }
    load_protobuf_end_list(&s->out, at);
    end_list(s);
}

void load_list(struct load *load, enum load_kind_id id, struct pl_exchange *exchange,
               size_t request, enum load_form form)
{
    struct load_stream *s = create(load, id, exchange, request, form);
    uint64_t limit = query_number(exchange, "limit");
    char continues[16] = "";
    if (load->whole_at_zero && query_is(exchange, "resourceVersion", "0"))
        limit = 0;
    s->next = (uint32_t)query_number(exchange, "continue");
    if (limit > 0) {
        s->room = (uint32_t)limit;
        uint32_t end = page_end(s, limit);
        if (end < s->kind->count)
            snprintf(continues, sizeof continues, "%u", end);
    }
    pl_exchange_begin(exchange, 200,
                      form == LOAD_PROTOBUF ? LOAD_PROTOBUF_TYPE : "application/json", on_close, s);
    if (form == LOAD_PROTOBUF) {
        send_protobuf_list(s, continues);
    } else {
        begin_list(s, continues);
        pump(s);
    }
}

void load_watch(struct load *load, enum load_kind_id id, struct pl_exchange *exchange,
                size_t request, enum load_form form)
{
    struct load_stream *s = create(load, id, exchange, request, form);
    s->is_watch = true;
    s->bookmarks = query_is(exchange, "allowWatchBookmarks", "true");
    s->wants_bookmark = query_is(exchange, "sendInitialEvents", "true");
    if (!s->wants_bookmark) {
        s->since = query_number(exchange, "resourceVersion");
        if (s->since > 0 && s->since >= s->kind->newest)
            s->next = s->kind->count; /* nothing happened meanwhile */
    }
    pl_exchange_begin(exchange, 200,
                      form == LOAD_PROTOBUF ? LOAD_PROTOBUF_TYPE ";stream=watch"
                                            : "application/json",
                      on_close, s);
    pump(s);
}

/* ---- events ---- */

void load_touch(struct load *load, enum load_kind_id id, struct load_object *object)
{
    struct load_kind *kind = &load->kinds[id];
    kind->newest = ++load->rv;
    load_put(kind, object, object->rv, load->rv);
}

#define EACH_WATCH(load, id, s)                                                                    \
    for (struct pl_link *link = (load)->watches[id].head.next, *after;                             \
         link != &(load)->watches[id].head &&                                                      \
         (after = link->next, s = PL_CONTAINER_OF(link, struct load_stream, link), true);          \
         link = after)

void load_watch_add(struct load *load, enum load_kind_id id, const char *type,
                    const struct load_object *object)
{
    struct load_stream *s;
    EACH_WATCH(load, id, s)
    add_event(s, type, object);
}

void load_watch_flush(struct load *load, enum load_kind_id id)
{
    struct load_stream *s;
    EACH_WATCH(load, id, s)
    send(s);
}

int64_t load_watch_unread(const struct load *load, enum load_kind_id id)
{
    struct load_stream *s;
    int64_t most = -1;
    EACH_WATCH(load, id, s)
    {
        int64_t unread = (int64_t)pl_exchange_unread(s->exchange);
        most = unread > most ? unread : most;
    }
    return most;
}

static void on_caught_up(void *arg)
{
    struct load_stream *s = arg;
    void (*then)(struct load * load) = s->then;
    s->then = NULL;
    if (then != NULL)
        then(s->load);
}

bool load_watch_on_drained(struct load *load, enum load_kind_id id, void (*then)(struct load *))
{
    struct load_stream *s;
    EACH_WATCH(load, id, s)
    {
        if (pl_exchange_unread(s->exchange) == 0)
            continue;
        s->then = then;
        pl_exchange_on_drained(s->exchange, on_caught_up);
        return true;
    }
    return false;
}
