#include "event/hook_spec.h"

#include "base/alloc.h"
#include "event/source.h"

const char *pl_hook_sort_name(enum pl_hook_sort sort)
{
    static const char names[][12] = {"validate", "mutate", "convert"};
    return names[sort];
}

void pl_hook_spec_destroy(struct pl_hook_spec *hook)
{
    if (hook == NULL)
        return;
    for (size_t i = 0; i < hook->kind_count; i++) {
        pl_free(hook->kinds[i].name);
        pl_free(hook->kinds[i].path);
    }
    for (size_t i = 0; i < hook->condition_count; i++) {
        pl_free(hook->conditions[i].name);
        pl_free(hook->conditions[i].expression);
    }
    pl_free(hook->kinds);
    pl_free(hook->conditions);
    pl_texts_free(hook->operations);
    pl_texts_free(hook->subresources);
    pl_free(hook->object_selector);
    pl_free(hook->namespace_selector);
    pl_free(hook);
}
