#include "load_record.h"

#include "base/alloc.h"

#include <string.h>

void load_record_clear(struct load_record *record)
{
    for (size_t i = 0; i < record->count; i++)
        pl_free(record->requests[i].target);
    pl_free(record->requests);
    *record = (struct load_record){0};
}

static bool is_read(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

size_t load_record_begin(struct load_record *record, const struct pl_exchange *exchange,
                         int64_t now_ns)
{
    const char *method = pl_exchange_method(exchange);
    if (is_read(method))
        record->reads++;
    else
        record->writes++;
    if (record->first_ns == 0)
        record->first_ns = now_ns;
    if (record->count == LOAD_RECORD_MAX) {
        record->dropped++;
        return LOAD_NO_RECORD;
    }
    if (record->count == record->cap) {
        record->cap = record->cap == 0 ? 1024 : record->cap * 2;
        record->requests = pl_reallocarray(record->requests, record->cap, sizeof *record->requests);
    }
    struct pl_slice path = pl_exchange_path(exchange), query = pl_exchange_query(exchange);
    record->requests[record->count] = (struct load_request){
        .came_ns = now_ns,
        .method = method,
        .target = pl_format("%.*s%s%.*s", PL_FMT(path), query.len > 0 ? "?" : "", PL_FMT(query)),
    };
    return record->count++;
}

void load_record_sent(struct load_record *record, size_t request, uint64_t bytes)
{
    record->bytes += bytes;
    if (request < record->count)
        record->requests[request].bytes += bytes;
}

void load_record_end(struct load_record *record, size_t request, int status, int64_t now_ns)
{
    if (request >= record->count)
        return;
    record->requests[request].status = status;
    record->requests[request].answered_ns = now_ns;
}

static void add_text(struct pl_buf *out, const char *text)
{
    pl_buf_add_char(out, '"');
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\' || (unsigned char)*p < ' ')
            pl_buf_add_f(out, "\\u%04x", (unsigned char)*p);
        else
            pl_buf_add_char(out, *p);
    }
    pl_buf_add_char(out, '"');
}

static void add_request(struct pl_buf *out, const struct load_request *request)
{
    pl_buf_add_f(out,
                 "{\"came_ns\":%lld,\"answered_ns\":%lld,\"bytes\":%llu,\"status\":%d,"
                 "\"method\":\"%s\",\"target\":",
                 (long long)request->came_ns, (long long)request->answered_ns,
                 (unsigned long long)request->bytes, request->status, request->method);
    add_text(out, request->target);
    pl_buf_add_char(out, '}');
}

void load_record_report(const struct load_record *record, struct pl_buf *out, bool each)
{
    pl_buf_add_f(out,
                 "{\"first_ns\":%lld,\"reads\":%llu,\"writes\":%llu,\"bytes\":%llu,"
                 "\"dropped\":%zu,\"requests\":[",
                 (long long)record->first_ns, (unsigned long long)record->reads,
                 (unsigned long long)record->writes, (unsigned long long)record->bytes,
                 record->dropped);
    for (size_t i = 0; each && i < record->count; i++) {
        pl_buf_add_z(out, i > 0 ? ",\n" : "");
        add_request(out, &record->requests[i]);
    }
    pl_buf_add_z(out, "]}");
}
