/* Loading scripts in one lane, on its thread: the main chunks in their order, then the end of all
 * declarations. lanes_load.c asks for it and uses the answer.
 *
 * The first error ends the loading. Each call has a time limit, so a script that does not end
 * cannot hold the lane. Afterwards nothing can be declared any more. */
#include "lane/lane.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "lane/declare.h"
#include "lua/origin.h"
#include "lua/script.h"

static int run_chunk(struct pl_lane *lane, const char *path, struct pl_fault *fault)
{
    struct pl_state *s = lane->s;
    struct pl_err err;
    pl_err_clear(&err);
    s->script = path;
    if (pl_script_load(s, path, NULL, &err) != 0) {
        *fault = (struct pl_fault){.message = pl_strdup(err.message)};
        return PL_ESCRIPT;
    }
    int failed =
        pl_state_call(s, PL_PHASE_LOAD, (int64_t)lane->lanes->options.load_limit_ns, 0, 0, fault);
    return failed;
}

/* Calls require("perilune.controller")[name](), which returns a result or none. */
static int call_controller_module(struct pl_lane *lane, const char *name, int results,
                                  struct pl_fault *fault)
{
    struct pl_state *s = lane->s;
    lua_State *L = s->L;
    pl_ref_push(L, s->refs.loaded);
    lua_getfield(L, -1, "perilune.controller");
    lua_remove(L, -2);
    if (lua_type(L, -1) != LUA_TTABLE) {
        if (results == 0)
            lua_pop(L, 1); /* no script required perilune */
        return 0;
    }
    lua_getfield(L, -1, name);
    lua_remove(L, -2);
    return pl_state_call(s, PL_PHASE_LOAD, (int64_t)lane->lanes->options.load_limit_ns, 0, results,
                         fault);
}

/* A controller that was begun and never completed is an error. */
static int finish_declarations(struct pl_lane *lane, struct pl_fault *fault)
{
    struct pl_state *s = lane->s;
    int failed = call_controller_module(lane, "finish", 0, fault);
    if (failed != 0 || !lane->lanes->options.describe)
        return failed;
    failed = call_controller_module(lane, "describe", 1, fault);
    if (failed != 0)
        return failed;
    if (lua_type(s->L, -1) == LUA_TSTRING)
        s->declared->content.description = pl_strdup(lua_tostring(s->L, -1));
    lua_pop(s->L, 1);
    return 0;
}

static int load_path(struct pl_lane *lane, const char *path, struct pl_fault *fault)
{
    struct pl_err err;
    pl_err_clear(&err);
    char **files = pl_origin_find(lane->lanes->origin, path, &err);
    if (files == NULL) {
        *fault = (struct pl_fault){.message = pl_strdup(err.message)};
        return PL_ENOTFOUND;
    }
    int failed = 0;
    for (char **file = files; *file != NULL && failed == 0; file++)
        failed = run_chunk(lane, *file, fault);
    lane->s->script = path;
    pl_texts_free(files);
    return failed;
}

/* Loads one of Perilune's own modules instead of a script. */
static int require_module(struct pl_lane *lane, const char *module, struct pl_fault *fault)
{
    lua_State *L = lane->s->L;
    lua_getglobal(L, "require");
    lua_pushstring(L, module);
    return pl_state_call(lane->s, PL_PHASE_LOAD, (int64_t)lane->lanes->options.load_limit_ns, 1, 0,
                         fault);
}

static char *fault_text(const struct pl_fault *fault)
{
    if (fault->traceback == NULL)
        return pl_strdup(fault->message ? fault->message : "unknown error");
    return pl_format("%s\n%s", fault->message, fault->traceback);
}

static void load_scripts(struct pl_lane *lane, struct pl_load *load)
{
    struct pl_fault fault = {.message = NULL};
    int failed = 0;
    const struct pl_dialog *dialog = lane->lanes->options.dialog;
    if (dialog != NULL)
        failed = require_module(lane, dialog->module, &fault);
    for (char **path = lane->lanes->paths; path != NULL && *path != NULL && failed == 0; path++)
        failed = load_path(lane, *path, &fault);
    if (failed == 0)
        failed = finish_declarations(lane, &fault);
    pl_declare_seal(lane->s);
    load->failed = failed;
    if (failed == 0 && PL_TAPE_WANTS(lane, loaded))
        lane->tape->ops->loaded(lane->tape);
    if (failed)
        load->message = fault_text(&fault);
    pl_fault_deinit(&fault);
    pl_state_collect(lane->s);
}

void pl_lane_answer_load(struct pl_lane *lane, struct pl_load *load)
{
    if (lane->s != NULL)
        load_scripts(lane, load);
    if (load->reply != NULL) {
        load->msg.kind = PL_IO_LOADED;
        pl_mailbox_send(load->reply, &load->msg);
        return;
    }
    if (load->failed)
        pl_log(PL_LOG_ERROR, "a replaced lane could not load the scripts",
               pl_int("lane", lane->number), pl_str("error", load->message));
    pl_free(load->message);
    pl_free(load);
}
