/* Namespaces, Nodes, Events, Leases, signing requests and revisions. */
#include "valid/kinds.h"

#include "base/base64.h"
#include "base/text.h"
#include "object/tree.h"

#include <stdio.h>
#include <string.h>

#define SPEC PL_MEMBER(NULL, "spec")

/* ---- Namespaces and Nodes ---- */

void pl_valid_namespace(struct pl_api_faults *f, const struct pl_tree *object,
                        const struct pl_tree *old)
{
    const struct pl_spot *list = PL_MEMBER(SPEC, "finalizers");
    size_t i = 0;
    PL_EACH(item, pl_tree_dig(object, "spec.finalizers"))
    {
        struct pl_slice text = pl_tree_text(item->value);
        const struct pl_spot *at = old != NULL ? PL_INDEX(list, i) : list;
        i++;
        pl_qualified(f, at, item->value, NULL);
        if (pl_slice_chr(text, '/') == NULL &&
            !pl_is_among(text, "kubernetes,orphan,foregroundDeletion"))
            pl_bad_value(f, at, item->value,
                         "name is neither a standard finalizer name nor is it fully qualified");
    }
}

/* The text of a taint as Go prints it. */
static struct pl_tree *go_taint(struct pl_api_faults *f, const struct pl_tree *taint)
{
    static const char names[][2][8] = {{"key", "Key"}, {"value", "Value"}, {"effect", "Effect"}};
    struct pl_tree *out = pl_tree_object(f->arena);
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++)
        pl_tree_setz(f->arena, out, names[i][1],
                     pl_tree_str(f->arena, pl_tree_text_at(taint, names[i][0])));
    const struct pl_tree *added = pl_tree_getz(taint, "timeAdded");
    pl_tree_setz(f->arena, out, "TimeAdded",
                 added != NULL ? pl_tree_copy(f->arena, added) : pl_tree_literal(f->arena, "null"));
    return out;
}

static void check_taints(struct pl_api_faults *f, const struct pl_tree *taints)
{
    static const struct pl_rule rules[] = {
        {"[].key", pl_qualified, "always"},
        {"[].value", pl_label_value, NULL},
        {"[].effect", pl_needs_one, "NoSchedule,PreferNoSchedule,NoExecute"},
        {NULL, NULL, NULL},
    };
    const struct pl_spot *list = PL_MEMBER(PL_MEMBER(NULL, "metadata"), "taints");
    struct pl_map seen = PL_MAP_INIT;
    size_t i = 0;
    pl_hold(f, list, taints, rules);
    PL_EACH(item, taints)
    {
        const struct pl_spot *at = PL_INDEX(list, i++);
        if (pl_comes_again(&seen, pl_tree_getz(item->value, "key"),
                           pl_tree_getz(item->value, "effect")))
            pl_api_fault(f, "FieldValueDuplicate", pl_spot_text(f, at),
                         "Duplicate value: %.*s: taints must be unique by key and effect pair",
                         PL_FMT(pl_shown(f, go_taint(f, item->value))));
    }
    pl_map_deinit(&seen);
}

/* Members of a Node's spec cannot change once they are set. */
static void check_node_change(struct pl_api_faults *f, const struct pl_tree *spec,
                              const struct pl_tree *old)
{
    const struct pl_tree *is = pl_tree_getz(spec, "podCIDRs"), *was = pl_tree_getz(old, "podCIDRs");
    struct pl_slice id = pl_tree_text_at(spec, "providerID");
    struct pl_slice had = pl_tree_text_at(old, "providerID");
    if (was != NULL && was->count > 0 && (is == NULL || !pl_tree_equal(is, was)))
        pl_bad_forbidden(f, PL_MEMBER(SPEC, "podCIDRs"),
                         "node updates may not change podCIDR except from \"\" to valid");
    if (had.len > 0 && !pl_slice_eq(id, had))
        pl_bad_value(f, PL_MEMBER(SPEC, "providerID"), NULL, "field cannot be %s once set",
                     id.len > 0 ? "modified" : "cleared");
}

