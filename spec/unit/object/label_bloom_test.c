#include "value/label_bloom.h"

#include "base/base.h"
#include "support/json.h"
#include "value/docs.h"
#include "object/meta.h"
#include "object/selector.h"

static void keep(struct pl_doc *doc)
{
    pl_label_bloom_keep(pl_doc_root(doc), pl_meta_labels(pl_doc_root(doc)));
}

static uint64_t bits(const char *text)
{
    struct pl_selector *selector = pl_selector_parse(pl_slice_z(text), NULL);
    REQUIRE(selector != NULL);
    uint64_t found = pl_selector_bloom(selector);
    pl_selector_destroy(selector);
    return found;
}

TEST(an_object_may_have_any_label_until_its_bits_are_kept)
{
    struct pl_doc *doc = json("{'metadata':{'labels':{'app':'web','tier':''}}}");
    CHECK(pl_label_bloom_may_have(doc, bits("app=db")));
    keep(doc);
    CHECK(!pl_label_bloom_may_have(doc, bits("app=db")));
    CHECK(!pl_label_bloom_may_have(doc, bits("app=web,tier=x")));
    CHECK(pl_label_bloom_may_have(doc, bits("app=web,tier=")));
    CHECK(pl_label_bloom_may_have(doc, 0));
    pl_doc_unref(doc);
}

TEST(an_object_without_labels_has_none)
{
    static const char *const texts[] = {"{}", "{'metadata':{'labels':null}}",
                                        "{'metadata':{'labels':{'app':1}}}"};
    for (size_t i = 0; i < PL_ARRAY_LEN(texts); i++) {
        struct pl_doc *doc = json(texts[i]);
        keep(doc);
        CHECK(!pl_label_bloom_may_have(doc, bits("app=web")));
        CHECK(pl_label_bloom_may_have(doc, 0));
        pl_doc_unref(doc);
    }
}

/* The labels of the filter are not those of the document. */
TEST(an_object_inside_of_another_keeps_nothing)
{
    struct pl_doc *doc = json("{'template':{'metadata':{'labels':{'app':'db'}}}}");
    struct pl_node inner = pl_node_getz(pl_doc_root(doc), "template");
    pl_label_bloom_keep(inner, pl_meta_labels(inner));
    CHECK(pl_label_bloom_may_have(doc, bits("app=web")));
    pl_label_bloom_keep(PL_NODE_MISSING, PL_NODE_MISSING);
    pl_doc_unref(doc);
}

TEST(selectors_have_the_bits_of_labels_that_all_they_match_have)
{
    uint64_t web = pl_label_bloom(pl_slice_z("app"), pl_slice_z("web"));
    uint64_t none = pl_label_bloom(pl_slice_z("tier"), pl_slice_z(""));
    CHECK(web != 0);
    CHECK(bits("app=web") == web);
    CHECK(bits("app==web,tier in ()") == (web | none));
    CHECK(bits("app in (web),tier!=x,!a,b,c>1,d<1,e notin (a)") == web);
    CHECK(bits("app in (web,db)") == 0);
    CHECK(bits("app") == 0);
    CHECK(bits("") == 0);
}

static struct pl_doc *numbered(int i)
{
    char text[120];
    snprintf(text, sizeof text, "{'metadata':{'labels':{'app':'a%d','n':'%d','odd':'%d'}}}", i % 40,
             i, i % 2);
    return json(text);
}

TEST(most_that_lack_a_label_are_told_and_none_that_has_it)
{
    struct pl_docs docs = {0}, found = {0};
    for (int i = 0; i < 2000; i++)
        pl_docs_add(&docs, numbered(i));
    uint64_t wanted = bits("app=a7,odd=1");
    for (size_t i = 0; i < docs.count; i++)
        pl_docs_add(&found, docs.items[i]);
    pl_docs_ref_from(&found, 0, wanted);
    CHECK_INT(found.count, 2000); /* nothing is known of any */
    for (size_t i = 0; i < docs.count; i++)
        keep(docs.items[i]);
    pl_docs_ref_from(&found, 0, 0);
    CHECK_INT(found.count, 2000);
    for (size_t i = 0; i < docs.count; i++)
        pl_doc_unref(docs.items[i]); /* the second reference of `found` */
    size_t first = found.count;
    for (size_t i = 0; i < docs.count; i++)
        pl_docs_add(&found, docs.items[i]);
    pl_docs_ref_from(&found, first, wanted);
    int having = 0;
    for (size_t i = first; i < found.count; i++)
        having += pl_node_str_eq(pl_node_getz(pl_meta_labels(pl_doc_root(found.items[i])), "app"),
                                 pl_slice_z("a7"));
    CHECK_INT(having, 50);
    CHECK(found.count - first < 200);
    pl_docs_deinit(&found);
    pl_docs_deinit(&docs);
}

TEST_MAIN()
