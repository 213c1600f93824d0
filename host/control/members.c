/* Families: sources that follow a selection of kinds, which changes while they run. Each selected
 * kind is a member: a subscription with its own spec, which borrows everything except the kind from
 * the family's. A member that cannot sync does not block the controller. A member is never freed
 * before its edition, since questions and retries point to it. A member that is not selected any
 * more is inactive, and is used again when its kind comes back. */
#include "control/controller_impl.h"

#include "base/alloc.h"
#include "base/log.h"

#include <string.h>

#define SLICE_DOCS 256

/* ---- finding ---- */

static struct pl_member *members_find(const struct pl_edition *edition, size_t family,
                                      const struct pl_kind *kind)
{
    for (size_t i = 0; i < edition->member_count; i++)
        if (edition->members[i]->family == family &&
            pl_kind_eq(&edition->members[i]->source.kind, kind))
            return edition->members[i];
    return NULL;
}

static bool members_has(const struct pl_kind *kinds, size_t count, const struct pl_kind *kind)
{
    for (size_t i = 0; i < count; i++)
        if (pl_kind_eq(&kinds[i], kind))
            return true;
    return false;
}

static bool has_group_version(const struct pl_kind *kinds, size_t count, const struct pl_kind *kind)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(kinds[i].group, kind->group) == 0 &&
            strcmp(kinds[i].version, kind->version) == 0)
            return true;
    return false;
}

static bool has_other_version(const struct pl_kind *kinds, size_t count, const struct pl_kind *kind)
{
    for (size_t i = 0; i < count; i++)
        if (pl_kind_eq_group(&kinds[i], kind))
            return true;
    return false;
}

/* The n-th family of one edition corresponds to the n-th of the next. */
static size_t ordinal_of(const struct pl_edition *edition, size_t family)
{
    size_t ordinal = 0;
    for (size_t i = 0; i < family; i++)
        ordinal += pl_source_is_family(&edition->spec.sources[i]);
    return ordinal;
}

/* False: it has no such family, or one with other options. */
static bool find_family(const struct pl_edition *from, size_t family, const struct pl_edition *to,
                        size_t *found)
{
    size_t ordinal = ordinal_of(from, family);
    for (*found = 0; *found < to->spec.source_count; ++*found) {
        const struct pl_source_spec *source = &to->spec.sources[*found];
        if (pl_source_is_family(source) && ordinal-- == 0)
            return pl_source_options_eq(&source->options, &from->spec.sources[family].options);
    }
    return false;
}

/* ---- beginning ---- */

static struct pl_member *members_make(struct pl_edition *edition, size_t family,
                                      const struct pl_kind *kind)
{
    struct pl_member *member = PL_NEW(struct pl_member);
    member->family = family;
    member->source = edition->spec.sources[family];
    member->source.kind = *kind;
    pl_subscription_init(&member->subscription, edition, &member->source,
                         edition->spec.source_count + edition->member_count);
    member->subscription.member = member;
    edition->members =
        pl_reallocarray(edition->members, edition->member_count + 1, sizeof(struct pl_member *));
    edition->members[edition->member_count++] = member;
    return member;
}

/* True when it was not followed before. */
static bool members_begin(struct pl_edition *edition, size_t family, const struct pl_kind *kind)
{
    struct pl_member *member = members_find(edition, family, kind);
    if (member == NULL)
        member = members_make(edition, family, kind);
    if (member->active)
        return false;
    member->active = true;
    if (edition->controller != NULL)
        pl_subscription_adopt(&member->subscription, edition->controller);
    pl_subscription_start(&member->subscription);
    return true;
}

void pl_members_listen(struct pl_controller *c)
{
    if (!c->listening || pl_controller_is_over(c))
        return;
    for (size_t i = 0; i < c->edition->member_count; i++) {
        struct pl_subscription *subscription = &c->edition->members[i]->subscription;
        if (c->edition->members[i]->active && subscription->is_synced &&
            !pl_link_is_linked(&subscription->follower.link))
            pl_informer_follow(subscription->informer, &subscription->follower);
    }
}

/* ---- ending ---- */

static void tell_ends(struct pl_subscription *subscription)
{
    struct pl_store_walk walk = {0};
    struct pl_docs docs = {0};
    bool more = true;
    while (more) {
        more = pl_store_walk(pl_informer_store(subscription->informer), &walk, SLICE_DOCS, &docs);
        for (size_t i = 0; i < docs.count; i++)
            pl_subscription_show_end(subscription, docs.items[i]);
        pl_docs_deinit(&docs);
        docs = (struct pl_docs){0};
    }
}

