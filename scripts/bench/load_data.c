#include "load_data.h"

#include "ingest_data.h"
#include "load_protobuf.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

#define FIRST "1000000000"

static const struct load_kind kinds[LOAD_KINDS] = {
    [LOAD_PODS] = {.path = "/api/v1/pods",
                   .root = "/api/v1",
                   .plural = "pods",
                   .api_version = "v1",
                   .kind = "Pod",
                   .bare = sizeof("\"kind\":\"Pod\",\"apiVersion\":\"v1\",") - 1},
    [LOAD_WEBSITES] = {.path = "/apis/example.com/v1/websites",
                       .root = "/apis/example.com/v1",
                       .plural = "websites",
                       .api_version = "example.com/v1",
                       .kind = "Website"},
    [LOAD_PAGES] = {.path = "/apis/example.com/v1/pages",
                    .root = "/apis/example.com/v1",
                    .plural = "pages",
                    .api_version = "example.com/v1",
                    .kind = "Page"},
};

/* ---- texts ---- */

static const char *after(struct pl_slice text, const char *mark)
{
    const char *found = memmem(text.ptr, text.len, mark, strlen(mark));
    PL_REQUIRE(found != NULL);
    return found + strlen(mark);
}

/* Up to the quote that ends a text. */
static struct pl_slice quoted(const char *start)
{
    return pl_slice(start, strcspn(start, "\""));
}

/* `text` with `piece` behind the first `mark`. */
static void insert(struct pl_buf *text, const char *mark, const char *piece)
{
    size_t at = (size_t)(after(pl_buf_slice(text), mark) - text->ptr);
    struct pl_buf out = PL_BUF_INIT;
    pl_buf_add(&out, text->ptr, at);
    pl_buf_add_z(&out, piece);
    pl_buf_add(&out, text->ptr + at, text->len - at);
    pl_buf_deinit(text);
    *text = out;
}

static void widen_version(struct pl_buf *text)
{
    static const char mark[] = "\"resourceVersion\":\"";
    size_t at = (size_t)(after(pl_buf_slice(text), mark) - text->ptr);
    struct pl_slice old = quoted(text->ptr + at);
    struct pl_buf out = PL_BUF_INIT;
    pl_buf_add(&out, text->ptr, at);
    pl_buf_add_z(&out, FIRST);
    pl_buf_add(&out, text->ptr + at + old.len, text->len - at - old.len);
    pl_buf_deinit(text);
    *text = out;
}

/* Its label selects a tenth of all pods. */
static void pod(struct pl_buf *text, uint32_t i)
{
    char tenth[32];
    snprintf(tenth, sizeof tenth, "\"tenth\":\"%u\",", i % 10);
    data_pod(text, i, 0);
    insert(text, "\"labels\":{", tenth);
    insert(text, "\"annotations\":{",
           "\"bench.example.com/revision\":\"" FIRST "\",\"bench.example.com/seen\":\"" FIRST
           "\",");
}

static void website(struct pl_buf *text, uint32_t i)
{
    data_website(text, i, 0);
    insert(text, "\"spec\":{", "\"revision\":" FIRST ",");
    insert(text, "\"status\":{", "\"observedRevision\":" FIRST ",");
}

/* A child as a reconcile of its website would make it. */
static void page(struct pl_buf *text, uint32_t i, uint32_t number, struct pl_slice parent)
{
    struct pl_slice uid = quoted(after(parent, "\"uid\":\""));
    struct pl_slice ns = quoted(after(parent, "\"namespace\":\""));
    struct pl_slice domain = quoted(after(parent, "\"domain\":\""));
    pl_buf_add_f(text,
                 "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Page\",\"metadata\":{"
                 "\"creationTimestamp\":\"2026-10-01T10:00:00Z\",\"labels\":{"
                 "\"app.kubernetes.io/managed-by\":\"perilune\",\"site\":\"site-%u\"},"
                 "\"name\":\"site-%u-%u\",\"namespace\":\"%.*s\",\"ownerReferences\":[{"
                 "\"apiVersion\":\"example.com/v1\",\"kind\":\"Website\",\"name\":\"site-%u\","
                 "\"uid\":\"%.*s\",\"controller\":true,\"blockOwnerDeletion\":true}],"
                 "\"resourceVersion\":\"" FIRST "\",\"uid\":\"%08x-0000-4000-8000-%012x\"},"
                 "\"spec\":{\"revision\":" FIRST ",\"domain\":\"%.*s\",\"path\":\"/%u\","
                 "\"replicas\":%u},\"status\":{\"observedRevision\":" FIRST ",\"ready\":true}}",
                 i, i, number, PL_FMT(ns), i, PL_FMT(uid), i, number, PL_FMT(domain), number,
                 1 + i % 5);
}

