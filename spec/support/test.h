/* The harness of unit tests: TEST(name) registers itself; checks print both values and are never
 * compiled out; main runs all tests or those that are named.
 *
 *     #include "support/test.h"
 *     TEST(take_skips_key_in_progress) { CHECK_INT(taken(), 3); }
 *     TEST_MAIN() */
#pragma once

#include "base/slice.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test {
    const char *name;
    void (*run)(void);
    struct test *next;
};

static struct test *test_first, **test_last = &test_first;
static int test_failures;

static inline void test_register(struct test *test)
{
    *test_last = test;
    test_last = &test->next;
}

#define TEST(id)                                                                                   \
    static void test_##id(void);                                                                   \
    __attribute__((constructor)) static void test_register_##id(void)                              \
    {                                                                                              \
        static struct test self = {#id, test_##id, NULL};                                          \
        test_register(&self);                                                                      \
    }                                                                                              \
    static void test_##id(void)

#define TEST_FAIL(...)                                                                             \
    do {                                                                                           \
        test_failures++;                                                                           \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                            \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fputc('\n', stderr);                                                                       \
    } while (0)

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond))                                                                               \
            TEST_FAIL("not true: %s", #cond);                                                      \
    } while (0)

/* Like CHECK, but a failure ends the process, because the rest would make no sense. */
#define REQUIRE(cond)                                                                              \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            TEST_FAIL("not true: %s", #cond);                                                      \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define CHECK_INT(got, want)                                                                       \
    do {                                                                                           \
        int64_t test_got = (int64_t)(got), test_want = (int64_t)(want);                            \
        if (test_got != test_want)                                                                 \
            TEST_FAIL("%s: got %" PRId64 ", want %" PRId64, #got, test_got, test_want);            \
    } while (0)

#define CHECK_SLICE(got, want)                                                                     \
    do {                                                                                           \
        struct pl_slice test_got = (got);                                                          \
        const char *test_want = (want);                                                            \
        if (!pl_slice_eqz(test_got, test_want))                                                    \
            TEST_FAIL("%s: got \"%.*s\", want \"%s\"", #got, PL_FMT(test_got), test_want);         \
    } while (0)

#define CHECK_STR(got, want) CHECK_SLICE(pl_slice_z(got), want)

static inline int test_run_all(int argc, char **argv)
{
    int run = 0;
    for (struct test *t = test_first; t != NULL; t = t->next) {
        bool wanted = argc < 2;
        for (int i = 1; i < argc; i++)
            wanted = wanted || strcmp(argv[i], t->name) == 0;
        if (!wanted)
            continue;
        int before = test_failures;
        t->run();
        run++;
        if (test_failures != before)
            fprintf(stderr, "FAILED %s\n", t->name);
    }
    if (run == 0) {
        fprintf(stderr, "no test of that name\n");
        return 2;
    }
    printf("%d tests, %d failed checks\n", run, test_failures);
    return test_failures != 0;
}

#define TEST_MAIN()                                                                                \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return test_run_all(argc, argv);                                                           \
    }