void pl_valid_node(struct pl_api_faults *f, const struct pl_tree *object, const struct pl_tree *old)
{
    const struct pl_tree *cidrs = pl_tree_dig(object, "spec.podCIDRs");
    const struct pl_spot *list = PL_MEMBER(SPEC, "podCIDRs");
    const char *const maps[] = {"capacity", "allocatable"};
    size_t i = 0, four = 0, six = 0;
    if (old != NULL)
        check_node_change(f, pl_tree_getz(object, "spec"), pl_tree_getz(old, "spec"));
    check_taints(f, pl_tree_dig(object, "spec.taints"));
    for (size_t k = 0; k < PL_ARRAY_LEN(maps); k++)
        PL_TREE_FOR(item, pl_tree_getz(pl_tree_getz(object, "status"), maps[k]))
    if (pl_quantity_sign(item->value) < 0) {
        struct pl_slice key = pl_arena_copy(f->arena, item->key);
        pl_bad_value(f, PL_MEMBER(PL_MEMBER(PL_MEMBER(NULL, "status"), maps[k]), key.ptr),
                     item->value, "must be greater than or equal to 0");
    }
    PL_EACH(item, cidrs)
    {
        struct pl_slice text = pl_tree_text(item->value);
        bool is_six = pl_slice_chr(text, ':') != NULL;
        six += is_six;
        four += !is_six;
        pl_cidr(f, PL_INDEX(list, i++), item->value, NULL);
    }
    if (four > 1 || six > 1)
        pl_bad_value(f, list, cidrs, "may specify no more than one CIDR for each IP family");
}

/* ---- Events ---- */

static void event_word(struct pl_api_faults *f, const char *member, const struct pl_tree *value)
{
    struct pl_slice text = pl_tree_text(value);
    if (text.len == 0)
        pl_bad_required(f, PL_MEMBER(NULL, member), "");
    else if (text.len > 128)
        pl_bad_value(f, PL_MEMBER(NULL, member), pl_tree_strz(f->arena, ""),
                     "can have at most 128 characters");
}

static void check_series(struct pl_api_faults *f, const struct pl_tree *series)
{
    const struct pl_spot *at = PL_MEMBER(NULL, "series");
    if (series == NULL)
        return;
    if (pl_number_at(series, "count") < 2)
        pl_bad_value(f, PL_MEMBER(at, "count"), pl_tree_strz(f->arena, ""), "should be at least 2");
    if (pl_is_empty(pl_tree_getz(series, "lastObservedTime")))
        pl_bad_required(f, PL_MEMBER(at, "lastObservedTime"), "");
}

/* Members of the core API that a new Event of events.k8s.io must not have. */
static void check_old_members(struct pl_api_faults *f, const struct pl_tree *event)
{
    static const char members[][2][28] = {{"deprecatedFirstTimestamp", "firstTimestamp"},
                                          {"deprecatedLastTimestamp", "lastTimestamp"},
                                          {"deprecatedCount", "count"},
                                          {"deprecatedSource", "source"}};
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++) {
        const struct pl_tree *value = pl_tree_getz(event, members[i][0]);
        int64_t number = 1;
        bool is_set = !pl_is_empty(value) && (!pl_tree_integer(value, &number) || number != 0);
        if (is_set)
            pl_bad_value(f, PL_MEMBER(NULL, members[i][1]), pl_tree_strz(f->arena, ""),
                         "needs to be unset");
    }
}

/* The member that has another name in each of the two versions. */
static const struct pl_tree *event_part(const struct pl_tree *event, const char *core,
                                        const char *modern)
{
    const struct pl_tree *found = pl_tree_getz(event, core);
    return found != NULL ? found : pl_tree_getz(event, modern);
}

