/* Runs on lanes: outcomes, waiting, tasks, cancelling, questions, limits. */
#include "support/fake_control.h"

#include "lane/lane.h"
#include "lane/memo.h"

#define NONE ((struct pl_lanes_options){.count = 1})

/* A controller whose Reconcile is cases[request.name](request, context). */
#define SCRIPT(cases)                                                                              \
    "local perilune = require('perilune')\nlocal client = perilune.client\nlocal cases = "         \
    "{\n" cases "}\nperilune.controller('c'):For('v1/Pod')\n"                                      \
    ":Reconcile(function(request, context) return cases[request.name](request, context) end)\n"

TEST(what_a_reconcile_returns_is_its_outcome)
{
    begin(SCRIPT("done = function() end, empty = function() return {} end,\n"
                 "after = function() return {requeue_after = '1m30s'} end,\n"
                 "soon = function() return {requeue_after = 0} end,\n"
                 "again = function() return {requeue = true} end,\n"
                 "odd = function() return 5 end,\n"
                 "typo = function() return {requeue_afterr = 1} end,\n"
                 "raises = function() error('no') end,\n"
                 "returns = function() return nil, 'why' end,\n"
                 "terminal = function() error(perilune.terminal('never')) end,\n"),
          NONE);
    CHECK_RUN("default/done", PL_OUTCOME_DONE, "");
    CHECK_RUN("default/empty", PL_OUTCOME_DONE, "");
    struct fake_run *after = run_key("default/after");
    CHECK_INT(after->outcome, PL_OUTCOME_REQUEUE_AFTER);
    CHECK_INT(after->after_ns, 90 * PL_SECOND);
    free_run(after);
    CHECK_RUN("default/soon", PL_OUTCOME_REQUEUE, "");
    CHECK_RUN("default/again", PL_OUTCOME_REQUEUE, "");
    CHECK_RUN("default/odd", PL_OUTCOME_ERROR, "returned the number 5");
    CHECK_RUN("default/typo", PL_OUTCOME_ERROR, "requeue_after");
    CHECK_RUN("default/raises", PL_OUTCOME_ERROR, ".lua:10: no");
    CHECK_RUN("default/returns", PL_OUTCOME_ERROR, "why");
    CHECK_RUN("default/terminal", PL_OUTCOME_TERMINAL, "never");
    finish();
}

TEST(an_error_comes_with_its_line_and_the_scripts_frames)
{
    begin(SCRIPT("a = function()\n    local function deep() error('no') end\n    deep() end,\n"),
          NONE);
    struct fake_run *r = run_key("default/a");
    CHECK(r->traceback != NULL);
    CHECK(strstr(r->traceback, "\n    local function deep() error('no') end\n") != NULL);
    CHECK(strstr(r->traceback, "in function 'deep'") != NULL);
    CHECK(strstr(r->traceback, "perilune:") == NULL);
    free_run(r);
    finish();
}

TEST(waits_pass_through_pcall_iterators_and_coroutines)
{
    begin(
        SCRIPT(
            "a = function()\n"
            "  local nap = function(v) perilune.sleep(0.001) return v end\n"
            "  assert(select(2, pcall(nap, 1)) == 1)\n"
            "  assert(select(2, pcall(pcall, nap, 2)))\n"
            "  assert(select(2, xpcall(nap, print, 3)) == 3)\n"
            "  for v in function(_, i) if (i or 0) < 3 then return nap((i or 0) + 1) end end do "
            "end\n"
            "  local t = setmetatable({}, {__index = function(_, k) return nap(k) end})\n"
            "  assert(t.x == 'x')\n"
            "  local co = coroutine.wrap(function(a) nap() local b = coroutine.yield(a + 1) nap()\n"
            "    local inner = coroutine.wrap(function() return nap(b * 2) end)\n"
            "    return inner() end)\n"
            "  assert(co(1) == 2) assert(co(5) == 10)\n"
            "  local co = coroutine.create(function() nap() error({code = 3}) end)\n"
            "  local ok, e = coroutine.resume(co)\n"
            "  assert(not ok and e.code == 3)\n"
            "end,\n"),
        NONE);
    CHECK_RUN("default/a", PL_OUTCOME_DONE, "");
    finish();
}

TEST(where_waiting_is_impossible_the_error_says_why)
{
    begin(
        SCRIPT(
            "sort = function() table.sort({3, 1, 2}, function(a, b) perilune.sleep(1) return a < b "
            "end) end,\n"
            "gsub = function() local s = string.gsub('x', 'x', function() perilune.sleep(1) end) "
            "end,\n"
            "co = function() table.sort({3, 1}, function() coroutine.wrap(function() "
            "perilune.sleep(1) end)() end) end,\n"
            "yield = function() coroutine.yield(1) end,\n"),
        NONE);
    CHECK_RUN("default/sort", PL_OUTCOME_ERROR,
              "cannot wait here: a function called by table.sort can't wait");
    CHECK_RUN("default/gsub", PL_OUTCOME_ERROR, "called by string.gsub can't wait");
    CHECK_RUN("default/co", PL_OUTCOME_ERROR, "called by table.sort can't wait");
    CHECK_RUN("default/yield", PL_OUTCOME_ERROR, "coroutine.yield outside of a coroutine");
    finish();
}

TEST(spawned_tasks_belong_to_the_run)
{
    begin(SCRIPT(
              "results = function()\n"
              "  local a = perilune.spawn(function(x, y) perilune.sleep(0.02) return x + y, 'z' "
              "end, 1,"
              " 2)\n"
              "  local b = perilune.spawn(function() return 9 end)\n"
              "  local s, z = perilune.join(a)\n"
              "  assert(s == 3 and z == 'z' and perilune.join(b) == 9) end,\n"
              "joined = function()\n"
              "  local t = perilune.spawn(function() perilune.sleep(0.001) error({code = 7}) end)\n"
              "  local ok, e = pcall(perilune.join, t)\n"
              "  assert(not ok and e.code == 7)\n"
              "  local t = perilune.spawn(function() error('early') end)\n"
              "  perilune.sleep(0.01)\n"
              "  local ok, e = pcall(perilune.join, t)\n"
              "  assert(not ok and e:find('early')) end,\n"
              "unjoined = function() perilune.spawn(function() perilune.sleep(0.01) error('lost') "
              "end)"
              " end,\n"
              "many = function() for i = 1, 2000 do perilune.spawn(perilune.sleep, 1) end end,\n"
              "self = function() local t t = perilune.spawn(function() perilune.join(t) end) "
              "perilune.sleep(0.001) end,\n"),
          NONE);
    CHECK_RUN("default/results", PL_OUTCOME_DONE, "");
    CHECK_RUN("default/joined", PL_OUTCOME_DONE, "");
    CHECK_RUN("default/unjoined", PL_OUTCOME_ERROR, "lost");
    CHECK_RUN("default/many", PL_OUTCOME_ERROR, "1000 spawned tasks already: join some first");
    CHECK_RUN("default/self", PL_OUTCOME_ERROR, "can't join itself");
    finish();
}

