#include "support/test.h"

#include "base/base.h"
#include "base/nearest.h"

static const char *const flags[] = {"kubeconfig", "context",   "server",    "namespace",
                                    "lanes",      "log-level", "log-format"};

static const char *near(const char *word)
{
    return pl_nearest(pl_slice_z(word), flags, PL_ARRAY_LEN(flags));
}

TEST(a_slip_of_the_finger_finds_the_word)
{
    CHECK_STR(near("kubeconfg"), "kubeconfig");
    CHECK_STR(near("kubecnofig"), "kubeconfig");
    CHECK_STR(near("lane"), "lanes");
    CHECK_STR(near("log_level"), "log-level");
    CHECK_STR(near("Server"), "server");
}

TEST(the_end_or_start_of_a_name_finds_it)
{
    CHECK_STR(near("config"), "kubeconfig");
    CHECK_STR(near("name"), "namespace");
}

TEST(what_is_far_from_everything_finds_nothing)
{
    CHECK(near("zebra") == NULL);
    CHECK(near("") == NULL);
    CHECK(near("x") == NULL);
}

TEST_MAIN()
