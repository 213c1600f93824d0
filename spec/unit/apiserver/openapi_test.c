#include "apiserver/openapi.h"

#include "support/api_fixture.h"

TEST(kubectl_finds_the_parameters_of_patches)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    CHECK_INT(api_get(&t, "/openapi/v3"), 200);
    CHECK_AT(&t, "paths[\"apis/ex.com/v1\"].serverRelativeURL", "'/openapi/v3/apis/ex.com/v1'");
    CHECK_INT(api_get(&t, "/openapi/v3/api/v1"), 200);
    CHECK_AT(&t,
             "paths[\"/api/v1/namespaces/{namespace}/configmaps/{name}\"].patch.parameters[2].name",
             "'fieldValidation'");
    CHECK_INT(api_get(&t, "/openapi/v3/apis/ex.com/v1"), 200);
    CHECK_AT(&t, "components.schemas[\"ex.com.v1.Widget\"].properties.spec.required", "['size']");
    CHECK_INT(api_get(&t, "/openapi/v3/apis/nope/v1"), 404);
    api_close(&t);
}

TEST(the_second_version_is_served_as_protobuf_too)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_get(&t, "/openapi/v2"), 200);
    CHECK_AT(&t, "swagger", "'2.0'");
    t.accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    CHECK_INT(api_get(&t, "/openapi/v2"), 200);
    CHECK(memcmp(t.text,
                 "\x0a\x03"
                 "2.0\x12\x15",
                 7) == 0);
    /* "@" is asked with, but has no place in a media type: kubectl refuses it. */
    CHECK_STR(t.content_type, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    api_close(&t);
}

TEST_MAIN()
