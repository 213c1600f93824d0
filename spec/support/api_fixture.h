/* The API without sockets: calls on virtual time, answers as documents. */
#pragma once

#include "apiserver/api.h"
#include "base/alloc.h"
#include "value/doc.h"
#include "object/path.h"
#include "value/scan.h"
#include "value/write.h"

#include "support/json.h"
#include "support/test.h"
#include "support/virtual_clock.h"

#define MERGE      "application/merge-patch+json"
#define JSON_PATCH "application/json-patch+json"
#define STRATEGIC  "application/strategic-merge-patch+json"
#define APPLY      "application/apply-patch+yaml"

#define DEFAULT_CMS "/api/v1/namespaces/default/configmaps"

/* 2026-11-21T09:30:00Z */
#define API_START (INT64_C(1795253400) * PL_SECOND)

struct api {
    struct virtual_clock clock;
    struct pl_timers timers;
    struct pl_api *api;
    int status;         /* of the last answer */
    struct pl_doc *doc; /* of the last answer; NULL if it was no JSON */
    char *text;         /* the last answer */
    size_t text_len;
    char *warning;                              /* its first Warning header */
    char *content_type;                         /* its Content-Type */
    const char *accept, *agent, *authorization; /* of the next calls */
    const char *host, *origin, *if_none_match;  /* the same */
    struct pl_http_header impersonate[4];       /* the same; ends with a name of NULL */
};

/* A server with the roles and bindings that every cluster has. */
static inline void api_open_cluster(struct api *t, struct pl_api_options options)
{
    *t = (struct api){.agent = "test/1"};
    virtual_clock_init(&t->clock, API_START);
    pl_timers_init(&t->timers, &t->clock.clock);
    options.rand_seed = 7;
    t->api = pl_api_create(&t->timers, &options);
}

/* Other servers begin with only the four namespaces, so their first version is 5. */
static inline void api_open_with(struct api *t, struct pl_api_options options)
{
    options.bare = true;
    api_open_cluster(t, options);
}

static inline void api_open(struct api *t)
{
    api_open_with(t, (struct pl_api_options){0});
}

static inline void api_forget(struct api *t)
{
    pl_doc_unref(t->doc);
    pl_free(t->text);
    pl_free(t->warning);
    pl_free(t->content_type);
    t->doc = NULL;
    t->text = t->warning = t->content_type = NULL;
}

static inline void api_close(struct api *t)
{
    api_forget(t);
    pl_api_destroy(t->api);
    pl_timers_deinit(&t->timers);
}

static inline void api_on_reply(void *self, int status, const struct pl_http_header *headers,
                                size_t count, struct pl_slice body)
{
    struct api *t = self;
    struct pl_scan_options options = {.keep_managed_fields = true};
    api_forget(t);
    t->status = status;
    t->text = pl_memdup0(body.ptr, body.len);
    t->text_len = body.len;
    t->doc = pl_scan_text(body, &options, NULL);
    for (size_t i = 0; i < count; i++)
        if (strcmp(headers[i].name, "Warning") == 0 && t->warning == NULL)
            t->warning = pl_strdup(headers[i].value);
        else if (strcmp(headers[i].name, "Content-Type") == 0 && t->content_type == NULL)
            t->content_type = pl_strdup(headers[i].value);
}

static const struct pl_api_responder_ops api_reply_ops = {.reply = api_on_reply};

/* body with ' for "; NULL: none. Returns the status. */
static inline int api_send(struct api *t, const char *method, const char *target, const char *type,
                           const char *body)
{
    char *json = json_text(body != NULL ? body : "");
    struct pl_slice path = pl_slice(target, strcspn(target, "?"));
    struct pl_api_call call = {
        .method = method,
        .path = path,
        .query = pl_slice_z(target[path.len] == '?' ? target + path.len + 1 : ""),
        .content_type = type,
        .accept = t->accept,
        .user_agent = t->agent,
        .authorization = t->authorization,
        .host = t->host,
        .origin = t->origin,
        .if_none_match = t->if_none_match,
        .impersonate = t->impersonate,
        .body = pl_slice_z(json),
    };
    while (call.impersonate_count < 4 && t->impersonate[call.impersonate_count].name != NULL)
        call.impersonate_count++;
    pl_api_handle(t->api, &call, (struct pl_api_responder){&api_reply_ops, t});
    free(json);
    return t->status;
}

static inline int api_get(struct api *t, const char *target)
{
    return api_send(t, "GET", target, NULL, NULL);
}

