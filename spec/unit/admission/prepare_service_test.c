#include "admission/prepare_service.h"

#include "support/api_fixture.h"

/* Every expectation was checked against kube-apiserver 1.37. */

#define SERVICES "/api/v1/namespaces/default/services"

TEST(what_another_service_has_is_refused)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, SERVICES,
                       "{'metadata':{'name':'a'},'spec':{'clusterIP':'10.0.0.99','type':'NodePort',"
                       "'ports':[{'port':80,'nodePort':31000}]}}"),
              201);
    CHECK_INT(api_post(&t, SERVICES,
                       "{'metadata':{'name':'b'},'spec':{'clusterIP':'10.0.0.99','ports':[{'port':"
                       "80}]}}"),
              422);
    CHECK_AT(&t, "details.causes[0].field", "'spec.clusterIPs'");
    CHECK_INT(api_post(&t, SERVICES,
                       "{'metadata':{'name':'b'},'spec':{'type':'NodePort','ports':[{'port':80,"
                       "'nodePort':31000}]}}"),
              422);
    CHECK_AT(&t, "details.causes[0].field", "'spec.ports[0].nodePort'");
    CHECK_INT(api_post(&t, SERVICES,
                       "{'metadata':{'name':'b'},'spec':{'clusterIP':'192.168.0.1','ports':[{"
                       "'port':80}]}}"),
              422);
    api_close(&t);
}

/* What the server chooses next is not what a client has. */
TEST(what_clients_chose_is_avoided)
{
    struct api t;
    api_open(&t);
    api_post(&t, SERVICES,
             "{'metadata':{'name':'a'},'spec':{'clusterIP':'10.0.1.0','ports':[{'port':80}]}}");
    CHECK_INT(api_post(&t, SERVICES, "{'metadata':{'name':'b'},'spec':{'ports':[{'port':80}]}}"),
              201);
    CHECK_AT(&t, "spec.clusterIP", "'10.0.1.1'");
    api_close(&t);
}

TEST(a_service_that_becomes_external_gives_its_address_back)
{
    struct api t;
    api_open(&t);
    api_post(&t, SERVICES, "{'metadata':{'name':'a'},'spec':{'ports':[{'port':80}]}}");
    CHECK_INT(api_send(&t, "PATCH", SERVICES "/a", MERGE,
                       "{'spec':{'type':'ExternalName','externalName':'a.b'}}"),
              200);
    CHECK(pl_node_is_missing(api_node(&t, "spec.clusterIP")));
    CHECK_INT(api_send(&t, "PATCH", SERVICES "/a", MERGE, "{'spec':{'type':'ClusterIP'}}"), 200);
    CHECK_AT(&t, "spec.ipFamilies", "['IPv4']");
    api_close(&t);
}

TEST_MAIN()
