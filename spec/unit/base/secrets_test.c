#include "base/secrets.h"

#include "base/alloc.h"
#include "support/test.h"

static void check(const struct pl_secrets *secrets, const char *text, const char *want)
{
    char *masked = pl_secrets_mask(secrets, pl_slice_z(text));
    CHECK_STR(masked ? masked : "(nothing)", want);
    pl_free(masked);
}

TEST(values_are_cut_out_wherever_they_stand)
{
    struct pl_secrets secrets = {.count = 0};
    check(&secrets, "hunter2", "(nothing)");
    pl_secrets_add(&secrets, pl_slice_z("hunter2"));
    pl_secrets_add(&secrets, pl_slice_z("hunter2-long"));
    pl_secrets_add(&secrets, pl_slice_z("no"));
    check(&secrets, "nothing to see, no", "(nothing)");
    check(&secrets, "hunter2", "<7 bytes>");
    check(&secrets, "a hunter2 and hunter2-long, hunter2.",
          "a <7 bytes> and <12 bytes>, <7 bytes>.");
    CHECK(pl_secrets_has(&secrets, pl_slice_z("hunter2")));
    pl_secrets_clear(&secrets);
    check(&secrets, "hunter2", "(nothing)");
}

TEST(their_number_is_limited)
{
    struct pl_secrets secrets = {.count = 0};
    for (int i = 0; i < 3000; i++) {
        char text[32];
        snprintf(text, sizeof text, "secret-%d", i);
        pl_secrets_add(&secrets, pl_slice_z(text));
    }
    CHECK_INT(secrets.count, 2000);
    CHECK(pl_secrets_has(&secrets, pl_slice_z("secret-2999")));
    CHECK(!pl_secrets_has(&secrets, pl_slice_z("secret-999")));
    pl_secrets_clear(&secrets);
}

TEST(those_of_another_are_added)
{
    struct pl_secrets one = {.count = 0}, other = {.count = 0};
    pl_secrets_add(&one, pl_slice_z("hunter1"));
    pl_secrets_add(&other, pl_slice_z("hunter1"));
    pl_secrets_add(&other, pl_slice_z("hunter2"));
    pl_secrets_add_all(&one, &other);
    pl_secrets_clear(&other);
    CHECK_INT(one.count, 2);
    pl_secrets_add_found(&other, &one, pl_slice_z("it is hunter2!"));
    CHECK_INT(other.count, 1);
    check(&other, "hunter1 hunter2", "hunter1 <7 bytes>");
    pl_secrets_clear(&other);
    check(&one, "hunter1 hunter2", "<7 bytes> <7 bytes>");
    pl_secrets_clear(&one);
}

TEST_MAIN()
