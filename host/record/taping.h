/* What lanes are given so that a record is made of what they do. */
#pragma once

struct pl_record;
struct pl_taping;

/* For lanes' options; to be freed after the lanes, with pl_free. The record is borrowed for life;
 * NULL gives NULL. */
struct pl_taping *pl_record_taping(struct pl_record *record);