TEST(a_task_returns_not_more_than_whoever_joins_it_can_take)
{
    begin(SCRIPT("early = function() local t = perilune.spawn(function() perilune.sleep(0.01)\n"
                 "  return 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, unpack({}, 1, 7990) end)\n"
                 "  perilune.join(t) end,\n"
                 "late = function() local t = perilune.spawn(function()\n"
                 "  return 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, unpack({}, 1, 7990) end)\n"
                 "  perilune.sleep(0.01) perilune.join(t) end,\n"
                 "many = function() local t = perilune.spawn(function()\n"
                 "  return unpack({}, 1, 250) end) perilune.sleep(0.01)\n"
                 "  if select('#', perilune.join(t)) ~= 250 then error('few') end end,\n"),
          NONE);
    CHECK_RUN("default/early", PL_OUTCOME_ERROR, "a task returned more than 250 values");
    CHECK_RUN("default/late", PL_OUTCOME_ERROR, "a task returned more than 250 values");
    CHECK_RUN("default/many", PL_OUTCOME_DONE, "");
    finish();
}

/* Near the depth at which the stack is full, each wait works or reports an error. */
TEST(waiting_deep_in_recursion_costs_the_run_at_most)
{
    begin(
        SCRIPT(
            "deep = function(request)\n"
            "  local function at(n, f) if n == 0 then return f() end\n"
            "    local x = at(n - 1, f) return x end\n"
            "  local low, high = 1, 70000\n"
            "  while low < high do\n"
            "    local middle = math.floor((low + high + 1) / 2)\n"
            "    if pcall(at, middle, function() end) then low = middle\n"
            "    else high = middle - 1 end\n"
            "  end\n"
            "  local worked, failed = 0, 0\n"
            "  for up = 0, 60 do\n"
            "    for _, f in ipairs({\n"
            "      function() client:wait('v1/Pod', request, function() return true end, 1) end,\n"
            "      function() perilune.sleep(0) end,\n"
            "      function() perilune.enqueue('no-such', 'd/x') end,\n"
            "      function() perilune.join(perilune.spawn(unpack, {}, 1, 200)) end,\n"
            "    }) do\n"
            "      local ok, e = pcall(at, low - up, f)\n"
            "      if ok then worked = worked + 1 else failed = failed + 1 end\n"
            "    end\n"
            "  end\n"
            "  if worked == 0 or failed == 0 then error(worked .. ' ' .. failed) end\n"
            "end,\n"),
        NONE);
    CHECK_RUN("default/deep", PL_OUTCOME_DONE, "");
    finish();
}

TEST(reads_come_from_the_cache_of_the_controllers_own_source)
{
    begin(
        SCRIPT(
            "a = function(r)\n"
            "  local o = client:get('v1/Pod', r)\n"
            "  assert(o.spec.n == 9007199254740993LL)\n"
            "  o.spec.n = 1\n"
            "  assert(client:get('v1/Pod', r).spec.n ~= 1)\n"
            "  assert(client:get('v1/Pod', 'default/none') == nil)\n"
            "  local all = client:list('v1/Pod', {namespace = 'default'})\n"
            "  assert(#all == 2 and all[1].metadata.name == 'a' and all[2].metadata.name == 'b')\n"
            "  assert(#client:list('v1/Pod', {labels = 'x=1'}) == 1)\n"
            "  assert(#client:list('v1/Pod', {fields = 'metadata.name=b'}) == 1)\n"
            "  local page, info = client:list('v1/Pod', {limit = 1})\n"
            "  assert(#page == 1 and info.remaining == 1)\n"
            "  page, info = client:list('v1/Pod', {limit = 1, continue = info.continue})\n"
            "  assert(page[1].metadata.name == 'b' and not info.continue)\n"
            "  local part = client:list('v1/Pod', {select = {'spec.n'}})[1]\n"
            "  assert(part.metadata.name == 'a' and part.spec.n and not part.metadata.labels)\n"
            "  local n = 0 for o in client:each('v1/Pod') do n = n + 1 end assert(n == 2)\n"
            "  local after = client:each('v1/Pod') assert(after().metadata and after().metadata)\n"
            "  assert(select('#', after()) == 1 and after() == nil)\n"
            "end,\n"),
        NONE);
    put_object(0,
               "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":"
               "\"default\",\"labels\":{\"x\":\"1\"}},\"spec\":{\"n\":9007199254740993}}");
    put_object(0,
               "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"b\",\"namespace\":"
               "\"default\"}}");
    CHECK_RUN("default/a", PL_OUTCOME_DONE, "");
    CHECK_INT(fake.call_count, 0);
    finish();
}

TEST(undeclared_kinds_are_read_from_the_server)
{
    begin(SCRIPT("a = function() local s = client:get('v1/Secret', 'default/s')\n"
                 "  assert(s.data.p == 'x')\n"
                 "  assert(client:get('v1/Secret', 'default/t') == nil)\n"
                 "  local ok, e = pcall(client.get, client, 'v1/Secret', 'default/u')\n"
                 "  assert(perilune.errors.is_forbidden(e), e) error(e) end,\n"),
          NONE);
    struct fake_run *r = start_run("default/a");
    struct fake_call *call = next_call();
    CHECK_INT(call->verb, PL_VERB_GET);
    CHECK_STR(call->kind, "v1/Secret");
    CHECK_STR(call->ns, "default");
    CHECK_STR(call->name, "s");
    answer(call, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"p\":\"x\"}}", NULL);
    struct pl_err err = {.code = PL_EAPI, .status = 404, .reason = "NotFound"};
    answer(next_call(), NULL, &err);
    err = (struct pl_err){
        .code = PL_EAPI, .status = 403, .reason = "Forbidden", .message = "not yours"};
    answer(next_call(), NULL, &err);
    TURN_UNTIL(fake.loop, r->outcome >= 0);
    CHECK_INT(r->outcome, PL_OUTCOME_ERROR);
    CHECK_STR(r->message, "get v1/Secret default/u: not yours (403 Forbidden)");
    free_run(r);
    finish();
}

