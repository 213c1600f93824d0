#include "apiserver/gc.h"

#include "support/api_fixture.h"

/* Outcomes and event orders were checked against kube-apiserver and kube-controller-manager
 * 1.37. */

/* Creates a ConfigMap; owner: name of its owner or NULL. */
static void make(struct api *t, const char *name, const char *owner)
{
    char *body;
    struct pl_scratch scratch;
    if (owner != NULL) {
        char *path = pl_format(DEFAULT_CMS "/%s", owner);
        CHECK_INT(api_get(t, path), 200);
        pl_free(path);
        struct pl_slice uid = pl_node_str(api_node(t, "metadata.uid"), &scratch);
        body = pl_format("{'metadata':{'name':'%s','ownerReferences':[{'apiVersion':'v1','kind':"
                         "'ConfigMap','name':'%s','uid':'%.*s','blockOwnerDeletion':true}]}}",
                         name, owner, PL_FMT(uid));
    } else {
        body = pl_format("{'metadata':{'name':'%s'}}", name);
    }
    CHECK_INT(api_post(t, DEFAULT_CMS, body), 201);
    pl_free(body);
    api_settle(t);
}

TEST(dependents_follow_their_owner)
{
    struct api t;
    api_open(&t);
    make(&t, "a", NULL);
    make(&t, "b", "a");
    make(&t, "c", "b");
    api_delete(&t, DEFAULT_CMS "/a", NULL);
    api_settle(&t);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/b"), 404);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/c"), 404);
    api_close(&t);
}

TEST(foreground_deletion_waits_for_dependents)
{
    struct api t;
    struct api_watch watch;
    api_open(&t);
    make(&t, "a", NULL);
    make(&t, "b", "a");
    make(&t, "c", "b");
    api_watch_open(&t, &watch, DEFAULT_CMS "?watch=1&resourceVersion=8");
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/a", "{'propagationPolicy':'Foreground'}"), 200);
    CHECK_AT(&t, "metadata.finalizers", "['foregroundDeletion']");
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 200);
    api_settle(&t);
    CHECK_EVENTS(&watch, "MODIFIED a,MODIFIED b,DELETED c,DELETED b,DELETED a");
    api_watch_close(&watch);
    api_close(&t);
}

TEST(orphans_lose_their_reference_and_stay)
{
    struct api t;
    struct api_watch watch;
    api_open(&t);
    make(&t, "a", NULL);
    make(&t, "b", "a");
    api_watch_open(&t, &watch, DEFAULT_CMS "?watch=1&resourceVersion=7");
    api_delete(&t, DEFAULT_CMS "/a?propagationPolicy=Orphan", NULL);
    api_settle(&t);
    CHECK_EVENTS(&watch, "MODIFIED a,MODIFIED b,DELETED a");
    CHECK_INT(api_get(&t, DEFAULT_CMS "/b"), 200);
    CHECK_ABSENT(&t, "metadata.ownerReferences");
    api_watch_close(&watch);
    api_close(&t);
}

TEST(one_of_two_owners_is_enough)
{
    struct api t;
    struct pl_scratch scratch, other;
    api_open(&t);
    make(&t, "a", NULL);
    make(&t, "b", NULL);
    api_get(&t, DEFAULT_CMS "/a");
    struct pl_doc *a = pl_doc_ref(t.doc);
    api_get(&t, DEFAULT_CMS "/b");
    struct pl_doc *b = pl_doc_ref(t.doc);
    char *body = pl_format(
        "{'metadata':{'name':'c','ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap','name':"
        "'a','uid':'%.*s'},{'apiVersion':'v1','kind':'ConfigMap','name':'b','uid':'%.*s'}]}}",
        PL_FMT(pl_node_str(pl_node_dig(pl_doc_root(a), "metadata", "uid"), &scratch)),
        PL_FMT(pl_node_str(pl_node_dig(pl_doc_root(b), "metadata", "uid"), &other)));
    CHECK_INT(api_post(&t, DEFAULT_CMS, body), 201);
    api_delete(&t, DEFAULT_CMS "/a", NULL);
    api_settle(&t);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/c"), 200);
    CHECK_INT(pl_node_len(api_node(&t, "metadata.ownerReferences")), 1);
    CHECK_AT(&t, "metadata.ownerReferences[0].name", "'b'");
    api_delete(&t, DEFAULT_CMS "/b", NULL);
    api_settle(&t);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/c"), 404);
    pl_free(body);
    pl_doc_unref(a);
    pl_doc_unref(b);
    api_close(&t);
}

TEST(an_owner_that_never_was_takes_the_object_with_it)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, DEFAULT_CMS,
                       "{'metadata':{'name':'a','ownerReferences':[{'apiVersion':'v1','kind':"
                       "'ConfigMap','name':'x','uid':'no'}]}}"),
              201);
    api_settle(&t);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 404);
    api_close(&t);
}

static void make_owned_by(struct api *t, const char *name, const char *owner)
{
    char *body = pl_format("{'metadata':{'name':'%s','ownerReferences':[%s]}}", name, owner);
    CHECK_INT(api_post(t, DEFAULT_CMS, body), 201);
    pl_free(body);
    api_settle(t);
}

