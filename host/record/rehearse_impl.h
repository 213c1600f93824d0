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
    struct pl_map environment; /* call of os.getenv -> entry of its result, borrowed */
    struct pl_known found;     /* what the recorded run found before it wrote to it */
    struct pl_map apart;       /* objects to which the scripts wrote something else */
    int64_t wall_ns;           /* what the scripts' clock shows */
    size_t next_time;          /* of the run: all before it are used */
    unsigned made_up;
    bool differs;
    struct pl_rehearsed_record *out;
    const struct pl_declarations *declared; /* the scripts' declarations; borrowed */
    struct pl_breakpoint breakpoint;
};

/* A document with its managedFields; NULL when the text is none. The caller owns a reference. */
struct pl_doc *pl_rehearse_scan(struct pl_slice text);

/* Whose write it is. */
enum pl_rehearsed {
    PL_REHEARSED_RECORDED, /* the recorded run's */
    PL_REHEARSED_SAME,     /* the scripts', equal to one of the recorded run */
    PL_REHEARSED_OTHER,    /* the scripts', another one */
};

/* Adds a write as an effect. *object: its result, a reference or NULL. *skipped: it changes
 * nothing. A request that is no write of an object is ignored. */
PL_MUST_USE int pl_rehearse_write(struct record_rehearsal *rehearsal, enum pl_rehearsed whose,
                                  struct pl_node request, struct pl_doc **object, bool *skipped,
                                  struct pl_err *err);
/* True if a recorded write changed something. Its results are: failed?, object, {"skipped": ...}.
 */
bool pl_rehearse_has_written(struct pl_slice result);
/* The object as the run found it, or as the record has shown it before: a reference, or NULL. */
struct pl_doc *pl_rehearse_found(const struct record_rehearsal *rehearsal,
                                 const struct pl_kind *kind, struct pl_slice key);
/* True if the scripts wrote something else to the object than the recorded run did. */
bool pl_rehearse_is_apart(const struct record_rehearsal *rehearsal, const struct pl_kind *kind,
                          struct pl_slice key);
/* The same, of the object of a write. */
bool pl_rehearse_writes_apart(const struct record_rehearsal *rehearsal, struct pl_node request);
/* Answers a call of the scripts (rehearse_call.c); an operation of pl_tape. */
int pl_rehearse_call(struct pl_tape *base, lua_State *L, const char *name, lua_CFunction function);
/* Adds the answer of a webhook's handler as an effect, if the call is one. call: as pl_record_call.
 */
bool pl_rehearse_answer(struct pl_capture *capture, struct pl_slice call);
