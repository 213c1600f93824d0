/* Shared by the files of the I/O thread's half of operations. Private to op_*.c. */
#pragma once

#include "lane/op.h"

/* ---- op_io.c ---- */

/* Returns it to the lane; it must not be touched any more. */
void pl_lop_complete(struct pl_lop *op);
void pl_lop_fail(struct pl_lop *op, const struct pl_err *err);
/* Sets its only timer, until it ends. */
void pl_lop_set_timer(struct pl_lop *op, int64_t delay_ns, pl_timer_fn fire);
/* The operation whose timer this is, borrowed. */
struct pl_lop *pl_lop_of_timer(struct pl_timer *timer);
/* Records what is sent to whom in the run's capture. True when it must not be sent (in a shadow).
 */
bool pl_lop_keeps(struct pl_lop *op, const char *name, struct pl_slice sent);

/* ---- op_enqueue.c ---- */

void pl_lop_start_enqueue(struct pl_lop *op);

/* ---- op_select.c ---- */

void pl_lop_start_select(struct pl_lop *op);

/* ---- op_cache.c ---- */

/* Waits for the informer, which does not exist before its controller starts. */
void pl_lop_start_sync(struct pl_lop *op);
void pl_lop_start_key(struct pl_lop *op);
/* Completes a write that was carried out when the caches' indexes include it. */
void pl_lop_complete_write(struct pl_lop *op);

/* ---- op_http.c ---- */

void pl_lop_start_http(struct pl_lop *op);
void pl_lop_cancel_http(struct pl_lop *op);