TEST(values_of_secrets_are_cut_out_of_error_messages)
{
    begin(SCRIPT("a = function() local s = client:get('v1/Secret', 'default/s')\n"
                 "  error('cannot use ' .. s.data.p .. ' or '\n"
                 "    .. perilune.base64.decode(s.data.p)) end,\n"),
          NONE);
    struct fake_run *r = start_run("default/a");
    answer(next_call(),
           "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"p\":\"aHVudGVyMg==\"}}", NULL);
    TURN_UNTIL(fake.loop, r->outcome >= 0);
    CHECK(strstr(r->message, "cannot use <12 bytes> or <7 bytes>") != NULL);
    free_run(r);
    finish();
}

TEST(a_read_waits_for_its_cache_to_sync)
{
    begin("local perilune = require('perilune')\nperilune.controller('c'):For('v1/Pod')\n"
          ":Reconcile(function(r) assert(perilune.client:get('v1/Secret', 'default/s')) end)\n"
          "perilune.controller('other'):For('v1/Secret'):Reconcile(function() end)\n",
          NONE);
    struct pl_informer *informer = &fake.controllers[1].informers[0];
    informer->synced = false;
    struct fake_run *r = start_run("default/a");
    TURN_UNTIL(fake.loop, !pl_list_empty(&informer->waits));
    CHECK_INT(r->outcome, -1);
    struct pl_doc *doc = pl_scan_text(
        pl_slice_z("{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"}}"),
        &(struct pl_scan_options){.max_depth = 0}, NULL);
    pl_doc_unref(pl_store_put(informer->store, pl_slice_z("default/s"), doc));
    pl_doc_unref(doc);
    informer->synced = true;
    struct pl_sync_wait *wait =
        PL_CONTAINER_OF(pl_list_pop(&informer->waits), struct pl_sync_wait, link);
    wait->synced(wait);
    TURN_UNTIL(fake.loop, r->outcome >= 0);
    CHECK_INT(r->outcome, PL_OUTCOME_DONE);
    free_run(r);
    finish();
}

TEST(a_read_outside_of_the_declared_namespaces_is_an_error)
{
    begin("local perilune = require('perilune')\n"
          "perilune.controller('c'):For('v1/Pod', {namespaces = {'a', 'b'}})\n"
          ":Reconcile(function(r) perilune.client:get('v1/Pod', 'other/x') end)\n",
          NONE);
    CHECK_RUN("a/x", PL_OUTCOME_ERROR, "the namespace \"other\" is not one of those");
    finish();
}

TEST(writes_carry_what_was_read)
{
    begin(SCRIPT("a = function(r)\n"
                 "  local o = client:get('v1/Pod', r)\n"
                 "  o.spec.n = 2\n"
                 "  local stored = client:update(o)\n"
                 "  assert(stored.metadata.resourceVersion == '8')\n"
                 "  local ok, e = pcall(client.update, client, stored)\n"
                 "  assert(perilune.errors.is_conflict(e))\n"
                 "  error(e)\n"
                 "end,\n"),
          NONE);
    put_object(
        0, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":"
           "\"default\",\"uid\":\"u1\",\"resourceVersion\":\"7\"},\"spec\":{\"n\":1,\"e\":[]}}");
    struct fake_run *r = start_run("default/a");
    struct fake_call *call = next_call();
    CHECK_INT(call->verb, PL_VERB_UPDATE);
    CHECK(call->write.base != NULL && !call->write.partial);
    CHECK(call->write.controller == &fake.controllers[0].writer);
    CHECK_STR(call->body, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\","
                          "\"namespace\":\"default\",\"resourceVersion\":\"7\",\"uid\":\"u1\"},"
                          "\"spec\":{\"e\":[],\"n\":2}}");
    answer(call,
           "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":"
           "\"default\",\"resourceVersion\":\"8\"}}",
           NULL);
    struct pl_err err = {
        .code = PL_EAPI, .status = 409, .reason = "Conflict", .message = "changed"};
    answer(next_call(), NULL, &err);
    TURN_UNTIL(fake.loop, r->outcome >= 0);
    CHECK_INT(r->outcome, PL_OUTCOME_CONFLICT);
    CHECK(r->traceback == NULL);
    free_run(r);
    finish();
}

static const char pod_d[] = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"d\","
                            "\"namespace\":\"default\",\"resourceVersion\":\"8\"}}";

TEST(a_write_returns_when_the_indexes_include_it_or_its_run_is_cancelled)
{
    begin(SCRIPT("a = function() client:patch('v1/Pod', 'default/d', {}) end,\n"), NONE);
    struct pl_informer *informer = &fake.controllers[0].informers[0];
    informer->unindexed = true;
    struct fake_run *r = start_run("default/a");
    answer(next_call(), pod_d, NULL);
    TURN_UNTIL(fake.loop, !pl_list_empty(&informer->index_waits));
    struct pl_index_wait *wait =
        PL_CONTAINER_OF(pl_list_pop(&informer->index_waits), struct pl_index_wait, link);
    CHECK_SLICE(wait->key, "default/d");
    CHECK_INT(r->outcome, -1);
    informer->unindexed = false;
    wait->indexed(wait);
    TURN_UNTIL(fake.loop, r->outcome >= 0);
    CHECK_INT(r->outcome, PL_OUTCOME_DONE);
    free_run(r);
    informer->unindexed = true;
    r = start_run("default/a");
    answer(next_call(), pod_d, NULL);
    TURN_UNTIL(fake.loop, !pl_list_empty(&informer->index_waits));
    struct pl_err why = {.code = PL_ECANCELED, .message = "the host is stopping"};
    pl_lanes_ops()->cancel(fake.lanes, &r->run, &why);
    TURN_UNTIL(fake.loop, r->outcome >= 0);
    CHECK(pl_list_empty(&informer->index_waits));
    free_run(r);
    finish();
}

