/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a compartment has uploaded, entry by entry: a file that the agent keeps and the relay maps and counts in. So a
 * relay that is killed has forgotten nothing, nor has an agent, and nobody waits for anybody to have written it down.
 * Bytes are counted before they are handed over: what a relay that died had taken and not handed over yet counts, and
 * nothing that was sent does not.
 */
#ifndef EGRESS_ALLOWANCES_H
#define EGRESS_ALLOWANCES_H

#include <linux/types.h>

/* Texts of entries in a compartment's life: four lists that have nothing in common. At the bound: a further list is not
 * taken. */
#define ALLOWANCES 1024
#define ALLOWANCES_HEAD 128
#define ALLOWANCE_KEY 16

/* Spent are limit - left; where limit is 0, `settled`. */
struct allowance {
	__u8 key[ALLOWANCE_KEY]; /* a digest of the entry's text; zeroes: of none */
	__u64 settled;
	__u64 limit; /* what was spent when it was set, where that is more */
	__u64 left;  /* counted down by flows, which point at it */
};

struct allowances {
	char head[ALLOWANCES_HEAD]; /* the agent's: whose they are */
	__u64 lease;		    /* the grant under which it counts (channel.h) */
	struct allowance of[ALLOWANCES];
};

#endif
