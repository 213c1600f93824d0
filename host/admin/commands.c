/* The commands that every host answers. Commands that need more than the manager (reload, shadow,
 * repl) are added by other parts. */
#include "admin/admin.h"

void pl_admin_add_commands(struct pl_admin *admin)
{
    static const struct pl_admin_command own[] = {
        {"status", pl_admin_status}, {"why", pl_admin_why},      {"queue", pl_admin_queue},
        {"pause", pl_admin_pause},   {"resume", pl_admin_pause}, {"keys", pl_admin_keys},
        {"calls", pl_admin_calls},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(own); i++)
        pl_admin_add(admin, &own[i], admin);
}
