#include "object/kind.h"

#include "base/base.h"
#include "support/json.h"

TEST(a_kind_is_read_and_written_as_api_version_and_kind)
{
    static const struct {
        const char *text, *group, *version, *kind, *api_version;
    } cases[] = {
        {"v1/Pod", "", "v1", "Pod", "v1"},
        {"apps/v1/Deployment", "apps", "v1", "Deployment", "apps/v1"},
        {"example.com/v1beta1/Website", "example.com", "v1beta1", "Website", "example.com/v1beta1"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_kind kind;
        char out[PL_KIND_TEXT];
        CHECK_INT(pl_kind_parse(pl_slice_z(cases[i].text), &kind, NULL), 0);
        CHECK_STR(kind.group, cases[i].group);
        CHECK_STR(kind.version, cases[i].version);
        CHECK_STR(kind.kind, cases[i].kind);
        CHECK_STR(pl_kind_text(&kind, out), cases[i].text);
        CHECK_STR(pl_kind_api_version(&kind, out), cases[i].api_version);
    }
}

TEST(what_is_no_kind_is_refused_with_an_example)
{
    static const char *const bad[] = {
        "",          "Pod",         "v1/",       "/Pod",     "/v1/Pod",  "a/b/c/Pod",
        "apps/v1/",  "V1/Pod",      "v1/9P",     "v1/Po d",  "v1.2/Pod", "-a/v1/Pod",
        "a-/v1/Pod", "a..b/v1/Pod", "a.-b/v1/P", "A/v1/Pod", "v1/Pod-",  "apps//Pod"};
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++) {
        struct pl_kind kind;
        struct pl_err err;
        if (pl_kind_parse(pl_slice_z(bad[i]), &kind, &err) != PL_EINVAL)
            TEST_FAIL("\"%s\" was taken", bad[i]);
        else
            CHECK(strstr(err.message, "apps/v1/Deployment") != NULL);
    }
}

TEST(an_object_names_its_kind)
{
    struct pl_kind kind, other;
    struct pl_err err;
    struct pl_doc *doc = json("{'apiVersion':'apps/v1','kind':'Deployment'}");
    CHECK_INT(pl_kind_of(pl_doc_root(doc), &kind, NULL), 0);
    CHECK_STR(kind.group, "apps");
    pl_doc_unref(doc);

    doc = json("{'apiVersion':'v1'}");
    CHECK_INT(pl_kind_of(pl_doc_root(doc), &other, &err), PL_EINVAL);
    CHECK_STR(err.message, "the object has no kind");
    pl_doc_unref(doc);

    doc = json("{'apiVersion':7,'kind':'Pod'}");
    CHECK_INT(pl_kind_of(pl_doc_root(doc), &other, &err), PL_EINVAL);
    CHECK_STR(err.message, "the object has no apiVersion");
    pl_doc_unref(doc);

    doc = json("[]");
    CHECK_INT(pl_kind_of(pl_doc_root(doc), &other, &err), PL_EINVAL);
    CHECK_STR(err.message, "not an object but array");
    pl_doc_unref(doc);

    CHECK_INT(pl_kind_from(pl_slice_z("/v1"), pl_slice_z("Pod"), &other, &err), PL_EINVAL);
    CHECK_INT(pl_kind_from(pl_slice_z(""), pl_slice_z("Pod"), &other, &err), PL_EINVAL);
    CHECK_INT(pl_kind_from(pl_slice(NULL, 0), pl_slice_z("Pod"), &other, &err), PL_EINVAL);
    CHECK_INT(pl_kind_from(pl_slice_z("a/b/c"), pl_slice_z("Pod"), &other, &err), PL_EINVAL);
}

TEST(a_document_is_of_a_kind_by_its_apiVersion_and_name)
{
    struct pl_kind grouped, core;
    CHECK_INT(pl_kind_parse(pl_slice_z("apps/v1/Deployment"), &grouped, NULL), 0);
    CHECK_INT(pl_kind_parse(pl_slice_z("v1/Pod"), &core, NULL), 0);
    CHECK(pl_kind_is(&grouped, pl_slice_z("apps/v1"), pl_slice_z("Deployment")));
    CHECK(pl_kind_is(&core, pl_slice_z("v1"), pl_slice_z("Pod")));
    static const char *const others[][2] = {
        {"apps/v1", "Pod"},        {"apps/v2", "Deployment"}, {"v1", "Deployment"},
        {"apps", "Deployment"},    {"apps/", "Deployment"},   {"batch/v1", "Deployment"},
        {"apps.v1", "Deployment"}, {"", "Deployment"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(others); i++)
        CHECK(!pl_kind_is(&grouped, pl_slice_z(others[i][0]), pl_slice_z(others[i][1])));
    CHECK(!pl_kind_is(&core, pl_slice_z("apps/v1"), pl_slice_z("Pod")));
    CHECK(!pl_kind_is(&core, pl_slice(NULL, 0), pl_slice(NULL, 0)));
}

/* Semantics 135: owners match by group and kind in any version. */
TEST(kinds_of_two_versions_share_their_group_and_kind)
{
    struct pl_kind a, b, c;
    CHECK_INT(pl_kind_parse(pl_slice_z("apps/v1/Deployment"), &a, NULL), 0);
    CHECK_INT(pl_kind_parse(pl_slice_z("apps/v1beta1/Deployment"), &b, NULL), 0);
    CHECK_INT(pl_kind_parse(pl_slice_z("v1/Deployment"), &c, NULL), 0);
    CHECK(pl_kind_eq(&a, &a));
    CHECK(!pl_kind_eq(&a, &b));
    CHECK(pl_kind_eq_group(&a, &b));
    CHECK(!pl_kind_eq_group(&a, &c));
}

TEST_MAIN()
