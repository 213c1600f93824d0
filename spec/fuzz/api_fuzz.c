/* The whole embedded API server on virtual time. An input is a list of records that a line with "~"
 * separates:
 *
 *     METHOD TARGET [TYPE [ACCEPT]] a request; the following lines are its body
 *     +SECONDS                         time passes
 *     -                                the oldest watch's client leaves
 *
 * TYPE and ACCEPT are media types, or short for some of them. For any requests: each gets exactly
 * one answer with a valid status, and JSON if the answer says so; versions never go back; watches
 * deliver whole events; each listed object can be read and is the same. */
#include "apiserver/api.h"

#include "base/alloc.h"
#include "base/check.h"
#include "support/virtual_clock.h"
#include "object/meta.h"
#include "value/scan.h"

#include <stdio.h>
#include <stdlib.h>

#define RECORDS 64
#define WATCHES 8
#define MAPS    "/api/v1/configmaps"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct watch {
    struct pl_buf text; /* of the event that is not complete yet */
    void (*on_close)(void *arg);
    void *arg;
    bool begun, ended;
};

struct asked {
    struct watch *watch; /* owned */
    int replies, status;
    struct pl_doc *doc;
};

struct world {
    struct virtual_clock clock;
    struct pl_timers timers;
    struct pl_api *api;
    struct asked *watches[WATCHES]; /* owned */
    size_t watch_count;
};

static struct pl_doc *decode(struct pl_slice text)
{
    return pl_scan_text(text, &(struct pl_scan_options){.keep_managed_fields = true}, NULL);
}

/* ---- answers ---- */

static void on_reply(void *self, int status, const struct pl_http_header *headers, size_t count,
                     struct pl_slice body)
{
    struct asked *asked = self;
    PL_REQUIRE(asked->replies++ == 0 && status >= 200 && status <= 599);
    asked->status = status;
    asked->doc = decode(body);
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(headers[i].name, "Content-Type") == 0 &&
            strncmp(headers[i].value, "application/json", 16) == 0)
            PL_REQUIRE(asked->doc != NULL);
    struct pl_node root = pl_doc_root(asked->doc);
    int64_t code;
    if (pl_node_str_eq(pl_node_getz(root, "kind"), pl_slice_z("Status")) &&
        pl_node_int(pl_node_getz(root, "code"), &code) && status >= 400)
        PL_REQUIRE(code == status);
}

static void on_begin(void *self, int status, const char *content_type, void (*on_close)(void *arg),
                     void *arg)
{
    struct asked *asked = self;
    PL_UNUSED(content_type);
    PL_REQUIRE(asked->replies++ == 0 && status == 200);
    asked->watch->begun = true;
    asked->watch->on_close = on_close;
    asked->watch->arg = arg;
}

static void on_watch_reply(void *self, int status, const struct pl_http_header *headers,
                           size_t count, struct pl_slice body)
{
    PL_REQUIRE(!((struct asked *)self)->watch->begun);
    on_reply(self, status, headers, count, body);
}

static void tell(struct watch *watch, struct pl_slice line)
{
    struct pl_doc *event = decode(line);
    PL_REQUIRE(event != NULL);
    PL_REQUIRE(pl_node_type(pl_node_getz(pl_doc_root(event), "type")) == PL_STRING);
    PL_REQUIRE(pl_node_type(pl_node_getz(pl_doc_root(event), "object")) == PL_OBJECT);
    pl_doc_unref(event);
    pl_buf_clear(&watch->text);
}

static void on_write(void *self, struct pl_slice piece)
{
    struct watch *watch = ((struct asked *)self)->watch;
    PL_REQUIRE(watch->begun && !watch->ended);
    for (size_t i = 0; i < piece.len; i++) {
        if (piece.ptr[i] == '\n')
            tell(watch, pl_buf_slice(&watch->text));
        else
            pl_buf_add_char(&watch->text, piece.ptr[i]);
    }
}

static void on_end(void *self)
{
    struct watch *watch = ((struct asked *)self)->watch;
    PL_REQUIRE(watch->begun && !watch->ended && watch->text.len == 0);
    watch->ended = true;
}

/* Its clients read everything at once. */
static size_t nothing_unread(void *self)
{
    PL_UNUSED(self);
    return 0;
}

static void on_drained(void *self, void (*call)(void *arg))
{
    PL_UNUSED(self);
    PL_UNUSED(call);
    PL_UNREACHABLE(); /* called only while bytes are unread */
}

static void on_abort(void *self)
{
    struct watch *watch = ((struct asked *)self)->watch;
    PL_REQUIRE(watch->begun && !watch->ended);
    pl_buf_clear(&watch->text);
    watch->ended = true;
}

static const struct pl_api_responder_ops responder_ops = {
    on_watch_reply, on_begin, on_write, on_end, NULL, nothing_unread, on_drained, on_abort,
};

/* ---- requests ---- */

static void leave(struct world *world)
{
    if (world->watch_count == 0)
        return;
    struct asked *asked = world->watches[0];
    struct watch *watch = asked->watch;
    if (!watch->ended && watch->on_close != NULL)
        watch->on_close(watch->arg);
    pl_buf_deinit(&watch->text);
    pl_free(watch);
    pl_free(asked);
    world->watch_count--;
    memmove(world->watches, world->watches + 1, world->watch_count * sizeof world->watches[0]);
}

