/* An API server for commands that send a few requests and end, see remote.h. It has a separate
 * loop, which runs only while a request is under way. */
#include "cli/remote.h"
#include "serve/version.h"

#include "base/alloc.h"
#include "crypto/tls_prepare.h"
#include "kube/client.h"
#include "net/http_client.h"
#include "value/build.h"
#include "value/write.h"

#include <stdio.h>
#include <string.h>

struct pl_remote {
    struct pl_kubeconfig config;
    struct pl_loop *loop; /* owned from here on, in order of creation */
    struct pl_rand rand;
    struct pl_http_client *http;
    struct pl_client *client;
    int64_t timeout_ns;
    /* The request under way. */
    struct pl_buf *answer;
    struct pl_err *err;
    bool done;
    int rc;
};

struct pl_remote *pl_remote_open(const struct pl_kubeconfig_options *options, int64_t timeout_ns,
                                 struct pl_err *err)
{
    struct pl_remote *remote = PL_NEW(struct pl_remote);
    if (pl_kubeconfig_load(options, &remote->config, err) != 0) {
        pl_free(remote);
        return NULL;
    }
    if (strncmp(remote->config.server, "https:", 6) == 0)
        pl_tls_prepare(remote->config.ca_pem);
    remote->timeout_ns = timeout_ns;
    remote->loop = pl_loop_create(pl_clock_system());
    remote->http = pl_http_client_create(remote->loop);
    pl_rand_init(&remote->rand);
    const struct pl_client_options client = {
        .transport = pl_http_client_transport(remote->http),
        .timers = pl_loop_timers(remote->loop),
        .rand = &remote->rand,
        .loop = remote->loop,
        .config = &remote->config,
        .user_agent = pl_user_agent(),
        .request_timeout_ns = timeout_ns,
    };
    remote->client = pl_client_create(&client, err);
    if (remote->client != NULL)
        return remote;
    pl_remote_close(remote);
    return NULL;
}

void pl_remote_close(struct pl_remote *remote)
{
    if (remote == NULL)
        return;
    if (remote->client != NULL)
        pl_client_destroy(remote->client);
    pl_http_client_destroy(remote->http);
    pl_loop_destroy(remote->loop);
    pl_kubeconfig_deinit(&remote->config);
    pl_free(remote);
}

const char *pl_remote_server(const struct pl_remote *remote)
{
    return remote->config.server;
}

/* ---- answers ---- */

static void build_answer(struct pl_build *b, const struct pl_answer *answer)
{
    pl_build_object(b);
    pl_build_put_int(b, "status", answer->err != NULL ? answer->err->status : answer->status);
    if (answer->err != NULL) {
        pl_build_put_strz(b, "reason", answer->err->reason);
        pl_build_put_strz(b, "message", answer->err->message);
    } else if (answer->doc != NULL) {
        pl_build_keyz(b, "object");
        pl_build_node(b, pl_doc_root(answer->doc));
    }
    if (answer->err == NULL && answer->items != NULL) {
        pl_build_keyz(b, "items");
        pl_build_array(b);
        for (size_t i = 0; i < answer->items->count; i++)
            pl_build_node(b, pl_doc_root(answer->items->items[i]));
        pl_build_end(b);
    }
    pl_build_end(b);
}

static void on_remote_answer(void *arg, const struct pl_answer *answer)
{
    struct pl_remote *remote = arg;
    remote->done = true;
    if (answer->err != NULL && answer->err->status == 0) {
        *remote->err = *answer->err;
        remote->rc = answer->err->code;
        return;
    }
    struct pl_build *b = pl_build_create(NULL);
    build_answer(b, answer);
    pl_build_write(remote->answer, b, PL_WRITE_COMPACT);
    remote->rc = 0;
}

/* ---- questions ---- */

static struct pl_slice remote_text(struct pl_node question, const char *key,
                                   struct pl_scratch *scratch)
{
    struct pl_slice value = pl_node_str(pl_node_getz(question, key), scratch);
    return value.ptr != NULL ? value : pl_slice_z("");
}

static void remote_copy(char *out, size_t size, struct pl_node question, const char *key)
{
    struct pl_scratch scratch;
    struct pl_slice value = remote_text(question, key, &scratch);
    snprintf(out, size, "%.*s", PL_FMT(value));
}

static int remote_verb_of(struct pl_node question, enum pl_verb *verb, struct pl_err *err)
{
    struct pl_scratch scratch;
    struct pl_slice name = remote_text(question, "verb", &scratch);
    for (*verb = PL_VERB_GET; *verb <= PL_VERB_DELETE; (*verb)++)
        if (pl_slice_eqz(name, pl_verb_name(*verb)))
            return 0;
    return pl_err_set(err, PL_EINVAL, "\"%.*s\" is not a verb", PL_FMT(name));
}

static enum pl_patch_type patch_of(struct pl_node question)
{
    struct pl_scratch scratch;
    struct pl_slice name = remote_text(question, "patch", &scratch);
    return pl_slice_eqz(name, "json")    ? PL_PATCH_JSON
           : pl_slice_eqz(name, "apply") ? PL_PATCH_APPLY
                                         : PL_PATCH_MERGE;
}

static void fill_resource(struct pl_resource *resource, struct pl_node question)
{
    *resource = (struct pl_resource){.has_status = true, .can_watch = true};
    remote_copy(resource->kind.group, sizeof resource->kind.group, question, "group");
    remote_copy(resource->kind.version, sizeof resource->kind.version, question, "version");
    remote_copy(resource->kind.kind, sizeof resource->kind.kind, question, "kind");
    remote_copy(resource->plural, sizeof resource->plural, question, "plural");
    resource->namespaced = pl_node_bool(pl_node_getz(question, "namespaced"));
}

static int wait_for(struct pl_remote *remote, const struct pl_call *call, struct pl_buf *answer,
                    struct pl_err *err)
{
    remote->answer = answer;
    remote->err = err;
    remote->done = false;
    pl_client_start(remote->client, call, on_remote_answer, remote);
    while (!remote->done)
        pl_loop_turn(remote->loop, 1000);
    return remote->rc;
}

int pl_remote_ask(struct pl_remote *remote, struct pl_node question, struct pl_buf *answer,
                  struct pl_err *err)
{
    struct pl_scratch s[8];
    struct pl_resource resource;
    struct pl_call call = {.timeout_ns = remote->timeout_ns, .grace_period = -1};
    call.raw_path = remote_text(question, "path", &s[0]);
    if (call.raw_path.len > 0) {
        call.verb = PL_VERB_GET;
        return wait_for(remote, &call, answer, err);
    }
    call.raw_path = pl_slice(NULL, 0);
    if (remote_verb_of(question, &call.verb, err) != 0)
        return err->code;
    fill_resource(&resource, question);
    struct pl_node body = pl_node_getz(question, "body");
    call.resource = &resource;
    call.ns = remote_text(question, "namespace", &s[1]);
    call.name = remote_text(question, "name", &s[2]);
    call.subresource = remote_text(question, "subresource", &s[3]);
    call.uid = remote_text(question, "uid", &s[4]);
    call.precondition_rv = remote_text(question, "resource_version", &s[5]);
    call.continue_token = remote_text(question, "continue", &s[6]);
    call.limit = 500;
    call.patch_type = patch_of(question);
    call.field_manager = pl_slice_z("perilune");
    call.body = pl_node_is_missing(body) ? NULL : pl_doc_from_node(body, NULL);
    int rc = wait_for(remote, &call, answer, err);
    pl_doc_unref(call.body);
    return rc;
}
