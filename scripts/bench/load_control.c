/* The control port of the benchmark, separate from the measured port, so that its requests are not
 * measured. Everything is a GET with a query; README.md lists it. */
#include "load.h"
#include "load_protobuf.h"

#include <stdlib.h>
#include <string.h>

static uint32_t number(struct pl_exchange *exchange, const char *name, uint32_t otherwise)
{
    struct pl_buf value = PL_BUF_INIT;
    uint32_t result = otherwise;
    if (pl_query_get(pl_exchange_query(exchange), name, &value))
        result = (uint32_t)strtoul(pl_buf_z(&value), NULL, 10);
    pl_buf_deinit(&value);
    return result;
}

/* LOAD_KINDS when there is none of that name. */
static enum load_kind_id kind(struct load *load, struct pl_exchange *exchange)
{
    struct pl_buf value = PL_BUF_INIT;
    int id = 0;
    pl_query_get(pl_exchange_query(exchange), "kind", &value);
    while (id < LOAD_KINDS && strcmp(load->kinds[id].plural, pl_buf_z(&value)) != 0)
        id++;
    pl_buf_deinit(&value);
    return (enum load_kind_id)id;
}

static void reply(struct pl_exchange *exchange, int status, const char *text)
{
    pl_exchange_reply(exchange, status, "application/json", pl_slice_z(text));
}

static void emit(struct load *load, struct pl_exchange *exchange)
{
    struct load_emission emission = {
        .kind = kind(load, exchange),
        .deletes = number(exchange, "delete", 0) != 0,
        .count = number(exchange, "count", 0),
        .rate = number(exchange, "rate", 0),
        .sentinel = number(exchange, "sentinel", 0) != 0,
        .most_unread = number(exchange, "most_unread", 0),
    };
    bool known = emission.kind < LOAD_KINDS && load->kinds[emission.kind].count > 0;
    if (!known || emission.count == 0)
        reply(exchange, 400, "{\"error\":\"a kind that has objects and a count are needed\"}");
    else if (!load_emitter_start(load->emitter, &emission))
        reply(exchange, 409, "{\"error\":\"nobody watches, or another emission is under way\"}");
    else
        reply(exchange, 200, "{}");
}

/* Restores all objects and forgets all requests. Versions continue, settings stay. */
static void reset(struct load *load, struct pl_exchange *exchange)
{
    load_emitter_stop(load->emitter);
    load_record_clear(&load->record);
    for (int id = 0; id < LOAD_KINDS; id++) {
        struct load_kind *of = &load->kinds[id];
        for (uint32_t i = 0; i < of->count; i++) {
            struct load_object *object = &of->objects[i];
            object->deleted = false;
            /* A program that starts has no object to change. */
            load_put(of, object, object->seen, LOAD_FIRST_NUMBER);
            load_put(of, object, object->revision, LOAD_FIRST_NUMBER);
        }
    }
    reply(exchange, 200, "{}");
}

static void settings(struct load *load, struct pl_exchange *exchange)
{
    load->echo = number(exchange, "echo", load->echo) != 0;
    load->whole_at_zero = number(exchange, "whole_at_zero", load->whole_at_zero) != 0;
    load->watch_list = number(exchange, "watch_list", load->watch_list) != 0;
    if (number(exchange, "protobuf", 0) != 0)
        load_protobuf_prepare(&load->kinds[LOAD_PODS]);
    reply(exchange, 200, "{}");
}

static void state(struct load *load, struct pl_exchange *exchange)
{
    struct pl_buf out = PL_BUF_INIT;
    pl_buf_add_z(&out, "{\"kinds\":{");
    for (int id = 0; id < LOAD_KINDS; id++)
        pl_buf_add_f(&out, "%s\"%s\":{\"count\":%u,\"bytes\":%zu,\"unread\":%lld}",
                     id > 0 ? "," : "", load->kinds[id].plural, load->kinds[id].count,
                     load->kinds[id].texts.len,
                     (long long)load_watch_unread(load, (enum load_kind_id)id));
    pl_buf_add_z(&out, "},\"emission\":");
    load_emitter_report(load->emitter, &out, number(exchange, "latencies", 0) != 0);
    pl_buf_add_z(&out, ",\"record\":");
    load_record_report(&load->record, &out, number(exchange, "requests", 0) != 0);
    pl_buf_add_char(&out, '}');
    pl_exchange_reply(exchange, 200, "application/json", pl_buf_slice(&out));
    pl_buf_deinit(&out);
}

static void on_request(void *arg, struct pl_exchange *exchange)
{
    static const struct {
        const char *path;
        void (*run)(struct load *load, struct pl_exchange *exchange);
    } routes[] = {{"/emit", emit}, {"/reset", reset}, {"/settings", settings}, {"/state", state}};
    for (size_t i = 0; i < PL_ARRAY_LEN(routes); i++) {
        if (pl_slice_eqz(pl_exchange_path(exchange), routes[i].path)) {
            routes[i].run(arg, exchange);
            return;
        }
    }
    reply(exchange, 404, "{\"error\":\"/emit, /reset, /settings or /state\"}");
}

const struct pl_server_ops load_control_ops = {.on_request = on_request};
