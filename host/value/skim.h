/* Skipping values that are nearly always the same text. Only host/value includes this.
 *
 * metadata.managedFields is a quarter of an object, is dropped, and must still be
 * checked. From one pod to the next it mostly differs in times and addresses. So the last
 * one that was checked is kept: where the next has the same bytes, or differs only by
 * plain characters inside a string, its structure is the same and needs no parsing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SKIM_MAX = 8 << 10, /* bytes of text that are kept */
    SKIM_MARKS = SKIM_MAX / 64,
    SKIM_DEPTH = 64,
};

/* A place behind a comma, where parsing can take over. */
struct skim_mark {
    uint32_t offset;
    uint32_t depth;     /* containers open, the outermost one included */
    uint64_t is_object; /* bit i: the one at depth i + 1 */
};

struct skim {
    uint8_t *text;  /* owned, padded; NULL until something was learned */
    uint16_t *free; /* owned: for each 16 bytes, those that may differ */
    uint32_t len;
    uint32_t marks;
    unsigned misses; /* in a row */
    struct skim_mark mark[SKIM_MARKS];
};

void pl_skim_deinit(struct skim *skim);
/* Takes a container's text, known to be valid, as the one to compare with. */
void pl_skim_learn(struct skim *skim, const uint8_t *text, size_t len);
/* Compares what begins at p (padded like all input of parse.c). All of it alike: returns its
 * length. Else 0, and *mark is the last place up to which it is, or NULL. */
size_t pl_skim_match(struct skim *skim, const uint8_t *p, const uint8_t *end,
                     const struct skim_mark **mark);
/* After a text that did not match in full: is it worth learning? */
bool pl_skim_wants(const struct skim *skim);