TEST(what_cannot_be_encoded_is_an_error_before_a_request)
{
    begin(SCRIPT("a = function() client:create({apiVersion = 'v1', kind = 'ConfigMap', metadata = "
                 "{name = 'x', namespace = 'default'}, data = {f = print}}) end,\n"),
          NONE);
    CHECK_RUN("default/a", PL_OUTCOME_ERROR, ".lua:4: create: data.f: a function can't be encoded");
    CHECK_INT(fake.call_count, 0);
    finish();
}

TEST(a_timeout_ends_the_pending_call_and_those_after_it)
{
    begin(SCRIPT("a = function() client:get('v1/Secret', 'default/s') end,\n"
                 "b = function() pcall(client.get, client, 'v1/Secret', 'default/s')\n"
                 "  pcall(perilune.sleep, 100) perilune.sleep(100) end,\n"),
          NONE);
    struct pl_err why = {.code = PL_ETIMEOUT, .message = "over reconcile_timeout (1s)"};
    struct pl_err canceled = {.code = PL_ECANCELED};
    const char *keys[] = {"default/a", "default/b"};
    for (size_t i = 0; i < 2; i++) {
        struct fake_run *r = start_run(keys[i]);
        struct fake_call *call = next_call();
        pl_lanes_ops()->cancel(fake.lanes, &r->run, &why);
        TURN_UNTIL(fake.loop, call->canceled);
        answer(call, NULL, &canceled);
        TURN_UNTIL(fake.loop, r->outcome >= 0);
        CHECK_INT(r->outcome, PL_OUTCOME_TIMEOUT);
        CHECK(strstr(r->message, "over reconcile_timeout (1s)") != NULL);
        free_run(r);
    }
    finish();
}

TEST(stopping_cancels_runs_without_an_error)
{
    begin(SCRIPT("a = function() perilune.sleep(100) end,\n"), NONE);
    struct fake_run *r = start_run("default/a");
    for (int i = 0; i < 20; i++)
        pl_loop_turn(fake.loop, 1);
    struct pl_err why = {.code = PL_ECANCELED, .message = "the host is stopping"};
    pl_lanes_ops()->cancel(fake.lanes, &r->run, &why);
    TURN_UNTIL(fake.loop, r->outcome >= 0);
    CHECK_INT(r->outcome, PL_OUTCOME_CANCELED);
    free_run(r);
    finish();
}

TEST(a_task_that_is_asked_to_end_wakes_once_and_is_cancelled_when_it_sleeps_again)
{
    begin(SCRIPT("a = function()\n"
                 "  perilune.sleep(100)\n"
                 "  perilune.event({apiVersion = 'v1', kind = 'Pod', metadata = {name = 'p'}},\n"
                 "    'Normal', 'Woken', 'once')\n"
                 "  perilune.sleep(100)\n"
                 "  perilune.event({apiVersion = 'v1', kind = 'Pod', metadata = {name = 'p'}},\n"
                 "    'Normal', 'Woken', 'twice')\n"
                 "end,\n"
                 "b = function() perilune.sleep(100) end,\n"),
          NONE);
    const char *const keys[] = {"default/a", "default/b"};
    const enum pl_outcome outcomes[] = {PL_OUTCOME_CANCELED, PL_OUTCOME_DONE};
    for (size_t i = 0; i < 2; i++) {
        struct fake_run *r = start_run(keys[i]);
        for (int turn = 0; turn < 20; turn++)
            pl_loop_turn(fake.loop, 1);
        pl_lanes_ops()->stop(fake.lanes, &r->run);
        TURN_UNTIL(fake.loop, r->outcome >= 0);
        CHECK_INT(r->outcome, outcomes[i]);
        free_run(r);
    }
    CHECK_STR(pl_buf_z(&fake.reported), "c /p Normal Woken: once;");
    finish();
}

TEST(a_memo_is_kept_when_a_run_ends_however_it_ends_and_dropped_with_its_object)
{
    begin(SCRIPT("a = function(r) local m = perilune.memo(r)\n"
                 "    m.runs = (m.runs or 0) + 1\n"
                 "    assert(perilune.memo(r.key) == m)\n"
                 "    error('run ' .. m.runs, 0) end,\n"
                 "b = function(r) perilune.memo(r).f = {x = {print}} end,\n"
                 "c = function(r) perilune.memo('default/a') end,\n"
                 "d = function(r) perilune.memo(r).text = ('x'):rep(70000) end,\n"),
          NONE);
    put_object(0, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\","
                  "\"namespace\":\"default\",\"uid\":\"1\",\"resourceVersion\":\"1\"}}");
    CHECK_RUN("default/a", PL_OUTCOME_ERROR, "run 1");
    CHECK_RUN("default/a", PL_OUTCOME_ERROR, "run 2");
    CHECK_INT(pl_memos_count(fake.lanes->memos), 1);
    CHECK_RUN("default/b", PL_OUTCOME_ERROR, "memo: f.x[0]: a function can't be encoded");
    CHECK_RUN("default/c", PL_OUTCOME_ERROR, "memo takes the request of this run (default/c)");
    CHECK_RUN("default/d", PL_OUTCOME_ERROR, "as JSON, more than 65536");
    CHECK_INT(pl_memos_count(fake.lanes->memos), 1);
    pl_lanes_ops()->gone(fake.lanes, &fake.controllers[0], pl_slice_z("default/a"));
    CHECK_RUN("default/a", PL_OUTCOME_ERROR, "run 1");
    finish();
}

TEST(what_is_sent_into_a_channel_reaches_who_watches_it)
{
    begin("local perilune = require('perilune')\nlocal hooks = perilune.channel('hooks')\n"
          "perilune.controller('c'):For('v1/Pod'):Reconcile(function() hooks:send('ns/x') end)\n"
          "perilune.controller('d'):WatchesChannel('hooks'):Reconcile(function() end)\n",
          NONE);
    CHECK_RUN("default/a", PL_OUTCOME_DONE, "");
    CHECK_STR(pl_buf_z(&fake.enqueued), "d ns/x by hooks;");
    finish();
}

