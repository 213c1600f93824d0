/* FlowSchemas and PriorityLevelConfigurations. This server limits no requests: it only checks these
 * objects, so that what it takes is what a cluster takes. */
#include "valid/kinds.h"

#include "object/tree.h"
#include "base/text.h"
#include "schema/validate.h"

#include <math.h>
#include <string.h>

#define SPEC        PL_MEMBER(NULL, "spec")
#define NSLIST      "each member of this list must be '*' or a DNS-1123 label; "
#define MOST_QUEUES 10000000
#define MOST_BITS   60 /* of the hash that chooses the queues */

/* ---- lists with a wildcard ---- */

static bool has_wildcard(const struct pl_tree *list)
{
    return pl_tree_is(list, PL_ARRAY) && pl_tree_has_text(list, pl_slice_z("*"));
}

/* True if the elements have to be looked at one by one. */
static bool check_list(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *list, const char *what, const char *none)
{
    if (pl_is_empty(list)) {
        pl_bad_required(f, at, none);
        return false;
    }
    if (!has_wildcard(list))
        return true;
    if (list->count > 1)
        pl_bad_value(f, at, list, "if '*' is present, must not specify other %s", what);
    return false;
}

static void check_verbs(struct pl_api_faults *f, const struct pl_spot *rule,
                        const struct pl_tree *verbs)
{
    static const char known[] = "create,delete,deletecollection,get,list,patch,proxy,update,watch";
    const struct pl_spot *at = PL_MEMBER(rule, "verbs");
    if (!check_list(f, at, verbs, "verbs", "verbs must contain at least one value"))
        return;
    PL_EACH(item, verbs)
    if (!pl_is_among(pl_tree_text(item->value), known)) {
        pl_bad_unsupported(f, at, verbs, known);
        return;
    }
}

/* ---- rules ---- */

static const char *url_fault(struct pl_slice path)
{
    size_t stars = 0;
    if (path.len == 0)
        return "must not be empty";
    if (path.ptr[0] != '/')
        return "must start with slash";
    if (pl_slice_chr(path, ' ') != NULL)
        return "must not contain white-space";
    for (size_t i = 0; i < path.len; i++) {
        stars += path.ptr[i] == '*';
        if (i > 0 && path.ptr[i] == '/' && path.ptr[i - 1] == '/')
            return "must not contain double slash";
    }
    bool at_end = path.len > 1 && pl_text_ends(path, "/*");
    return stars > 1 || (stars == 1 && !at_end) ? "wildcard can only do suffix matching" : NULL;
}

static void check_urls(struct pl_api_faults *f, const struct pl_spot *rule,
                       const struct pl_tree *urls)
{
    const struct pl_spot *at = PL_MEMBER(rule, "nonResourceURLs");
    size_t i = 0;
    if (!check_list(f, at, urls, "non-resource URLs",
                    "nonResourceURLs must contain at least one value"))
        return;
    PL_EACH(item, urls)
    {
        const char *why = url_fault(pl_tree_text(item->value));
        if (why != NULL)
            pl_bad_value(f, PL_INDEX(at, i), item->value, "%s", why);
        i++;
    }
}

static void check_namespaces(struct pl_api_faults *f, const struct pl_spot *rule,
                             const struct pl_tree *resources)
{
    const struct pl_spot *at = PL_MEMBER(rule, "namespaces");
    const struct pl_tree *names = pl_tree_getz(resources, "namespaces");
    size_t i = 0;
    if (pl_is_empty(names) && pl_is_true(pl_tree_getz(resources, "clusterScope")))
        return;
    if (!check_list(f, at, names, "namespaces",
                    "resource rules that are not cluster scoped must supply at least one "
                    "namespace"))
        return;
    PL_EACH(item, names)
    {
        struct pl_slice name = pl_tree_text(item->value);
        if (name.len > 63)
            pl_bad_value(f, PL_INDEX(at, i), item->value,
                         NSLIST "must be no more than 63 characters");
        if (!pl_text_is_label(name))
            pl_bad_value(f, PL_INDEX(at, i), item->value, NSLIST "%s", PL_API_LABEL_TEXT);
        i++;
    }
}

static void check_resource_rule(struct pl_api_faults *f, const struct pl_spot *at,
                                const struct pl_tree *rule)
{
    check_verbs(f, at, pl_tree_getz(rule, "verbs"));
    check_list(f, PL_MEMBER(at, "apiGroups"), pl_tree_getz(rule, "apiGroups"), "api groups",
               "resource rules must supply at least one api group");
    check_list(f, PL_MEMBER(at, "resources"), pl_tree_getz(rule, "resources"), "resources",
               "resource rules must supply at least one resource");
    check_namespaces(f, at, rule);
}

/* ---- subjects ---- */

static const struct {
    const char *kind, *member;
} subjects[] = {{"ServiceAccount", "serviceAccount"}, {"User", "user"}, {"Group", "group"}};

