/* A slice that nothing can interrupt costs its lane, not the host. An abandoned thread computes
 * until its process ends, so each test runs in a separate process. */
#include "support/fake_control.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOMB "(('a'):rep(60)):find(('a*'):rep(30) .. 'b')"
/* The same, but it ends. The lane is abandoned after 0.7 s; this computes for 4 s, so it still runs
 * then on a machine that is five times as fast. */
#define SLOW_BOMB "(('a'):rep(150)):find(('a*'):rep(4) .. 'b')"

static size_t resident(void)
{
    size_t whole = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file != NULL && fscanf(file, "%zu %zu", &whole, &pages) == 2);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

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
    CHECK_INT(stuck->outcome, PL_OUTCOME_TERMINAL);
    CHECK(stuck->barred);
    CHECK(strstr(stuck->message, "could not be interrupted") != NULL);
    TURN_UNTIL(fake.loop, parked->outcome >= 0);
    CHECK_INT(parked->outcome, PL_OUTCOME_ERROR); /* retried, because it has done nothing */
    CHECK(!parked->barred);
    CHECK(strstr(parked->message, "another run") != NULL);
    CHECK_INT(pl_lanes_stuck(fake.lanes), 1);
    CHECK_RUN("default/fine", PL_OUTCOME_DONE, "");
    free_run(stuck);
    free_run(parked);
    finish();
}

TEST(a_lane_that_ends_after_all_gives_its_memory_back)
{
    begin("local perilune = require('perilune')\n"
          "local held = {}\n"
          "perilune.controller('c'):For('v1/Pod')\n"
          ":Watches('v1/Secret', function(o) return 'x' end)\n"
          ":Reconcile(function(r)\n"
          "  if r.name == 'parked' then\n"
          "    perilune.spawn(perilune.sleep, 3600)\n"
          "    perilune.live:get('v1/Pod', r) end\n"
          "  if r.name == 'hold' then held[#held + 1] = ('x' .. #held):rep(2^11):rep(2^11) end\n"
          "  if r.name == 'slow' then " SLOW_BOMB " end end)\n",
          (struct pl_lanes_options){
              .count = 1, .cpu_limit_ns = 500 * PL_MS, .memory_limit = (size_t)1 << 30});
    struct fake_run *parked = start_run("default/parked");
    struct fake_call *call = next_call();
    size_t before = resident();
    for (int i = 0; i < 8;
         i++) /* 8 MiB each: new pages cost time, and the limit is that of the run */
        CHECK_RUN("default/hold", PL_OUTCOME_DONE, "");
    struct fake_run *slow = start_run("default/slow");
    struct fake_run *after =
        start_run("default/after"); /* its lane is abandoned before it begins */
    TURN_UNTIL(fake.loop, slow->outcome >= 0 && parked->outcome >= 0 && after->outcome >= 0);
    CHECK_INT(pl_lanes_stuck(fake.lanes), 1);
    size_t most = resident();
    CHECK(most > before + ((size_t)60 << 20));
    CHECK_RUN("default/fine", PL_OUTCOME_DONE, "");
    /* Requests under way are waited for. Sanitizers keep some memory beside what the lane had. */
    TURN_UNTIL(fake.loop, resident() + ((size_t)40 << 20) < most);
    for (int i = 0; i < 20; i++)
        pl_loop_turn(fake.loop, 1);
    CHECK_INT(pl_lanes_stuck(fake.lanes), 1);
    CHECK(call->canceled);
    struct pl_err err;
    pl_err_clear(&err);
    pl_err_set(&err, PL_ECANCELED, "canceled");
    answer(call, NULL, &err);
    TURN_UNTIL(fake.loop, pl_lanes_stuck(fake.lanes) == 0);
    CHECK_RUN("default/fine", PL_OUTCOME_DONE, "");
    free_run(parked);
    free_run(slow);
    free_run(after);
    finish();
}

/* Otherwise the retries of one key would block one lane after the other, and the fifth would end
 * the process. */
