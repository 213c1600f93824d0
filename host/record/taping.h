/* The hooks that record lanes. The hooks run on the lanes' threads. */
#pragma once

struct pl_record;
struct pl_taping;

/* For the lanes' options. The caller owns the result and frees it with pl_free after the lanes. The
 * record is borrowed for life; NULL gives NULL. */
struct pl_taping *pl_record_taping(struct pl_record *record);