static inline int api_post(struct api *t, const char *target, const char *body)
{
    return api_send(t, "POST", target, "application/json", body);
}

static inline int api_put(struct api *t, const char *target, const char *body)
{
    return api_send(t, "PUT", target, "application/json", body);
}

static inline int api_merge(struct api *t, const char *target, const char *body)
{
    return api_send(t, "PATCH", target, MERGE, body);
}

static inline int api_apply(struct api *t, const char *target, const char *body)
{
    return api_send(t, "PATCH", target, APPLY, body);
}

static inline int api_delete(struct api *t, const char *target, const char *body)
{
    return api_send(t, "DELETE", target, body != NULL ? "application/json" : NULL, body);
}

/* Does the work that is due, such as garbage collection. A few rounds, since one step causes the
 * next. */
static inline void api_settle(struct api *t)
{
    for (int i = 0; i < 20; i++)
        pl_timers_run(&t->timers);
}

static inline void api_advance(struct api *t, int64_t ns)
{
    t->clock.now_ns += ns;
    pl_timers_run(&t->timers);
}

static inline struct pl_node api_node(const struct api *t, const char *path)
{
    struct pl_path *parsed = pl_path_parse(pl_slice_z(path), NULL);
    REQUIRE(parsed != NULL);
    struct pl_node node = pl_path_find(parsed, pl_doc_root(t->doc));
    pl_path_destroy(parsed);
    return node;
}

/* The last answer's value at the path, as JSON with ' for ". */
#define CHECK_AT(t, path, want)                                                                    \
    do {                                                                                           \
        struct pl_buf at_got = PL_BUF_INIT;                                                        \
        char *at_want = json_text(want);                                                           \
        pl_write(&at_got, api_node((t), (path)), PL_WRITE_SORTED);                                 \
        if (strcmp(pl_buf_z(&at_got), at_want) != 0)                                               \
            TEST_FAIL("%s: got %s, want %s", (path), pl_buf_z(&at_got), at_want);                  \
        free(at_want);                                                                             \
        pl_buf_deinit(&at_got);                                                                    \
    } while (0)

#define CHECK_ABSENT(t, path) CHECK(pl_node_is_missing(api_node((t), (path))))

/* The message, when the last answer is a Status. */
#define CHECK_MESSAGE(t, want)                                                                     \
    do {                                                                                           \
        struct pl_scratch message_scratch;                                                         \
        CHECK_SLICE(pl_node_str(api_node((t), "message"), &message_scratch), want);                \
    } while (0)

/* ---- watches ---- */

struct api_watch {
    struct pl_buf text; /* what came */
    bool begun, ended, cut;
    bool stuck;    /* the client takes nothing */
    size_t unread; /* bytes that arrived while it was stuck */
    void (*on_close)(void *arg);
    void (*on_drained)(void *arg); /* the requested callback; NULL: none */
    void *arg;
    struct api *t;
};

static inline void api_watch_reply(void *self, int status, const struct pl_http_header *headers,
                                   size_t count, struct pl_slice body)
{
    api_on_reply(((struct api_watch *)self)->t, status, headers, count, body);
}

static inline void api_watch_begin(void *self, int status, const char *content_type,
                                   void (*on_close)(void *arg), void *arg)
{
    struct api_watch *watch = self;
    PL_UNUSED(content_type);
    CHECK_INT(status, 200);
    watch->begun = true;
    watch->on_close = on_close;
    watch->arg = arg;
}

static inline void api_watch_write(void *self, struct pl_slice piece)
{
    struct api_watch *watch = self;
    pl_buf_add_slice(&watch->text, piece);
    if (watch->stuck)
        watch->unread += piece.len;
}

static inline size_t api_watch_unread(void *self)
{
    return ((struct api_watch *)self)->unread;
}

static inline void api_watch_on_drained(void *self, void (*on_drained)(void *arg))
{
    ((struct api_watch *)self)->on_drained = on_drained;
}

static inline void api_watch_cut(void *self)
{
    struct api_watch *watch = self;
    watch->ended = watch->cut = true;
    watch->unread = 0;
}

static inline void api_watch_end(void *self)
{
    ((struct api_watch *)self)->ended = true;
}

static const struct pl_api_responder_ops api_watch_ops = {
    api_watch_reply,  api_watch_begin,      api_watch_write, api_watch_end, NULL,
    api_watch_unread, api_watch_on_drained, api_watch_cut};

