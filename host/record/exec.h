/* Runs without a controller. Private to host/record. */
#pragma once

#include "lane/lane.h"
#include "record/value.h"

/* The index of the controller with that name; -1 if the scripts have none. */
int pl_record_controller(const struct pl_lanes *lanes, struct pl_slice name);
/* True if `wanted` means the controller: its name, or the kind of its For ("Website" or
 * "example.com/v1/Website"). */
bool pl_record_is_meant(const struct pl_declarations *declared, struct pl_slice controller,
                        const char *wanted);
/* Makes a run for pl_exec_begin. texts: key, namespace, name, content of its context. Returns a
 * reference that the caller owns. */
struct pl_exec *pl_record_exec(struct pl_lane *lane, int controller, const struct pl_slice *texts);
/* Begins the run of a webhook with recorded arguments: count, values. */
void pl_record_begin_review(struct pl_lane *lane, struct pl_exec *exec, struct pl_bytes *from,
                            const struct pl_veil *veil);
/* Drops the lane's messages to the I/O thread, which does not exist here. */
void pl_record_take_messages(struct pl_lanes *lanes);
