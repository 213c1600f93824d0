/* A run and its coroutines: what scripts can do with them, and the limits of the whole run. */
#include "support/fake_control.h"

#define NONE ((struct pl_lanes_options){.count = 1})
#define SCRIPT(cases)                                                                              \
    "local perilune = require('perilune')\nlocal client = perilune.client\nlocal cases = "         \
    "{\n" cases "}\nperilune.controller('c'):For('v1/Pod')\n"                                      \
    ":Reconcile(function(request, context) return cases[request.name](request, context) end)\n"

/* Only the host knows what it waits for, and another run uses it when this one has ended. */
TEST(no_script_resumes_the_coroutine_of_a_run)
{
    begin(SCRIPT("a = function() rawset(_G, 'kept', coroutine.running())\n"
                 "    local ok, e = coroutine.resume(kept)\n"
                 "    error(tostring(ok) .. ' ' .. e, 0) end,\n"
                 "b = function() error(select(2, coroutine.resume(kept)), 0) end,\n"
                 "c = function() local me = coroutine.running()\n"
                 "    perilune.spawn(function() error(select(2, coroutine.resume(me)), 0) end)\n"
                 "    perilune.sleep(0.001) end,\n"
                 "e = function() coroutine.resume({}) end,\n"
                 "d = function() local co = coroutine.create(function() return 5 end)\n"
                 "    error(select(2, coroutine.resume(co)), 0) end,\n"),
          NONE);
    CHECK_RUN("default/a", PL_OUTCOME_ERROR, "false the coroutine of a run can't be resumed");
    CHECK_RUN("default/b", PL_OUTCOME_ERROR, "the coroutine of a run can't be resumed");
    CHECK_RUN("default/c", PL_OUTCOME_ERROR, "the coroutine of a run can't be resumed");
    CHECK_RUN("default/d", PL_OUTCOME_ERROR, "5");
    CHECK_RUN("default/e", PL_OUTCOME_ERROR, ".lua:11: bad argument #1 to 'resume'");
    finish();
}

/* Otherwise a run could use the whole limit for each task, while others wait for the lane. */
TEST(a_run_of_which_one_task_met_a_limit_is_over)
{
    begin("local perilune = require('perilune')\n"
          "local pod = {apiVersion = 'v1', kind = 'Pod', metadata = {name = 'p'}}\n"
          "local function work()\n"
          "  perilune.event(pod, 'Normal', 'Began', 'work')\n"
          "  while true do end end\n"
          "local cases = {\n"
          "  many = function() for i = 1, 50 do perilune.spawn(work) end end,\n"
          "  waiting = function() perilune.spawn(work) perilune.spawn(perilune.sleep, 3600)\n"
          "    perilune.sleep(3600) end,\n"
          "  joined = function() local t = perilune.spawn(work)\n"
          "    perilune.spawn(function() perilune.join(perilune.spawn(perilune.sleep, 3600)) end)\n"
          "    pcall(perilune.join, t) perilune.sleep(3600) end,\n"
          "}\n"
          "perilune.controller('c'):For('v1/Pod'):Reconcile(function(r) cases[r.name]() end)\n",
          (struct pl_lanes_options){.count = 1, .cpu_limit_ns = 50 * PL_MS});
    static const char *const keys[] = {"default/many", "default/waiting", "default/joined"};
    for (size_t i = 0; i < PL_ARRAY_LEN(keys); i++) {
        CHECK_RUN(keys[i], PL_OUTCOME_ERROR, ".lua:5: script CPU limit exceeded");
        CHECK_STR(pl_buf_z(&fake.reported), "c /p Normal Began: work;");
        pl_buf_clear(&fake.reported);
    }
    finish();
}

/* Each computes only a short time, but together they never end. */
TEST(tasks_that_make_tasks_have_one_limit_together)
{
    begin(SCRIPT("fork = function()\n"
                 "    local function f() pcall(perilune.spawn, f) pcall(perilune.spawn, f) end\n"
                 "    f() end,\n"
                 "some = function()\n"
                 "    for i = 1, 200 do perilune.join(perilune.spawn(function()\n"
                 "      for i = 1, 1e4 do end perilune.sleep(0) end)) end end,\n"),
          ((struct pl_lanes_options){.count = 1, .cpu_limit_ns = 100 * PL_MS}));
    CHECK_RUN("default/fork", PL_OUTCOME_ERROR,
              "script CPU limit exceeded (0.1 s without waiting, by all its tasks)");
    CHECK_RUN("default/some", PL_OUTCOME_DONE, "");
    finish();
}