/* Events with a time, in both versions. controller: the name of the member in the version. */
static void check_timed_event(struct pl_api_faults *f, const struct pl_tree *event,
                              const char *controller)
{
    if (pl_is_empty(pl_tree_getz(event, controller)))
        pl_bad_required(f, PL_MEMBER(NULL, controller), "");
    pl_qualified(f, PL_MEMBER(NULL, controller), pl_tree_getz(event, controller), "always");
    event_word(f, "reportingInstance", pl_tree_getz(event, "reportingInstance"));
    event_word(f, "action", pl_tree_getz(event, "action"));
    event_word(f, "reason", pl_tree_getz(event, "reason"));
    if (pl_tree_text(event_part(event, "message", "note")).len > 1024)
        pl_bad_value(f, PL_MEMBER(NULL, "message"), pl_tree_strz(f->arena, ""),
                     "can have at most 1024 characters");
}

static void check_new_event(struct pl_api_faults *f, const struct pl_tree *event)
{
    struct pl_slice type = pl_tree_text_at(event, "type");
    check_series(f, pl_tree_getz(event, "series"));
    pl_need(f, PL_MEMBER(NULL, "eventTime"), pl_tree_getz(event, "eventTime"), NULL);
    if (!pl_is_among(type, "Normal,Warning"))
        pl_bad_value(f, PL_MEMBER(NULL, "type"), pl_tree_strz(f->arena, ""),
                     "has invalid value: %.*s", PL_FMT(type));
    check_old_members(f, event);
}

/* Only the series and the metadata of an Event may change. Fields have their names of the core API
 * in messages. */
static void check_event_change(struct pl_api_faults *f, const struct pl_tree *event,
                               const struct pl_tree *old)
{
    static const struct {
        const char *sent, *shown, *type; /* type "": a text, which is never absent in Go */
    } frozen[] = {
        {"regarding", "involvedObject", "@ObjectReference"},
        {"reason", "reason", ""},
        {"note", "message", ""},
        {"deprecatedSource", "source", "@EventSource"},
        {"deprecatedFirstTimestamp", "firstTimestamp", NULL},
        {"deprecatedLastTimestamp", "lastTimestamp", NULL},
        {"deprecatedCount", "count", NULL},
        {"type", "type", ""},
        {"eventTime", "eventTime", NULL},
        {"action", "action", ""},
        {"related", "related", "*@ObjectReference"},
        {"reportingController", "reportingController", ""},
        {"reportingInstance", "reportingInstance", ""},
    };
    if (!pl_tree_equal(pl_tree_getz(event, "series"), pl_tree_getz(old, "series")))
        check_series(f, pl_tree_getz(event, "series"));
    for (size_t i = 0; i < PL_ARRAY_LEN(frozen); i++) {
        const struct pl_tree *is = pl_tree_getz(event, frozen[i].sent);
        const struct pl_tree *was = pl_tree_getz(old, frozen[i].sent);
        const struct pl_spot *at = PL_MEMBER(NULL, frozen[i].shown);
        const char *type = frozen[i].type;
        if (type == NULL)
            pl_frozen(f, at, is, was);
        else if (*type == '\0')
            pl_frozen(f, at, pl_or_empty(f, is), pl_or_empty(f, was));
        else
            pl_frozen_struct(f, at, type, is, was);
    }
}

/* An Event belongs to the namespace of its object; one without a namespace to "default". With a
 * time only the second is checked. */
static bool is_at_home(struct pl_slice ns, struct pl_slice of, bool is_timed)
{
    if (of.len > 0)
        return is_timed || pl_slice_eq(ns, of);
    return pl_is_among(ns, is_timed ? "default,kube-system" : "default");
}

void pl_valid_event(struct pl_api_faults *f, const struct pl_tree *object,
                    const struct pl_tree *old)
{
    bool modern = pl_slice_eqz(pl_tree_text_at(object, "apiVersion"), "events.k8s.io/v1");
    bool is_timed = !pl_is_empty(pl_tree_getz(object, "eventTime"));
    const struct pl_tree *involved =
        pl_tree_getz(event_part(object, "involvedObject", "regarding"), "namespace");
    if (!is_at_home(pl_tree_text_at(object, "metadata.namespace"), pl_tree_text(involved),
                    is_timed))
        pl_bad_value(f, PL_MEMBER(PL_MEMBER(NULL, "involvedObject"), "namespace"),
                     pl_or_empty(f, involved), "does not match event.namespace");
    if (is_timed)
        check_timed_event(f, object, modern ? "reportingController" : "reportingComponent");
    if (old == NULL && modern)
        check_new_event(f, object);
    if (old != NULL && modern)
        check_event_change(f, object, old);
}

