/* A key's writes and its events may become known in either order: followers get a write's answer
 * before the writer has it. So both are kept until the next run of the key begins. Then all writes
 * of the last run are known, and both are compared. */
#include "control/write_loops.h"

#include "base/alloc.h"
#include "base/base.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/text.h"
#include "event/causes.h"

#include <string.h>

#define SLOTS      64
#define WRITTEN    16
#define HEARD      16
#define PATHS      8 /* paths of one event */
#define CONTESTED  4
#define FIELDS_MAX 512
#define IDLE_NS    (10 * PL_SECOND)  /* then another key may take the slot */
#define QUIET_NS   (600 * PL_SECOND) /* then it is not a loop any more */

struct heard {
    uint64_t mark;
    char *paths[PATHS]; /* owned */
    size_t count;
    char *kind, *object; /* owned; NULL: without paths */
};

struct contested {
    char *path, *kind, *object; /* owned */
    bool ours, told;
    int turns;
    int64_t at_ns;
};

struct slot {
    char *key; /* owned */
    int64_t active_ns, began_ns;
    uint64_t written[WRITTEN];
    size_t written_at;
    struct heard heard[HEARD];
    size_t heard_count;
    bool overflow, told;
    int in_a_row;
    struct pl_buf fields;
    struct contested contested[CONTESTED];
};

struct pl_write_loops {
    struct slot *slots[SLOTS]; /* owned; NULL: free */
};

struct pl_write_loops *pl_write_loops_create(void)
{
    return PL_NEW(struct pl_write_loops);
}

static void forget_heard(struct slot *slot)
{
    for (size_t i = 0; i < slot->heard_count; i++) {
        struct heard *heard = &slot->heard[i];
        for (size_t j = 0; j < heard->count; j++)
            pl_free(heard->paths[j]);
        pl_free(heard->kind);
        pl_free(heard->object);
        *heard = (struct heard){0};
    }
    slot->heard_count = 0;
    slot->overflow = false;
}

static void forget_contested(struct contested *contested)
{
    pl_free(contested->path);
    pl_free(contested->kind);
    pl_free(contested->object);
    *contested = (struct contested){0};
}

static void free_slot(struct slot *slot)
{
    if (slot == NULL)
        return;
    forget_heard(slot);
    for (size_t i = 0; i < CONTESTED; i++)
        forget_contested(&slot->contested[i]);
    pl_buf_deinit(&slot->fields);
    pl_free(slot->key);
    pl_free(slot);
}

void pl_write_loops_destroy(struct pl_write_loops *loops)
{
    if (loops == NULL)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        free_slot(loops->slots[i]);
    pl_free(loops);
}

static struct slot **loops_place_of(struct pl_write_loops *loops, struct pl_slice key)
{
    return &loops->slots[pl_hash(key.ptr, key.len, 0) % SLOTS];
}

static struct slot *loops_find(struct pl_write_loops *loops, struct pl_slice key)
{
    struct slot *slot = loops != NULL ? *loops_place_of(loops, key) : NULL;
    return slot != NULL && pl_slice_eqz(key, slot->key) ? slot : NULL;
}

void pl_write_loops_wrote(struct pl_write_loops *loops, struct pl_slice key, uint64_t mark,
                          int64_t now_ns)
{
    struct slot *slot = loops_find(loops, key);
    if (slot == NULL) {
        struct slot **place = loops_place_of(loops, key);
        if (*place != NULL && now_ns - (*place)->active_ns < IDLE_NS)
            return; /* the slot belongs to a key that is still busy */
        free_slot(*place);
        slot = *place = PL_NEW(struct slot);
        slot->key = pl_text_copy(key);
    }
    slot->active_ns = now_ns;
    slot->written[slot->written_at++ % WRITTEN] = mark;
}

void pl_write_loops_heard(struct pl_write_loops *loops, struct pl_slice key, uint64_t mark,
                          char *const *paths, const char *kind, const char *object, int64_t now_ns)
{
    struct slot *slot = loops_find(loops, key);
    if (slot == NULL)
        return;
    slot->active_ns = now_ns;
    if (slot->heard_count == HEARD) {
        slot->overflow = true;
        return;
    }
    struct heard *heard = &slot->heard[slot->heard_count++];
    heard->mark = mark;
    for (; paths != NULL && *paths != NULL && heard->count < PATHS; paths++)
        if (!pl_path_is_noise(pl_slice_z(*paths)))
            heard->paths[heard->count++] = pl_strdup(*paths);
    if (heard->count > 0) {
        heard->kind = pl_strdup(kind != NULL ? kind : "");
        heard->object = pl_strdup(object != NULL ? object : "");
    }
}

static bool is_ours(const struct slot *slot, uint64_t mark)
{
    for (size_t i = 0; i < WRITTEN; i++)
        if (slot->written[i] == mark)
            return true;
    return false;
}

/* ---- a key that queues itself ---- */

