#include "kube/request.h"

#include "base/alloc.h"
#include "support/test.h"
#include "value/scan.h"

static const struct pl_resource pods = {
    .kind = {"", "v1", "Pod"}, .plural = "pods", .namespaced = true};
static const struct pl_resource nodes = {.kind = {"", "v1", "Node"}, .plural = "nodes"};
static const struct pl_resource sites = {
    .kind = {"example.com", "v1alpha1", "Site"}, .plural = "sites", .namespaced = true};

#define S(text) ((struct pl_slice){text, sizeof text - 1})

/* Each call and the request it makes: "METHOD URL [content type] [body]", or the error. */
TEST(each_verb_makes_its_request)
{
    struct pl_doc *doc = pl_scan_text(S("{\"a\":1}"), &(struct pl_scan_options){0}, NULL);
    const struct {
        struct pl_call call;
        const char *want;
    } cases[] = {
        {{.verb = PL_VERB_GET, .resource = &nodes, .name = S("n1"), .rv = S("0")},
         "GET http://s/api/v1/nodes/n1?resourceVersion=0"},
        {{.verb = PL_VERB_GET,
          .resource = &sites,
          .ns = S("d"),
          .name = S("a:b"),
          .subresource = S("scale")},
         "GET http://s/apis/example.com/v1alpha1/namespaces/d/sites/a%3Ab/scale"},
        {{.verb = PL_VERB_GET,
          .resource = &pods,
          .ns = S("d"),
          .name = S("p"),
          .subresource = S("log"),
          .query = S("container=web&tailLines=10")},
         "GET http://s/api/v1/namespaces/d/pods/p/log?container=web&tailLines=10"},
        {{.verb = PL_VERB_GET, .raw_path = S("/version")}, "GET http://s/version"},
        {{.verb = PL_VERB_CREATE, .raw_path = S("/x?a=b"), .body = doc, .dry_run = true},
         "POST http://s/x?a=b&dryRun=All application/json {\"a\":1}"},
        {{.verb = PL_VERB_PATCH,
          .raw_path = S("/x"),
          .headers = S("accept\0text/plain\0content-type\0application/json-patch+json\0"),
          .body = doc},
         "PATCH http://s/x application/json-patch+json {\"a\":1}"},
        {{.verb = PL_VERB_CREATE, .raw_path = S("/x"), .headers = S("content-type\0a/b\0")},
         "POST http://s/x"},
        {{.verb = PL_VERB_DELETE, .raw_path = S("/x"), .grace_period = -1, .dry_run = true},
         "DELETE http://s/x application/json "
         "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"dryRun\":[\"All\"]}"},
        {{.verb = PL_VERB_LIST,
          .resource = &pods,
          .ns = S("d"),
          .labels = S("a in (b,c)"),
          .fields = S("spec.nodeName=n 1"),
          .limit = 500,
          .continue_token = S("x+/="),
          .rv = S("7"),
          .rv_match = S("NotOlderThan")},
         "GET http://s/api/v1/namespaces/d/pods?labelSelector=a%20in%20%28b%2Cc%29"
         "&fieldSelector=spec.nodeName%3Dn%201&limit=500&continue=x%2B%2F%3D&resourceVersion=7"
         "&resourceVersionMatch=NotOlderThan"},
        {{.verb = PL_VERB_CREATE, .resource = &nodes, .name = S("n"), .body = doc},
         "POST http://s/api/v1/nodes application/json {\"a\":1}"},
        {{.verb = PL_VERB_CREATE,
          .resource = &pods,
          .ns = S("d"),
          .body = doc,
          .field_manager = S("me"),
          .field_validation = S("Strict"),
          .dry_run = true},
         "POST http://s/api/v1/namespaces/d/pods?fieldManager=me&fieldValidation=Strict&dryRun=All "
         "application/json {\"a\":1}"},
        {{.verb = PL_VERB_CREATE,
          .resource = &pods,
          .ns = S("d"),
          .name = S("p"),
          .subresource = S("eviction"),
          .body = doc},
         "POST http://s/api/v1/namespaces/d/pods/p/eviction application/json {\"a\":1}"},
        {{.verb = PL_VERB_UPDATE,
          .resource = &nodes,
          .name = S("n"),
          .subresource = S("status"),
          .body = doc,
          .force = true},
         "PUT http://s/api/v1/nodes/n/status application/json {\"a\":1}"},
        {{.verb = PL_VERB_PATCH, .resource = &nodes, .name = S("n"), .body = doc, .force = true},
         "PATCH http://s/api/v1/nodes/n application/merge-patch+json {\"a\":1}"},
        {{.verb = PL_VERB_PATCH,
          .patch_type = PL_PATCH_JSON,
          .resource = &nodes,
          .name = S("n"),
          .body = doc},
         "PATCH http://s/api/v1/nodes/n application/json-patch+json {\"a\":1}"},
        {{.verb = PL_VERB_PATCH,
          .patch_type = PL_PATCH_STRATEGIC,
          .resource = &nodes,
          .name = S("n"),
          .body = doc},
         "PATCH http://s/api/v1/nodes/n application/strategic-merge-patch+json {\"a\":1}"},
        {{.verb = PL_VERB_PATCH,
          .patch_type = PL_PATCH_APPLY,
          .resource = &nodes,
          .name = S("n"),
          .body = doc,
          .field_manager = S("web"),
          .force = true},
         "PATCH http://s/api/v1/nodes/n?fieldManager=web&force=true application/apply-patch+yaml "
         "{\"a\":1}"},
        {{.verb = PL_VERB_DELETE, .resource = &nodes, .name = S("n"), .grace_period = -1},
         "DELETE http://s/api/v1/nodes/n application/json "
         "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\"}"},
        {{.verb = PL_VERB_DELETE,
          .resource = &nodes,
          .name = S("n"),
          .grace_period = 0,
          .uid = S("u1"),
          .precondition_rv = S("5"),
          .propagation = S("Foreground"),
          .dry_run = true},
         "DELETE http://s/api/v1/nodes/n application/json "
         "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"gracePeriodSeconds\":0,"
         "\"propagationPolicy\":\"Foreground\",\"preconditions\":{\"uid\":\"u1\","
         "\"resourceVersion\":\"5\"},\"dryRun\":[\"All\"]}"},
        {{.verb = PL_VERB_DELETE,
          .resource = &nodes,
          .name = S("n"),
          .grace_period = -1,
          .precondition_rv = S("5\"")},
         "DELETE http://s/api/v1/nodes/n application/json "
         "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\","
         "\"preconditions\":{\"resourceVersion\":\"5\\\"\"}}"},
        {{.verb = PL_VERB_DELETE_COLLECTION,
          .resource = &pods,
          .ns = S("d"),
          .labels = S("a=b"),
          .grace_period = -1,
          .limit = 10},
         "DELETE http://s/api/v1/namespaces/d/pods?labelSelector=a%3Db&limit=10 application/json "
         "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\"}"},
        /* calls that make no request */
        {{.verb = PL_VERB_GET, .resource = &nodes}, "get of v1/Node needs a name"},
        {{.verb = PL_VERB_DELETE, .resource = &pods, .name = S("p")},
         "v1/Pod is namespaced: \"p\" needs a namespace"},
        {{.verb = PL_VERB_DELETE_COLLECTION, .resource = &pods},
         "v1/Pod is namespaced: deletecollection needs a namespace"},
        {{.verb = PL_VERB_GET, .resource = &nodes, .ns = S("d"), .name = S("n")},
         "v1/Node is cluster-scoped: it takes no namespace (\"d\")"},
        {{.verb = PL_VERB_UPDATE, .resource = &nodes, .name = S("n")},
         "update of v1/Node needs a document"},
        {{.verb = PL_VERB_GET, .resource = &nodes, .name = S("..")}, "\"..\" cannot be a name"},
        {{.verb = PL_VERB_GET, .resource = &nodes, .name = S("a/b")}, "\"a/b\" cannot be a name"},
        {{.verb = PL_VERB_GET, .resource = &pods, .ns = S("a%2f"), .name = S("b")},
         "\"a%2f\" cannot be a namespace"},
        {{.verb = PL_VERB_GET, .resource = &nodes, .name = S("n"), .subresource = S("a/b")},
         "\"a/b\" cannot be a subresource"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_wire wire;
        struct pl_err err;
        struct pl_buf got = PL_BUF_INIT;
        int code = pl_wire_of_call(&wire, "http://s", &cases[i].call, &err);
        if (code != 0) {
            CHECK_INT(code, PL_EINVAL);
            pl_buf_add_z(&got, err.message);
        } else {
            pl_buf_add_f(&got, "%s %s", wire.method, pl_buf_z(&wire.url));
            if (wire.content_type != NULL)
                pl_buf_add_f(&got, " %s %s", wire.content_type, pl_buf_z(&wire.body));
            bool own = cases[i].call.headers.len > 0 && cases[i].call.headers.ptr[0] == 'a';
            CHECK_STR(wire.accept, own ? "text/plain" : "application/json");
        }
        CHECK_STR(pl_buf_z(&got), cases[i].want);
        pl_buf_deinit(&got);
        pl_wire_deinit(&wire);
    }
    pl_doc_unref(doc);
}

TEST(a_request_that_no_server_takes_is_not_made)
{
    char *text = pl_malloc(400001);
    memset(text, 'a', 400000);
    text[400000] = '\0';
    struct pl_slice whole = pl_slice(text, 400000);
    const struct {
        struct pl_call call;
        const char *want;
    } cases[] = {
        {{.verb = PL_VERB_GET, .resource = &nodes, .name = whole},
         "a name of 400000 bytes; it may have 1024"},
        {{.verb = PL_VERB_GET, .resource = &pods, .ns = whole, .name = S("a")},
         "a namespace of 400000 bytes; it may have 1024"},
        {{.verb = PL_VERB_GET, .resource = &nodes, .name = S("n"), .subresource = whole},
         "a subresource of 400000 bytes; it may have 1024"},
        {{.verb = PL_VERB_LIST, .resource = &nodes, .continue_token = whole},
         "the request's path and query have 400023 bytes; they may have 262144"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_wire wire;
        struct pl_err err;
        CHECK_INT(pl_wire_of_call(&wire, "http://s", &cases[i].call, &err), PL_EINVAL);
        CHECK_STR(err.message, cases[i].want);
        pl_wire_deinit(&wire);
    }
    pl_free(text);
}

TEST(the_next_page_of_a_list_is_told_by_its_token_alone) /* rule 55 */
{
    static const char *const pages[][2] = {
        {"http://s/api/v1/pods", "http://s/api/v1/pods?continue=x%2B"},
        {"http://s/api/v1/pods?resourceVersion=0", "http://s/api/v1/pods?continue=x%2B"},
        {"http://s/api/v1/pods?labelSelector=a&limit=500&resourceVersion=7&resourceVersionMatch=e",
         "http://s/api/v1/pods?labelSelector=a&limit=500&continue=x%2B"},
        {"http://s/continue=/pods?limit=500&continue=before",
         "http://s/continue=/pods?limit=500&continue=x%2B"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(pages); i++) {
        struct pl_wire wire = {.method = "GET", .accept = "application/json"}, next;
        pl_buf_add_z(&wire.url, pages[i][0]);
        pl_wire_of_next_page(&next, &wire, S("x+"));
        CHECK_STR(pl_buf_z(&next.url), pages[i][1]);
        CHECK_STR(next.method, "GET");
        CHECK_STR(next.accept, "application/json");
        pl_wire_deinit(&next);
        pl_wire_deinit(&wire);
    }
}

TEST_MAIN()