/* ---- places ---- */

static uint32_t place(struct pl_slice text, const char *mark)
{
    return (uint32_t)(after(text, mark) - text.ptr);
}

/* Bytes of the object that starts at text. */
static uint32_t object_len(const char *text)
{
    uint32_t depth = 0, i = 0;
    bool inside = false;
    do {
        char c = text[i++];
        if (inside && c == '\\')
            i++;
        else if (c == '"')
            inside = !inside;
        else if (!inside && c == '{')
            depth++;
        else if (!inside && c == '}')
            depth--;
    } while (depth > 0);
    return i;
}

static void find_places(struct load_object *object, struct pl_slice text, bool is_pod)
{
    object->len = (uint32_t)text.len;
    object->rv = place(text, "\"resourceVersion\":\"");
    object->revision = place(text, is_pod ? "bench.example.com/revision\":\"" : "\"revision\":");
    object->seen = place(text, is_pod ? "bench.example.com/seen\":\"" : "\"observedRevision\":");
    object->meta = place(text, "\"metadata\":");
    object->meta_len = object_len(text.ptr + object->meta);
}

static void remember(struct load_kind *kind, struct load_object *object)
{
    struct pl_slice metadata = load_metadata(kind, object);
    struct pl_slice ns = quoted(after(metadata, "\"namespace\":\""));
    struct pl_slice name = quoted(after(metadata, "\"name\":\""));
    char key[160];
    int len = snprintf(key, sizeof key, "%.*s/%.*s", PL_FMT(ns), PL_FMT(name));
    pl_map_put(&kind->by_key, pl_slice(key, (size_t)len), object);
}

static void add(struct load_kind *kind, enum load_kind_id id, struct load_object *object,
                const struct load_kind *parents)
{
    uint32_t i = (uint32_t)(object - kind->objects);
    struct pl_buf text = PL_BUF_INIT;
    if (id == LOAD_PODS) {
        pod(&text, i);
    } else if (id == LOAD_WEBSITES) {
        website(&text, i);
    } else {
        uint32_t each = kind->count / parents->count;
        const struct load_object *parent = &parents->objects[i / each];
        page(&text, i / each, i % each, load_text(parents, parent));
    }
    widen_version(&text);
    object->at = kind->texts.len;
    find_places(object, pl_buf_slice(&text), id == LOAD_PODS);
    pl_buf_add_slice(&kind->texts, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    load_put(kind, object, object->rv, LOAD_FIRST_NUMBER);
}

void load_kind_init(struct load_kind *kind, enum load_kind_id id, uint32_t count,
                    const struct load_kind *parents)
{
    *kind = kinds[id];
    kind->count = count;
    kind->newest = LOAD_FIRST_NUMBER;
    kind->objects = pl_calloc(count + 1, sizeof *kind->objects);
    for (uint32_t i = 0; i < count; i++)
        add(kind, id, &kind->objects[i], parents);
    for (uint32_t i = 0; i < count; i++)
        remember(kind, &kind->objects[i]);
}

void load_kind_deinit(struct load_kind *kind)
{
    pl_buf_deinit(&kind->texts);
    pl_free(kind->objects);
    pl_map_deinit(&kind->by_key);
    load_protobuf_deinit(kind);
}

struct pl_slice load_text(const struct load_kind *kind, const struct load_object *object)
{
    return pl_slice(kind->texts.ptr + object->at, object->len);
}

struct pl_slice load_metadata(const struct load_kind *kind, const struct load_object *object)
{
    return pl_slice(kind->texts.ptr + object->at + object->meta, object->meta_len);
}

void load_put(struct load_kind *kind, const struct load_object *object, uint32_t at,
              uint64_t number)
{
    char *digits = kind->texts.ptr + object->at + at;
    for (int i = LOAD_DIGITS - 1; i >= 0; i--, number /= 10)
        digits[i] = (char)('0' + number % 10);
}

uint64_t load_number(const struct load_kind *kind, const struct load_object *object, uint32_t at)
{
    return strtoull(kind->texts.ptr + object->at + at, NULL, 10);
}