/* The answer's document, for the caller; NULL: none, or a watch has begun. */
static struct pl_doc *ask(struct world *world, const struct pl_api_call *call, int *status)
{
    struct asked *asked = PL_NEW(struct asked);
    asked->watch = PL_NEW(struct watch);
    pl_api_handle(world->api, call, (struct pl_api_responder){&responder_ops, asked});
    PL_REQUIRE(asked->replies == 1);
    if (asked->watch->begun) {
        if (world->watch_count == WATCHES)
            leave(world);
        world->watches[world->watch_count++] = asked;
        return NULL;
    }
    struct pl_doc *doc = asked->doc;
    *status = asked->status;
    pl_free(asked->watch);
    pl_free(asked);
    return doc;
}

static struct pl_doc *get(struct world *world, struct pl_slice path, int *status)
{
    return ask(world, &(struct pl_api_call){.method = "GET", .path = path}, status);
}

static const char *type_of(const char *word)
{
    static const char *const types[][2] = {
        {"json", "application/json"},
        {"yaml", "application/yaml"},
        {"merge", "application/merge-patch+json"},
        {"patch", "application/json-patch+json"},
        {"strategic", "application/strategic-merge-patch+json"},
        {"apply", "application/apply-patch+yaml"},
        {"table", "application/json;as=Table;g=meta.k8s.io;v=v1"},
        {"partial", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"},
        {"partials", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(types); i++)
        if (strcmp(word, types[i][0]) == 0)
            return types[i][1];
    return *word != '\0' ? word : NULL;
}

static void request(struct world *world, char *line, struct pl_slice body)
{
    char *words[4] = {line, (char *)"", (char *)"", (char *)""}, *at = line;
    for (size_t i = 1; i < PL_ARRAY_LEN(words) && (at = strchr(at, ' ')) != NULL; i++) {
        *at++ = '\0';
        words[i] = at;
    }
    size_t path = strcspn(words[1], "?");
    int status;
    struct pl_api_call call = {
        .method = words[0],
        .path = pl_slice(words[1], path),
        .query = pl_slice_z(words[1][path] == '?' ? words[1] + path + 1 : ""),
        .content_type = type_of(words[2]),
        .accept = type_of(words[3]),
        .user_agent = "fuzz/1",
        .body = body,
    };
    pl_doc_unref(ask(world, &call, &status));
}

static void pass(struct world *world, int64_t seconds)
{
    world->clock.now_ns += (seconds > 0 && seconds < 100000 ? seconds : 0) * PL_SECOND;
    for (int i = 0; i < 20; i++)
        pl_timers_run(&world->timers);
    pl_api_collect(world->api);
}

static void work_off(struct world *world, struct pl_slice record)
{
    const char *end = memchr(record.ptr, '\n', record.len);
    size_t len = end != NULL ? (size_t)(end - record.ptr) : record.len;
    char *line = pl_memdup0(record.ptr, len);
    size_t used = end != NULL ? len + 1 : len;
    if (*line == '+')
        pass(world, strtoll(line + 1, NULL, 10));
    else if (*line == '-')
        leave(world);
    else
        request(world, line, pl_slice(record.ptr + used, record.len - used));
    pl_free(line);
}

/* ---- invariants ---- */

static int64_t version_of(const struct pl_doc *list)
{
    struct pl_scratch scratch;
    char text[32];
    snprintf(text, sizeof text, "%.*s", PL_FMT(pl_meta_rv(pl_doc_root(list), &scratch)));
    return strtoll(text, NULL, 10);
}

static void check_one(struct world *world, struct pl_node item)
{
    struct pl_scratch scratch[2];
    struct pl_buf path = PL_BUF_INIT;
    int status;
    pl_buf_add_f(&path, "/api/v1/namespaces/%.*s/configmaps/%.*s",
                 PL_FMT(pl_meta_namespace(item, &scratch[0])),
                 PL_FMT(pl_meta_name(item, &scratch[1])));
    struct pl_doc *doc = get(world, pl_buf_slice(&path), &status);
    PL_REQUIRE(status == 200);
    PL_REQUIRE(
        pl_node_equal(pl_node_getz(item, "metadata"), pl_node_getz(pl_doc_root(doc), "metadata")));
    PL_REQUIRE(pl_node_equal(pl_node_getz(item, "data"), pl_node_getz(pl_doc_root(doc), "data")));
    pl_doc_unref(doc);
    pl_buf_deinit(&path);
}

static int64_t check(struct world *world, int64_t before)
{
    int status;
    struct pl_doc *list = get(world, pl_slice_z(MAPS), &status);
    PL_REQUIRE(status == 200);
    int64_t now = version_of(list);
    PL_REQUIRE(now >= before);
    struct pl_iter it = pl_iter(pl_node_getz(pl_doc_root(list), "items"));
    while (pl_iter_next(&it))
        check_one(world, it.value);
    pl_doc_unref(list);
    return now;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world world = {.watch_count = 0};
    struct pl_slice rest = pl_slice((const char *)data, size);
    int64_t version = 0;
    virtual_clock_init(&world.clock, INT64_C(1795253400) * PL_SECOND);
    pl_timers_init(&world.timers, &world.clock.clock);
    world.api =
        pl_api_create(&world.timers, &(struct pl_api_options){.rand_seed = 7, .history = 32});
    for (int i = 0; i < RECORDS && rest.len > 0; i++) {
        const char *end = memmem(rest.ptr, rest.len, "\n~\n", 3);
        size_t len = end != NULL ? (size_t)(end - rest.ptr) : rest.len;
        work_off(&world, pl_slice(rest.ptr, len));
        size_t used = end != NULL ? len + 3 : len;
        rest = pl_slice(rest.ptr + used, rest.len - used);
        version = check(&world, version);
    }
    while (world.watch_count > 1)
        leave(&world);
    pl_api_destroy(world.api); /* ends the watch that is left */
    leave(&world);
    pl_timers_deinit(&world.timers);
    return 0;
}
