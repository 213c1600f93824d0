#include "lua/spare_blocks.h"

#include "base/base.h"

void pl_spares_drop(struct pl_spares *spares, lua_Alloc alloc, void *alloc_data)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(spares->first); i++) {
        void *block;
        while ((block = pl_spares_take(spares, i * sizeof(struct pl_spare))) != NULL)
            alloc(alloc_data, block, i * sizeof(struct pl_spare), 0);
    }
}