/* Ends later if it has not received all stored objects yet. */
static bool members_end(struct pl_member *member, bool tell)
{
    struct pl_subscription *subscription = &member->subscription;
    bool heard = pl_link_is_linked(&subscription->follower.link);
    if (heard && pl_follower_is_behind(&subscription->follower))
        return false;
    if (heard)
        pl_informer_flush(subscription->informer);
    pl_backlog_unfollow(&subscription->follower);
    if (tell && heard)
        tell_ends(subscription);
    member->active = false;
    subscription->is_synced = false;
    pl_subscription_stop(subscription);
    return true;
}

static void log_change(const struct pl_edition *edition, const char *what,
                       const struct pl_kind *kind)
{
    char text[PL_KIND_TEXT];
    pl_log(PL_LOG_INFO, what, pl_str("controller", edition->spec.name),
           pl_str("kind", pl_kind_text(kind, text)));
}

void pl_edition_select(struct pl_edition *edition, size_t source, const struct pl_kind *kinds,
                       size_t count, const struct pl_kind *unknown, size_t unknown_count)
{
    struct pl_controller *c = edition->controller;
    if (c == NULL || c->edition != edition || !edition->is_open || pl_controller_is_over(c))
        return;
    for (size_t i = 0; i < edition->member_count; i++) {
        struct pl_member *member = edition->members[i];
        const struct pl_kind *kind = &member->source.kind;
        if (member->family != source || !member->active || members_has(kinds, count, kind) ||
            has_group_version(unknown, unknown_count, kind))
            continue;
        if (members_end(member, !has_other_version(kinds, count, kind)))
            log_change(edition, "a kind is no longer followed", kind);
    }
    for (size_t i = 0; i < count; i++)
        if (members_begin(edition, source, &kinds[i]))
            log_change(edition, "a kind is followed", &kinds[i]);
    pl_controller_drive(c);
}

/* ---- another edition ---- */

void pl_members_carry(struct pl_edition *from, struct pl_edition *to)
{
    size_t family;
    for (size_t i = 0; from != to && i < from->member_count; i++)
        if (from->members[i]->active && find_family(from, from->members[i]->family, to, &family))
            members_begin(to, family, &from->members[i]->source.kind);
}

struct pl_subscription *pl_members_twin(struct pl_edition *edition,
                                        const struct pl_subscription *of)
{
    size_t family;
    if (!find_family(of->edition, of->member->family, edition, &family))
        return NULL;
    struct pl_member *twin = members_find(edition, family, &of->source->kind);
    return twin != NULL && twin->active ? &twin->subscription : NULL;
}

void pl_members_hand_over(struct pl_edition *from, struct pl_edition *to)
{
    for (size_t i = 0; from != to && i < from->member_count; i++) {
        struct pl_subscription *last = &from->members[i]->subscription;
        struct pl_subscription *next = pl_members_twin(to, last);
        if (next != NULL && next->informer == last->informer &&
            pl_link_is_linked(&last->follower.link))
            pl_backlog_hand_over(&last->follower, &next->follower);
    }
}

void pl_members_fall_silent(struct pl_edition *edition)
{
    for (size_t i = 0; i < edition->member_count; i++)
        pl_backlog_unfollow(&edition->members[i]->subscription.follower);
}

void pl_members_free(struct pl_edition *edition)
{
    for (size_t i = 0; i < edition->member_count; i++) {
        pl_subscription_stop(&edition->members[i]->subscription);
        pl_free(edition->members[i]);
    }
    pl_free(edition->members);
}

/* ---- questions ---- */

bool pl_members_are_settled(const struct pl_controller *c)
{
    for (size_t i = 0; i < c->edition->member_count; i++) {
        const struct pl_subscription *subscription = &c->edition->members[i]->subscription;
        const struct pl_informer *informer = subscription->informer;
        if (!c->edition->members[i]->active || pl_informer_trouble(informer) != NULL)
            continue;
        if (!pl_subscription_is_ready(subscription) || !pl_informer_is_settled(informer))
            return false;
    }
    return true;
}

void pl_edition_each_member(const struct pl_edition *edition,
                            void (*visit)(void *arg, const struct pl_source_spec *source,
                                          struct pl_informer *informer),
                            void *arg)
{
    for (size_t i = 0; i < edition->member_count; i++)
        if (edition->members[i]->active)
            visit(arg, &edition->members[i]->source, edition->members[i]->subscription.informer);
}