TEST(what_is_sent_into_a_channel_for_another_replicas_shard_is_refused)
{
    begin("local perilune = require('perilune')\nlocal hooks = perilune.channel('hooks')\n"
          "perilune.controller('c'):For('v1/Pod'):Reconcile(function(request)\n"
          "  if request.name == 'b' then hooks:send('elsewhere/x') end\n"
          "  local ok, e = pcall(hooks.send, hooks, 'elsewhere/x')\n"
          "  assert(not ok and e.type == 'refused' and e.rule == 'shard', e)\n"
          "  hooks:send('ns/x')\n"
          "end)\n"
          "perilune.controller('d'):WatchesChannel('hooks'):Reconcile(function() end)\n",
          NONE);
    CHECK_RUN("default/a", PL_OUTCOME_DONE, "");
    CHECK_STR(pl_buf_z(&fake.enqueued), "d ns/x by hooks;");
    CHECK_RUN("default/b", PL_OUTCOME_ERROR, "the key elsewhere/x is in another replica's shard");
    finish();
}

TEST(a_wait_for_a_key_sees_what_changed_since_the_last_read)
{
    begin(SCRIPT("a = function(r) local o = client:wait('v1/Pod', r, function(o) return o and "
                 "o.spec.n == 2 end, '20s') assert(o.spec.n == 2) end,\n"
                 "b = function(r) client:wait('v1/Pod', r, function(o) return false end, 0.05) "
                 "end,\n"),
          NONE);
    struct fake_run *r = start_run("default/a");
    TURN_UNTIL(fake.loop, !pl_list_empty(&fake.controllers[0].informers[0].watches));
    put_object(0,
               "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":"
               "\"default\"},\"spec\":{\"n\":2}}");
    TURN_UNTIL(fake.loop, r->outcome >= 0);
    CHECK_INT(r->outcome, PL_OUTCOME_DONE);
    free_run(r);
    CHECK_RUN("default/b", PL_OUTCOME_ERROR, "timeout: not met within");
    finish();
}

TEST(enqueue_reaches_another_controllers_queue)
{
    begin(
        SCRIPT("a = function() perilune.enqueue('c', 'ns/x', {after = '2s', priority = -1}) end,\n"
               "b = function() perilune.enqueue('nope', 'x') end,\n"),
        NONE);
    CHECK_RUN("default/a", PL_OUTCOME_DONE, "");
    CHECK_STR(pl_buf_z(&fake.enqueued), "c ns/x after 2000 ms priority -1;");
    CHECK_RUN("default/b", PL_OUTCOME_ERROR, "there is no controller \"nope\"");
    finish();
}

/* Of 4 shards by namespace: "e" is in 0, "default" in 3, "b" in 1. */
TEST(what_lies_in_another_replicas_shard_is_refused)
{
    struct pl_shard_set mine = {{1 << 0 | 1 << 3}};
    fake_shards = pl_shards_create(4, PL_SHARD_BY_NAMESPACE);
    fake_share = PL_SHARE_BY_NAMESPACE;
    pl_shards_set(fake_shards, &mine, PL_SHARD_OURS);
    begin(SCRIPT("a = function() client:get('v1/Pod', 'b/x') end,\n"
                 "b = function() client:list('v1/Pod', {namespace = 'b'}) end,\n"
                 "c = function()\n"
                 "  assert(client:get('v1/Pod', 'e/x') == nil and #client:list('v1/Pod') == 0)\n"
                 "  local ok, e = pcall(client.get, client, 'v1/Pod', 'b/x')\n"
                 "  assert(not ok and e.type == 'refused' and e.rule == 'shard')\n"
                 "  ok, e = pcall(perilune.enqueue, 'c', 'elsewhere/x')\n"
                 "  assert(not ok and e.type == 'refused' and e.rule == 'shard', e)\n"
                 "  local shard = perilune.shard()\n"
                 "  assert(shard.count == 4 and #shard.mine == 2)\n"
                 "  assert(shard.mine[1] == 0 and shard.mine[2] == 3)\n"
                 "  assert(shard:owns('e/x') and shard:owns({metadata = {name = 'x', "
                 "namespace = 'default'}}))\n"
                 "  assert(not shard:owns({name = 'x', namespace = 'b'}))\n"
                 "  assert(not shard:owns('cluster-scoped'))\n"
                 "  assert(shard:owns({metadata = {name = 'cluster-scoped', uid = 'baa'}}))\n"
                 "  assert(not shard:owns({metadata = {name = 'cluster-scoped', uid = 'jaa'}}))\n"
                 "end,\n"
                 "d = function() perilune.shard(1) end,\n"),
          NONE);
    CHECK_RUN("default/a", PL_OUTCOME_ERROR, "the namespace \"b\" belongs to another replica");
    CHECK_RUN("default/b", PL_OUTCOME_ERROR, "the namespace \"b\" belongs to another replica");
    CHECK_RUN("default/c", PL_OUTCOME_DONE, "");
    CHECK_RUN("default/d", PL_OUTCOME_ERROR, "shard");
    CHECK_STR(pl_buf_z(&fake.enqueued), "");
    finish();
    pl_shards_destroy(fake_shards);
    fake_shards = NULL;
    fake_share = PL_SHARE_WHOLE;
}

#define POD_OF(name, uid)                                                                          \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                       \
    "\",\"namespace\":\"default\",\"uid\":\"" uid "\"}}"

/* When shards divide uids, an object that is not cached is requested. If the object of that name
 * belongs to another replica, the run's own object is gone. */
TEST(by_uid_a_namesake_of_another_replica_is_not_the_runs_object)
{
    struct pl_shard_set mine = {{1 << 0}};
    fake_shards = pl_shards_create(4, PL_SHARD_BY_UID);
    fake_share = PL_SHARE_BY_UID;
    pl_shards_set(fake_shards, &mine, PL_SHARD_OURS);
    begin(SCRIPT("a = function(request)\n"
                 "  assert(client:get('v1/Pod', request).metadata.uid == 'baa')\n"
                 "  assert(client:get('v1/Pod', request) == nil)\n"
                 "  assert(client:get('v1/Pod', 'default/b').metadata.uid == 'jaa')\n"
                 "end,\n"),
          NONE);
    struct fake_run *r = start_run("default/a");
    answer(next_call(), POD_OF("a", "baa"), NULL);
    answer(next_call(), POD_OF("a", "jaa"), NULL);
    answer(next_call(), POD_OF("b", "jaa"), NULL);
    TURN_UNTIL(fake.loop, r->outcome >= 0);
    CHECK_INT(r->outcome, PL_OUTCOME_DONE);
    free_run(r);
    finish();
    pl_shards_destroy(fake_shards);
    fake_shards = NULL;
    fake_share = PL_SHARE_WHOLE;
}

