#include "lane/effects.h"

bool pl_lanes_hold(const struct pl_lanes *lanes)
{
    return lanes->options.shadow;
}

struct pl_capture *pl_exec_view(const struct pl_exec *exec)
{
    return exec != NULL && pl_lanes_hold(exec->lane->lanes) ? exec->capture : NULL;
}

struct pl_capture *pl_exec_watcher(const struct pl_exec *exec)
{
    return exec != NULL && !pl_lanes_hold(exec->lane->lanes) ? exec->capture : NULL;
}
