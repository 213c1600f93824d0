/* The lane is asked with the recorded event, and its functions get the recorded answers to their
 * calls. Then its own answers must be the recorded ones. A function that needed a cache which had
 * not synced was stopped by an error, and the host asked it again later. The same happens here
 * (comes_again of struct pl_player). */
#include "record/ask.h"

#include "base/alloc.h"
#include "base/text.h"
#include "record/exec.h"
#include "record/value.h"

#include <string.h>

/* The source whose functions are asked; NULL: there is none. */
static const struct pl_source_spec *source_of(const struct pl_declarations *declared,
                                              const struct pl_external *external)
{
    if (external->controller < 0 || (size_t)external->controller >= declared->controller_count)
        return NULL;
    const struct pl_controller_spec *spec = &declared->controllers[external->controller];
    return external->source >= 0 && (size_t)external->source < spec->source_count
               ? &spec->sources[external->source]
               : NULL;
}

/* False: the record is damaged, or it is of other scripts. */
static bool is_sound(const struct pl_ask *ask, const struct pl_source_spec *source)
{
    const struct pl_event *event = &ask->event;
    return (source != NULL || (!ask->ask_predicates && !ask->ask_map)) &&
           (event->object != NULL || event->type == PL_EVENT_GENERIC) &&
           (event->old != NULL || event->type != PL_EVENT_UPDATE);
}

static struct pl_ask *read_question(const struct pl_player *player, struct pl_bytes *from,
                                    int64_t *wall_ns)
{
    struct pl_ask *ask = PL_NEW(struct pl_ask);
    struct pl_slice name = pl_bytes_text(from), kind;
    ask->lane = player->lanes->lanes[0];
    ask->external.controller = pl_record_controller(player->lanes, name);
    ask->external.source = (int)pl_bytes_int(from);
    kind = pl_bytes_text(from);
    ask->kind = pl_text_copy(kind);
    uint64_t asked = pl_bytes_int(from);
    ask->ask_predicates = (asked & 1) != 0;
    ask->ask_map = (asked & 2) != 0;
    ask->ask_indexes = (asked & 4) != 0;
    *wall_ns = (int64_t)pl_bytes_int(from);
    uint64_t type = pl_bytes_int(from), flags = pl_bytes_int(from), again = pl_bytes_int(from);
    ask->event.type = type < PL_EVENT_TYPES ? (enum pl_event_type)type : PL_EVENT_GENERIC;
    ask->event.stale = (flags & 1) != 0;
    ask->event.initial = (flags & 2) != 0;
    ask->event.again = (enum pl_again)(again & 3);
    ask->event.object = pl_value_doc(from, player->veil);
    ask->event.old = pl_value_doc(from, player->veil);
    const struct pl_source_spec *source = source_of(player->declared, &ask->external);
    ask->predicate = source != NULL ? source->predicate : NULL;
    from->bad = from->bad || !is_sound(ask, source);
    return ask;
}

/* Will the question that begins here be asked again? */
static bool comes_again(const struct pl_player *player)
{
    for (size_t at = player->at; at < player->stream->count; at++) {
        struct pl_slice entry = player->stream->items[at];
        if (*entry.ptr != PL_ENTRY_ANSWERED)
            continue;
        struct pl_bytes from = pl_bytes_of(pl_slice(entry.ptr + 1, entry.len - 1));
        return pl_bytes_int(&from) != 0;
    }
    return false;
}

static void compare_answers(struct pl_player *player, const struct pl_ask *ask)
{
    struct pl_slice entry = pl_player_peek(player);
    struct pl_buf now = PL_BUF_INIT;
    if (entry.len == 0) {
        player->over = true;
        return;
    }
    if (*entry.ptr != PL_ENTRY_ANSWERED) {
        pl_player_differ(player, NULL, NULL, pl_slice_z("has been answered"));
        return;
    }
    pl_bytes_put_int(&now, ask->again);
    pl_entry_put_answers(&now, ask, player->veil);
    if (pl_player_is_same(player, pl_slice(entry.ptr + 1, entry.len - 1), pl_buf_slice(&now)))
        player->at++;
    else
        pl_player_differ(player, NULL, NULL, pl_slice_z("is answered differently"));
    pl_buf_deinit(&now);
}

void pl_player_ask(struct pl_player *player, struct pl_bytes from)
{
    struct pl_lane *lane = player->lanes->lanes[0];
    int64_t wall_ns;
    struct pl_ask *ask = read_question(player, &from, &wall_ns);
    if (from.bad)
        pl_player_differ(player, NULL, NULL, pl_slice_z("there is no such controller"));
    else if (pl_player_see_time(player, wall_ns)) {
        player->asked = ask;
        player->comes_again = comes_again(player);
        pl_ask_answer(lane, ask);
        pl_record_take_messages(player->lanes);
        if (!pl_player_is_done(player))
            compare_answers(player, ask);
        player->asked = NULL;
    }
    pl_ask_drop(ask);
}
