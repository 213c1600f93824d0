/* Discovery: one list for each group version, and aggregated. */
#include "load.h"

#include <string.h>

#define AGGREGATED "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

#define RESOURCE(plural, singular, kind, verbs)                                                    \
    "{\"name\":\"" plural "\",\"singularName\":\"" singular                                        \
    "\",\"namespaced\":true,\"kind\":\"" kind "\",\"verbs\":" verbs "}"
#define SUBRESOURCE(plural, kind)                                                                  \
    "{\"name\":\"" plural "/status\",\"singularName\":\"\",\"namespaced\":true,\"kind\":\"" kind   \
    "\",\"verbs\":[\"get\",\"patch\",\"update\"]}"
#define VERBS                                                                                      \
    "[\"create\",\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"update\",\"watch\"]"

#define AGGREGATE(plural, singular, group, version, kind)                                          \
    "{\"resource\":\"" plural "\",\"responseKind\":{\"group\":\"" group                            \
    "\",\"version\":\"" version "\",\"kind\":\"" kind                                              \
    "\"},\"scope\":\"Namespaced\",\"singularResource\":\"" singular "\",\"verbs\":" VERBS          \
    ",\"subresources\":[{\"subresource\":\"status\",\"responseKind\":{"                            \
    "\"group\":\"" group "\",\"version\":\"" version "\",\"kind\":\"" kind                         \
    "\"},\"verbs\":[\"get\",\"patch\",\"update\"]}]}"

static const struct answer {
    const char *path, *text;
    const char *aggregated; /* NULL: there is no such form */
} answers[] = {
    {"/version",
     "{\"major\":\"1\",\"minor\":\"37\",\"gitVersion\":\"v1.37.0\",\"gitCommit\":\"\","
     "\"gitTreeState\":\"clean\",\"buildDate\":\"2026-08-01T00:00:00Z\",\"goVersion\":\"go1.26\","
     "\"compiler\":\"gc\",\"platform\":\"linux/amd64\"}",
     NULL},
    {"/api", "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":[]}",
     "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":"
     "{},\"items\":[{\"metadata\":{\"creationTimestamp\":null},\"versions\":[{\"version\":\"v1\","
     "\"freshness\":\"Current\",\"resources\":[" AGGREGATE("pods", "pod", "", "v1",
                                                           "Pod") "]}]}]}"},
    {"/apis",
     "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[{\"name\":\"example.com\","
     "\"versions\":[{\"groupVersion\":\"example.com/v1\",\"version\":\"v1\"}],"
     "\"preferredVersion\":{\"groupVersion\":\"example.com/v1\",\"version\":\"v1\"}}]}",
     "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":"
     "{},\"items\":[{\"metadata\":{\"name\":\"example.com\",\"creationTimestamp\":null},"
     "\"versions\":[{\"version\":\"v1\",\"freshness\":\"Current\",\"resources\":[" AGGREGATE(
         "websites", "website", "example.com", "v1",
         "Website") "," AGGREGATE("pages", "page", "example.com", "v1", "Page") "]}]}]}"},
    {"/apis/example.com",
     "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"example.com\",\"versions\":[{"
     "\"groupVersion\":\"example.com/v1\",\"version\":\"v1\"}],\"preferredVersion\":{"
     "\"groupVersion\":\"example.com/v1\",\"version\":\"v1\"}}",
     NULL},
    /* kopf does not start before it has found the kind Namespace; nobody reads namespaces. */
    {"/api/v1",
     "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\",\"resources\":[{\"name\":"
     "\"namespaces\",\"singularName\":\"namespace\",\"namespaced\":false,\"kind\":"
     "\"Namespace\",\"verbs\":[\"get\"]}," RESOURCE("pods", "pod", "Pod",
                                                    VERBS) "," SUBRESOURCE("pods", "Pod") "]}",
     NULL},
    {"/apis/example.com/v1",
     "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"example.com/v1\","
     "\"resources\":[" RESOURCE("websites", "website", "Website", VERBS) "," SUBRESOURCE(
         "websites", "Website") "," RESOURCE("pages", "page", "Page",
                                             VERBS) "," SUBRESOURCE("pages", "Page") "]}",
     NULL},
};

bool load_discovery(struct load *load, struct pl_exchange *exchange, size_t request)
{
    const char *accept = pl_exchange_header(exchange, "accept");
    for (size_t i = 0; i < PL_ARRAY_LEN(answers); i++) {
        const struct answer *answer = &answers[i];
        if (!pl_slice_eqz(pl_exchange_path(exchange), answer->path))
            continue;
        bool aggregated = answer->aggregated != NULL && accept != NULL &&
                          strstr(accept, "g=apidiscovery.k8s.io;v=v2;") != NULL;
        struct pl_slice body = pl_slice_z(aggregated ? answer->aggregated : answer->text);
        load_record_sent(&load->record, request, body.len);
        pl_exchange_reply(exchange, 200, aggregated ? AGGREGATED : "application/json", body);
        load_record_end(&load->record, request, 200, pl_loop_now(load->loop));
        return true;
    }
    return false;
}
