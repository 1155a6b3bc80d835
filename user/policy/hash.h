/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An index of items that an array of the caller's holds, by hash:
 *
 *	hash_reserve(&index);
 *	for (at = hash_begin(&index, hash); hash_next(&index, hash, &at, &item);)
 *		if (item is the one) return item;
 *	hash_put(&index, hash, at, new item);
 */
#ifndef POLICY_HASH_H
#define POLICY_HASH_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <linux/types.h>

struct hash_slot {
	__u32 hash;
	__u32 item; /* its number and one; 0: empty */
};

struct hash_index {
	struct hash_slot *slots;
	size_t nslots; /* a power of two */
	size_t n;
};

static inline void hash_done(struct hash_index *index)
{
	free(index->slots);
}

static inline __u64 hash_mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0xff51afd7ed558ccd;
	return hash ^ hash >> 32;
}

static inline __u64 hash_text(const char *text)
{
	__u64 hash = 0;

	for (; *text; text++)
		hash = hash_mix(hash, (unsigned char)*text);
	return hash;
}

static inline size_t hash_begin(const struct hash_index *index, __u64 hash)
{
	return (__u32)hash & (index->nslots - 1);
}

/* Goes on to an item that may be the one; false, *at being an empty place, when there is none. */
static inline bool hash_next(const struct hash_index *index, __u64 hash, size_t *at, __u32 *ret)
{
	const struct hash_slot *slot;

	for (;;) {
		slot = &index->slots[*at];
		if (!slot->item)
			return false;
		*at = (*at + 1) & (index->nslots - 1);
		if (slot->hash == (__u32)hash) {
			*ret = slot->item - 1;
			return true;
		}
	}
}

static inline void hash_put(struct hash_index *index, __u64 hash, size_t at, __u32 item)
{
	index->slots[at] = (struct hash_slot){(__u32)hash, item + 1};
	index->n++;
}

/* Makes room for one more item. 0 or -ENOMEM. */
static inline int hash_reserve(struct hash_index *index)
{
	struct hash_index bigger = {.nslots = index->nslots ? 2 * index->nslots : 1024};
	__u32 item;
	size_t i, at;

	if (2 * index->n < index->nslots)
		return 0;
	bigger.slots = calloc(bigger.nslots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (i = 0; i < index->nslots; i++) {
		const struct hash_slot *slot = &index->slots[i];

		if (!slot->item)
			continue;
		at = hash_begin(&bigger, slot->hash);
		while (hash_next(&bigger, slot->hash, &at, &item))
			;
		hash_put(&bigger, slot->hash, at, slot->item - 1);
	}
	hash_done(index);
	*index = bigger;
	return 0;
}

#endif
