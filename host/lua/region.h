/* Memory for the Lua state of a process that is a short-lived copy of another one. */
#pragma once

struct lua_State;

/* From now on the state takes new memory from one region, and gives nothing back. The process must
 * end without closing the state. If the system has no room for the region, nothing changes. */
void pl_region_own(struct lua_State *L);
