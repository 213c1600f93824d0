#include "schema/go_words.h"

#include "object/selector.h"
#include "support/test.h"

#include <string.h>

TEST(faults_of_json_have_gos_words)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"{\"a\":[1,2.5e3,true,null,\"x\\u00e4\"]} ", NULL},
        {"", "unexpected end of JSON input"},
        {"{\"a\"", "unexpected end of JSON input"},
        {"{a}", "invalid character 'a' looking for beginning of object key string"},
        {"{'a'}", "invalid character '\\'' looking for beginning of object key string"},
        {"{\"a\" 1}", "invalid character '1' after object key"},
        {"{\"a\":1 2}", "invalid character '2' after object key:value pair"},
        {"[1 2]", "invalid character '2' after array element"},
        {"[01]", "invalid character '1' after array element"},
        {"[1.x]", "invalid character 'x' after decimal point in numeric literal"},
        {"[-x]", "invalid character 'x' in numeric literal"},
        {"[1ex]", "invalid character 'x' in exponent of numeric literal"},
        {"[nul}", "invalid character '}' in literal null (expecting 'l')"},
        {"\"a\n\"", "invalid character '\\n' in string literal"},
        {"\"\\x\"", "invalid character 'x' in string escape code"},
        {"\"\\u12g4\"", "invalid character 'g' in \\u hexadecimal character escape"},
        {"{} {", "invalid character '{' after top-level value"},
        {"\x9e", "invalid character '\\u009e' looking for beginning of value"},
    };
    struct pl_arena arena = {0};
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        const char *why = pl_go_json_fault(&arena, pl_slice_z(cases[i].text));
        if (cases[i].why == NULL)
            CHECK(why == NULL);
        else
            CHECK_STR(why != NULL ? why : "", cases[i].why);
    }
    pl_arena_deinit(&arena);
}

TEST(deep_json_has_a_limit)
{
    struct pl_arena arena = {0};
    static char deep[200000];
    memset(deep, '[', sizeof(deep));
    CHECK_STR(pl_go_json_fault(&arena, pl_slice(deep, sizeof(deep))), "exceeded max depth");
    pl_arena_deinit(&arena);
}

TEST(faults_of_selectors_have_kubernetes_words)
{
    static const char *const cases[][2] = {
        {"==", "found '==', expected: !, identifier, or 'end of string'"},
        {"a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
        {"a=b c", "found 'c', expected: ',' or 'end of string'"},
        {"a,", "found '', expected: identifier after ','"},
        {"a in b", "unable to parse requirement: found 'b' expected: '('"},
        {"a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"},
        {"a>b", "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' "
                "operators, the value must be an integer"},
    };
    struct pl_arena arena = {0};
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_err err = {0};
        struct pl_slice text = pl_slice_z(cases[i][0]);
        CHECK(pl_selector_parse(text, &err) == NULL);
        CHECK_STR(pl_go_selector_fault(&arena, text, &err), cases[i][1]);
    }
    pl_arena_deinit(&arena);
}

TEST_MAIN()
