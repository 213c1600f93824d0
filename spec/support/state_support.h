/* A Lua state of the sandbox without lanes, and snippets run in it. */
#pragma once

#include "base/alloc.h"
#include "bind/bind.h"
#include "lua/lazy.h"
#include "lua/lval.h"
#include "lua/sandbox.h"
#include "support/test.h"
#include "value/scan.h"
#include "value/write.h"

#define MIB ((size_t)1 << 20)

/* seed: see pl_sandbox_options.rand_seed. */
static inline struct pl_state *new_seeded_state(struct pl_watchdog *dog, size_t memory,
                                                uint64_t seed)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_sandbox_options options = {.hooks = &pl_bind_state_hooks,
                                         .memory = memory,
                                         .dog = dog,
                                         .version = "test",
                                         .generation = 1,
                                         .rand_seed = seed};
    struct pl_state *s = pl_state_create(&options, &err);
    if (s == NULL)
        fprintf(stderr, "%s\n", err.message);
    REQUIRE(s != NULL);
    return s;
}

static inline struct pl_state *new_state(struct pl_watchdog *dog, size_t memory)
{
    return new_seeded_state(dog, memory, 0);
}

static inline struct pl_doc *doc_of(const char *json)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_doc *doc = pl_scan_text(pl_slice_z(json),
                                      &(struct pl_scan_options){.keep_managed_fields = true}, &err);
    if (doc == NULL)
        fprintf(stderr, "%s: %s\n", json, err.message);
    REQUIRE(doc != NULL);
    return doc;
}

/* Loads the code; 0, or the compiler's message in *fault. */
static inline int load_code(struct pl_state *s, const char *code, struct pl_fault *fault)
{
    if (luaL_loadbufferx(s->L, code, strlen(code), "@test.lua", "t") == 0)
        return 0;
    *fault = (struct pl_fault){.message = pl_strdup(lua_tostring(s->L, -1))};
    lua_pop(s->L, 1);
    return PL_ESCRIPT;
}

/* {"m0":{"n":0},"m1":{"n":1},...} with that many members. Owned. */
static inline char *wide_object(int members)
{
    struct pl_buf text = PL_BUF_INIT;
    for (int i = 0; i < members; i++)
        pl_buf_add_f(&text, "%s\"m%d\":{\"n\":%d}", i == 0 ? "{" : ",", i, i);
    pl_buf_add_z(&text, "}");
    return pl_buf_take(&text);
}

/* Runs code with the document (if any) as its argument; its one result stays on the stack. */
static inline int run_code(struct pl_state *s, const char *code, const char *json, int64_t cpu_ns,
                           struct pl_fault *fault)
{
    int failed = load_code(s, code, fault);
    if (failed)
        return failed;
    if (json != NULL) {
        struct pl_doc *doc = doc_of(json);
        pl_lazy_push(s->L, s, doc, PL_OBJECT_ROOT);
        pl_doc_unref(doc);
    }
    return pl_state_call(s, PL_PHASE_LOAD, cpu_ns, json != NULL, 1, fault);
}

/* The result's JSON, or "error: message". Owned. */
static inline char *result_of(struct pl_state *s, const char *code, const char *json)
{
    struct pl_fault fault;
    if (run_code(s, code, json, 0, &fault) != 0) {
        char *text = pl_format("error: %s", fault.message);
        pl_fault_deinit(&fault);
        return text;
    }
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_doc *doc = pl_lval_doc(s->L, s, -1, &err);
    lua_pop(s->L, 1);
    if (doc == NULL)
        return pl_format("error: %s", err.message);
    struct pl_buf out = PL_BUF_INIT;
    pl_write(&out, pl_doc_root(doc), PL_WRITE_SORTED);
    pl_doc_unref(doc);
    return pl_buf_take(&out);
}

#define CHECK_CODE(s, code, json, want)                                                            \
    do {                                                                                           \
        char *test_result = result_of((s), (code), (json));                                        \
        CHECK_STR(test_result, want);                                                              \
        pl_free(test_result);                                                                      \
    } while (0)

/* The error message of code that must fail contains this text. */
#define CHECK_FAILS(s, code, json, part)                                                           \
    do {                                                                                           \
        char *test_result = result_of((s), (code), (json));                                        \
        if (strncmp(test_result, "error: ", 7) != 0 || strstr(test_result, (part)) == NULL)        \
            TEST_FAIL("%s: got \"%s\", want an error with \"%s\"", code, test_result, part);       \
        pl_free(test_result);                                                                      \
    } while (0)