static void check_account(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *account)
{
    struct pl_slice name = pl_tree_text_at(account, "name");
    if (name.len == 0)
        pl_bad_required(f, PL_MEMBER(at, "name"), "");
    else if (!pl_slice_eqz(name, "*"))
        pl_subdomain(f, PL_MEMBER(at, "name"), pl_tree_getz(account, "name"), NULL);
    if (pl_tree_text_at(account, "namespace").len == 0)
        pl_bad_required(f, PL_MEMBER(at, "namespace"),
                        "must specify namespace for service account");
    else
        pl_label(f, PL_MEMBER(at, "namespace"), pl_tree_getz(account, "namespace"), NULL);
}

static void check_flow_subject(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *subject)
{
    const struct pl_tree *kind = pl_tree_getz(subject, "kind");
    struct pl_slice text = pl_tree_text(kind);
    if (!pl_is_among(text, "Group,ServiceAccount,User")) {
        pl_bad_unsupported(f, PL_MEMBER(at, "kind"), kind, "Group,ServiceAccount,User");
        return;
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(subjects); i++) {
        const struct pl_spot *spot = PL_MEMBER(at, subjects[i].member);
        const struct pl_tree *value = pl_tree_getz(subject, subjects[i].member);
        const char *member = subjects[i].member, *is = subjects[i].kind;
        if (!pl_slice_eqz(text, is) && value != NULL)
            pl_bad_forbidden(
                f, spot,
                pl_arena_f(f->arena, "%s is forbidden when subject kind is not '%s'", member, is)
                    .ptr);
        if (!pl_slice_eqz(text, is))
            continue;
        if (value == NULL)
            pl_bad_required(
                f, spot,
                pl_arena_f(f->arena, "%s is required when subject kind is '%s'", member, is).ptr);
        else if (i == 0)
            check_account(f, spot, value);
        else
            pl_need(f, PL_MEMBER(spot, "name"), pl_tree_getz(value, "name"), "");
    }
}

static void check_flow_rule(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *rule)
{
    const struct pl_tree *who = pl_tree_getz(rule, "subjects");
    const struct pl_tree *resources = pl_tree_getz(rule, "resourceRules");
    const struct pl_tree *urls = pl_tree_getz(rule, "nonResourceRules");
    size_t i = 0;
    if (pl_is_empty(who))
        pl_bad_required(f, PL_MEMBER(at, "subjects"), "subjects must contain at least one value");
    PL_EACH(item, who)
    check_flow_subject(f, PL_INDEX(PL_MEMBER(at, "subjects"), i++), item->value);
    if (pl_is_empty(resources) && pl_is_empty(urls))
        pl_bad_required(f, at,
                        "at least one of resourceRules and nonResourceRules has to be non-empty");
    i = 0;
    PL_EACH(item, resources)
    check_resource_rule(f, PL_INDEX(PL_MEMBER(at, "resourceRules"), i++), item->value);
    i = 0;
    PL_EACH(item, urls)
    {
        const struct pl_spot *spot = PL_INDEX(PL_MEMBER(at, "nonResourceRules"), i++);
        check_verbs(f, spot, pl_tree_getz(item->value, "verbs"));
        check_urls(f, spot, pl_tree_getz(item->value, "nonResourceURLs"));
    }
}

/* Messages show Go's structure. */
static struct pl_tree *go_method(struct pl_api_faults *f, const struct pl_tree *method)
{
    struct pl_tree *out = pl_tree_object(f->arena);
    pl_tree_setz(f->arena, out, "Type", pl_tree_str(f->arena, pl_tree_text_at(method, "type")));
    return out;
}

void pl_valid_flow_schema(struct pl_api_faults *f, const struct pl_tree *object,
                          const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *order = pl_tree_getz(spec, "matchingPrecedence");
    const struct pl_tree *how = pl_tree_getz(spec, "distinguisherMethod");
    const struct pl_tree *level = pl_tree_dig(spec, "priorityLevelConfiguration.name");
    const struct pl_spot *at = PL_MEMBER(SPEC, "matchingPrecedence");
    const struct pl_spot *level_at =
        PL_MEMBER(PL_MEMBER(SPEC, "priorityLevelConfiguration"), "name");
    int64_t number = 1;
    size_t i = 0;
    PL_UNUSED(old);
    pl_tree_integer(order, &number);
    if (number <= 0)
        pl_bad_value(f, at, order, "must be a positive value");
    if (number > 10000)
        pl_bad_value(f, at, order, "must not be greater than 10000");
    if (number == 1 && !pl_slice_eqz(pl_tree_text_at(object, "metadata.name"), "exempt"))
        pl_bad_value(f, at, order, "only the schema named 'exempt' may have matchingPrecedence 1");
    if (how != NULL && !pl_is_among(pl_tree_text_at(how, "type"), "ByNamespace,ByUser"))
        pl_bad_unsupported(f, PL_MEMBER(PL_MEMBER(SPEC, "distinguisherMethod"), "type"),
                           go_method(f, how), "ByNamespace,ByUser");
    pl_need(f, level_at, level, "must reference a priority level");
    pl_subdomain(f, level_at, level, NULL);
    PL_EACH(item, pl_tree_getz(spec, "rules"))
    check_flow_rule(f, PL_INDEX(PL_MEMBER(SPEC, "rules"), i++), item->value);
}

