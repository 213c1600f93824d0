/* Lists of names in messages of the Pod Security Standards, and the visit of a Pod's containers. */
#include "podsecurity/security_impl.h"

#include <stdlib.h>

#define NAMES_MAX 200 /* limit of names in one message */

void pl_names_add(struct pl_secured *s, struct pl_names *names, struct pl_slice text)
{
    if (names->list == NULL)
        names->list = pl_tree_array(s->arena);
    if (names->list->count < NAMES_MAX && !pl_tree_has_text(names->list, text))
        pl_tree_push(s->arena, names->list, pl_tree_str(s->arena, text));
}

size_t pl_names_count(const struct pl_names *names)
{
    return names->list != NULL ? names->list->count : 0;
}

static int names_order(const void *a, const void *b)
{
    return pl_slice_cmp(pl_tree_text(*(const struct pl_tree *const *)a),
                        pl_tree_text(*(const struct pl_tree *const *)b));
}

void pl_names_sort(struct pl_secured *s, struct pl_names *names)
{
    struct pl_tree *sorted[NAMES_MAX] = {NULL};
    size_t count = 0;
    PL_TREE_FOR(item, names->list)
    sorted[count++] = item->value;
    qsort(sorted, count, sizeof(*sorted), names_order);
    names->list = count > 0 ? pl_tree_array(s->arena) : NULL;
    for (size_t i = 0; i < count; i++)
        pl_tree_push(s->arena, names->list, sorted[i]);
}

static struct pl_slice names_joined(struct pl_secured *s, const struct pl_names *names,
                                    const char *quote)
{
    struct pl_buf text = PL_BUF_INIT;
    PL_TREE_FOR(item, names->list)
    pl_buf_add_f(&text, "%s%s%.*s%s", text.len > 0 ? ", " : "", quote,
                 PL_FMT(pl_tree_text(item->value)), quote);
    struct pl_slice out = pl_arena_copy(s->arena, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return out;
}

struct pl_slice pl_names_quoted(struct pl_secured *s, const struct pl_names *names)
{
    return names_joined(s, names, "\"");
}

struct pl_slice pl_names_plain(struct pl_secured *s, const struct pl_names *names)
{
    return names_joined(s, names, "");
}

const char *pl_names_plural(const struct pl_names *names, const char *one, const char *several)
{
    return pl_names_count(names) == 1 ? one : several;
}

struct pl_slice pl_names_containers(struct pl_secured *s, const struct pl_names *names)
{
    return pl_arena_f(s->arena, "%s %.*s", pl_names_plural(names, "container", "containers"),
                      PL_FMT(pl_names_quoted(s, names)));
}

struct pl_slice pl_names_setters(struct pl_secured *s, bool pod, const struct pl_names *names)
{
    if (pl_names_count(names) == 0)
        return pl_slice_z("pod");
    return pl_arena_f(s->arena, "%s%.*s", pod ? "pod and " : "",
                      PL_FMT(pl_names_containers(s, names)));
}

void pl_secured_fail(struct pl_secured *s, const char *reason, struct pl_slice detail)
{
    s->reason = pl_slice_z(reason);
    s->detail = detail;
}

void pl_secured_each(struct pl_secured *s, pl_container_fn *asked, void *arg,
                     struct pl_names *found)
{
    static const char lists[][20] = {"initContainers", "containers", "ephemeralContainers"};
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++)
        PL_EACH(item, pl_tree_getz(s->spec, lists[i]))
    if (asked(s, item->value, arg))
        pl_names_add(s, found, pl_tree_text_at(item->value, "name"));
}

bool pl_secured_windows(const struct pl_secured *s)
{
    return s->minor >= 25 && pl_slice_eqz(pl_tree_text_at(s->spec, "os.name"), "windows");
}

bool pl_secured_mapped(const struct pl_secured *s)
{
    return pl_is_false(pl_tree_getz(s->spec, "hostUsers"));
}

const struct pl_tree *pl_secured_context(const struct pl_tree *owner, const char *member)
{
    return pl_tree_getz(pl_tree_getz(owner, "securityContext"), member);
}
