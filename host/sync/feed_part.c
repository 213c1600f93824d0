/* Which shards a feed keeps, and how the objects of new shards are listed without the others.
 *
 * From the moment a shard is held, the watch brings the events of its objects; the list beside it
 * is not older than the watch was then. So an object that the list lacks has been deleted, an
 * object with an older version is late, and an object that is deleted after the list was made is
 * remembered until the list is stored. A full list that begins meanwhile replaces the one beside
 * the watch. */
#include "sync/feed_part.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "object/meta.h"
#include "sync/own_write.h"

#define MOST_GONE 100000 /* limit of remembered deletions; beyond it the list begins anew */

struct pl_feed_part {
    struct pl_feed_part_options o;
    struct pl_shard_set held;       /* shards that are kept */
    struct pl_shard_set listed;     /* kept shards whose objects are stored */
    struct pl_shard_set listing;    /* kept shards that the full list under way brings */
    struct pl_shard_set coming;     /* kept shards that the list beside the watch brings */
    struct pl_buf watched;          /* the shardSelector of the watch */
    struct pl_side_list *side_list; /* NULL: none */
    struct pl_map gone;             /* during the list: uid -> version, owned text */
};

struct pl_feed_part *pl_feed_part_create(const struct pl_feed_part_options *options)
{
    struct pl_feed_part *part = PL_NEW(struct pl_feed_part);
    part->o = *options;
    part->held = pl_shards_held(options->shards);
    return part;
}

static void forget_gone(struct pl_feed_part *part)
{
    size_t at = 0;
    struct pl_slice uid;
    void *rv;
    while (pl_map_next(&part->gone, &at, &uid, &rv))
        pl_free(rv);
    pl_map_deinit(&part->gone);
    part->gone = PL_MAP_INIT;
}

static void drop_topup(struct pl_feed_part *part)
{
    pl_side_list_drop(part->side_list);
    part->side_list = NULL;
    part->coming = (struct pl_shard_set){{0}};
    forget_gone(part);
}

void pl_feed_part_destroy(struct pl_feed_part *part)
{
    if (part == NULL)
        return;
    drop_topup(part);
    pl_buf_deinit(&part->watched);
    pl_free(part);
}

/* ---- sets ---- */

static struct pl_shard_set both(const struct pl_shard_set *a, const struct pl_shard_set *b)
{
    struct pl_shard_set set;
    for (size_t i = 0; i < PL_ARRAY_LEN(set.bits); i++)
        set.bits[i] = a->bits[i] & b->bits[i];
    return set;
}

static struct pl_shard_set without(const struct pl_shard_set *a, const struct pl_shard_set *b)
{
    struct pl_shard_set set;
    for (size_t i = 0; i < PL_ARRAY_LEN(set.bits); i++)
        set.bits[i] = a->bits[i] & ~b->bits[i];
    return set;
}

static bool feed_part_is_empty(const struct pl_shard_set *set)
{
    return pl_shard_set_count(set) == 0;
}

static bool feed_part_has(const struct pl_feed_part *part, const struct pl_shard_set *set,
                          struct pl_node object)
{
    return pl_share_has(part->o.shards, part->o.by, set, object);
}

/* ---- shardSelectors ---- */

static void select_shards(const struct pl_feed_part *part, const struct pl_shard_set *set,
                          struct pl_buf *out)
{
    if (part->o.by == PL_SHARE_BY_UID && part->o.asks(part->o.arg))
        pl_shard_selector(set, pl_shards_count(part->o.shards), out);
}

void pl_feed_part_begin(struct pl_feed_part *part, struct pl_buf *shards)
{
    drop_topup(part);
    part->listing = part->held;
    select_shards(part, &part->listing, shards);
}

/* An empty set has no range: when all shards have gone, the last selector is used again, which
 * matches less than everything. */
void pl_feed_part_watch(struct pl_feed_part *part, struct pl_buf *shards)
{
    if (feed_part_is_empty(&part->held)) {
        pl_buf_add_slice(shards, pl_buf_slice(&part->watched));
        return;
    }
    select_shards(part, &part->held, shards);
    pl_buf_clear(&part->watched);
    pl_buf_add_slice(&part->watched, pl_buf_slice(shards));
}

bool pl_feed_part_keeps(const struct pl_feed_part *part, struct pl_node object, bool listed)
{
    return feed_part_has(part, listed ? &part->listing : &part->held, object);
}

/* ---- the list beside the watch ---- */

static struct pl_doc *side_list_each(void *arg, struct pl_doc *object)
{
    struct pl_feed_part *part = arg;
    if (feed_part_has(part, &part->coming, pl_doc_root(object)))
        return object;
    pl_doc_unref(object);
    return NULL;
}