/* ---- priority levels ---- */

/* The number of bits of a hash that choosing `hand` of `queues` takes. */
static int bits_of(int64_t queues, int64_t hand)
{
    return (int)ceil(log2((double)queues) * (double)hand);
}

static void check_queues(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *queuing)
{
    static const struct pl_rule rules[] = {
        {"queueLengthLimit", pl_above_zero, "must be positive"},
        {"queues", pl_above_zero, "must be positive"},
        {"handSize", pl_above_zero, "must be positive"},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *hand_is = pl_tree_getz(queuing, "handSize");
    const struct pl_spot *hand_at = PL_MEMBER(at, "handSize");
    int64_t queues = 0, hand = 0;
    pl_hold(f, at, queuing, rules);
    pl_tree_integer(pl_tree_getz(queuing, "queues"), &queues);
    pl_tree_integer(hand_is, &hand);
    if (queues > MOST_QUEUES)
        pl_bad_value(f, PL_MEMBER(at, "queues"), pl_tree_getz(queuing, "queues"),
                     "must not be greater than %d", MOST_QUEUES);
    if (hand <= 0)
        return;
    if (hand > queues)
        pl_bad_value(f, hand_at, hand_is, "should not be greater than queues (%lld)",
                     (long long)queues);
    else if (hand > MOST_BITS || bits_of(queues, hand) > MOST_BITS)
        pl_bad_value(f, hand_at, hand_is,
                     "required entropy bits of deckSize %lld and handSize %lld should not be "
                     "greater than %d",
                     (long long)queues, (long long)hand, MOST_BITS);
}

static void check_shares(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *level)
{
    static const struct pl_rule rules[] = {
        {"nominalConcurrencyShares", pl_natural, "must be a non-negative integer"},
        {"lendablePercent", pl_range, "0-100"},
        {"borrowingLimitPercent", pl_natural, "if specified, must be a non-negative integer"},
        {NULL, NULL, NULL},
    };
    pl_hold(f, at, level, rules);
}

static void check_limited(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *limited)
{
    const struct pl_spot *answer_at = PL_MEMBER(at, "limitResponse");
    const struct pl_tree *answer = pl_tree_getz(limited, "limitResponse");
    const struct pl_tree *queuing = pl_tree_getz(answer, "queuing");
    bool queues = pl_slice_eqz(pl_tree_text_at(answer, "type"), "Queue");
    check_shares(f, at, limited);
    pl_needs_one(f, PL_MEMBER(answer_at, "type"), pl_tree_getz(answer, "type"), "Queue,Reject");
    if (!queues && queuing != NULL)
        pl_bad_forbidden(f, PL_MEMBER(answer_at, "queuing"), "");
    else if (queues && queuing == NULL)
        pl_bad_required(f, PL_MEMBER(answer_at, "queuing"), "");
    else if (queues)
        check_queues(f, PL_MEMBER(answer_at, "queuing"), queuing);
}

void pl_valid_priority_level(struct pl_api_faults *f, const struct pl_tree *object,
                             const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *type = pl_tree_getz(spec, "type");
    const struct pl_tree *limited = pl_tree_getz(spec, "limited");
    const struct pl_tree *exempt = pl_tree_getz(spec, "exempt");
    struct pl_slice text = pl_tree_text(type);
    bool is_named = pl_slice_eqz(pl_tree_text_at(object, "metadata.name"), "exempt");
    PL_UNUSED(old);
    if (is_named != pl_slice_eqz(text, "Exempt"))
        pl_bad_value(f, PL_MEMBER(SPEC, "type"), pl_or_empty(f, type),
                     "must be 'Exempt' if and only if `name` is 'exempt'");
    pl_needs_one(f, PL_MEMBER(SPEC, "type"), type, "Exempt,Limited");
    bool is_limited = pl_slice_eqz(text, "Limited"), is_exempt = pl_slice_eqz(text, "Exempt");
    if (!is_limited && limited != NULL) {
        const struct pl_tree *answer = pl_tree_dig(limited, "limitResponse.type");
        pl_bad_forbidden(f, PL_MEMBER(SPEC, "limited"), "");
        pl_need(f, PL_MEMBER(PL_MEMBER(PL_MEMBER(SPEC, "limited"), "limitResponse"), "type"),
                answer, NULL);
    }
    if (!is_exempt && exempt != NULL)
        pl_bad_forbidden(f, PL_MEMBER(SPEC, "exempt"), "");
    if (is_exempt)
        check_shares(f, PL_MEMBER(SPEC, "exempt"), exempt);
    else if (is_limited && limited == NULL)
        pl_bad_required(f, PL_MEMBER(SPEC, "limited"), "");
    else if (is_limited)
        check_limited(f, PL_MEMBER(SPEC, "limited"), limited);
}
