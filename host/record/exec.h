/* Runs that no controller has asked for. Private to host/record. */
#pragma once

#include "lane/lane.h"

/* Of that name; -1: the scripts have none. */
int pl_record_controller(const struct pl_lanes *lanes, struct pl_slice name);
/* The controller is meant by `wanted`: its name, or the kind of its For ("Website" or
 * "example.com/v1/Website"). */
bool pl_record_is_meant(const struct pl_declarations *declared, struct pl_slice controller,
                        const char *wanted);
/* texts: key, namespace, name, what its context is filled with. For pl_exec_begin; the reference is
 * the caller's. */
struct pl_exec *pl_record_exec(struct pl_lane *lane, int controller, const struct pl_slice *texts);
/* What the lane has told the I/O thread, which is not there. */
void pl_record_take_messages(struct pl_lanes *lanes);
