#include "apiinfo/openapi.h"

#include "gotype/wire.h"
#include "support/api_fixture.h"

#define DOCUMENT "/openapi/v3/apis/ex.com/v1"

/* Where the index says that the widgets' document is; to be freed. */
static char *address(struct api *t)
{
    struct pl_scratch scratch;
    CHECK_INT(api_get(t, "/openapi/v3"), 200);
    struct pl_node paths = pl_node_getz(pl_doc_root(t->doc), "paths");
    struct pl_node entry = pl_node_getz(paths, "apis/ex.com/v1");
    struct pl_slice url = pl_node_str(pl_node_getz(entry, "serverRelativeURL"), &scratch);
    return pl_memdup0(url.ptr, url.len);
}

TEST(kubectl_finds_the_parameters_of_patches)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_get(&t, "/openapi/v3/api/v1"), 200);
    CHECK_AT(&t, "openapi", "'3.0.0'");
    CHECK_AT(&t,
             "paths[\"/api/v1/namespaces/{namespace}/configmaps/{name}\"].patch.parameters[2].name",
             "'fieldValidation'");
    CHECK_AT(&t,
             "paths[\"/api/v1/namespaces/{namespace}/configmaps/{name}\"].patch."
             "x-kubernetes-group-version-kind",
             "{'group':'','kind':'ConfigMap','version':'v1'}");
    CHECK_AT(&t, "paths[\"/api/v1/pods\"].get.operationId", "'listCoreV1PodForAllNamespaces'");
    CHECK_INT(api_get(&t, "/openapi/v3/apis/nope/v1"), 404);
    api_close(&t);
}

#define CONTAINER "components.schemas[\"io.k8s.api.core.v1.Container\"].properties"

TEST(built_in_kinds_have_types_lists_and_strategies)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_get(&t, "/openapi/v3/apis/apps/v1"), 200);
    CHECK_AT(&t, CONTAINER ".ports.x-kubernetes-list-map-keys", "['containerPort','protocol']");
    CHECK_AT(&t, CONTAINER ".env.x-kubernetes-patch-strategy", "'merge'");
    CHECK_AT(&t, CONTAINER ".args.x-kubernetes-list-type", "'atomic'");
    CHECK_AT(&t, CONTAINER ".imagePullPolicy",
             "{'enum':['Always','IfNotPresent','Never'],'type':'string'}");
    CHECK_AT(&t,
             "components.schemas[\"io.k8s.api.apps.v1.Deployment\"]"
             ".x-kubernetes-group-version-kind",
             "[{'group':'apps','kind':'Deployment','version':'v1'}]");
    CHECK_AT(&t, "components.schemas[\"io.k8s.api.apps.v1.DeploymentList\"].properties.items.items",
             "{'$ref':'#/components/schemas/io.k8s.api.apps.v1.Deployment'}");
    api_close(&t);
}

TEST(a_custom_kind_has_its_schema_and_what_every_object_has)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    CHECK_INT(api_get(&t, DOCUMENT), 200);
    CHECK_AT(&t, "components.schemas[\"com.ex.v1.Widget\"].properties.spec.required", "['size']");
    CHECK_AT(&t, "components.schemas[\"com.ex.v1.Widget\"].properties.metadata",
             "{'allOf':[{'$ref':'#/components/schemas/"
             "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'}]}");
    api_close(&t);
}

TEST(who_has_the_document_is_not_sent_it_again)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    char *url = address(&t), etag[80];
    CHECK_INT(api_get(&t, url), 200);
    CHECK_INT(api_get(&t, DOCUMENT "?hash=0"), 301);
    snprintf(etag, sizeof(etag), "\"%s\"", strstr(url, "?hash=") + 6);
    t.if_none_match = etag;
    CHECK_INT(api_get(&t, DOCUMENT), 304);
    CHECK_INT(t.text_len, 0);
    CHECK_INT(api_get(&t, "/openapi/v3/api/v1"), 200);
    api_close(&t);
    pl_free(url);
}

TEST(a_changed_crd_has_another_hash)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    char *before = address(&t);
    CHECK_INT(api_send(&t, "PATCH",
                       "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.ex.com",
                       "application/merge-patch+json",
                       "{'metadata':{'annotations':{'a':'b'}},'spec':{'names':{'shortNames':['wi']"
                       "}}}"),
              200);
    char *after = address(&t);
    CHECK(strcmp(before, after) != 0);
    pl_free(before);
    pl_free(after);
    api_close(&t);
}

/* ---- OpenAPI 2 ---- */

TEST(the_second_version_describes_all_kinds_in_one_document)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    CHECK_INT(api_get(&t, "/openapi/v2"), 200);
    CHECK_AT(&t, "swagger", "'2.0'");
    CHECK_AT(&t, "definitions[\"io.k8s.api.core.v1.ConfigMap\"].properties.metadata",
             "{'$ref':'#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'}");
    CHECK_AT(&t, "definitions[\"com.ex.v1.Widget\"].properties.spec.required", "['size']");
    api_close(&t);
}

/* The bytes of the first field with that number; empty: none. */
static struct pl_slice inside(struct pl_slice message, uint64_t number)
{
    struct pl_wire_field field;
    while (pl_wire_next(&message, &field) == 1)
        if (field.number == number)
            return field.bytes;
    return pl_slice("", 0);
}

/* The value of the entry with that name, in a message of named ones. */
static struct pl_slice named(struct pl_slice message, const char *name)
{
    struct pl_wire_field field;
    while (pl_wire_next(&message, &field) == 1)
        if (pl_slice_eqz(inside(field.bytes, 1), name))
            return inside(field.bytes, 2);
    TEST_FAIL("nothing is named %s", name);
    return pl_slice("", 0);
}

TEST(the_second_version_is_served_as_protobuf_too)
{
    struct api t;
    api_open(&t);
    t.accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    CHECK_INT(api_get(&t, "/openapi/v2"), 200);
    /* "@" is asked with, but has no place in a media type: kubectl refuses it. */
    CHECK_STR(t.content_type, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    struct pl_slice document = pl_slice(t.text, t.text_len);
    CHECK(pl_slice_eqz(inside(document, 1), "2.0"));
    struct pl_slice container = named(inside(document, 9), "io.k8s.api.core.v1.Container");
    CHECK(pl_slice_eqz(inside(inside(container, 22), 1), "object"));
    struct pl_slice env = named(inside(container, 25), "env");
    CHECK(pl_slice_eqz(inside(inside(env, 23), 1), "") == false);
    struct pl_slice item = inside(inside(env, 23), 1);
    CHECK(pl_slice_eqz(inside(item, 1), "#/definitions/io.k8s.api.core.v1.EnvVar"));
    CHECK(inside(env, 31).len > 0); /* the first extension */
    struct pl_slice path = named(inside(document, 8), "/api/v1/nodes/{name}");
    CHECK(inside(inside(path, 8), 8).len > 0); /* the patch's first parameter */
    api_close(&t);
}

TEST_MAIN()
