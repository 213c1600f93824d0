#include "schema/table.h"

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

/* As kubectl prints ages. */
TEST(ages_get_coarser)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        {0, "0s"},      {119, "119s"},    {120, "2m"},    {599, "9m59s"},
        {600, "10m"},   {10799, "179m"},  {10800, "3h"},  {12000, "3h20m"},
        {90000, "25h"}, {180000, "2d2h"}, {800000, "9d"}, {-5, "<invalid>"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        char out[32];
        pl_api_age_text(cases[i].seconds * PL_SECOND, out);
        CHECK_STR(out, cases[i].text);
    }
}

TEST_MAIN()
