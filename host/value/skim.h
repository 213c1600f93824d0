/* Skipping values that nearly always have the same text. Only host/value includes this.
 * metadata.managedFields is a quarter of an object. It is dropped, but must still be checked. From
 * one pod to the next it differs mostly in times and addresses. So the last checked text is kept:
 * if the next one has the same bytes, or differs only in plain characters inside strings, its
 * structure is the same and it needs no parsing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SKIM_MAX = 8 << 10, /* limit of the kept text in bytes */
    SKIM_MARKS = SKIM_MAX / 64,
    SKIM_DEPTH = 64,
};

/* A place after a comma, where parsing can take over. */
struct skim_mark {
    uint32_t offset;
    uint32_t depth;     /* number of open containers, the outermost included */
    uint64_t is_object; /* bit i: the container at depth i + 1 is an object */
};

struct skim {
    uint8_t *text;  /* owned, padded; NULL until a text was learned */
    uint16_t *free; /* owned: for each 16 bytes, a bit set of those that may differ */
    uint32_t len;
    uint32_t marks;
    unsigned misses;        /* in a row */
    struct skim_mark *mark; /* owned: room for SKIM_MARKS */
};

void pl_skim_deinit(struct skim *skim);
/* Takes a container's text, known to be valid, for later comparisons. */
void pl_skim_learn(struct skim *skim, const uint8_t *text, size_t len);
/* Compares the text at p (padded like all input of parse.c). If all of it is alike, returns its
 * length. Else returns 0, and *mark is the last place up to which it is alike, or NULL. */
size_t pl_skim_match(struct skim *skim, const uint8_t *p, const uint8_t *end,
                     const struct skim_mark **mark);
/* After a text that did not match completely: whether it is worth learning. */
bool pl_skim_wants(const struct skim *skim);
