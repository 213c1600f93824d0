#include "apicall/select.h"

#include "support/api_fixture.h"

/* Answers were checked against kube-apiserver 1.37. */

static void check_count(struct api *t, const char *path, size_t want)
{
    CHECK_INT(api_get(t, path), 200);
    CHECK_INT(pl_node_len(api_node(t, "items")), want);
}

TEST(labels_and_fields_select)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    api_post(&t, WIDGETS,
             "{" WIDGET ",'metadata':{'name':'a','labels':{'x':'1'}},'spec':{'size':1}}");
    api_post(&t, WIDGETS, "{" WIDGET ",'metadata':{'name':'b'},'spec':{'size':1,'color':'blue'}}");
    check_count(&t, WIDGETS "?labelSelector=x", 1);
    check_count(&t, WIDGETS "?labelSelector=x%21%3D1", 1);
    check_count(&t, WIDGETS "?labelSelector=x+in+%281%2C2%29", 1);
    check_count(&t, WIDGETS "?fieldSelector=metadata.name%3Db", 1);
    check_count(&t, WIDGETS "?fieldSelector=spec.color%3Dred", 1);
    check_count(&t, WIDGETS "?fieldSelector=spec.color%21%3Dred,metadata.namespace%3Ddefault", 1);
    check_count(&t, "/apis/ex.com/v1/widgets?fieldSelector=metadata.namespace%3Ddefault", 2);
    api_close(&t);
}

TEST(only_known_fields_select)
{
    static const struct {
        const char *path, *message;
    } cases[] = {
        {DEFAULT_CMS "?fieldSelector=data.x%3D1",
         "\"data.x\" is not a known field selector: only \"metadata.name\", "
         "\"metadata.namespace\""},
        {"/api/v1/pods?fieldSelector=bogus.x%3D1", "field label not supported: bogus.x"},
        {"/apis/batch/v1/jobs?fieldSelector=bogus.x%3D1",
         "field label \"bogus.x\" not supported for Job"},
        {WIDGETS "?fieldSelector=spec.size%3D1", "field label not supported: spec.size"},
    };
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        CHECK_INT(api_get(&t, cases[i].path), 400);
        CHECK_MESSAGE(&t, cases[i].message);
    }
    check_count(&t, "/api/v1/pods?fieldSelector=spec.nodeName%3D,status.phase%21%3DRunning", 0);
    api_close(&t);
}

TEST_MAIN()