/* ---- Leases, signing requests, revisions ---- */

void pl_valid_lease(struct pl_api_faults *f, const struct pl_tree *object,
                    const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    PL_UNUSED(old);
    if (pl_tree_getz(spec, "leaseDurationSeconds") != NULL)
        pl_above_zero(f, PL_MEMBER(SPEC, "leaseDurationSeconds"),
                      pl_tree_getz(spec, "leaseDurationSeconds"), "must be greater than 0");
    pl_natural(f, PL_MEMBER(SPEC, "leaseTransitions"), pl_tree_getz(spec, "leaseTransitions"),
               NULL);
}

#define USAGES                                                                                     \
    "any,cert sign,client auth,code signing,content commitment,crl sign,data encipherment,"        \
    "decipher only,digital signature,email protection,encipher only,ipsec end system,ipsec "       \
    "tunnel,ipsec user,key agreement,key encipherment,microsoft sgc,netscape sgc,ocsp signing,"    \
    "s/mime,server auth,signing,timestamping"

/* A block of that type, from its first to its last line. */
static bool holds_pem(struct pl_slice text, const char *type)
{
    char begin[64], end[64];
    struct pl_buf bytes = PL_BUF_INIT;
    if (text.len == 0)
        return false;
    snprintf(begin, sizeof(begin), "-----BEGIN %s-----\n", type);
    snprintf(end, sizeof(end), "\n-----END %s-----", type);
    const char *from = pl_text_find(text, begin);
    if (from == NULL)
        return false;
    from += strlen(begin) - 1; /* the line's end may also be that of an empty block */
    const char *to = pl_text_find(pl_slice(from, (size_t)(text.ptr + text.len - from)), end);
    for (const char *at = from; to != NULL && at < to; at++)
        if (*at != '\n' && *at != '\r')
            pl_buf_add_char(&bytes, *at);
    struct pl_buf decoded = PL_BUF_INIT;
    bool holds = to != NULL && pl_base64_decode(pl_buf_slice(&bytes), &decoded);
    pl_buf_deinit(&decoded);
    pl_buf_deinit(&bytes);
    return holds;
}

static void check_signer(struct pl_api_faults *f, const struct pl_tree *signer)
{
    struct pl_slice text = pl_tree_text(signer);
    const struct pl_spot *at = PL_MEMBER(SPEC, "signerName");
    if (pl_slice_eqz(text, "kubernetes.io/legacy-unknown"))
        pl_bad_value(f, at, signer, "the legacy signerName is not allowed via this API version");
    else
        pl_valid_signer_name(f, at, signer, NULL);
}

static void check_certificate(struct pl_api_faults *f, const struct pl_tree *object)
{
    const struct pl_tree *issued = pl_tree_dig(object, "status.certificate");
    struct pl_buf pem = PL_BUF_INIT;
    pl_base64_decode(pl_tree_text(issued), &pem);
    if (!pl_is_empty(issued) && !holds_pem(pl_buf_slice(&pem), "CERTIFICATE"))
        pl_bad_value(f, PL_MEMBER(PL_MEMBER(NULL, "status"), "certificate"),
                     pl_tree_strz(f->arena, "<certificate data>"),
                     "must contain at least one CERTIFICATE PEM block");
    pl_buf_deinit(&pem);
}

bool pl_has_condition(const struct pl_tree *object, const char *type)
{
    PL_EACH(item, pl_tree_dig(object, "status.conditions"))
    if (pl_slice_eqz(pl_tree_text_at(item->value, "type"), type))
        return true;
    return false;
}

