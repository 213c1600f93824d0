#include "gotype/quantity.h"

#include "support/test.h"

static void check(const char *text, const char *want)
{
    char out[64];
    bool changed = pl_api_quantity_text(pl_slice_z(text), out);
    CHECK_STR(changed ? out : text, want);
}

/* Checked against kube-apiserver 1.37. */
TEST(quantities_get_their_shortest_form)
{
    check("0.5", "500m");
    check("1024Mi", "1Gi");
    check("1.5Gi", "1536Mi");
    check("1000m", "1");
    check("1500m", "1500m");
    check("1000", "1k");
    check("100", "100");
    check("0", "0");
    check("128974848", "128974848");
    check("1025Mi", "1025Mi");
    check("-0.25", "-250m");
}

TEST(what_is_no_quantity_stays)
{
    char out[64];
    CHECK(!pl_api_quantity_text(pl_slice_z("abc"), out));
    CHECK(!pl_api_quantity_text(pl_slice_z(""), out));
    CHECK(!pl_api_quantity_text(pl_slice_z("1Zi"), out));
}

TEST_MAIN()
