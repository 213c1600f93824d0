/* Errors of the core for scripts. Those that a script may handle become tables whose type it can
 * test; mistakes of the script become texts with its position. Scripts' errors become text in
 * fault.c. */
#include "lua/lerr.h"

#include "kube/status.h"
#include "lua/lazy.h"
#include "object/meta.h"
#include "value/build.h"

#include <stdarg.h>
#include <stdio.h>

static void push_positioned(lua_State *L, struct pl_state *s, const char *message)
{
    lua_Debug ar;
    if (pl_lerr_where(L, s, 0, &ar))
        lua_pushfstring(L, "%s:%d: %s", pl_lerr_chunk(&ar), ar.currentline, message);
    else
        lua_pushstring(L, message);
}

int pl_lerr_raise(lua_State *L, struct pl_state *s, const char *fmt, ...)
{
    char message[PL_ERR_MESSAGE];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    push_positioned(L, s, message);
    return lua_error(L);
}

void pl_lerr_check_nesting(lua_State *L, struct pl_state *s, const void *frame)
{
    if (!pl_nesting_enter(&s->limits.nesting, frame))
        pl_lerr_raise(L, s, "%s", PL_NESTING_TEXT);
}

/* An unreadable answer counts as no answer; without `about` the text that was read is the script's
 * own. */
static const char *lerr_type_of(int code, const struct pl_about *about)
{
    if (about != NULL && (code == PL_ESYNTAX || code == PL_ELIMIT))
        return "network";
    switch (code) {
    case PL_EAPI:
    case PL_ENOTFOUND: /* the server does not serve the kind */
        return "api";
    case PL_ETIMEOUT:
        return "timeout";
    case PL_EREFUSED:
        return "refused";
    case PL_ECANCELED:
        return "canceled";
    case PL_EINVAL:
    case PL_ESYNTAX:
    case PL_ELIMIT:
    case PL_EUNSUPPORTED:
    case PL_ESCRIPT:
        return NULL;
    default:
        return "network";
    }
}

static void lerr_set_text(lua_State *L, const char *name, const char *text)
{
    pl_lua_set(L, name, pl_slice_z(text));
}

static void set_code(lua_State *L, const struct pl_err *err)
{
    if (err->code == PL_EREFUSED) {
        lerr_set_text(L, "rule", err->reason);
        return;
    }
    int status = err->code == PL_ENOTFOUND ? 404 : err->status;
    if (status != 0) {
        lua_pushinteger(L, status);
        lua_setfield(L, -2, "code");
    }
    lerr_set_text(L, "reason", err->code == PL_ENOTFOUND ? "NoKindMatch" : err->reason);
    if (err->retry_after_ms > 0 || (err->code == PL_EAPI && err->retry_after_ms == 0)) {
        lua_pushnumber(L, (lua_Number)err->retry_after_ms / 1000);
        lua_setfield(L, -2, "retry_after");
    }
}

static void set_causes(lua_State *L, struct pl_state *s, struct pl_doc *status)
{
    struct pl_node causes = pl_node_dig(pl_doc_root(status), "details", "causes");
    if (pl_node_type(causes) != PL_ARRAY)
        return;
    struct pl_box *box = pl_box_push(L, s); /* the following code may raise */
    box->doc = pl_doc_from_node(causes, NULL);
    pl_lazy_push(L, s, box->doc, 0);
    lua_setfield(L, -3, "causes");
    lua_pop(L, 1);
}

/* The server names the missing object; if the kind lacks the subresource, it names none. */
static bool is_gone(const struct pl_err *err, const struct pl_about *about)
{
    struct pl_scratch scratch;
    struct pl_slice ns, name;
    return about->was_read && pl_err_is_not_found(err) &&
           pl_key_split(about->key, &ns, &name) == 0 &&
           pl_slice_eq(
               pl_node_str(pl_node_dig(pl_doc_root(about->status), "details", "name"), &scratch),
               name);
}

/* A mistake of the script: the message names the function that it called. */
static void push_mistake(lua_State *L, struct pl_state *s, const struct pl_err *err,
                         const struct pl_about *about)
{
    const char *called = about == NULL ? NULL : about->called != NULL ? about->called : about->verb;
    const char *kind = about != NULL ? about->kind : NULL;
    if (err->code != PL_EINVAL || called == NULL || kind == NULL) {
        push_positioned(L, s, err->message);
        return;
    }
    bool says_kind = strncmp(err->message, kind, strlen(kind)) == 0;
    lua_pushfstring(L, "%s%s%s: %s", called, says_kind ? "" : " ", says_kind ? "" : kind,
                    err->message);
    push_positioned(L, s, lua_tostring(L, -1));
    lua_remove(L, -2);
}

void pl_lerr_push(lua_State *L, struct pl_state *s, const struct pl_err *err,
                  const struct pl_about *about)
{
    const char *type = lerr_type_of(err->code, about);
    if (type == NULL) {
        push_mistake(L, s, err, about);
        return;
    }
    lua_newtable(L);
    lerr_set_text(L, "type", type);
    lerr_set_text(L, "message", err->message[0] ? err->message : pl_code_text(err->code));
    set_code(L, err);
    if (about != NULL) {
        lerr_set_text(L, "verb", about->verb);
        lerr_set_text(L, "kind", about->kind);
        if (about->subresource.len > 0)
            pl_lua_set(L, "subresource", about->subresource);
        if (about->key.len > 0) {
            pl_lua_push(L, about->key);
            lua_setfield(L, -2, "key");
        }
        set_causes(L, s, about->status);
        if (is_gone(err, about)) {
            lua_pushboolean(L, true);
            lua_setfield(L, -2, "gone");
        }
    }
    pl_ref_push(L, s->refs.error_meta);
    lua_setmetatable(L, -2);
}
