#include "apiserver/crd_life.h"

#include "object/patch.h"

#include "support/api_fixture.h"

/* Answers were checked against kube-apiserver 1.37. */

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

TEST(an_applied_crd_is_established_and_served_at_once)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_get(&t, WIDGETS), 404);
    api_make_widgets(&t);
    CHECK_AT(&t, "status.conditions", "null"); /* names are accepted by a write of its own */
    CHECK_AT(&t, "status.acceptedNames.kind", "''");
    CHECK_INT(api_get(&t, CRDS "/widgets.ex.com"), 200);
    CHECK_AT(&t, "status.acceptedNames.kind", "'Widget'");
    CHECK_AT(&t, "status.conditions[0].type", "'NamesAccepted'");
    CHECK_AT(&t, "status.conditions[1].type", "'Established'");
    CHECK_AT(&t, "status.conditions[1].status", "'True'");
    CHECK_AT(&t, "status.storedVersions", "['v1']");
    CHECK_AT(&t, "spec.names.listKind", "'WidgetList'");
    CHECK_AT(&t, "spec.conversion", "{'strategy':'None'}");
    CHECK_INT(api_get(&t, WIDGETS), 200);
    CHECK_AT(&t, "kind", "'WidgetList'");
    CHECK_INT(api_get(&t, "/apis/ex.com/v1"), 200);
    CHECK_AT(&t, "resources[0].name", "'widgets'");
    CHECK_AT(&t, "resources[1].name", "'widgets/status'");
    api_close(&t);
}

TEST(all_served_versions_show_the_same_objects)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    api_post(&t, WIDGETS, "{" WIDGET ",'metadata':{'name':'w'},'spec':{'size':1}}");
    CHECK_INT(api_get(&t, "/apis/ex.com/v1beta1/namespaces/default/widgets/w"), 200);
    CHECK_AT(&t, "apiVersion", "'ex.com/v1beta1'");
    CHECK_AT(&t, "spec.size", "1");
    CHECK_INT(api_get(&t, "/apis/ex.com/v2/namespaces/default/widgets/w"), 404);
    CHECK_STR(t.text, "404 page not found\n");
    /* Only v1 declares subresources. */
    CHECK_INT(api_get(&t, "/apis/ex.com/v1beta1/namespaces/default/widgets/w/status"), 404);
    api_close(&t);
}

TEST(objects_name_their_kind)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    CHECK_INT(api_post(&t, WIDGETS, "{'metadata':{'name':'w'},'spec':{'size':1}}"), 400);
    CHECK_INT(
        api_post(&t, WIDGETS, "{'apiVersion':'ex.com/v1','kind':'X','metadata':{'name':'w'}}"),
        422);
    CHECK_MESSAGE(&t, "X.ex.com \"w\" is invalid: kind: Invalid value: \"X\": must be Widget");
    CHECK_INT(api_post(&t, WIDGETS,
                       "{'apiVersion':'ex.com/v1beta1','kind':'Widget','metadata':{'name':'w'}}"),
              400);
    CHECK_MESSAGE(&t, "the API version in the data (ex.com/v1beta1) does not match the expected "
                      "API version (ex.com/v1)");
    api_close(&t);
}

TEST(values_are_pruned_defaulted_and_validated)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    CHECK_INT(api_post(&t, WIDGETS,
                       "{" WIDGET ",'metadata':{'name':'w'},'zzz':1,'spec':{'size':1,'foo':2,"
                       "'replicas':null,'any':{'x':[1]}}}"),
              201);
    CHECK_AT(&t, "spec", "{'any':{'x':[1]},'color':'red','size':1}");
    CHECK_ABSENT(&t, "zzz");
    CHECK_INT(api_post(&t, WIDGETS, "{" WIDGET ",'metadata':{'name':'x'},'spec':{'size':11}}"),
              422);
    CHECK_MESSAGE(&t, "Widget.ex.com \"x\" is invalid: spec.size: Invalid value: 11: spec.size in "
                      "body should be less than or equal to 10");
    CHECK_INT(api_merge(&t, WIDGETS "/w", "{'spec':{'color':'green'}}"), 422);
    CHECK_AT(&t, "details.causes[0].reason", "'FieldValueNotSupported'");
    api_close(&t);
}

