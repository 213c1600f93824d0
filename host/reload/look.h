/* One look at the disk for a reload: is it what runs, what was refused, or what is under way; and
 * which files are to be watched from now on. It only reads, and waits as long as the disk does.
 * Made and freed on the I/O thread; run on any, alone. */
#pragma once

#include "lua/origin.h"
#include "net/files.h"

#define PL_LOOK_ROLLED_BACK 8 /* contents that are remembered */

struct pl_look {
    /* To compare with; counted; NULL: none. */
    struct pl_origin *running, *refused, *next;
    struct pl_origin *rolled_back[PL_LOOK_ROLLED_BACK]; /* for `check` alone */
    struct pl_files_set *set;                           /* owned; NULL: nothing is watched */
    bool check;   /* next has loaded; else it may be there for a while */
    bool carry;   /* it shall know what the running scripts have read (pl_origin_carry_over) */
    char *config; /* owned: the file of --config, for one that does not `check`; NULL: none */
    void *owner;

    /* What was found. */
    bool is_running, is_refused, is_next, was_rolled_back;
    struct pl_buf config_text;       /* so far as it was read */
    struct pl_err config_err;        /* code 0: to its end */
    struct pl_origin *config_origin; /* counted: it was not, and that is all there is */
    char *unwatched;                 /* owned: a file that cannot be watched; NULL: none */
    struct pl_err unwatched_why;
};

void pl_look_run(struct pl_look *look);
void pl_look_free(struct pl_look *look);
