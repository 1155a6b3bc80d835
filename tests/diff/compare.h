/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One policy after the other through the three, and what was counted of it. */
#ifndef DIFF_COMPARE_H
#define DIFF_COMPARE_H

#include "damage.h"
#include "kernel.h"

struct count {
	unsigned int policies, cases, differ;
	/* What there must be some of, or the cases were not worth their name. */
	unsigned int spoken;  /* some rule names the file */
	unsigned int unknown; /* no mount shows the superblock */
	unsigned int silent, tripped, audited;
	unsigned int linked;  /* refused because the file has other names */
	unsigned int longest; /* paths of more than 4,000 bytes */
	unsigned int paged;   /* policies whose table takes several pages */
};

struct comparison {
	uint64_t seed;
	unsigned int questions;	     /* of each policy, at most CORE_BATCH */
	const struct damage *damage; /* NULL: none */
	struct kernel *kernel;
	struct count *count;
};

/* Policy number i. 0, or -errno when it could not be compared; then it was said why. */
int compare_policy(struct comparison *comparison, unsigned int i);
void count_add(struct count *sum, const struct count *count);

#endif