TEST(a_changed_definition_ends_watches_and_keeps_objects)
{
    struct api t;
    struct api_watch watch;
    api_open(&t);
    api_make_widgets(&t);
    api_post(&t, WIDGETS, "{" WIDGET ",'metadata':{'name':'w'},'spec':{'size':1}}");
    api_watch_open(&t, &watch, WIDGETS "?watch=1");
    api_merge(&t, CRDS "/widgets.ex.com", "{'metadata':{'labels':{'a':'b'}}}");
    CHECK(!watch.ended);
    CHECK_INT(api_merge(&t, CRDS "/widgets.ex.com", "{'spec':{'names':{'shortNames':['wi']}}}"),
              200);
    CHECK(watch.ended);
    CHECK_INT(api_get(&t, WIDGETS "/w"), 200);
    api_watch_close(&watch);
    api_close(&t);
}

TEST(deleting_a_crd_takes_its_objects_along)
{
    struct api t;
    struct api_watch watch;
    api_open(&t);
    api_make_widgets(&t);
    api_post(&t, WIDGETS, "{" WIDGET ",'metadata':{'name':'a'},'spec':{'size':1}}");
    api_post(&t, WIDGETS,
             "{" WIDGET ",'metadata':{'name':'b','finalizers':['x.y/z']},'spec':{'size':1}}");
    api_watch_open(&t, &watch, WIDGETS "?watch=1&resourceVersion=9");
    CHECK_INT(api_delete(&t, CRDS "/widgets.ex.com", NULL), 200);
    CHECK_AT(&t, "metadata.finalizers", "['customresourcecleanup.apiextensions.k8s.io']");
    api_settle(&t);
    CHECK_INT(api_get(&t, WIDGETS "/a"), 404);
    CHECK_INT(api_get(&t, WIDGETS "/b"), 200);
    CHECK_INT(api_post(&t, WIDGETS, "{" WIDGET ",'metadata':{'name':'c'},'spec':{'size':1}}"), 405);
    CHECK_INT(api_merge(&t, WIDGETS "/b", "{'metadata':{'finalizers':null}}"), 200);
    api_settle(&t);
    CHECK_INT(api_get(&t, CRDS "/widgets.ex.com"), 404);
    CHECK_INT(api_get(&t, "/apis/ex.com/v1"), 404);
    CHECK(watch.ended);
    CHECK_EVENTS(&watch, "MODIFIED b,DELETED a,DELETED b");
    api_watch_close(&watch);
    api_make_widgets(&t);
    CHECK_INT(api_get(&t, WIDGETS), 200);
    CHECK_AT(&t, "items", "[]");
    api_close(&t);
}

TEST(bad_definitions_are_refused)
{
    static const struct {
        const char *patch, *message;
    } cases[] = {
        {"{'metadata':{'name':'bad.ex.com'}}", "metadata.name"},
        {"{'spec':{'scope':'Galaxy'}}", "spec.scope"},
        {"{'spec':{'versions':[]}}", "spec.versions"},
        {"{'spec':{'group':null}}", "spec.group"},
    };
    struct api t;
    api_open(&t);
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_doc *crd = json(api_widget_crd), *patch = json(cases[i].patch);
        struct pl_doc *bad = pl_patch_merge(pl_doc_root(crd), pl_doc_root(patch), NULL);
        struct pl_buf body = PL_BUF_INIT;
        pl_write(&body, pl_doc_root(bad), PL_WRITE_COMPACT);
        CHECK_INT(api_post(&t, CRDS, pl_buf_z(&body)), 422);
        CHECK(strstr(t.text, cases[i].message) != NULL);
        pl_buf_deinit(&body);
        pl_doc_unref(crd);
        pl_doc_unref(patch);
        pl_doc_unref(bad);
    }
    api_make_widgets(&t);
    CHECK_INT(api_merge(&t, CRDS "/widgets.ex.com", "{'spec':{'scope':'Cluster'}}"), 422);
    api_close(&t);
}

TEST_MAIN()
