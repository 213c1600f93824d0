/* The arguments of a reconcile: the causes become a table at their first use. */
#include "support/fake_control.h"

#define NONE ((struct pl_lanes_options){.count = 1})
/* The result of each case is the error of the run. */
#define SCRIPT(cases)                                                                              \
    "local cjson = require('cjson')\nlocal kept\nlocal cases = {\n" cases "}\n"                    \
    "require('perilune').controller('c'):For('v1/Pod')\n"                                          \
    ":Reconcile(function(request, context) error(cases[request.name](context), 0) end)\n"

static char *paths[] = {(char *)"spec.replicas", (char *)"status.phase", NULL};
static char *no_paths[] = {NULL};
static const struct pl_cause causes[] = {
    {.type = PL_CAUSE_ADDED, .kind = "v1/Pod", .key = (char *)"default/a"},
    {.type = PL_CAUSE_MODIFIED, .kind = "v1/Pod", .key = (char *)"default/b", .changed = paths},
    {.type = PL_CAUSE_MODIFIED, .kind = "v1/Node", .key = (char *)"n", .changed = no_paths},
    {.type = PL_CAUSE_RETRY},
    {.type = PL_CAUSE_CHANNEL, .kind = "hooks"},
};

static void check_run(const char *key, size_t cause_count, const char *message)
{
    struct fake_run *r = make_run(key);
    r->run.causes = causes;
    r->run.cause_count = cause_count;
    pl_lanes_ops()->start(fake.lanes, &r->run);
    TURN_UNTIL(fake.loop, r->outcome >= 0);
    CHECK_STR(r->message, message);
    free_run(r);
}

TEST(causes_say_what_led_to_the_run)
{
    begin(SCRIPT("all = function(context)\n"
                 "    local out = {}\n"
                 "    for i, cause in ipairs(context.causes) do\n"
                 "      local changed = cause.changed and table.concat(cause.changed, '+')\n"
                 "      out[i] = table.concat({cause.type, tostring(cause.kind),\n"
                 "        tostring(cause.channel), tostring(cause.key), tostring(changed)}, ' ')\n"
                 "    end\n"
                 "    return table.concat(out, ', ') end,\n"
                 "none = function(context) return cjson.encode(context.causes) .. "
                 "context.causes_dropped end,\n"),
          NONE);
    check_run("default/all", PL_ARRAY_LEN(causes),
              "ADDED v1/Pod nil default/a nil, "
              "MODIFIED v1/Pod nil default/b spec.replicas+status.phase, "
              "MODIFIED v1/Node nil n nil, RETRY nil nil nil nil, CHANNEL nil hooks nil nil");
    check_run("default/none", 0, "{}0");
    finish();
}

/* As if they had existed from the start. */
TEST(a_context_is_an_ordinary_table)
{
    begin(SCRIPT("pairs = function(context)\n"
                 "    local names = {}\n"
                 "    for name in pairs(context) do names[#names + 1] = tostring(name) end\n"
                 "    table.sort(names)\n"
                 "    return table.concat(names, ' ') end,\n"
                 "raw = function(context) return #rawget(context, 'causes') .. '' end,\n"
                 "next = function(context) next(context) return #context.causes .. '' end,\n"
                 "copy = function(context)\n"
                 "    return #require('perilune').deepcopy(context).causes .. '' end,\n"
                 "meta = function(context) return tostring(getmetatable(context)) end,\n"
                 "other = function(context) return tostring(context.cause) end,\n"
                 "own = function(context) context.causes, context.reconcile_id = 'mine', 5\n"
                 "    for _ in pairs(context) do end\n"
                 "    return context.causes .. context.reconcile_id end,\n"
                 "id = function(context) return context.reconcile_id end,\n"
                 "twice = function(context) context.causes[1].type = 'X'\n"
                 "    return context.causes[1].type end,\n"),
          NONE);
    check_run("default/pairs", 2, "attempt causes causes_dropped log reconcile_id");
    check_run("default/raw", 2, "2");
    check_run("default/next", 2, "2");
    check_run("default/copy", 2, "2");
    check_run("default/meta", 2, "nil");
    check_run("default/other", 2, "nil");
    check_run("default/own", 2, "mine5");
    check_run("default/id", 2, "0123456789abcdef");
    check_run("default/twice", 2, "X");
    finish();
}

TEST(a_context_that_outlives_its_run_has_its_own_causes)
{
    begin(SCRIPT("keep = function(context) kept = context return 'kept' end,\n"
                 "look = function() return #kept.causes .. ' ' .. kept.causes[1].key end,\n"),
          NONE);
    check_run("default/keep", 3, "kept");
    check_run("default/look", 1, "3 default/a");
    finish();
}

/* The unread text can be read and written by a script that knows its name. */
TEST(no_text_of_a_script_gets_further_than_its_own_causes)
{
    begin("local odd = {empty = '', short = 'a', channel = 'i\\0CHANNEL', ends = "
          "'i\\0\\0\\0\\0\\0\\0',\n"
          "  path = 'i\\0A\\0k\\0key\\0p\\0q', bytes = 'i\\0\\128\\1', number = 7,\n"
          "  paths = 'i\\0A\\0k\\0key\\0' .. ('p\\0'):rep(5000), many = ('\\0'):rep(5000)}\n"
          "require('perilune').controller('c'):For('v1/Pod'):Reconcile(function(r, context)\n"
          "  context.unread = odd[r.name]\n"
          "  if context.causes == nil then error(tostring(context.reconcile_id), 0) end\n"
          "  local out = {}\n"
          "  for i, cause in ipairs(context.causes) do\n"
          "    out[i] = ('%s %s %s %s'):format(cause.type, cause.kind, cause.key,\n"
          "      cause.changed and #cause.changed)\n"
          "  end\n"
          "  error(context.reconcile_id .. #out .. ': ' .. table.concat(out, ', '), 0)\n"
          "end)\n",
          NONE);
    check_run("default/empty", 2, "0: ");
    check_run("default/short", 2, "a0: ");
    check_run("default/channel", 2, "i1: CHANNEL nil nil nil");
    check_run("default/ends", 2, "i2: nil nil nil nil, nil nil nil nil");
    check_run("default/path", 2, "i1: A k key 2");
    check_run("default/bytes", 2, "i1: \200\001 nil nil nil");
    check_run("default/number", 2, "nil");
    /* No more than a run has, although a million would fit into memory. */
    struct fake_run *r = run_key("default/many");
    CHECK(strncmp(r->message, "16: ", 4) == 0);
    free_run(r);
    r = run_key("default/paths");
    CHECK(strstr(r->message, ": A k key 16,") != NULL);
    free_run(r);
    finish();
}

TEST_MAIN()