/* When the value is certainly too large, the rest is not read. */
TEST(a_memo_that_is_far_too_large_is_not_encoded)
{
    begin(SCRIPT("small = function(r) local t = perilune.memo(r)\n"
                 "    for i = 1, 32000 do t[i] = 1 end end,\n"
                 "large = function(r) local t = perilune.memo(r)\n"
                 "    for i = 1, 7000 do t[i] = 'eight888' end end,\n"
                 "many = function(r) local t = perilune.memo(r)\n"
                 "    for i = 1, 1e6 do t[i] = 1 end end,\n"
                 "text = function(r) perilune.memo(r).text = ('x'):rep(2^20) end,\n"),
          NONE);
    CHECK_RUN("default/small", PL_OUTCOME_DONE, "");
    CHECK_RUN("default/large", PL_OUTCOME_ERROR,
              "memo: it has 77001 bytes as JSON, more than 65536");
    CHECK_RUN("default/many", PL_OUTCOME_ERROR, "memo: it has more than 65536 bytes as JSON");
    CHECK_RUN("default/text", PL_OUTCOME_ERROR, "memo: it has more than 65536 bytes as JSON");
    finish();
}

TEST(all_who_join_a_task_get_what_it_returned)
{
    begin(
        SCRIPT(
            "many = function()\n"
            "    local one = perilune.spawn(function() perilune.sleep(0.001) return 7, nil end)\n"
            "    local sum, all = 0, {}\n"
            "    for i = 1, 100 do all[i] = perilune.spawn(function()\n"
            "      local got = perilune.join(one) sum = sum + i * got end) end\n"
            "    for i = 100, 1, -1 do perilune.join(all[i]) end\n"
            "    error('sum ' .. sum .. ' ' .. select('#', perilune.join(one)), 0) end,\n"
            "failed = function()\n"
            "    local one = perilune.spawn(function() perilune.sleep(0.001) error('no', 0) end)\n"
            "    local heard = {}\n"
            "    for i = 1, 3 do heard[i] = perilune.spawn(function()\n"
            "      return select(2, pcall(perilune.join, one)) end) end\n"
            "    for i = 1, 3 do heard[i] = perilune.join(heard[i]) end\n"
            "    error(table.concat(heard, ' '), 0) end,\n"),
        NONE);
    CHECK_RUN("default/many", PL_OUTCOME_ERROR, "sum 35350 2");
    CHECK_RUN("default/failed", PL_OUTCOME_ERROR, "no no no");
    finish();
}

TEST(a_run_that_was_cancelled_spawns_nothing)
{
    begin(SCRIPT("a = function() pcall(perilune.sleep, 3600)\n"
                 "    error(select(2, pcall(perilune.spawn, print)), 0) end,\n"),
          NONE);
    struct fake_run *r = start_run("default/a");
    for (int i = 0; i < 20; i++)
        pl_loop_turn(fake.loop, 1);
    struct pl_err why = {.code = PL_ETIMEOUT, .message = "over reconcile_timeout (1s)"};
    pl_lanes_ops()->cancel(fake.lanes, &r->run, &why);
    TURN_UNTIL(fake.loop, r->outcome >= 0);
    CHECK_INT(r->outcome, PL_OUTCOME_TIMEOUT);
    CHECK(strstr(r->message, "over reconcile_timeout") != NULL);
    free_run(r);
    finish();
}

TEST(a_run_that_follows_begins_when_the_other_has_ended_on_whatever_lane)
{
    begin(SCRIPT("a = function() end,\n"), ((struct pl_lanes_options){.count = 3}));
    struct fake_run *runs[100];
    const struct pl_reconciler_ops *ops = pl_lanes_ops();
    for (int i = 0; i < 100; i++) {
        char key[32];
        snprintf(key, sizeof key, "ns%d/a", i);
        runs[i] = make_run(key);
    }
    ops->start(fake.lanes, &runs[0]->run);
    for (int i = 1; i < 100; i++) {
        if (ops->follow(fake.lanes, &runs[i - 1]->run, &runs[i]->run)) {
            runs[i - 1]->next = runs[i];
            continue;
        }
        TURN_UNTIL(fake.loop, runs[i - 1]->outcome >= 0);
        ops->start(fake.lanes, &runs[i]->run);
    }
    for (int i = 0; i < 100; i++)
        TURN_UNTIL(fake.loop, runs[i]->outcome >= 0);
    for (int i = 0; i < 100; i++) {
        CHECK_INT(runs[i]->outcome, PL_OUTCOME_DONE);
        CHECK(!runs[i]->waited);
        free_run(runs[i]);
    }
    finish();
}

TEST(a_run_that_is_taken_back_in_time_never_begins_and_one_that_waits_says_so)
{
    begin(SCRIPT("waits = function() perilune.sleep(0.01) end,\n"
                 "not_me = function() error('it has begun', 0) end,\n"),
          NONE);
    const struct pl_reconciler_ops *ops = pl_lanes_ops();
    struct fake_run *first = start_run("default/waits"), *next = make_run("default/not_me");
    CHECK(ops->follow(fake.lanes, &first->run, &next->run));
    TURN_UNTIL(fake.loop, first->waited);
    CHECK(ops->unfollow(fake.lanes, &first->run, &next->run));
    TURN_UNTIL(fake.loop, first->outcome >= 0);
    CHECK_RUN("default/waits", PL_OUTCOME_DONE, "");
    CHECK_INT(next->outcome, -1);
    free_run(first);
    free_run(next);
    finish();
}

TEST_MAIN()
