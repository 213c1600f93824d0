/* One look at the disk for a reload: compares it with the running, the refused and the pending
 * scripts, and collects the files to watch. It only reads, and blocks as long as the disk does.
 * Created and freed on the I/O thread; runs on any thread, alone. */
#pragma once

#include "lua/origin.h"
#include "net/files.h"

#define PL_DISK_SCAN_ROLLED_BACK 8 /* limit of remembered contents */

struct pl_disk_scan {
    /* For comparison; counted; NULL: none. */
    struct pl_origin *running, *refused, *next;
    struct pl_origin *rolled_back[PL_DISK_SCAN_ROLLED_BACK]; /* only for `check` */
    struct pl_files_set *set; /* owned; NULL: files are not watched */
    bool check;               /* next has loaded; without it, next may still be loading */
    bool carry;   /* read for next what running scripts have read (pl_origin_carry_over) */
    char *config; /* owned: the file of --config, without `check`; NULL: none */
    void *owner;

    /* The result. */
    bool is_running, is_refused, is_next, was_rolled_back;
    struct pl_buf config_text;       /* as far as it was read */
    struct pl_err config_err;        /* code 0: completely */
    struct pl_origin *config_origin; /* counted: of a config that could not be read */
    char *unwatched;                 /* owned: a file that cannot be watched; NULL: none */
    struct pl_err unwatched_why;
};

void pl_disk_scan_run(struct pl_disk_scan *look);
void pl_disk_scan_free(struct pl_disk_scan *look);
