/* The functions of the host table, one list a file. Private to host/lane. */
#pragma once

#include "lane/state.h"

extern const luaL_Reg pl_bind_values[];  /* bind_value.c */
extern const luaL_Reg pl_bind_texts[];   /* bind_text.c */
extern const luaL_Reg pl_bind_logs[];    /* bind_log.c */
extern const luaL_Reg pl_bind_events[];  /* bind_event.c */
extern const luaL_Reg pl_bind_memos[];   /* bind_memo.c */
extern const luaL_Reg pl_bind_metrics[]; /* bind_metrics.c */
extern const luaL_Reg pl_bind_dialogs[]; /* bind_dialog.c */
extern const luaL_Reg pl_bind_regexes[]; /* bind_regex.c */
extern const luaL_Reg pl_bind_zones[];   /* bind_zone.c */
extern const luaL_Reg pl_bind_says[];    /* bind_dialog.c; wait */
extern const luaL_Reg pl_bind_reads[];   /* bind_read.c; these wait: "failed?", results */
extern const luaL_Reg pl_bind_writes[];  /* bind_write.c; wait */
extern const luaL_Reg pl_bind_tasks[];   /* bind_task.c; wait */
