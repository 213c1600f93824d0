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
    CHECK_INT(api_post(&t, WIDGETS, "{" WIDGET ",'metadata':{'name':'c'},'spec':{'size':1}}"), 403);
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

/* The kind Widget of another plural. */
#define RIVAL                                                                                      \
    "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{"       \
    "'name':'rivals.ex.com'},'spec':{'group':'ex.com','scope':'Namespaced','names':{'plural':"     \
    "'rivals','kind':'Widget'},'versions':[{'name':'v1','served':true,'storage':true,'schema':{"   \
    "'openAPIV3Schema':{'type':'object'}}}]}}"

TEST(a_crd_waits_for_names_that_another_kind_has)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    CHECK_INT(api_post(&t, CRDS, RIVAL), 201);
    CHECK_INT(api_get(&t, CRDS "/rivals.ex.com"), 200);
    CHECK_AT(&t, "status.acceptedNames", "{'kind':'','plural':'rivals'}");
    CHECK_AT(&t, "status.conditions[0].reason", "'ListKindConflict'");
    CHECK_AT(&t, "status.conditions[0].message", "'\\\"WidgetList\\\" is already in use'");
    CHECK_AT(&t, "status.conditions[1].status", "'False'");
    CHECK_INT(api_get(&t, "/apis/ex.com/v1/rivals"), 404);
    CHECK_INT(api_delete(&t, CRDS "/widgets.ex.com", NULL), 200);
    api_settle(&t);
    CHECK_INT(api_get(&t, "/apis/ex.com/v1/rivals"), 200);
    CHECK_INT(api_get(&t, CRDS "/rivals.ex.com"), 200);
    CHECK_AT(&t, "status.acceptedNames.kind", "'Widget'");
    CHECK_AT(&t, "status.conditions[1].status", "'True'");
    api_close(&t);
}

#define EMBEDDING                                                                                  \
    "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{"       \
    "'name':'boxes.ex.com'},'spec':{'group':'ex.com','scope':'Cluster','names':{'plural':"         \
    "'boxes','kind':'Box'},'versions':[{'name':'v1','served':true,'storage':true,'schema':{"       \
    "'openAPIV3Schema':{'type':'object','properties':{'in':{'type':'object',"                      \
    "'x-kubernetes-embedded-resource':true,'x-kubernetes-preserve-unknown-fields':true}}}}}]}}"
#define BOXES   "/apis/ex.com/v1/boxes"
#define BOX(in) "{'apiVersion':'ex.com/v1','kind':'Box','metadata':{'name':'b'},'in':" in "}"

TEST(objects_inside_of_objects_are_checked)
{
    static const struct {
        const char *in, *field;
        int code;
    } cases[] = {
        {BOX("{'kind':'X'}"), "'in.apiVersion'", 422},
        {BOX("{'apiVersion':'v1','kind':'x y'}"), "'in.kind'", 422},
        {BOX("{'apiVersion':'a/b/c','kind':'X'}"), "'in.apiVersion'", 422},
        {BOX("{'apiVersion':'v1','kind':'X','metadata':{'labels':{'a b':''}}}"),
         "'in.metadata.labels'", 422},
        {BOX("{'apiVersion':'v1','kind':'X','metadata':{'labels':{'a':1}}}"), NULL, 400},
        {BOX("{'apiVersion':'v1','kind':5}"), NULL, 400},
        {BOX("{'apiVersion':'v1','kind':'X','any':1,'metadata':{'name':'N','what':1}}"), NULL, 201},
    };
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, CRDS, EMBEDDING), 201);
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        CHECK_INT(api_post(&t, BOXES, cases[i].in), cases[i].code);
        if (cases[i].field != NULL)
            CHECK_AT(&t, "details.causes[0].field", cases[i].field);
    }
    CHECK_AT(&t, "in", "{'any':1,'apiVersion':'v1','kind':'X','metadata':{'name':'N'}}");
    CHECK_STR(t.warning, "299 - \"unknown field \\\"in.metadata.what\\\"\"");
    api_close(&t);
}

TEST(a_patch_keeps_kind_version_and_metadata)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    api_post(&t, WIDGETS, "{" WIDGET ",'metadata':{'name':'w'},'spec':{'size':1}}");
    CHECK_INT(api_merge(&t, WIDGETS "/w", "{'kind':'Other'}"), 422);
    CHECK_MESSAGE(&t, "Other.ex.com \"w\" is invalid: kind: Invalid value: \"Other\": must be "
                      "Widget");
    CHECK_INT(api_merge(&t, WIDGETS "/w", "{'apiVersion':'ex.com/v2'}"), 422);
    CHECK_INT(api_merge(&t, WIDGETS "/w", "{'kind':null}"), 422);
    CHECK_INT(api_merge(&t, WIDGETS "/w", "{'metadata':{'labels':{'a':1}}}"), 422);
    CHECK_INT(api_post(&t, WIDGETS, "{" WIDGET ",'metadata':'x'}"), 400);
    CHECK_MESSAGE(&t, "Widget in version \"v1\" cannot be handled as a Widget: json: cannot "
                      "unmarshal string into Go value of type v1.ObjectMeta");
    CHECK_INT(api_post(&t, WIDGETS, "{" WIDGET ",'metadata':{'name':'x','creationTimestamp':'y'}}"),
              400);
    api_close(&t);
}

TEST_MAIN()
