/* A slice that nothing can interrupt costs its lane, not the host. The thread that is given up
 * goes on until the process ends, hence a program of its own. */
#include "fake_control.h"

#define BOMB "(('a'):rep(60)):find(('a*'):rep(30) .. 'b')"

TEST(a_lane_that_cannot_be_ended_is_replaced)
{
    begin("local perilune = require('perilune')\n"
          "perilune.controller('c'):For('v1/Pod')\n"
          ":Watches('v1/Secret', function(o) return 'x' end)\n"
          ":Reconcile(function(r)\n"
          "  if r.name == 'stuck' then " BOMB " end\n"
          "  if r.name == 'parked' then perilune.sleep(3600) end end)\n",
          (struct pl_lanes_options){.count = 1, .cpu_limit_ns = 50 * PL_MS});
    struct fake_run *parked = start_run("default/parked");
    for (int i = 0; i < 20; i++)
        pl_loop_turn(fake.loop, 1);
    struct fake_run *stuck = start_run("default/stuck");
    TURN_UNTIL(fake.loop, stuck->outcome >= 0);
    CHECK_INT(stuck->outcome, PL_OUTCOME_ERROR);
    CHECK(strstr(stuck->message, "could not be interrupted") != NULL);
    TURN_UNTIL(fake.loop, parked->outcome >= 0);
    CHECK_INT(parked->outcome, PL_OUTCOME_ERROR);
    CHECK_INT(pl_lanes_stuck(fake.lanes), 1);
    CHECK_RUN("default/fine", PL_OUTCOME_DONE, "");
    free_run(stuck);
    free_run(parked);
    finish();
}

TEST(a_main_chunk_that_cannot_be_ended_fails_the_loading)
{
    struct pl_err err;
    struct pl_lanes_options options = {.count = 1, .load_limit_ns = (uint64_t)(50 * PL_MS)};
    CHECK(load_script(BOMB, options, &err) != 0);
    CHECK(strstr(err.message, "can't be interrupted") != NULL);
    finish();
}

TEST(the_host_stops_although_a_lane_does_not)
{
    begin("local perilune = require('perilune')\n"
          "perilune.controller('c'):For('v1/Pod'):Reconcile(function(r) " BOMB " end)\n",
          (struct pl_lanes_options){.count = 1, .cpu_limit_ns = 50 * PL_MS});
    struct fake_run *stuck = start_run("default/stuck");
    finish();
    CHECK_INT(stuck->outcome, -1);
    free_run(stuck);
}

TEST_MAIN()