TEST(without_shards_everything_is_ours)
{
    begin(SCRIPT("a = function()\n"
                 "  local shard = perilune.shard()\n"
                 "  assert(shard.count == 1 and shard.mine[1] == 0 and shard:owns('b/x'))\n"
                 "end,\n"),
          NONE);
    CHECK_RUN("default/a", PL_OUTCOME_DONE, "");
    finish();
}

TEST(events_reach_the_recorder_in_order_and_before_the_run_ends)
{
    begin(SCRIPT("a = function()\n"
                 "  local pod = {apiVersion = 'v1', kind = 'Pod', metadata = {name = 'p',\n"
                 "    namespace = 'd'}}\n"
                 "  perilune.event(pod, 'Normal', 'One', 'x')\n"
                 "  perilune.sleep(0)\n"
                 "  perilune.event(pod, 'Warning', 'Two', 'y')\n"
                 "end,\n"),
          NONE);
    CHECK_RUN("default/a", PL_OUTCOME_DONE, "");
    CHECK_STR(pl_buf_z(&fake.reported), "c d/p Normal One: x;c d/p Warning Two: y;");
    finish();
}

static void ask(const char *new_json, const char *old_json, enum pl_event_type type, size_t source)
{
    struct pl_source_spec *spec = &fake.controllers[0].spec.sources[source];
    char kind[PL_KIND_TEXT];
    struct pl_question question = {
        .source = spec,
        .external = spec->external,
        .event = {.type = type},
        .ask_predicates = spec->predicate != NULL,
        .ask_map = spec->map_by == PL_MAP_EXTERNAL,
        .ask_indexes = true,
        .kind = pl_kind_text(&spec->kind, kind),
    };
    struct pl_scan_options scan = {.max_depth = 0};
    question.event.object = pl_scan_text(pl_slice_z(new_json), &scan, NULL);
    if (old_json != NULL)
        question.event.old = pl_scan_text(pl_slice_z(old_json), &scan, NULL);
    size_t before = fake.questions_done;
    pl_buf_clear(&fake.answers);
    pl_lanes_ops()->ask(fake.lanes, &question);
    TURN_UNTIL(fake.loop, fake.questions_done > before);
    pl_doc_unref(question.event.object);
    pl_doc_unref(question.event.old);
}

TEST(questions_are_answered_by_the_scripts_functions)
{
    begin("local perilune = require('perilune')\nlocal P = perilune.predicate\n"
          "perilune.index('v1/Secret', 'by-type', function(o) return {o.type, 5, true} end)\n"
          "perilune.index('v1/Secret', 'bad', function(o) error('no') end)\n"
          "perilune.controller('c'):For('v1/Pod')\n"
          ":Watches('v1/Secret', function(o, e)\n"
          "  if o.metadata.name == 'bad' then error('cannot map') end\n"
          "  if o.metadata.name == 'wait' then perilune.sleep(1) end\n"
          "  return {{namespace = 'n', name = o.metadata.name .. e.type}, 'just-a-name'} end,\n"
          "  {predicates = {P.any(function(e) return e.object.data ~= nil end, function(e) "
          "error('odd') end)}})\n"
          ":Reconcile(function() end)\n",
          NONE);
    ask("{\"metadata\":{\"name\":\"a\"},\"type\":\"T\",\"data\":{}}", NULL, PL_EVENT_CREATE, 1);
    CHECK_STR(pl_buf_z(&fake.answers), "leaf 0 passes;request n/aADDED;request /just-a-name;"
                                       "by-type=T;by-type=5;by-type=true;");
    ask("{\"metadata\":{\"name\":\"b\"}}", "{\"metadata\":{\"name\":\"c\"}}", PL_EVENT_UPDATE, 1);
    CHECK_STR(pl_buf_z(&fake.answers),
              "leaf 0 drops;leaf 1 passes;request n/cMODIFIED;request /just-a-name;"
              "request n/bMODIFIED;request /just-a-name;by-type=5;by-type=true;");
    ask("{\"metadata\":{\"name\":\"bad\"}}", NULL, PL_EVENT_DELETE, 1);
    CHECK(strstr(pl_buf_z(&fake.answers), "cannot map;") != NULL);
    ask("{\"metadata\":{\"name\":\"wait\"}}", NULL, PL_EVENT_DELETE, 1);
    CHECK(strstr(pl_buf_z(&fake.answers), "cannot wait here: predicates, map and index") != NULL);
    finish();
}

/* Asks about an object of the first controller's first source, like its informer. */
static void send_for_indexes(const char *json)
{
    struct pl_err err;
    pl_err_clear(&err);
    REQUIRE(pl_lanes_add_indexes(fake.lanes, &err) == 0);
    char kind[PL_KIND_TEXT];
    static struct pl_question question; /* until it is answered */
    question = (struct pl_question){
        .external = fake.lanes->indexer,
        .event = {.type = PL_EVENT_CREATE},
        .ask_indexes = true,
        .kind = pl_kind_text(&fake.controllers[0].spec.sources[0].kind, kind),
    };
    question.event.object =
        pl_scan_text(pl_slice_z(json), &(struct pl_scan_options){.max_depth = 0}, NULL);
    pl_buf_clear(&fake.answers);
    pl_lanes_ask(fake.lanes, &question);
    for (size_t i = 0; i < fake.controller_count; i++) /* while it is read */
        CHECK_INT(fake.controllers[i].informers[0].refs, fake.controllers[i].informers[0].synced);
    pl_doc_unref(question.event.object);
}

static void ask_for_indexes(const char *json)
{
    size_t before = fake.questions_done;
    send_for_indexes(json);
    TURN_UNTIL(fake.loop, fake.questions_done > before);
}

#define READING                                                                                    \
    "local perilune = require('perilune')\nlocal client = perilune.client\n"                       \
    "perilune.index('v1/Secret', 'pods', function(o) return #client:list('v1/Pod') end)\n"         \
    "perilune.controller('c')\n"                                                                   \
    ":Watches('v1/Secret', function(o) return client:list('v1/Pod') end,\n"                        \
    "  {predicates = {function() return client:get('v1/Pod', 'd/p') ~= nil end}})\n"               \
    ":Reconcile(function() end)\n"

