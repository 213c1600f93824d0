/* The lists of functions of the host table, one for each file. Private to host/bind. */
#pragma once

#include "lua/state.h"

extern const luaL_Reg pl_bind_values[];  /* value.c */
extern const luaL_Reg pl_bind_texts[];   /* text.c */
extern const luaL_Reg pl_bind_bytes[];   /* bytes.c */
extern const luaL_Reg pl_bind_logs[];    /* log.c */
extern const luaL_Reg pl_bind_events[];  /* event.c */
extern const luaL_Reg pl_bind_memos[];   /* memo.c */
extern const luaL_Reg pl_bind_metrics[]; /* metrics.c */
extern const luaL_Reg pl_bind_scopes[];  /* scope.c */
extern const luaL_Reg pl_bind_shards[];  /* shard.c */
extern const luaL_Reg pl_bind_dialogs[]; /* dialog.c */
extern const luaL_Reg pl_bind_regexes[]; /* regex.c */
extern const luaL_Reg pl_bind_zones[];   /* zone.c */
extern const luaL_Reg pl_bind_says[];    /* dialog.c; wait */
extern const luaL_Reg pl_bind_reads[];   /* read.c; these wait: "failed?", results */
extern const luaL_Reg pl_bind_writes[];  /* write.c; wait */
extern const luaL_Reg pl_bind_tasks[];   /* task.c; wait */
