/* Logs warnings of the API server, with the script's line that sent the request. */
#include "lane/lane.h"
#include "lane/op.h"
#include "lua/lerr.h"

#include "base/alloc.h"
#include "base/log.h"

#include <string.h>

#define SAID_MAX 1000 /* lines that are logged once; more are not logged */

/* The same line would get the same warning in each run. */
static bool is_new(struct pl_lanes *lanes, const char *text)
{
    pthread_mutex_lock(&lanes->hint_lock);
    bool first = lanes->warned.count < SAID_MAX && !pl_map_has(&lanes->warned, pl_slice_z(text));
    if (first)
        pl_map_put(&lanes->warned, pl_slice_z(text), lanes);
    pthread_mutex_unlock(&lanes->hint_lock);
    return first;
}

static void warn_once(struct pl_lane *lane, const struct pl_lop *op, const char *at,
                      const char *text)
{
    const char *name = lane->lanes->controllers[op->exec->controller].name;
    char *known = pl_format("%s %s %s", name, at, text);
    if (is_new(lane->lanes, known))
        pl_log(PL_LOG_WARN, "the API server warns", pl_str("controller", name), pl_str("at", at),
               pl_str("verb", op->verb), pl_str("kind", op->kind != NULL ? op->kind : ""),
               pl_strn("key", op->key), pl_str("warning", text));
    pl_free(known);
}

void pl_lane_warn(struct pl_lane *lane, const struct pl_lop *op, lua_State *thread)
{
    lua_Debug ar;
    char at[300] = "";
    const struct pl_buf *warnings = &op->out.warnings;
    if (warnings->len == 0 || op->exec == NULL)
        return;
    if (pl_lerr_where(thread, lane->s, 0, &ar))
        snprintf(at, sizeof at, "%s:%d", pl_lerr_chunk(&ar), ar.currentline);
    for (const char *text = warnings->ptr; text < warnings->ptr + warnings->len;
         text += strlen(text) + 1) {
        char *masked = pl_secrets_mask(&lane->s->secrets, pl_slice_z(text));
        warn_once(lane, op, at, masked != NULL ? masked : text);
        pl_free(masked);
    }
}