static const char pod[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"d\"}}";
static const char secret[] = "{\"metadata\":{\"name\":\"s\",\"namespace\":\"d\"}}";

TEST(questions_read_the_caches_before_any_run)
{
    for (int lanes = 1; lanes <= 3; lanes += 2) {
        begin(READING "perilune.controller('pods'):For('v1/Pod'):Reconcile(function() end)\n",
              ((struct pl_lanes_options){.count = lanes}));
        struct pl_store *store = fake.controllers[1].informers[0].store;
        struct pl_doc *doc =
            pl_scan_text(pl_slice_z(pod), &(struct pl_scan_options){.max_depth = 0}, NULL);
        pl_doc_unref(pl_store_put(store, pl_slice_z("d/p"), doc));
        pl_doc_unref(doc);
        ask(secret, NULL, PL_EVENT_CREATE, 0);
        CHECK_STR(pl_buf_z(&fake.answers), "leaf 0 passes;request d/p;pods=1;");
        ask_for_indexes(secret);
        CHECK_STR(pl_buf_z(&fake.answers), "pods=1;");
        finish();
    }
}

/* The other kind may sync later: the two have no order. */
TEST(index_functions_are_asked_again_when_what_they_read_has_synced)
{
    static const struct {
        const char *controller, *answers;
        bool syncs;
    } cases[] = {
        {"perilune.controller('pods'):For('v1/Pod')", "pods=0;", true},
        {"perilune.controller('pods', {cache_sync_timeout = '30ms'}):For('v1/Pod')", "", false},
        {"perilune.index('v1/Pod', 'i', function() end)\n"
         "perilune.controller('pods'):For('v1/Pod')",
         "", false}, /* Pods may wait for it */
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        char *text = pl_format("%s%s:Reconcile(function() end)\n", READING, cases[i].controller);
        begin(text, ((struct pl_lanes_options){.count = 3}));
        fake.controllers[1].informers[0].synced = false;
        send_for_indexes(secret);
        for (int turn = 0; cases[i].syncs && turn < 20; turn++)
            pl_loop_turn(fake.loop, 2);
        CHECK_INT(fake.questions_done, 0);
        CHECK(!pl_lanes_is_quiet(fake.lanes));
        fake.controllers[1].informers[0].synced = cases[i].syncs;
        TURN_UNTIL(fake.loop, fake.questions_done > 0);
        CHECK_STR(pl_buf_z(&fake.answers), cases[i].answers);
        CHECK(pl_lanes_is_quiet(fake.lanes));
        finish();
        pl_free(text);
    }
}

/* As after a reload with a different index. */
TEST(questions_wait_for_an_index_that_is_being_built)
{
    begin("local perilune = require('perilune')\nlocal client = perilune.client\n"
          "perilune.index('v1/Pod', 'node', 'spec.nodeName')\n"
          "local function found() return client:list('v1/Pod',\n"
          "  {index = {name = 'node', value = 'n1'}}) end\n"
          "perilune.controller('c'):For('v1/Pod'):Watches('v1/Secret', found,\n"
          "  {predicates = {function() return #found() == 1 end}})\n"
          ":Reconcile(function() end)\n",
          NONE);
    struct pl_err err;
    pl_err_clear(&err);
    REQUIRE(pl_lanes_add_indexes(fake.lanes, &err) == 0);
    const char *stored = fake.lanes->indexes[0].stored;
    struct pl_store *store = fake.controllers[0].informers[0].store;
    struct pl_values values = {.count = 0};
    put_object(0, pod);
    REQUIRE(pl_store_add_index(store, stored, NULL, NULL, &err) == 0);
    pl_values_add(&values, pl_slice_z("n1"));
    pl_store_set_values(store, stored, pl_slice_z("d/p"), &values);
    pl_store_set_building(store, stored, true);
    struct pl_source_spec *spec = &fake.controllers[0].spec.sources[1];
    struct pl_question question = {.source = spec,
                                   .external = spec->external,
                                   .event = {.type = PL_EVENT_CREATE},
                                   .ask_predicates = true,
                                   .ask_map = true,
                                   .kind = "v1/Secret"};
    question.event.object =
        pl_scan_text(pl_slice_z(secret), &(struct pl_scan_options){.max_depth = 0}, NULL);
    pl_lanes_ask(fake.lanes, &question);
    TURN_UNTIL(fake.loop, !pl_list_empty(&fake.lanes->again.asks));
    CHECK_INT(fake.questions_done, 0);
    pl_store_set_building(store, stored, false);
    TURN_UNTIL(fake.loop, fake.questions_done > 0);
    CHECK_STR(pl_buf_z(&fake.answers), "leaf 0 passes;request d/p;");
    pl_doc_unref(question.event.object);
    pl_buf_deinit(&values.text);
    finish();
}

TEST(a_host_ends_while_index_functions_wait)
{
    begin(READING "perilune.controller('pods'):For('v1/Pod'):Reconcile(function() end)\n", NONE);
    fake.controllers[1].informers[0].synced = false;
    send_for_indexes(secret);
    TURN_UNTIL(fake.loop, !pl_list_empty(&fake.lanes->again.asks));
    CHECK_INT(fake.questions_done, 0);
    fake.controllers[0].informers[0].refs = 0; /* the question is never answered */
    finish();
}

TEST(a_question_says_which_cache_it_would_have_to_wait_for)
{
    begin(READING "perilune.controller('pods'):For('v1/Pod'):Reconcile(function() end)\n", NONE);
    fake.controllers[1].informers[0].synced = false;
    ask(secret, NULL, PL_EVENT_CREATE, 0);
    CHECK(strstr(pl_buf_z(&fake.answers),
                 "cannot wait here: the cache of v1/Pod has not synced yet") != NULL);
    fake.controllers[1].informers[0].synced = true;
    ask(secret, NULL, PL_EVENT_CREATE, 0);
    CHECK_STR(pl_buf_z(&fake.answers), "leaf 0 drops;pods=0;");
    finish();
}

/* A tail call: its frame is gone by then. */
TEST(errors_of_tail_calls_name_the_line_where_the_called_function_begins)
{
    begin("local perilune = require('perilune')\nlocal client = perilune.client\n"
          "perilune.index('v1/Pod', 'i', function(o)\n return perilune.sleep(1) end)\n"
          "perilune.controller('c'):For('v1/Pod', {predicates = {\n"
          "  function(event) return perilune.sleep(1) end}})\n"
          ":Watches('v1/Secret',\n"
          "  function(object)\n"
          "    if object.metadata.name == 's' then return perilune.sleep(1) end\n"
          "    return client:get('nope', 'x') end)\n"
          ":Reconcile(\n"
          "  function(request)\n"
          "    if request.name == 'a' then return client:get('nope', request) end\n"
          "    return perilune.memo('d/x') end)\n",
          NONE);
    ask(secret, NULL, PL_EVENT_CREATE, 1);
    CHECK(strstr(pl_buf_z(&fake.answers), ".lua:8: cannot wait here: predicates, map") != NULL);
    ask("{\"metadata\":{\"name\":\"t\"}}", NULL, PL_EVENT_CREATE, 1);
    CHECK(strstr(pl_buf_z(&fake.answers), ".lua:8: get: ") != NULL);
    CHECK_RUN("d/a", PL_OUTCOME_ERROR, ".lua:12: get: ");
    CHECK_RUN("d/b", PL_OUTCOME_ERROR, ".lua:12: memo takes the request");
    finish();
}

/* LuaJIT's own message names the calling function: one of ours, or none. */
TEST(what_is_raised_by_a_tail_call_is_at_the_line_where_the_called_function_begins)
{
    begin("local perilune = require('perilune')\n"
          "perilune.controller('c'):For('v1/Pod')\n"
          ":Watches('v1/Secret',\n"
          "  function(object) return error('boom') end)\n"
          ":Reconcile(\n"
          "  function(request)\n"
          "    if request.name == 'a' then return error('boom')\n"
          "    elseif request.name == 'b' then return assert(nil, 'bang')\n"
          "    elseif request.name == 'c' then return string.rep()\n"
          "    elseif request.name == 'd' then return error({})\n"
          "    elseif request.name == 'e' then return error('flat', 0) end\n"
          "    error('flat', 0) end)\n",
          NONE);
    ask(secret, NULL, PL_EVENT_CREATE, 1);
    CHECK(strstr(pl_buf_z(&fake.answers), ".lua:4: boom") != NULL);
    CHECK(strstr(pl_buf_z(&fake.answers), "perilune:") == NULL);
    CHECK_RUN("d/a", PL_OUTCOME_ERROR, ".lua:6: boom");
    CHECK_RUN("d/b", PL_OUTCOME_ERROR, ".lua:6: bang");
    CHECK_RUN("d/c", PL_OUTCOME_ERROR, ".lua:6: bad argument #1");
    CHECK_RUN("d/d", PL_OUTCOME_ERROR, ".lua:6: (error object is a table value)");
    CHECK_RUN("d/e", PL_OUTCOME_ERROR, ".lua:6: flat");
    CHECK_RUN("d/f", PL_OUTCOME_ERROR, "flat");
    finish();
}

TEST(mistakes_at_load_time_name_script_and_line)
{
    static const struct {
        const char *script, *want;
    } cases[] = {
        {"local x = = 1", ".lua:1: unexpected symbol"},
        {"\nerror('boom')", ".lua:2: boom"},
        {"x = 1", ".lua:1: assignment to the undeclared global 'x'"},
        {"local p = require('perilune')\np.controller('c'):For('v1/Pod')",
         ".lua:2: controller \"c\" has no Reconcile"},
        {"local p = require('perilune')\np.controller('c'):Reconcile(print)", ".lua:2: "},
        {"local p = require('perilune')\np.controller('c'):For('v1/Pod'):For('v1/Pod')",
         ".lua:2: "},
        {"require('nope')", "module 'nope' not found"},
        {"while true do end", "CPU limit exceeded"},
        {"local p = require('perilune')\nlocal o = {metadata = {}, status = {}}\n"
         "while true do p.conditions.set(o, {type = 'A', status = 'True', reason = 'B'}) end",
         ".lua:3: script CPU limit exceeded"},
        {"\033LJ\002", ".lua: this is compiled Lua"},
        {"require('perilune').sleep(1)", "cannot wait here: the script is being loaded"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pl_err err;
        struct pl_lanes_options options = {.count = 1, .load_limit_ns = (uint64_t)(200 * PL_MS)};
        CHECK(load_script(cases[i].script, options, &err) != 0);
        if (strstr(err.message, cases[i].want) == NULL)
            TEST_FAIL("%s: got \"%s\", want \"%s\"", cases[i].script, err.message, cases[i].want);
        finish();
    }
}

TEST(a_run_that_computes_for_ever_is_ended_and_others_go_on)
{
    begin(
        SCRIPT("loop = function() while true do pcall(function() while true do end end) end end,\n"
               "bomb = function() local t = {} for i = 1, 1e9 do t[i] = {i} end end,\n"
               "fine = function() perilune.sleep(0.01) end,\n"),
        ((struct pl_lanes_options){.count = 1, .cpu_limit_ns = 200 * PL_MS}));
    struct fake_run *fine = start_run("default/fine");
    CHECK_RUN("default/loop", PL_OUTCOME_ERROR, "CPU limit exceeded");
    CHECK_RUN("default/bomb", PL_OUTCOME_ERROR, "script");
    TURN_UNTIL(fake.loop, fine->outcome >= 0);
    CHECK_INT(fine->outcome, PL_OUTCOME_DONE);
    free_run(fine);
    CHECK_RUN("default/fine", PL_OUTCOME_DONE, "");
    CHECK_INT(pl_lanes_stuck(fake.lanes), 0);
    CHECK(pl_lanes_memory(fake.lanes) < ((size_t)32 << 20));
    finish();
}

TEST(many_runs_on_several_lanes)
{
    begin(SCRIPT("a = function(r)\n"
                 "  local o = client:get('v1/Pod', r) perilune.sleep(0.001)\n"
                 "  local t = perilune.spawn(perilune.sleep, 0.001) perilune.join(t)\n"
                 "  assert(client:get('v1/Pod', 'default/a')) end,\n"),
          ((struct pl_lanes_options){.count = 3}));
    put_object(0,
               "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":"
               "\"default\"}}");
    struct fake_run *runs[200];
    for (int i = 0; i < 200; i++) {
        char key[32];
        snprintf(key, sizeof key, "ns%d/a", i);
        runs[i] = start_run(key);
        if (i % 10 == 0)
            pl_loop_turn(fake.loop, 0);
    }
    for (int i = 0; i < 200; i++) {
        TURN_UNTIL(fake.loop, runs[i]->outcome >= 0);
        CHECK_INT(runs[i]->outcome, PL_OUTCOME_DONE);
        free_run(runs[i]);
    }
    finish();
}

TEST_MAIN()