/* Conditions for good are true and stay. A certificate is approved or denied, not both. */
static void check_conditions(struct pl_api_faults *f, const struct pl_tree *object,
                             const struct pl_tree *old)
{
    static const char final[][12] = {"Approved", "Denied", "Failed"};
    const struct pl_spot *list = PL_MEMBER(PL_MEMBER(NULL, "status"), "conditions");
    size_t i = 0;
    for (size_t k = 0; k < PL_ARRAY_LEN(final); k++)
        if (pl_has_condition(old, final[k]) && !pl_has_condition(object, final[k]))
            pl_bad_forbidden(
                f, list,
                pl_arena_f(f->arena, "updates may not remove a condition of type \"%s\"", final[k])
                    .ptr);
    if (pl_has_condition(object, "Approved") && pl_has_condition(object, "Denied"))
        pl_bad_value(f, list,
                     pl_tree_strz(f->arena, "{conditions[{\"type\": \"Approved\"}], "
                                            "conditions[{\"type\": \"Denied\"}]}"),
                     "must specify at most one of: `conditions[{\"type\": \"Approved\"}]`, "
                     "`conditions[{\"type\": \"Denied\"}]`");
    PL_EACH(item, pl_tree_dig(object, "status.conditions"))
    {
        const struct pl_spot *at = PL_INDEX(list, i++);
        struct pl_slice type = pl_tree_text_at(item->value, "type");
        pl_need(f, PL_MEMBER(at, "type"), pl_tree_getz(item->value, "type"), NULL);
        pl_needs_one(f, PL_MEMBER(at, "status"), pl_tree_getz(item->value, "status"),
                     pl_is_among(type, "Approved,Denied,Failed") ? "True" : "False,True,Unknown");
    }
    pl_unique(f, list, pl_tree_dig(object, "status.conditions"), "type");
}

void pl_valid_signing_request(struct pl_api_faults *f, const struct pl_tree *object,
                              const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *usages = pl_tree_getz(spec, "usages");
    const struct pl_tree *request = pl_tree_getz(spec, "request");
    const struct pl_tree *seconds = pl_tree_getz(spec, "expirationSeconds");
    const struct pl_spot *list = PL_MEMBER(SPEC, "usages");
    struct pl_buf pem = PL_BUF_INIT;
    int64_t is;
    size_t i = 0;
    pl_base64_decode(pl_tree_text(request), &pem);
    if (!holds_pem(pl_buf_slice(&pem), "CERTIFICATE REQUEST"))
        pl_bad_value(f, PL_MEMBER(SPEC, "request"), request,
                     "PEM block type must be CERTIFICATE REQUEST");
    pl_buf_deinit(&pem);
    pl_need(f, list, usages, NULL);
    PL_EACH(item, usages)
    pl_must_be(f, PL_INDEX(list, i++), item->value, USAGES);
    pl_unique(f, list, usages, NULL);
    check_signer(f, pl_tree_getz(spec, "signerName"));
    if (pl_tree_integer(seconds, &is) && is < 600)
        pl_bad_value(f, PL_MEMBER(SPEC, "expirationSeconds"), seconds,
                     "may not specify a duration less than 600 seconds (10 minutes)");
    check_certificate(f, object);
    check_conditions(f, object, old);
}

void pl_valid_revision(struct pl_api_faults *f, const struct pl_tree *object,
                       const struct pl_tree *old)
{
    if (old == NULL && !pl_tree_is(pl_tree_getz(object, "data"), PL_OBJECT) &&
        pl_is_empty(pl_tree_getz(object, "data")))
        pl_bad_required(f, PL_MEMBER(NULL, "data"), "data is mandatory");
    pl_natural(f, PL_MEMBER(NULL, "revision"), pl_tree_getz(object, "revision"), NULL);
    if (old != NULL)
        pl_frozen(f, PL_MEMBER(NULL, "data"), pl_tree_getz(object, "data"),
                  pl_tree_getz(old, "data"));
}
