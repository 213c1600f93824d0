/* perilune.schedule with arbitrary texts and zones: it gives a schedule or a message, never another
 * error. The next time is after the given time, the previous one before it, and both agree. The
 * first two bytes choose the time and the zone. */
#include "base/check.h"
#include "support/state_support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char code[] =
    "local perilune = require('perilune')\n"
    "local zones = { 'UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', "
    "'Asia/Kathmandu' }\n"
    "return function(text, at, zone)\n"
    "  local ok, schedule = pcall(perilune.schedule, text, zones[zone % #zones + 1])\n"
    "  if not ok then\n"
    "    assert(type(schedule) == 'string' and #schedule > 0, 'no message')\n"
    "    return\n"
    "  end\n"
    "  local t = 1700000000 + at * 86400 * 17 + at\n"
    "  local following, before = schedule:next(t), schedule:previous(t)\n"
    "  assert(not following or following > t, 'next is not behind')\n"
    "  assert(not before or before < t, 'previous is not ahead')\n"
    "  if following then\n"
    "    assert(following % 60 == 0, 'no whole minute')\n"
    "    local back = schedule:previous(following + 1)\n"
    "    assert(back == following, 'previous does not know it')\n"
    "  end\n"
    "end\n";

static struct pl_state *state;

static void prepare(void)
{
    struct pl_fault fault;
    state = new_state(NULL, (size_t)256 << 20);
    PL_REQUIRE(load_code(state, code, &fault) == 0);
    PL_REQUIRE(lua_pcall(state->L, 0, 1, 0) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 200)
        return 0;
    if (state == NULL)
        prepare();
    lua_State *L = state->L;
    lua_pushvalue(L, 1);
    lua_pushlstring(L, (const char *)data + 2, size - 2);
    lua_pushinteger(L, data[0]);
    lua_pushinteger(L, data[1]);
    if (lua_pcall(L, 3, 0, 0) != 0) {
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
        PL_REQUIRE(false);
    }
    return 0;
}
