#include "base/err.h"

#include "support/test.h"

TEST(set_fills_code_and_message_and_forgets_the_rest)
{
    struct pl_err err;
    pl_err_clear(&err);
    err.status = 404;
    err.line = 7;
    CHECK_INT(pl_err_set(&err, PL_EINVAL, "no %s at %d", "name", 3), PL_EINVAL);
    CHECK_STR(err.message, "no name at 3");
    CHECK_INT(err.code, PL_EINVAL);
    CHECK_INT(err.status, 0);
    CHECK_INT(err.line, 0);
    CHECK_INT(err.offset, -1);
    CHECK_INT(err.retry_after_ms, -1);
}

TEST(nobody_has_to_want_the_reason)
{
    CHECK_INT(pl_err_set(NULL, PL_EIO, "lost"), PL_EIO);
    pl_err_prefix(NULL, "while %s", "writing");
    pl_err_clear(NULL);
}

TEST(prefix_puts_context_in_front)
{
    struct pl_err err;
    pl_err_set(&err, PL_EIO, "no space");
    pl_err_prefix(&err, "writing %s", "a.yaml");
    CHECK_STR(err.message, "writing a.yaml: no space");
    CHECK_INT(err.code, PL_EIO);
}

TEST(long_messages_are_cut_at_a_character)
{
    struct pl_err err;
    char text[PL_ERR_MESSAGE + 10];
    /* Each shift makes the cut fall elsewhere in a three-byte character. */
    for (int shift = 0; shift < 3; shift++) {
        size_t len = 0;
        for (int i = 0; i < shift; i++)
            text[len++] = 'x';
        while (len + 3 < sizeof(text)) {
            memcpy(text + len, "\xe2\x82\xac", 3);
            len += 3;
        }
        text[len] = '\0';
        pl_err_set(&err, PL_EINVAL, "%s", text);
        size_t got = strlen(err.message);
        CHECK(got < PL_ERR_MESSAGE && got > PL_ERR_MESSAGE - 4);
        CHECK_INT((got - (size_t)shift) % 3, 0);
        pl_err_prefix(&err, "y");
        CHECK_INT((strlen(err.message) - (size_t)shift) % 3, 0);
    }
}

TEST(every_code_has_a_name_and_a_text)
{
    CHECK_STR(pl_code_name(PL_ENOTFOUND), "ENOTFOUND");
    CHECK_STR(pl_code_text(PL_ENOTFOUND), "not found");
    CHECK_STR(pl_code_name(0), "OK");
    CHECK_STR(pl_code_name(-9999), "?");
    CHECK_STR(pl_code_text(1), "?");
}

TEST_MAIN()