/* stuck: the client reads nothing until it is drained. */
static inline void api_watch_start(struct api *t, struct api_watch *watch, const char *target,
                                   bool stuck)
{
    struct pl_slice path = pl_slice(target, strcspn(target, "?"));
    struct pl_api_call call = {.method = "GET",
                               .path = path,
                               .query = pl_slice_z(target + path.len + 1),
                               .accept = t->accept,
                               .user_agent = t->agent};
    *watch = (struct api_watch){.text = PL_BUF_INIT, .t = t, .stuck = stuck};
    pl_api_handle(t->api, &call, (struct pl_api_responder){&api_watch_ops, watch});
}

static inline void api_watch_open(struct api *t, struct api_watch *watch, const char *target)
{
    api_watch_start(t, watch, target, false);
}

/* The client reads everything so far. If it was stuck, it stays stuck. */
static inline void api_watch_drain(struct api_watch *watch)
{
    void (*on_drained)(void *arg) = watch->on_drained;
    watch->unread = 0;
    watch->on_drained = NULL;
    if (on_drained != NULL && !watch->ended)
        on_drained(watch->arg);
}

/* The client disconnects. */
static inline void api_watch_leave(struct api_watch *watch)
{
    if (watch->begun && !watch->ended)
        watch->on_close(watch->arg);
    watch->ended = true;
}

static inline void api_watch_close(struct api_watch *watch)
{
    api_watch_leave(watch);
    pl_buf_deinit(&watch->text);
}

/* "ADDED a,MODIFIED a,BOOKMARK ": types and names of what came so far. */
static inline char *api_watch_events(const struct api_watch *watch)
{
    struct pl_buf out = PL_BUF_INIT;
    const char *line = pl_buf_z(&watch->text);
    while (*line != '\0') {
        struct pl_slice text = pl_slice(line, strcspn(line, "\n"));
        struct pl_scratch type, name;
        struct pl_doc *doc = pl_scan_text(text, NULL, NULL);
        REQUIRE(doc != NULL);
        struct pl_node root = pl_doc_root(doc);
        pl_buf_add_f(&out, "%s%.*s %.*s", out.len > 0 ? "," : "",
                     PL_FMT(pl_node_str(pl_node_getz(root, "type"), &type)),
                     PL_FMT(pl_node_str(pl_node_dig(root, "object", "metadata", "name"), &name)));
        pl_doc_unref(doc);
        line += text.len + 1;
    }
    return pl_buf_take(&out);
}

#define CHECK_EVENTS(watch, want)                                                                  \
    do {                                                                                           \
        char *events_got = api_watch_events(watch);                                                \
        CHECK_STR(events_got, want);                                                               \
        pl_free(events_got);                                                                       \
    } while (0)

/* ---- a custom kind ---- */

#define WIDGETS "/apis/ex.com/v1/namespaces/default/widgets"
#define WIDGET  "'apiVersion':'ex.com/v1','kind':'Widget'"

static const char api_widget_crd[] =
    "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"
    "'metadata':{'name':'widgets.ex.com'},'spec':{'group':'ex.com','scope':'Namespaced',"
    "'names':{'plural':'widgets','singular':'widget','kind':'Widget','shortNames':['wd']},"
    "'versions':[{'name':'v1','served':true,'storage':true,'subresources':{'status':{},'scale':{"
    "'specReplicasPath':'.spec.replicas','statusReplicasPath':'.status.replicas',"
    "'labelSelectorPath':'.status.selector'}},'additionalPrinterColumns':[{'name':'Size',"
    "'type':'integer','jsonPath':'.spec.size'}],'selectableFields':[{'jsonPath':'.spec.color'}],"
    "'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':{'type':'object',"
    "'required':['size'],'properties':{'size':{'type':'integer','minimum':1,'maximum':10},"
    "'color':{'type':'string','enum':['red','blue'],'default':'red'},'replicas':{'type':"
    "'integer'},'list':{'type':'array','x-kubernetes-list-type':'map',"
    "'x-kubernetes-list-map-keys':['name'],'items':{'type':'object','required':['name'],"
    "'properties':{'name':{'type':'string'},'v':{'type':'integer'}}}},'any':{'type':'object',"
    "'x-kubernetes-preserve-unknown-fields':true}}},'status':{'type':'object',"
    "'x-kubernetes-preserve-unknown-fields':true}}}}},{'name':'v1beta1','served':true,"
    "'storage':false,'schema':{'openAPIV3Schema':{'type':'object',"
    "'x-kubernetes-preserve-unknown-fields':true}}}]}}";

static inline void api_make_widgets(struct api *t)
{
    CHECK_INT(
        api_post(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", api_widget_crd),
        201);
}
