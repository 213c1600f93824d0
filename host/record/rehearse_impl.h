/* The inside of a rehearsal, shared by the files rehearse*.c, and by nobody else. */
#pragma once

#include "lane/tape.h"
#include "record/breakpoint_impl.h"
#include "record/known_objects.h"
#include "record/rehearse.h"
#include "record/runs.h"
#include "record/veil.h"
#include "write/capture.h"

struct record_rehearsal {
    struct pl_tape base;
    const struct pl_rehearse_options *o;
    struct pl_lanes *lanes;
    struct pl_veil *veil; /* owned; NULL: values are shown */
    struct pl_known known;
    struct pl_record_run *run;               /* the run being compared; NULL: none */
    struct pl_capture *recorded, *candidate; /* the effects of that run */
    int64_t wall_ns;
    unsigned made_up;
    bool differs;
    struct pl_rehearsed_record *out;
    const struct pl_declarations *declared; /* the scripts' declarations; borrowed */
    struct pl_breakpoint breakpoint;
};

/* A document with its managedFields; NULL when the text is none. The caller owns a reference. */
struct pl_doc *pl_rehearse_scan(struct pl_slice text);
/* Adds a write to the capture as an effect. *object: its result, a reference or NULL. *skipped: it
 * changes nothing. A request that is no write of an object is ignored. */
PL_MUST_USE int pl_rehearse_write(struct record_rehearsal *rehearsal, struct pl_capture *capture,
                                  struct pl_node request, struct pl_doc **object, bool *skipped,
                                  struct pl_err *err);
/* Adds the answer of a webhook's handler as an effect, if the call is one. call: as pl_record_call.
 */
bool pl_rehearse_answer(struct pl_capture *capture, struct pl_slice call);