TEST(a_key_that_cost_a_lane_is_not_run_again_on_the_same_code)
{
    begin("local perilune = require('perilune')\n"
          "perilune.controller('c'):For('v1/Pod'):Reconcile(function(r)\n"
          "  if r.name == 'stuck' then " BOMB " end end)\n",
          (struct pl_lanes_options){.count = 1, .cpu_limit_ns = 50 * PL_MS});
    CHECK_RUN("default/stuck", PL_OUTCOME_TERMINAL, "could not be interrupted");
    for (int i = 0; i < 8; i++) {
        struct fake_run *again = run_key("default/stuck");
        CHECK_INT(again->outcome, PL_OUTCOME_TERMINAL);
        CHECK(again->barred);
        CHECK(strstr(again->message, "not run: the script could not be interrupted") != NULL);
        free_run(again);
    }
    CHECK_RUN("other/stuck-not", PL_OUTCOME_DONE, "");
    CHECK_INT(pl_lanes_stuck(fake.lanes), 1);
    finish();
}

TEST(a_refused_run_that_is_cancelled_ends_once)
{
    begin("local perilune = require('perilune')\n"
          "perilune.controller('c'):For('v1/Pod'):Reconcile(function(r)\n"
          "  if r.name == 'stuck' then " BOMB " end end)\n",
          (struct pl_lanes_options){.count = 1, .cpu_limit_ns = 50 * PL_MS});
    CHECK_RUN("default/stuck", PL_OUTCOME_TERMINAL, "could not be interrupted");
    struct fake_run *again = start_run("default/stuck");
    struct pl_err why = {.code = PL_ECANCELED, .message = "the host is stopping"};
    CHECK_INT(again->outcome, -1);
    pl_lanes_ops()->cancel(fake.lanes, &again->run, &why);
    TURN_UNTIL(fake.loop, again->outcome >= 0);
    CHECK_RUN("default/fine", PL_OUTCOME_DONE, "");
    CHECK_INT(again->outcome, PL_OUTCOME_TERMINAL);
    free_run(again);
    finish();
}

/* A candidate must never end the host, whatever its keys do. */
TEST(a_shadow_costs_one_lane_at_most)
{
    begin("local perilune = require('perilune')\n"
          "perilune.controller('c'):For('v1/Pod'):Reconcile(function(r)\n"
          "  if r.name ~= 'fine' then " BOMB " end end)\n",
          (struct pl_lanes_options){.count = 1, .cpu_limit_ns = 50 * PL_MS, .shadow = true});
    CHECK_RUN("default/fine", PL_OUTCOME_DONE, "");
    CHECK_RUN("default/a", PL_OUTCOME_TERMINAL, "could not be interrupted");
    CHECK_RUN("default/b", PL_OUTCOME_TERMINAL, "not run");
    CHECK_RUN("default/c", PL_OUTCOME_TERMINAL, "not run");
    CHECK_INT(pl_lanes_stuck(fake.lanes), 1);
    finish();
}

/* ---- questions ---- */

static void ask(struct pl_question *question, const struct pl_source_spec *source, const char *json)
{
    struct pl_err err;
    size_t before = fake.questions_done;
    pl_err_clear(&err);
    *question = (struct pl_question){.source = source,
                                     .external = source->external,
                                     .event = {.type = PL_EVENT_CREATE},
                                     .ask_predicates = source->predicate != NULL,
                                     .ask_map = source->map_by == PL_MAP_EXTERNAL,
                                     .kind = "v1/Secret"};
    question->event.object =
        pl_scan_text(pl_slice_z(json), &(struct pl_scan_options){.max_depth = 0}, &err);
    REQUIRE(question->event.object != NULL);
    pl_lanes_ops()->ask(fake.lanes, question);
    CHECK_INT(fake.questions_done, before); /* never from inside ask */
    TURN_UNTIL(fake.loop, fake.questions_done > before);
    pl_doc_unref(question->event.object);
}

#define SECRET(name)                                                                               \
    "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"" name                    \
    "\",\"namespace\":\"default\"}}"

