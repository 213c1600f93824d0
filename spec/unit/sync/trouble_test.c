#include "sync/trouble.h"

#include "support/test.h"

static struct pl_err error(int status, const char *message)
{
    struct pl_err err = {0};
    pl_err_set(&err, PL_EAPI, "%s", message);
    err.status = status;
    return err;
}

static bool note(struct pl_trouble *trouble, int status, const char *message, int64_t at_s)
{
    struct pl_err err = error(status, message);
    return pl_trouble_note(trouble, &err, at_s * PL_SECOND, "it fails", NULL, 0);
}

TEST(a_line_for_each_trouble_and_not_for_each_retry)
{
    struct pl_trouble trouble = {0};
    pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    CHECK(note(&trouble, 500, "port 1", 0));
    CHECK(!note(&trouble, 500, "port 1", 1));
    CHECK(!note(&trouble, 500, "port 2", 2)); /* other words */
    CHECK(note(&trouble, 403, "no", 3));      /* another one */
    CHECK(!note(&trouble, 500, "port 3", 4)); /* back and forth */
    CHECK(!note(&trouble, 403, "no", 5));
    CHECK(note(&trouble, 500, "port 4", 61));
    CHECK(!note(&trouble, 403, "no", 3600)); /* the same words need no second line */
    CHECK_INT(trouble.failures, 8);
    CHECK_INT(trouble.err.status, 403);
    pl_trouble_end(&trouble, 4000 * PL_SECOND, "it works", NULL, 0);
    CHECK(!pl_trouble_is_on(&trouble));
    CHECK(note(&trouble, 500, "port 1", 4001));
}

TEST(what_is_only_counted_is_not_told)
{
    struct pl_trouble trouble = {0};
    struct pl_err err = error(503, "away");
    pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    pl_trouble_count(&trouble, &err, PL_SECOND);
    pl_trouble_count(&trouble, &err, 2 * PL_SECOND);
    CHECK(pl_trouble_is_on(&trouble));
    CHECK_INT(trouble.failures, 2);
    CHECK_INT(trouble.since_ns, PL_SECOND);
    CHECK(!trouble.told);
    CHECK(note(&trouble, 503, "away", 3)); /* when it is first logged */
    CHECK(trouble.told);
    pl_trouble_end(&trouble, 4 * PL_SECOND, "it works", NULL, 0);
    CHECK(!pl_trouble_is_on(&trouble));
}

TEST_MAIN()