static void loops_add_field(struct slot *slot, const char *path)
{
    struct pl_buf *fields = &slot->fields;
    size_t len = strlen(path);
    for (const char *at = fields->len > 0 ? strstr(pl_buf_z(fields), path) : NULL; at != NULL;
         at = strstr(at + 1, path)) {
        bool begins = at == fields->ptr || at[-1] == ' ';
        if (begins && (at[len] == '\0' || at[len] == ','))
            return;
    }
    if (fields->len + len + 2 < FIELDS_MAX)
        pl_buf_add_f(fields, "%s%s", fields->len > 0 ? ", " : "", path);
}

static bool woke_itself(struct slot *slot, bool only_events, int64_t now_ns)
{
    bool own = only_events && slot->heard_count > 0 && !slot->overflow;
    for (size_t i = 0; own && i < slot->heard_count; i++)
        own = is_ours(slot, slot->heard[i].mark);
    if (!own) {
        slot->in_a_row = 0;
        pl_buf_clear(&slot->fields);
        return false;
    }
    for (size_t i = 0; i < slot->heard_count; i++)
        for (size_t j = 0; j < slot->heard[i].count; j++)
            loops_add_field(slot, slot->heard[i].paths[j]);
    slot->in_a_row++;
    bool quiet = now_ns - slot->began_ns > QUIET_NS;
    if (slot->in_a_row < PL_LOOP_RUNS || (slot->told && !quiet))
        return false;
    slot->told = true;
    slot->began_ns = now_ns;
    return true;
}

/* ---- a field that is changed in turns ---- */

static bool is_same(const struct contested *contested, const struct heard *heard, const char *path)
{
    return contested->path != NULL && strcmp(contested->path, path) == 0 &&
           strcmp(contested->kind, heard->kind) == 0 &&
           strcmp(contested->object, heard->object) == 0;
}

/* The record of this field; else the one that has been quiet for longest. */
static struct contested *contested_of(struct slot *slot, const struct heard *heard,
                                      const char *path)
{
    struct contested *oldest = &slot->contested[0];
    for (size_t i = 0; i < CONTESTED; i++) {
        struct contested *one = &slot->contested[i];
        if (is_same(one, heard, path))
            return one;
        if (one->turns < oldest->turns ||
            (one->turns == oldest->turns && one->at_ns < oldest->at_ns))
            oldest = one;
    }
    forget_contested(oldest);
    oldest->path = pl_strdup(path);
    oldest->kind = pl_strdup(heard->kind);
    oldest->object = pl_strdup(heard->object);
    return oldest;
}

static void take_turn(struct contested *contested, bool ours, int64_t now_ns)
{
    if (now_ns - contested->at_ns > QUIET_NS) {
        contested->turns = 0;
        contested->told = false;
    }
    if (contested->turns == 0 || contested->ours != ours)
        contested->turns++;
    contested->ours = ours;
    contested->at_ns = now_ns;
}

static struct contested *take_turns(struct slot *slot, int64_t now_ns)
{
    struct contested *found = NULL;
    for (size_t i = 0; i < slot->heard_count; i++) {
        const struct heard *heard = &slot->heard[i];
        for (size_t j = 0; j < heard->count; j++) {
            struct contested *contested = contested_of(slot, heard, heard->paths[j]);
            take_turn(contested, is_ours(slot, heard->mark), now_ns);
            if (contested->turns >= PL_LOOP_TURNS && !contested->told && found == NULL)
                found = contested;
        }
    }
    return found;
}

/* ---- both ---- */

static struct pl_loop loop_of(const struct slot *slot)
{
    return (struct pl_loop){
        .times = slot->in_a_row,
        .fields = slot->fields.len > 0 ? pl_buf_z((struct pl_buf *)&slot->fields) : ""};
}

static struct pl_loop fight_of(const struct contested *contested)
{
    return (struct pl_loop){.is_fight = true,
                            .times = contested->turns,
                            .fields = contested->path,
                            .kind = contested->kind,
                            .object = contested->object};
}

bool pl_write_loops_begun(struct pl_write_loops *loops, struct pl_slice key, bool only_events,
                          int64_t now_ns, struct pl_loop *found)
{
    struct slot *slot = loops_find(loops, key);
    if (slot == NULL)
        return false;
    struct contested *fight = take_turns(slot, now_ns);
    bool loop = woke_itself(slot, only_events, now_ns);
    forget_heard(slot);
    if (fight != NULL) {
        fight->told = true;
        *found = fight_of(fight);
    } else if (loop) {
        *found = loop_of(slot);
    }
    return fight != NULL || loop;
}

void pl_write_loops_each(const struct pl_write_loops *loops, int64_t now_ns,
                         void (*visit)(void *arg, const char *key, const struct pl_loop *loop),
                         void *arg)
{
    for (size_t i = 0; loops != NULL && i < SLOTS; i++) {
        const struct slot *slot = loops->slots[i];
        if (slot == NULL || now_ns - slot->active_ns > QUIET_NS)
            continue;
        struct pl_loop loop = loop_of(slot);
        if (slot->told && slot->in_a_row >= PL_LOOP_RUNS)
            visit(arg, slot->key, &loop);
        for (size_t j = 0; j < CONTESTED; j++) {
            loop = fight_of(&slot->contested[j]);
            if (slot->contested[j].told && now_ns - slot->contested[j].at_ns <= QUIET_NS)
                visit(arg, slot->key, &loop);
        }
    }
}