TEST(an_object_at_which_a_map_function_cost_a_lane_is_not_mapped_again)
{
    begin("local perilune = require('perilune')\n"
          "perilune.controller('c'):For('v1/Pod')\n"
          ":Watches('v1/Secret', function(o) if o.metadata.name == 'stuck' then " BOMB " end\n"
          "  return 'x/y' end)\n"
          ":Reconcile(function() end)\n",
          (struct pl_lanes_options){.count = 1, .cpu_limit_ns = 50 * PL_MS});
    const struct pl_source_spec *source = &fake.controllers[0].spec.sources[1];
    struct pl_question question;
    ask(&question, source, SECRET("stuck"));
    CHECK(strstr(pl_buf_z(&fake.answers), "map failed: the script could not be inter") != NULL);
    pl_buf_clear(&fake.answers);
    for (int i = 0; i < 3; i++) {
        ask(&question, source, SECRET("stuck"));
        CHECK(strstr(pl_buf_z(&fake.answers), "map failed: not called: the script") != NULL);
        pl_buf_clear(&fake.answers);
    }
    ask(&question, source, SECRET("fine"));
    CHECK_STR(pl_buf_z(&fake.answers), "request x/y;");
    CHECK_INT(pl_lanes_stuck(fake.lanes), 1);
    finish();
}

TEST(an_object_at_which_a_predicate_cost_a_lane_passes_unasked)
{
    begin("local perilune = require('perilune')\n"
          "perilune.controller('c'):For('v1/Secret', {predicates = {function(e)\n"
          "  if e.object.metadata.name == 'stuck' then " BOMB " end return false end}})\n"
          ":Reconcile(function() end)\n",
          (struct pl_lanes_options){.count = 1, .cpu_limit_ns = 50 * PL_MS});
    const struct pl_source_spec *source = &fake.controllers[0].spec.sources[0];
    struct pl_question question;
    for (int i = 0; i < 3; i++) {
        ask(&question, source, SECRET("stuck"));
        CHECK_STR(pl_buf_z(&fake.answers), ""); /* no verdict: it passes */
    }
    ask(&question, source, SECRET("fine"));
    CHECK_STR(pl_buf_z(&fake.answers), "leaf 0 drops;");
    CHECK_INT(pl_lanes_stuck(fake.lanes), 1);
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

static bool has_ended(struct pl_lanes *lanes)
{
    struct pl_link *link = pl_list_first(&lanes->abandoned);
    pthread_mutex_lock(&lanes->end_lock);
    bool ended = PL_CONTAINER_OF(link, struct pl_lane, io.link)->s == NULL;
    pthread_mutex_unlock(&lanes->end_lock);
    return ended;
}

/* Its last message is still in the box of the I/O thread. Sanitizers report what is not joined or
 * freed. */
TEST(a_lane_that_has_ended_after_all_when_the_host_stops_is_freed)
{
    begin("local perilune = require('perilune')\n"
          "perilune.controller('c'):For('v1/Pod'):Reconcile(function(r) " SLOW_BOMB " end)\n",
          (struct pl_lanes_options){.count = 1, .cpu_limit_ns = 50 * PL_MS});
    struct fake_run *slow = start_run("default/slow");
    TURN_UNTIL(fake.loop, slow->outcome >= 0);
    while (!has_ended(fake.lanes))
        usleep(1000);
    finish();
    free_run(slow);
}

/* Whether a thread of a lane computes. */
static bool lane_computes(void)
{
    DIR *tasks = opendir("/proc/self/task");
    REQUIRE(tasks != NULL);
    bool found = false;
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char path[300], name[32] = "", state = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL)
            continue;
        if (fscanf(file, "%*d (%31[^)]) %c", name, &state) == 2)
            found = found || (strncmp(name, "lane-", 5) == 0 && state == 'R');
        fclose(file);
    }
    closedir(tasks);
    return found;
}

/* Nobody joins its thread or frees what it has: sanitizers report that of a thread that is gone. */
TEST(a_lane_that_ends_after_the_host_has_stopped_waits_for_the_end_of_the_process)
{
    begin("local perilune = require('perilune')\n"
          "perilune.controller('c'):For('v1/Pod'):Reconcile(function(r) " SLOW_BOMB " end)\n",
          (struct pl_lanes_options){.count = 1, .cpu_limit_ns = 50 * PL_MS});
    struct fake_run *slow = start_run("default/slow");
    TURN_UNTIL(fake.loop, slow->outcome >= 0);
    CHECK(!has_ended(fake.lanes));
    finish();
    for (int idle = 0; idle < 20; idle = lane_computes() ? 0 : idle + 1)
        usleep(10000);
    free_run(slow);
}

static int run_in_own_process(char *program, const char *name)
{
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", program, name, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc > 1)
        return test_run_all(argc, argv);
    for (struct test *test = test_first; test != NULL; test = test->next)
        failed += run_in_own_process(argv[0], test->name);
    return failed != 0;
}
