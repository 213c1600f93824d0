/* The functions of perilune.host with arguments of every type; arguments.lua calls them. */
#include "support/fake_control.h"

#include "base/log.h"
#include "base/metrics.h"
#include "lua/sandbox.h"

#include <fcntl.h>

#ifdef __SANITIZE_THREAD__
#define STEP "5"
#else
#define STEP "1"
#endif
#define LOAD "local sweep = assert(loadfile('" PL_ARGUMENTS_LUA "'))(" STEP ")\n"
#define LANES                                                                                      \
    ((struct pl_lanes_options){.count = 1,                                                         \
                               .unsafe_stdlib = true,                                              \
                               .load_limit_ns = (uint64_t)(60 * PL_SECOND),                        \
                               .cpu_limit_ns = 300 * PL_SECOND})

/* Their log lines are not tested. */
static void log_to_nowhere(void)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    pl_log_configure(PL_LOG_DEBUG, true, fd);
}

TEST(functions_take_any_arguments_while_scripts_are_loaded)
{
    log_to_nowhere();
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_metrics *metrics = pl_metrics_create();
    struct pl_state *s = pl_state_create(&(struct pl_sandbox_options){.hooks = &pl_bind_state_hooks,
                                                                      .memory = (size_t)512 << 20,
                                                                      .unsafe = true,
                                                                      .metrics = metrics,
                                                                      .generation = 1},
                                         &err);
    REQUIRE(s != NULL);
    struct pl_fault fault;
    REQUIRE(luaL_loadstring(s->L, LOAD "sweep()") == 0);
    CHECK(pl_state_call(s, PL_PHASE_LOAD, 0, 0, 0, &fault) != 0);
    CHECK_STR(fault.message, "fine");
    pl_fault_deinit(&fault);
    pl_state_destroy(s);
    pl_metrics_destroy(metrics);
}

/* The run is cancelled, so requests are built and discarded. */
TEST(functions_take_any_arguments_in_a_run)
{
    log_to_nowhere();
    begin(LOAD "local perilune = require('perilune')\n"
               "perilune.controller('c'):For('v1/Pod'):Reconcile(function()\n"
               "  pcall(perilune.sleep, 3600) sweep() end)\n",
          LANES);
    put_object(0, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","
                  "\"namespace\":\"d\"}}");
    struct fake_run *r = start_run("d/p");
    struct pl_err why = {.code = PL_ETIMEOUT, .message = "cancelled"};
    pl_loop_turn(fake.loop, 0);
    pl_lanes_ops()->cancel(fake.lanes, &r->run, &why);
    TURN_UNTIL(fake.loop, r->outcome >= 0);
    CHECK_STR(r->message, "fine");
    CHECK_INT(fake.call_count, 0);
    free_run(r);
    finish();
}

/* For calls that a cancelled run would not reach. */
TEST(tasks_are_spawned_with_any_arguments)
{
    log_to_nowhere();
    begin(LOAD "local perilune = require('perilune')\n"
               "local cases = {spawn = function() sweep('spawn') end,\n"
               "  many = function() perilune.spawn(print, unpack({}, 1, 251)) end,\n"
               "  full = function() local f = loadstring('local f, t = ... return f(print' ..\n"
               "    (', 1'):rep(200) .. ', unpack(t, 1, 7990))') f(perilune.spawn, {}) end}\n"
               "perilune.controller('c'):For('v1/Pod')\n"
               "  :Reconcile(function(request) cases[request.name]() end)\n",
          LANES);
    struct fake_run *r = run_key("d/spawn");
    CHECK_STR(r->message, "fine");
    free_run(r);
    CHECK_RUN("d/many", PL_OUTCOME_ERROR, "spawn: at most 250 arguments");
    CHECK_RUN("d/full", PL_OUTCOME_ERROR, "spawn: at most 250 arguments");
    finish();
}

TEST(functions_take_any_arguments_where_an_event_is_mapped)
{
    log_to_nowhere();
    begin(LOAD "require('perilune').controller('c')\n"
               "  :Watches('v1/Pod', function() sweep() end):Reconcile(function() end)\n",
          LANES);
    struct pl_source_spec *spec = &fake.controllers[0].spec.sources[0];
    struct pl_question question = {.source = spec,
                                   .external = spec->external,
                                   .event = {.type = PL_EVENT_CREATE},
                                   .ask_map = true,
                                   .kind = "v1/Pod"};
    question.event.object = pl_scan_text(pl_slice_z("{\"metadata\":{\"name\":\"p\"}}"),
                                         &(struct pl_scan_options){.max_depth = 0}, NULL);
    pl_lanes_ops()->ask(fake.lanes, &question);
    TURN_UNTIL(fake.loop, fake.questions_done > 0);
    CHECK_STR(pl_buf_z(&fake.answers), "map failed: fine;");
    pl_doc_unref(question.event.object);
    finish();
}

TEST_MAIN()