#define OWNERS "/apis/example.com/v1/namespaces/default/widgets"
#define OWNER_DEFINITION                                                                           \
    "{'metadata':{'name':'widgets.example.com'},'spec':{'group':'example.com','scope':'"           \
    "Namespaced'"                                                                                  \
    ",'names':{'plural':'widgets','kind':'Widget'},'versions':[{'name':'v1','served':true,"        \
    "'storage':true,'schema':{'openAPIV3Schema':{'type':'object'}}}]}}"
#define DEFINITIONS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

TEST(an_owner_of_an_unknown_kind_keeps_the_object_until_the_kind_is_known)
{
    struct api t;
    api_open(&t);
    make_owned_by(&t, "a", "{'apiVersion':'example.com/v1','kind':'Widget','name':'x','uid':'no'}");
    make_owned_by(&t, "b", "{'apiVersion':'v2','kind':'ConfigMap','name':'x','uid':'no'}");
    make_owned_by(&t, "c",
                  "{'apiVersion':'v1','kind':'ConfigMap','name':'x','uid':'gone'},"
                  "{'apiVersion':'example.com/v1','kind':'Widget','name':'x','uid':'no'}");
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 200);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/b"), 200);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/c"), 200);
    CHECK_INT(pl_node_len(api_node(&t, "metadata.ownerReferences")), 2);
    CHECK_INT(api_post(&t, DEFINITIONS, OWNER_DEFINITION), 201);
    api_settle(&t);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 404);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/b"), 200);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/c"), 404);
    api_close(&t);
}

TEST(dependents_go_with_a_kind_that_goes)
{
    struct api t;
    struct pl_scratch scratch;
    api_open(&t);
    CHECK_INT(api_post(&t, DEFINITIONS, OWNER_DEFINITION), 201);
    api_settle(&t);
    CHECK_INT(api_post(&t, OWNERS,
                       "{'apiVersion':'example.com/v1','kind':'Widget','metadata':{'name':'x'}}"),
              201);
    char *owner = pl_format("{'apiVersion':'example.com/v1','kind':'Widget','name':'x','uid':"
                            "'%.*s'}",
                            PL_FMT(pl_node_str(api_node(&t, "metadata.uid"), &scratch)));
    make_owned_by(&t, "a", owner);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 200);
    api_delete(&t, DEFINITIONS "/widgets.example.com", NULL);
    api_settle(&t);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 404);
    pl_free(owner);
    api_close(&t);
}

TEST(an_owner_is_found_by_its_name)
{
    struct api t;
    struct pl_scratch scratch;
    api_open(&t);
    make(&t, "o", NULL);
    api_get(&t, DEFAULT_CMS "/o");
    char *owner = pl_format("{'apiVersion':'v1','kind':'ConfigMap','name':'other','uid':'%.*s'}",
                            PL_FMT(pl_node_str(api_node(&t, "metadata.uid"), &scratch)));
    make_owned_by(&t, "a", owner);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 404);
    pl_free(owner);
    api_close(&t);
}

TEST(an_owner_in_another_namespace_does_not_count)
{
    struct api t;
    struct pl_scratch scratch;
    api_open(&t);
    api_post(&t, "/api/v1/namespaces/kube-system/configmaps", "{'metadata':{'name':'o'}}");
    char *body = pl_format("{'metadata':{'name':'a','ownerReferences':[{'apiVersion':'v1','kind':"
                           "'ConfigMap','name':'o','uid':'%.*s'}]}}",
                           PL_FMT(pl_node_str(api_node(&t, "metadata.uid"), &scratch)));
    api_post(&t, DEFAULT_CMS, body);
    api_settle(&t);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 404);
    pl_free(body);
    api_close(&t);
}

TEST(a_namespace_goes_after_its_content)
{
    struct api t;
    api_open(&t);
    api_post(&t, "/api/v1/namespaces", "{'metadata':{'name':'n'}}");
    api_post(&t, "/api/v1/namespaces/n/configmaps", "{'metadata':{'name':'a'}}");
    api_post(&t, "/api/v1/namespaces/n/secrets",
             "{'metadata':{'name':'s','finalizers':['x.y/z']}}");
    CHECK_INT(api_delete(&t, "/api/v1/namespaces/n", NULL), 200);
    CHECK_AT(&t, "status.phase", "'Terminating'");
    CHECK_AT(&t, "spec.finalizers", "['kubernetes']");
    api_settle(&t);
    CHECK_INT(api_get(&t, "/api/v1/namespaces/n/configmaps/a"), 404);
    CHECK_INT(api_get(&t, "/api/v1/namespaces/n"), 200);
    CHECK_INT(api_merge(&t, "/api/v1/namespaces/n/secrets/s", "{'metadata':{'finalizers':null}}"),
              200);
    api_settle(&t);
    CHECK_INT(api_get(&t, "/api/v1/namespaces/n"), 404);
    api_close(&t);
}

TEST_MAIN()
