/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The matcher, one source for kernel programs and user space. The includer defines
 *
 *	static long bh_table_word(TABLE *table, __u32 index, __u32 *ret_word)   (0, or -1: no such
 *word)
 *
 * and BH_TABLE as TABLE. A step that cannot read its word leaves the dead state and answers -1:
 * cannot tell means refuse.
 */
#ifndef BULKHEAD_MATCH_H
#define BULKHEAD_MATCH_H

#include "abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* One byte. */
static __always_inline long bh_match_byte(BH_TABLE *table, const struct bh_policy *policy,
					  __u32 *state, __u8 byte)
{
	__u32 next = BH_STATE_DEAD;
	long r = bh_table_word(table, *state + policy->classes[byte], &next);

	*state = next;
	return r;
}

/* What `state` means. Reading fails closed. */
static __always_inline long bh_match_masks(BH_TABLE *table, const struct bh_policy *policy,
					   __u32 state, struct bh_masks *ret)
{
	__u32 verdict = 0, watch = 0;
	long r = bh_table_word(table, state + policy->nclasses, &verdict);

	if (!r)
		r = bh_table_word(table, state + policy->nclasses + 1, &watch);
	ret->allow = r ? 0 : verdict & 0xffff;
	ret->quiet = verdict >> 16;
	ret->audit = watch & 0xffff;
	ret->tripwire = watch >> 16;
	return r;
}

/* The decision: every right asked for must be allowed. */
static __always_inline int bh_masks_allow(__u32 allow, __u32 asked)
{
	return asked && (asked & ~allow) == 0;
}

#endif
