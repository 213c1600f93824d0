#include "kube/status.h"

#include "support/test.h"
#include "value/build.h"
#include "value/scan.h"

static struct pl_err of_answer(int status, const char *body)
{
    struct pl_err err;
    struct pl_doc *doc = pl_scan_text(pl_slice_z(body), &(struct pl_scan_options){0}, NULL);
    pl_status_to_err(status, pl_doc_root(doc), pl_slice_z(body), &err);
    pl_doc_unref(doc);
    return err;
}

static struct pl_err of_event(const char *body)
{
    struct pl_err err;
    struct pl_doc *doc = pl_scan_text(pl_slice_z(body), &(struct pl_scan_options){0}, NULL);
    REQUIRE(doc != NULL);
    pl_status_event_to_err(pl_doc_root(doc), &err);
    pl_doc_unref(doc);
    return err;
}

TEST(a_status_document_gives_code_reason_and_message)
{
    struct pl_err err =
        of_answer(409, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
                       "\"message\":\"configmaps \\\"a\\\" already exists\","
                       "\"reason\":\"AlreadyExists\",\"code\":409}");
    CHECK_INT(err.code, PL_EAPI);
    CHECK_INT(err.status, 409);
    CHECK_STR(err.reason, "AlreadyExists");
    CHECK_STR(err.message, "configmaps \"a\" already exists");
    CHECK_INT(err.retry_after_ms, -1);
    CHECK(pl_err_is_already_exists(&err));
    CHECK(!pl_err_is_conflict(&err));
}

TEST(retry_after_seconds_are_read_from_the_details)
{
    struct pl_err err = of_answer(429, "{\"kind\":\"Status\",\"reason\":\"TooManyRequests\","
                                       "\"message\":\"slow down\",\"code\":429,"
                                       "\"details\":{\"retryAfterSeconds\":3}}");
    CHECK(pl_err_is_too_many_requests(&err));
    CHECK_INT(err.retry_after_ms, 3000);
    err = of_answer(429, "{\"kind\":\"Status\",\"code\":429,"
                         "\"details\":{\"retryAfterSeconds\":9000000000000000}}");
    CHECK(err.retry_after_ms > 0 && err.retry_after_ms < INT64_MAX / PL_MS);
}

TEST(plain_text_is_quoted_on_one_line_and_gets_the_reason_of_its_code)
{
    struct pl_err err = of_answer(404, "404 page\r\n\tnot found\n");
    CHECK_STR(err.message, "HTTP 404: 404 page not found");
    CHECK_STR(err.reason, "NotFound");
    CHECK(pl_err_is_not_found(&err));
    err = of_answer(502, "");
    CHECK_STR(err.message, "HTTP 502 Unknown without a message");
    err = of_answer(431, "");
    CHECK_STR(err.message, "HTTP 431: path, query or headers are too long for the server");
}

TEST(html_is_named_and_cut)
{
    char page[4000];
    memset(page, 'x', sizeof page - 1);
    page[sizeof page - 1] = '\0';
    memcpy(page, "\n<!DOCTYPE html>", 16);
    struct pl_err err = of_answer(503, page);
    CHECK(strstr(err.message, "HTML") != NULL);
    CHECK(strlen(err.message) < 400);
    CHECK_INT(err.status, 503);
    CHECK_STR(err.reason, "ServiceUnavailable");
}

TEST(text_that_is_no_utf8_or_is_cut_inside_a_character_stays_printable)
{
    struct pl_err err = of_answer(500, "caf\xe9 closed");
    CHECK_STR(err.message, "HTTP 500: caf? closed");
    char text[1000] = "";
    for (size_t i = 0; i + 3 < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa9", 3);
    err = of_answer(500, text);
    CHECK(pl_is_utf8(pl_slice_z(err.message)));
}

TEST(json_that_is_no_status_is_treated_as_text)
{
    struct pl_err err = of_answer(403, "{\"error\":\"denied by the proxy\"}");
    CHECK(pl_err_is_forbidden(&err));
    CHECK_STR(err.message, "HTTP 403: {\"error\":\"denied by the proxy\"}");
}

/* Rule 58 and fault test F9. */
TEST(gone_is_recognised_by_code_by_either_reason_and_by_text_alone)
{
    static const char *const bodies[] = {
        "{\"kind\":\"Status\",\"code\":410,\"message\":\"x\"}",
        "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Gone\"}",
        "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}",
        "{\"kind\":\"Status\",\"reason\":\"Expired\"}",
        "{\"message\":\"too old resource version: 1 (2)\"}",
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(bodies); i++) {
        struct pl_err err = of_event(bodies[i]);
        if (!pl_err_is_expired(&err))
            TEST_FAIL("not seen as expired: %s", bodies[i]);
        CHECK_INT(err.status, 410);
    }
    struct pl_err http = of_answer(410, "gone");
    CHECK(pl_err_is_expired(&http));
}

/* Rule 57. */
TEST(too_large_is_recognised_by_cause_and_by_the_old_text)
{
    struct pl_err err =
        of_answer(504, "{\"kind\":\"Status\",\"reason\":\"Timeout\",\"code\":504,\"message\":\"m\","
                       "\"details\":{\"causes\":[{\"reason\":\"Other\"},"
                       "{\"reason\":\"ResourceVersionTooLarge\",\"message\":\"m\"}]}}");
    CHECK(pl_err_is_too_large_rv(&err));
    err = of_answer(504, "{\"kind\":\"Status\",\"reason\":\"Timeout\",\"code\":504,"
                         "\"message\":\"Too large resource version: 9, current: 3\"}");
    CHECK(pl_err_is_too_large_rv(&err));
    err = of_answer(504, "{\"kind\":\"Status\",\"reason\":\"Timeout\",\"code\":504,"
                         "\"message\":\"request timed out\"}");
    CHECK(!pl_err_is_too_large_rv(&err));
}

TEST(predicates_want_an_answer_of_the_server)
{
    struct pl_err err;
    pl_err_set(&err, PL_ENETWORK, "reset");
    CHECK(!pl_err_is_not_found(&err) && !pl_err_is_conflict(&err) && !pl_err_is_expired(&err));
    CHECK(!pl_err_is_not_found(NULL));
}

TEST(an_event_without_anything_is_an_internal_error)
{
    struct pl_err err = of_event("{}");
    CHECK_INT(err.code, PL_EAPI);
    CHECK_INT(err.status, 500);
    CHECK_STR(err.reason, "InternalError");
    CHECK(err.message[0] != '\0');
}

TEST(a_conflict_is_not_already_exists)
{
    struct pl_err err =
        of_answer(409, "{\"kind\":\"Status\",\"reason\":\"Conflict\",\"code\":409}");
    CHECK(pl_err_is_conflict(&err));
    CHECK(!pl_err_is_already_exists(&err));
    CHECK(strstr(err.message, "409") != NULL);
}

TEST_MAIN()
