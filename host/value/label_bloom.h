/* A Bloom filter of an object's labels, 64 bits that its document keeps: a scan over many objects
 * passes by most that lack a label without looking further than their documents' heads. */
#pragma once

#include "value/doc.h"

/* The bits of one label, and of several together: those of each. Never 0. */
uint64_t pl_label_bloom(struct pl_slice key, struct pl_slice value);
/* Keeps the bits of an object's labels, PL_MISSING when it has none, for whoever scans next. Only
 * where the object is a whole document. Any thread. */
void pl_label_bloom_keep(struct pl_node object, struct pl_node labels);
/* False when the object is known to lack one of the labels that these bits are of; true for none
 * (0), and for an object whose bits were not kept yet. */
bool pl_label_bloom_may_have(const struct pl_doc *object, uint64_t bits);
