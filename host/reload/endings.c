#include "reload/endings.h"

#include "base/alloc.h"
#include "serve/view.h"

#define CLOSING_MAX 2 /* beyond this, the oldest are hurried */

static void on_endings_closed(void *arg, struct pl_generation *generation, const struct pl_err *err)
{
    struct pl_endings *endings = arg;
    size_t kept = 0;
    PL_UNUSED(err);
    for (size_t i = 0; i < endings->count; i++)
        if (endings->items[i] != generation)
            endings->items[kept++] = endings->items[i];
    endings->count = kept;
}

void pl_endings_add(struct pl_endings *endings, struct pl_generation *generation)
{
    if (generation == NULL)
        return;
    endings->items =
        pl_reallocarray(endings->items, endings->count + 1, sizeof(struct pl_generation *));
    endings->items[endings->count++] = generation;
    pl_view_remove_lanes(endings->view, pl_generation_lanes(generation));
    pl_generation_close(generation, endings->grace_ns, on_endings_closed, endings);
}

/* A generation that has ended but cannot be joined, as one of its lanes is stuck, does not count.
 */
bool pl_endings_make_room(struct pl_endings *endings)
{
    struct pl_generation *oldest = NULL;
    size_t running = 0;
    for (size_t i = 0; i < endings->count; i++) {
        if (pl_generation_is_over(endings->items[i]))
            continue;
        oldest = oldest != NULL ? oldest : endings->items[i];
        running++;
    }
    if (running >= CLOSING_MAX)
        pl_generation_close(oldest, 0, on_endings_closed, endings);
    return running < 2 * CLOSING_MAX;
}

void pl_endings_forget(struct pl_endings *endings, const struct pl_controller *controller)
{
    for (size_t i = 0; i < endings->count; i++)
        pl_generation_forget(endings->items[i], controller);
}

void pl_endings_deinit(struct pl_endings *endings)
{
    for (size_t i = 0; i < endings->count; i++)
        pl_generation_destroy(endings->items[i]);
    pl_free(endings->items);
}
