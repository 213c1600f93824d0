#include "value/skim.h"

#include "support/test.h"

static const uint8_t *padded(const char *text, size_t *len)
{
    static uint8_t buffers[2][1024];
    static int turn;
    uint8_t *buffer = buffers[turn ^= 1];
    *len = strlen(text);
    memset(buffer, 0, sizeof(buffers[0]));
    memcpy(buffer, text, *len);
    return buffer;
}

static const char learned[] =
    "[{\"time\":\"2026-11-21T09:30:00Z\",\"a\":{\"k:{\\\"ip\\\":\\\"10.0.0.1\\\"}\":{\".\":{}}},"
    "\"number\":17,\"list\":[true,\"\\u00e9\",\"caf\xc3\xa9\"],\"end\":\"the last of them\"}]";

static size_t match(const char *text, const struct skim_mark **mark)
{
    static struct skim skim;
    size_t len;
    const uint8_t *p = padded(learned, &len);
    pl_skim_learn(&skim, p, len);
    p = padded(text, &len);
    size_t matched = pl_skim_match(&skim, p, p + len, mark);
    static struct skim_mark copy;
    if (*mark != NULL) {
        copy = **mark;
        *mark = &copy;
    }
    pl_skim_deinit(&skim);
    return matched;
}

/* The learned text with one byte replaced. */
static size_t match_with(size_t at, char c)
{
    char text[sizeof(learned)];
    const struct skim_mark *mark;
    memcpy(text, learned, sizeof(learned));
    text[at] = c;
    return match(text, &mark);
}

static size_t place_of(const char *part)
{
    return (size_t)(strstr(learned, part) - learned);
}

TEST(the_same_text_and_other_plain_characters_in_strings_match)
{
    CHECK_INT(match_with(0, '['), sizeof(learned) - 1);
    CHECK_INT(match_with(place_of("30:00Z"), '5'), sizeof(learned) - 1);
    CHECK_INT(match_with(place_of("number"), 'N'), sizeof(learned) - 1);
    CHECK_INT(match_with(place_of("last"), ' '), sizeof(learned) - 1);
}

TEST(whatever_could_change_the_structure_does_not_match)
{
    CHECK_INT(match_with(place_of("17"), '2'), 0);
    CHECK_INT(match_with(place_of("true"), 'T'), 0);
    CHECK_INT(match_with(place_of("30:00Z"), '"'), 0);
    CHECK_INT(match_with(place_of("30:00Z"), '\\'), 0);
    CHECK_INT(match_with(place_of("30:00Z"), '\n'), 0);
    CHECK_INT(match_with(place_of("30:00Z"), '\xff'), 0);
    CHECK_INT(match_with(place_of("u00e9"), 'n'), 0);
    CHECK_INT(match_with(place_of("00e9"), 'd'), 0);
    CHECK_INT(match_with(place_of("\xc3\xa9"), 'x'), 0);
    CHECK_INT(match_with(place_of("\\\"ip"), 'x'), 0);
    CHECK_INT(match_with(sizeof(learned) - 2, '}'), 0);
}

TEST(parsing_can_take_over_at_a_mark_before_the_difference)
{
    const struct skim_mark *mark;
    char text[sizeof(learned)];
    memcpy(text, learned, sizeof(learned));
    text[place_of("true")] = 'x';
    CHECK_INT(match(text, &mark), 0);
    REQUIRE(mark != NULL);
    CHECK(mark->offset <= place_of("true"));
    CHECK_INT(learned[mark->offset - 1], ',');
    CHECK_INT(mark->depth, 2);
    CHECK_INT(mark->is_object & 3, 2); /* an array that holds an object */
    /* Bytes that are not there yet are a difference too. */
    memcpy(text, learned, sizeof(learned));
    text[90] = '\0';
    CHECK_INT(match(text, &mark), 0);
    REQUIRE(mark != NULL);
    CHECK(mark->offset <= 90);
}

TEST(nothing_is_learned_from_what_is_too_long)
{
    static struct skim skim;
    static uint8_t text[SKIM_MAX + 64];
    memset(text, ' ', SKIM_MAX + 1);
    const struct skim_mark *mark;
    CHECK(pl_skim_wants(&skim));
    pl_skim_learn(&skim, text, SKIM_MAX + 1);
    CHECK_INT(pl_skim_match(&skim, text, text + SKIM_MAX + 1, &mark), 0);
    pl_skim_deinit(&skim);
}

TEST_MAIN()
