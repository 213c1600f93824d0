/* A Bloom filter of an object's labels: 64 bits that its document keeps. A scan for objects with a
 * label skips most objects that lack it by looking only at their documents' heads. */
#pragma once

#include "value/doc.h"

/* The bits of one label; OR them for several labels. Never 0. */
uint64_t pl_label_bloom(struct pl_slice key, struct pl_slice value);
/* Keeps the bits of an object's labels (PL_MISSING when it has none) for the next scan. Does
 * nothing unless the object is a whole document. Any thread. */
void pl_label_bloom_keep(struct pl_node object, struct pl_node labels);
/* False when the object certainly lacks one of the labels of these bits. True for no bits (0), and
 * for an object whose bits were not kept yet. */
bool pl_label_bloom_may_have(const struct pl_doc *object, uint64_t bits);
