/* Adds warnings, and warns about single values: addresses, amounts, labels of nodes. The number of
 * warnings is limited, since one object may have very many mistakes. */
#include "warnings/warn_impl.h"

#include "format/ip.h"
#include "format/units.h"
#include "object/tree.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WARNINGS_MAX 100 /* for one object */

/* ---- adding warnings ---- */

static void add_text(struct pl_warned *w, struct pl_slice text)
{
    if (w->texts == NULL)
        w->texts = pl_tree_array(w->places.arena);
    if (w->texts->count < WARNINGS_MAX)
        pl_tree_push(w->places.arena, w->texts, pl_tree_str(w->places.arena, text));
}

static void add_message(struct pl_warned *w, struct pl_slice where, const char *fmt, va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof(text), fmt, args);
    add_text(
        w, pl_arena_f(w->places.arena, "%.*s%s%s", PL_FMT(where), where.len > 0 ? ": " : "", text));
}

void pl_warn(struct pl_warned *w, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_message(w, pl_slice("", 0), fmt, args);
    va_end(args);
}

void pl_warn_at(struct pl_warned *w, const struct pl_spot *at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_message(w, pl_spot_text(&w->places, at), fmt, args);
    va_end(args);
}

/* ---- single values ---- */

/* The address or network in canonical form. */
static struct pl_slice canonical(struct pl_warned *w, const struct pl_ip *ip)
{
    char text[PL_IP_TEXT];
    pl_ip_text(ip, text);
    if (!ip->is_network)
        return pl_arena_f(w->places.arena, "%s", text);
    return pl_arena_f(w->places.arena, "%s/%d", text, ip->prefix);
}

static void warn_network(struct pl_warned *w, const struct pl_spot *at, struct pl_slice text,
                         const struct pl_ip *ip)
{
    struct pl_ip first = pl_ip_first(ip), single = *ip;
    if (memcmp(first.bytes, ip->bytes, sizeof(first.bytes)) == 0)
        return;
    single.prefix = ip->len * 8;
    pl_warn_at(w, at,
               "CIDR value \"%.*s\" is ambiguous in this context (should be \"%.*s\" or "
               "\"%.*s\"?)",
               PL_FMT(text), PL_FMT(canonical(w, &first)), PL_FMT(canonical(w, &single)));
}

void pl_warn_ip(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *value)
{
    struct pl_slice text = pl_tree_text(value);
    struct pl_ip ip;
    if (text.len == 0 || pl_ip_parse(text, &ip, NULL) != 0)
        return;
    if (ip.is_network)
        warn_network(w, at, text, &ip);
    struct pl_slice right = canonical(w, &ip);
    bool is_six = pl_slice_chr(text, ':') != NULL;
    if (pl_slice_eq(right, text))
        return;
    const char *what = ip.is_network ? "CIDR value" : "address";
    if (!is_six || ip.len == 4)
        pl_warn_at(w, at, "non-standard %s%s \"%.*s\" is invalid: use \"%.*s\"",
                   ip.is_network ? "" : "IP ", what, PL_FMT(text), PL_FMT(right));
    else
        pl_warn_at(w, at, "IPv6 %s \"%.*s\" should be in RFC 5952 canonical format (\"%.*s\")",
                   what, PL_FMT(text), PL_FMT(right));
}

void pl_warn_fraction(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *value)
{
    double amount;
    if (value == NULL || value->type == PL_NULL || !pl_quantity_parse(value->text, &amount) ||
        floor(amount) == amount)
        return;
    pl_warn_at(w, at, "fractional byte value \"%.*s\" is invalid, must be an integer",
               PL_FMT(value->text));
}

const char *pl_warn_node_label(struct pl_slice key)
{
    static const char labels[][2][72] = {
        {"beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"},
        {"beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"},
        {"failure-domain.beta.kubernetes.io/region",
         "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"},
        {"failure-domain.beta.kubernetes.io/zone",
         "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"},
        {"beta.kubernetes.io/instance-type",
         "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"},
        {"app.kubernetes.io/created-by", "deprecated since v1.9"},
        {"scheduler.alpha.kubernetes.io/preferAvoidPods",
         "deprecated since v1.22; use Taints and Tolerations instead"},
        {"node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(labels); i++)
        if (pl_slice_eqz(key, labels[i][0]))
            return labels[i][1];
    return NULL;
}

static void warn_key(struct pl_warned *w, const struct pl_spot *at, struct pl_slice key)
{
    const char *why = pl_warn_node_label(key);
    if (why != NULL)
        pl_warn_at(w, PL_MEMBER(at, "key"), "%.*s is %s", PL_FMT(key), why);
}

void pl_warn_term(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *term,
                  bool with_values)
{
    size_t i = 0;
    PL_EACH(item, pl_tree_getz(term, "matchExpressions"))
    {
        const struct pl_spot *list = PL_MEMBER(at, "matchExpressions");
        const struct pl_spot *here = PL_INDEX(list, i++);
        size_t j = 0;
        warn_key(w, here, pl_tree_text_at(item->value, "key"));
        if (!with_values)
            continue;
        PL_EACH(value, pl_tree_getz(item->value, "values"))
        {
            const struct pl_spot *values = PL_MEMBER(here, "values");
            const char *why[2];
            size_t count = pl_label_value_faults(pl_tree_text(value->value), why);
            for (size_t k = 0; k < count; k++)
                pl_warn_at(w, PL_INDEX(values, j), "%.*s is invalid, %s",
                           PL_FMT(pl_tree_text(value->value)), why[k]);
            j++;
        }
    }
}

void pl_warn_claim_spec(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *spec)
{
    static const char lists[][12] = {"requests", "limits"};
    const struct pl_spot *resources = PL_MEMBER(at, "resources");
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++) {
        const struct pl_tree *list = pl_tree_getz(pl_tree_getz(spec, "resources"), lists[i]);
        const struct pl_spot *here = PL_MEMBER(resources, lists[i]);
        pl_warn_fraction(w, PL_OF_KEY(here, pl_slice_z("storage")), pl_tree_getz(list, "storage"));
    }
}
