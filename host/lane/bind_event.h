/* Events that scripts report, on their way from a lane to the recorder. Private to host/lane.
 *
 * Nobody waits for them: a message that the I/O thread takes, records and frees. At most
 * PL_EVENTS_OUT are on their way; what a script says beyond that within one slice is counted, not
 * kept. */
#pragma once

#include "base/slice.h"
#include "net/mailbox.h"

#define PL_EVENTS_OUT 16384

struct pl_lanes;
struct pl_event_msg;

/* I/O thread: records it and frees it. */
void pl_event_msg_io(struct pl_msg *msg);
/* Nobody is there to record it any more. */
void pl_event_msg_free(struct pl_msg *msg);