static void on_page(void *arg, const struct pl_docs *items)
{
    struct pl_feed_part *part = arg;
    part->o.ops->take(part->o.arg, items);
}

static void start_topup(struct pl_feed_part *part);

static void on_feed_part_done(void *arg)
{
    struct pl_feed_part *part = arg;
    bool is_short = part->gone.count >= MOST_GONE;
    part->side_list = NULL;
    if (!is_short)
        for (size_t i = 0; i < PL_ARRAY_LEN(part->listed.bits); i++)
            part->listed.bits[i] |= part->coming.bits[i];
    drop_topup(part);
    start_topup(part);
    if (part->side_list == NULL)
        part->o.ops->whole(part->o.arg);
}

static struct pl_slice at_least(void *arg)
{
    struct pl_feed_part *part = arg;
    return part->o.ops->reached(part->o.arg);
}

static void on_side_list_refused(void *arg, const struct pl_err *err)
{
    struct pl_feed_part *part = arg;
    part->o.ops->no_shards(part->o.arg, err);
}

static const struct pl_side_list_ops side_list_ops = {side_list_each, on_page, on_feed_part_done,
                                                      at_least, on_side_list_refused};

/* Lists the shards that are held and not listed, if there are any. */
static void start_topup(struct pl_feed_part *part)
{
    part->coming = without(&part->held, &part->listed);
    if (feed_part_is_empty(&part->coming))
        return;
    struct pl_buf text = PL_BUF_INIT;
    struct pl_side_list_options options = part->o.side_list;
    select_shards(part, &part->coming, &text);
    options.shards = pl_buf_slice(&text);
    options.ops = &side_list_ops;
    options.arg = part;
    part->side_list = pl_side_list_start(&options);
    pl_buf_deinit(&text);
    pl_log(PL_LOG_DEBUG, "listing the objects of new shards",
           pl_str("source", options.listing.owner),
           pl_int("shards", (int64_t)pl_shard_set_count(&part->coming)));
}

/* A full list that is due brings them as well. */
static void check_topup(struct pl_feed_part *part, const struct pl_reflector *reflector)
{
    if (part->side_list == NULL && !pl_reflector_will_list(reflector))
        start_topup(part);
}

void pl_feed_part_listed(struct pl_feed_part *part)
{
    part->listed = both(&part->listing, &part->held);
    start_topup(part);
    if (part->side_list == NULL)
        part->o.ops->whole(part->o.arg);
}

void pl_feed_part_gone(struct pl_feed_part *part, struct pl_node object)
{
    struct pl_scratch room[2];
    if (part->side_list == NULL || part->gone.count >= MOST_GONE)
        return;
    struct pl_slice rv = pl_meta_rv(object, &room[0]);
    pl_free(pl_map_put(&part->gone, pl_meta_uid(object, &room[1]), pl_text_copy(rv)));
}

bool pl_feed_part_is_gone(const struct pl_feed_part *part, struct pl_node object)
{
    struct pl_scratch room[2];
    if (part->gone.count == 0)
        return false;
    const char *rv = pl_map_get(&part->gone, pl_meta_uid(object, &room[0]));
    return rv != NULL && pl_rv_is_at_most(pl_meta_rv(object, &room[1]), pl_slice_z(rv));
}

/* ---- changes ---- */

enum pl_share_by pl_feed_part_by(const struct pl_feed_part *part)
{
    return part->o.by;
}

bool pl_feed_part_is_empty(const struct pl_feed_part *part)
{
    return feed_part_is_empty(&part->held);
}

bool pl_feed_part_has(const struct pl_feed_part *part, unsigned shard)
{
    return pl_shard_set_has(&part->listed, shard);
}

static void rewatch(struct pl_feed_part *part, struct pl_reflector *reflector)
{
    struct pl_buf text = PL_BUF_INIT;
    select_shards(part, &part->held, &text);
    if (!feed_part_is_empty(&part->held) &&
        !pl_slice_eq(pl_buf_slice(&text), pl_buf_slice(&part->watched)))
        pl_reflector_rewatch(reflector);
    pl_buf_deinit(&text);
}

bool pl_feed_part_changed(struct pl_feed_part *part, struct pl_reflector *reflector)
{
    struct pl_shard_set held = pl_shards_held(part->o.shards);
    struct pl_shard_set gone = without(&part->held, &held);
    if (pl_shard_set_equal(&held, &part->held))
        return false;
    part->held = held;
    part->listed = both(&part->listed, &held);
    part->listing = both(&part->listing, &held);
    part->coming = both(&part->coming, &held);
    if (part->side_list != NULL && feed_part_is_empty(&part->coming))
        drop_topup(part);
    rewatch(part, reflector);
    check_topup(part, reflector);
    return !feed_part_is_empty(&gone);
}
