#include "columns/table.h"

#include "columns/cells.h"
#include "support/api_fixture.h"

#define AS_TABLE "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

TEST(lists_can_be_tables)
{
    struct api t;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'},'data':{'k':'v'}}");
    api_advance(&t, 90 * PL_SECOND);
    t.accept = AS_TABLE;
    CHECK_INT(api_get(&t, DEFAULT_CMS), 200);
    CHECK_AT(&t, "kind", "'Table'");
    CHECK_AT(&t, "columnDefinitions[1].name", "'Data'");
    CHECK_AT(&t, "rows[0].cells", "['a',1,'90s']");
    CHECK_AT(&t, "rows[0].object.kind", "'PartialObjectMetadata'");
    api_close(&t);
}

TEST(custom_kinds_bring_their_columns)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    api_post(&t, WIDGETS, "{" WIDGET ",'metadata':{'name':'w'},'spec':{'size':3}}");
    t.accept = AS_TABLE;
    CHECK_INT(api_get(&t, WIDGETS "/w"), 200);
    CHECK_AT(&t, "columnDefinitions[1].name", "'Size'");
    CHECK_AT(&t, "rows[0].cells", "['w',3]");
    api_close(&t);
}

/* Rows that a kube-apiserver answered. */
TEST(built_in_kinds_are_shown_as_kube_apiserver_shows_them)
{
    static const struct {
        const char *list, *object, *cells;
    } cases[] = {
        {"/apis/apps/v1/namespaces/default/deployments",
         "{'metadata':{'name':'d'},'spec':{'replicas':3,'selector':{'matchLabels':{'b':'1','a':'2'"
         "}},'template':{'metadata':{'labels':{'a':'2','b':'1'}},'spec':{'containers':[{'name':"
         "'a','image':'ia'},{'name':'b','image':'ib'}]}}}}",
         "['d','0/3',0,0,'0s','a,b','ia,ib','a=2,b=1']"},
        {"/api/v1/namespaces/default/services",
         "{'metadata':{'name':'s'},'spec':{'clusterIP':'None','selector':{'a':'b'},'ports':[{"
         "'name':'x','port':80},{'name':'z','port':81,'protocol':'UDP'}]}}",
         "['s','ClusterIP','None','<none>','80/TCP,81/UDP','0s','a=b']"},
        {"/apis/networking.k8s.io/v1/namespaces/default/ingresses",
         "{'metadata':{'name':'i'},'spec':{'ingressClassName':'nginx','tls':[{'hosts':['a.b']}],"
         "'rules':[{'host':'a.b'},{'host':'c.d'},{'host':'e.f'},{'host':'g.h'}]}}",
         "['i','nginx','a.b,c.d,e.f + 1 more...','','80, 443','0s']"},
        {"/api/v1/nodes",
         "{'metadata':{'name':'n','labels':{'node-role.kubernetes.io/worker':'','node-role."
         "kubernetes.io/a':''}},'spec':{'unschedulable':true}}",
         "['n','Unknown,SchedulingDisabled','a,worker','0s','','<none>','<none>','<unknown>',"
         "'<unknown>','<unknown>']"},
        {"/api/v1/namespaces/default/events",
         "{'metadata':{'name':'e','namespace':'default'},'involvedObject':{'kind':'Pod','name':'p'"
         ",'namespace':'default'},'reason':'R','message':' hello ','type':'Normal','source':{"
         "'component':'c','host':'h'}}",
         "['<unknown>','Normal','R','pod/p','','c, h','hello','<unknown>',1,'e']"},
    };
    struct api t;
    api_open(&t);
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        t.accept = NULL;
        CHECK_INT(api_post(&t, cases[i].list, cases[i].object), 201);
        t.accept = AS_TABLE;
        CHECK_INT(api_get(&t, cases[i].list), 200);
        CHECK_AT(&t, "rows[0].cells", cases[i].cells);
    }
    api_close(&t);
}

#define POD_STATUS                                                                                 \
    "{'status':{'phase':'Running','podIP':'10.0.0.1','podIPs':[{'ip':'10.0.0.1'}],"                \
    "'initContainerStatuses':[{'name':'i','ready':true,'started':true,'restartCount':1,"           \
    "'image':'i','imageID':'','state':{'running':{}}}],'containerStatuses':[{'name':'a','ready':"  \
    "true,'restartCount':2,'image':'a','imageID':'','state':{'running':{}}},{'name':'b','ready':"  \
    "false,'restartCount':0,'image':'b','imageID':'','state':{'waiting':{'reason':"                \
    "'CrashLoopBackOff'}}}]}}"

TEST(a_pod_shows_its_containers)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, "/api/v1/namespaces/default/pods",
                       "{'metadata':{'name':'p'},'spec':{'nodeName':'n','containers':[{'name':'a',"
                       "'image':'a'},{'name':'b','image':'b'}],'initContainers':[{'name':'i',"
                       "'image':'i','restartPolicy':'Always'}]}}"),
              201);
    CHECK_INT(api_send(&t, "PATCH", "/api/v1/namespaces/default/pods/p/status",
                       "application/merge-patch+json", POD_STATUS),
              200);
    t.accept = AS_TABLE;
    CHECK_INT(api_get(&t, "/api/v1/namespaces/default/pods/p"), 200);
    CHECK_AT(&t, "rows[0].cells",
             "['p','2/3','CrashLoopBackOff','3','0s','10.0.0.1','n','<none>','<none>']");
    api_close(&t);
}

/* As kubectl prints ages. */
TEST(ages_get_coarser)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        {0, "0s"},
        {119, "119s"},
        {120, "2m"},
        {599, "9m59s"},
        {600, "10m"},
        {10799, "179m"},
        {10800, "3h"},
        {12000, "3h20m"},
        {90000, "25h"},
        {180000, "2d2h"},
        {800000, "9d"},
        {-5, "<invalid>"},
        {INT64_C(86400) * 732, "2y2d"},
        {INT64_C(86400) * 4000, "10y"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        char out[32];
        pl_api_age_text(cases[i].seconds * PL_SECOND, out);
        CHECK_STR(out, cases[i].text);
    }
}

TEST_MAIN()
