#include "valid/check.h"

#include "object/tree.h"
#include "support/json.h"
#include "support/test.h"

#define SPEC PL_MEMBER(NULL, "spec")

/* The only fault that a check finds in a value, or "". */
static const char *fault_of(struct pl_arena *arena, pl_check *check, const char *value,
                            const char *arg)
{
    struct pl_api_faults faults = {.arena = arena};
    struct pl_tree *tree = *value != '\0' ? pl_tree_literal(arena, value) : NULL;
    check(&faults, SPEC, tree, arg);
    if (faults.causes == NULL)
        return "";
    return pl_arena_copy(arena, pl_tree_text_at(pl_tree_at(faults.causes, 0), "message")).ptr;
}

TEST(single_values_are_refused_in_kubernetes_words)
{
    static const struct {
        pl_check *check;
        const char *value, *arg, *begins;
    } cases[] = {
        {pl_need, "", NULL, "Required value"},
        {pl_need, "[]", "a reason", "Required value: a reason"},
        {pl_need, "0", NULL, ""},
        {pl_one_of, "\"\"", "A,B", ""},
        {pl_one_of, "\"C\"", "A,B", "Unsupported value: \"C\": supported values: \"A\", \"B\""},
        {pl_must_be, "", "A", "Unsupported value: \"\": supported values: \"A\""},
        {pl_if_set, "", "A", ""},
        {pl_range, "65536", "1-65535",
         "Invalid value: 65536: must be between 1 and 65535, inclusive"},
        {pl_natural, "-1", NULL, "Invalid value: -1: must be greater than or equal to 0"},
        {pl_label, "\"a.b\"", NULL, "Invalid value: \"a.b\": must not contain dots"},
        {pl_subdomain, "\"a.b\"", NULL, ""},
        {pl_subdomain, "\"\"", NULL, ""},
        {pl_subdomain, "\"\"", "always", "Invalid value: \"\": a lowercase RFC 1123 subdomain"},
        {pl_qualified, "\"a/b/c\"", NULL, "Invalid value: \"a/b/c\": a valid label key"},
        {pl_qualified, "\"/b\"", NULL, "Invalid value: \"/b\": prefix part must be non-empty"},
        {pl_port, "\"http\"", NULL, ""},
        {pl_port, "\"80\"", NULL, "Invalid value: \"80\": must contain at least one letter (a-z)"},
        {pl_port, "0", NULL, "Invalid value: 0: must be between 1 and 65535, inclusive"},
        {pl_config_key, "\"..a\"", NULL, "Invalid value: \"..a\": must not start with '..'"},
        {pl_ip, "\"::1\"", NULL, ""},
        {pl_ip, "\"1.2.3\"", NULL, "Invalid value: \"1.2.3\": must be a valid IP address"},
        {pl_cidr, "\"10.0.0.0/33\"", NULL, "Invalid value: \"10.0.0.0/33\": must be a valid CIDR"},
        {pl_cidr, "\"fd00::/64\"", NULL, ""},
        {pl_percent, "\"10\"", NULL, "Invalid value: \"10\": a valid percent string"},
        {pl_percent, "\"10%\"", NULL, ""},
        {pl_unique, "[1,2,1]", NULL, "Duplicate value: 1"},
        {pl_unique, "[\"a\",\"\",\"b\",\"\"]", "", ""},
        {pl_unique, "[\"a\",\"b\",\"a\"]", NULL, "Duplicate value: \"a\""},
        {pl_unique, "[{\"name\":\"a\"},{\"key\":\"a\"},{\"name\":1}]", "name", ""},
        {pl_unique, "[{\"name\":\"a\"},{\"name\":\"a\"}]", "name", "Duplicate value: \"a\""},
        {pl_natural_all, "{\"cpu\":\"-1\"}", NULL, "Invalid value: \"-1\": must be greater"},
        {pl_selector, "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\"}]}", NULL,
         "Required value: must be specified when `operator` is 'In' or 'NotIn'"},
        {pl_labels, "{\"a b\":\"c\"}", NULL, "Invalid value: \"a b\": name part must consist"},
    };
    struct pl_arena arena = {0};
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        const char *is = fault_of(&arena, cases[i].check, cases[i].value, cases[i].arg);
        size_t len = strlen(cases[i].begins);
        if (strncmp(is, cases[i].begins, len) != 0 || (len == 0 && *is != '\0'))
            TEST_FAIL("%zu: got %s, want %s", i, is, cases[i].begins);
    }
    pl_arena_deinit(&arena);
}

TEST(tables_say_where_a_fault_is)
{
    static const struct pl_rule rules[] = {{"a[].b", pl_need, NULL},
                                           {"map.*", pl_label, NULL},
                                           {"none.below", pl_need, NULL},
                                           {NULL, NULL, NULL}};
    struct pl_arena arena = {0};
    struct pl_api_faults faults = {.arena = &arena};
    pl_hold(&faults, SPEC,
            pl_tree_literal(&arena, "{\"a\":[{\"b\":\"x\"},{}],\"map\":{\"k\":\"A\"}}"), rules);
    CHECK_INT(faults.causes->count, 2);
    CHECK_SLICE(pl_tree_text_at(pl_tree_at(faults.causes, 0), "field"), "spec.a[1].b");
    CHECK_SLICE(pl_tree_text_at(pl_tree_at(faults.causes, 1), "field"), "spec.map[k]");
    pl_arena_deinit(&arena);
}

TEST_MAIN()
