/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sets of numbers below 256: bytes, and classes of bytes. */
#ifndef POLICY_BYTESET_H
#define POLICY_BYTESET_H

#include <stdbool.h>
#include <linux/types.h>

#define BYTE_SET_WORDS 4

struct byte_set {
	__u64 words[BYTE_SET_WORDS];
};

static inline bool byte_set_has(const struct byte_set *set, unsigned int byte)
{
	return set->words[byte / 64] >> (byte % 64) & 1;
}

static inline void byte_set_add(struct byte_set *set, unsigned int byte)
{
	set->words[byte / 64] |= 1ULL << (byte % 64);
}

static inline void byte_set_remove(struct byte_set *set, unsigned int byte)
{
	set->words[byte / 64] &= ~(1ULL << (byte % 64));
}

static inline void byte_set_invert(struct byte_set *set)
{
	unsigned int i;

	for (i = 0; i < BYTE_SET_WORDS; i++)
		set->words[i] = ~set->words[i];
}

static inline void byte_set_unite(struct byte_set *set, const struct byte_set *other)
{
	unsigned int i;

	for (i = 0; i < BYTE_SET_WORDS; i++)
		set->words[i] |= other->words[i];
}

/* What is in `of` and not in `without`. */
static inline void byte_set_differ(struct byte_set *set, const struct byte_set *of,
				   const struct byte_set *without)
{
	unsigned int i;

	for (i = 0; i < BYTE_SET_WORDS; i++)
		set->words[i] = of->words[i] & ~without->words[i];
}

static inline bool byte_set_is_empty(const struct byte_set *set)
{
	return !(set->words[0] | set->words[1] | set->words[2] | set->words[3]);
}

#endif
