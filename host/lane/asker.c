/* Finds the run by the operations under way: by group and version, object, and whether it is
 * written. If two runs send the same request, it returns the one that began first, since the gate
 * lets it through first. */
#include "lane/asker.h"

#include "base/check.h"
#include "lane/co.h"
#include "lane/lane.h"
#include "lua/lerr.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static size_t up_to_slash(struct pl_slice text)
{
    size_t len = text.len;
    while (len > 0 && text.ptr[len - 1] != '/')
        len--;
    return len;
}

/* "apps/v1/Deployment" and "apps/v1/deployments": plurals are unknown here, so prefixes are
 * compared. */
static bool is_kind_of(const char *kind, struct pl_slice resource)
{
    struct pl_slice name = pl_slice_z(kind);
    size_t at = up_to_slash(name);
    if (at != up_to_slash(resource) || memcmp(name.ptr, resource.ptr, at) != 0)
        return false;
    for (size_t i = at; i < at + 2 && i < name.len && i < resource.len; i++)
        if (tolower((unsigned char)name.ptr[i]) != resource.ptr[i])
            return false;
    return true;
}

static bool asker_fits(const struct pl_lop *op, const struct pl_sought *asked, bool strict)
{
    bool writes = op->type == PL_LOP_WRITE;
    if (op->io.done || op->exec == NULL || (!writes && op->type != PL_LOP_READ))
        return false;
    if (op->kind == NULL || !is_kind_of(op->kind, asked->resource))
        return false;
    if (strict && writes != asked->writes)
        return false;
    return op->key.len == 0 || asked->key.len == 0 || pl_slice_eq(op->key, asked->key);
}

static const struct pl_lop *asker_find(const struct pl_lanes *lanes, const struct pl_sought *asked,
                                       bool strict)
{
    for (int i = 0; i < lanes->options.count; i++) {
        PL_LIST_FOR (link, &lanes->lanes[i]->io.ops) {
            const struct pl_lop *op = PL_CONTAINER_OF(link, struct pl_lop, io.link);
            if (asker_fits(op, asked, strict))
                return op;
        }
    }
    return NULL;
}

static void set_line(struct pl_asker *out, const struct pl_lop *op)
{
    lua_Debug ar;
    out->line[0] = '\0';
    if (op->task == NULL || !pl_lerr_where(op->task->thread, op->lane->s, 0, &ar))
        return;
    const char *chunk = pl_lerr_chunk(&ar), *slash = strrchr(chunk, '/');
    snprintf(out->line, sizeof out->line, "%s:%d", slash != NULL ? slash + 1 : chunk,
             ar.currentline);
}

static bool asker_tell(const struct pl_lanes *lanes, const struct pl_lop *op, struct pl_asker *out)
{
    if (op == NULL)
        return false;
    out->controller = lanes->controllers[op->exec->controller].name;
    out->key = op->exec->key != NULL ? op->exec->key : "";
    out->run = op->exec->id != NULL ? op->exec->id : "";
    out->kind = op->kind != NULL ? op->kind : "";
    set_line(out, op);
    return true;
}

bool pl_lanes_asker(const struct pl_lanes *lanes, const struct pl_sought *asked,
                    struct pl_asker *out)
{
    PL_REQUIRE(lanes->options.stepped != NULL);
    const struct pl_lop *op = asker_find(lanes, asked, true);
    if (op == NULL) /* a write reads the existing object first */
        op = asker_find(lanes, asked, false);
    return asker_tell(lanes, op, out);
}

bool pl_lanes_http_asker(const struct pl_lanes *lanes, const char *method, const char *url,
                         struct pl_asker *out)
{
    PL_REQUIRE(lanes->options.stepped != NULL);
    PL_LIST_FOR (link, &lanes->lanes[0]->io.ops) {
        const struct pl_lop *op = PL_CONTAINER_OF(link, struct pl_lop, io.link);
        if (op->type == PL_LOP_HTTP && !op->io.done && op->exec != NULL &&
            pl_slice_eqz(op->in.http.method, method) && pl_slice_eqz(op->in.http.url, url))
            return asker_tell(lanes, op, out);
    }
    return false;
}
