#include "base/base.h"
#include "object/selector.h"

#include "support/json.h"

static void check_text(const char *text, const char *want)
{
    struct pl_err err;
    struct pl_buf out = PL_BUF_INIT;
    struct pl_fields *fields = pl_fields_parse(pl_slice_z(text), &err);
    if (fields == NULL) {
        TEST_FAIL("%s: %s", text, err.message);
        return;
    }
    pl_fields_text(fields, &out);
    CHECK_STR(pl_buf_z(&out), want);
    pl_buf_deinit(&out);
    pl_fields_destroy(fields);
}

TEST(field_selectors_are_written_sorted)
{
    check_text("", "");
    check_text(",,", "");
    check_text("status.phase!=Running,metadata.name=x", "metadata.name=x,status.phase!=Running");
    check_text("metadata.name==x", "metadata.name=x");
    check_text("metadata.name=", "metadata.name=");
    check_text("a=b\\,c\\=d\\\\e", "a=b\\,c\\=d\\\\e");
    check_text("a=b!c", "a=b!c");
}

TEST(terms_are_path_value_and_relation)
{
    struct pl_fields *fields = pl_fields_parse(pl_slice_z("b.c!=x\\,y,a=1"), NULL);
    struct pl_slice path, value;
    bool equals;
    REQUIRE(fields != NULL);
    CHECK_INT(pl_fields_count(fields), 2);
    pl_fields_term(fields, 0, &path, &value, &equals);
    CHECK_SLICE(path, "a");
    CHECK_SLICE(value, "1");
    CHECK(equals);
    pl_fields_term(fields, 1, &path, &value, &equals);
    CHECK_SLICE(path, "b.c");
    CHECK_SLICE(value, "x,y");
    CHECK(!equals);
    pl_fields_destroy(fields);
}

TEST(what_is_no_field_selector_is_refused_where_it_goes_wrong)
{
    static const struct {
        const char *text;
        int64_t offset;
    } bad[] = {
        {"a", 0},      {"a=b,c", 4}, {"=b", 0},     {"a=b,!=c", 4},   {"a=b=c", 3},
        {"a=b\\c", 3}, {"a=b\\", 3}, {"a..b=c", 2}, {"x=1,a b=c", 5}, {"a===b", 3},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++) {
        struct pl_err err;
        struct pl_fields *fields = pl_fields_parse(pl_slice_z(bad[i].text), &err);
        if (fields != NULL)
            TEST_FAIL("\"%s\" was taken", bad[i].text);
        else if (err.code != PL_EINVAL || err.offset != bad[i].offset)
            TEST_FAIL("%s: %s at %" PRId64, bad[i].text, err.message, err.offset);
        pl_fields_destroy(fields);
    }
}

TEST(fields_compare_as_text_and_an_absent_one_as_empty)
{
    static const struct {
        const char *text;
        bool matches;
    } cases[] = {
        {"", true},
        {"metadata.name=x", true},
        {"metadata.name!=x", false},
        {"metadata.name=x,status.phase=Running", false},
        {"spec.n=3", true},
        {"spec.on=true", true},
        {"spec.absent=", true},
        {"spec.null=", true},
        {"spec.absent!=", false},
        {"spec.absent=y", false},
        {"spec=", false},
        {"spec.list[1]=b", true},
    };
    struct pl_doc *doc = json("{'metadata':{'name':'x'},'spec':{'n':3,'on':true,'null':null,"
                              "'list':['a','b']},'status':{'phase':'Pending'}}");
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_fields *fields = pl_fields_parse(pl_slice_z(cases[i].text), NULL);
        REQUIRE(fields != NULL);
        if (pl_fields_match(fields, pl_doc_root(doc)) != cases[i].matches)
            TEST_FAIL("%s", cases[i].text);
        pl_fields_destroy(fields);
    }
    pl_doc_unref(doc);
}

TEST_MAIN()
