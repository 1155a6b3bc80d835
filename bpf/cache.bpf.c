// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Writing of what is known; directories. */
#include "path.bpf.h"

int bh_known_keep(const struct bh_subject *s, struct bh_known *known, const struct bh_slot *slot,
		  __u64 epoch, __u64 moves)
{
	struct bh_known_way *way;
	__u32 seq;

	if (!s || !known || !slot || slot->reason || slot->odd)
		return 0;
	way = &known->ways[s->generation & (BH_KNOWN_WAYS - 1)];
	if (!bh_write_begin(&way->seq, &seq))
		return 0;
	way->generation = s->generation;
	way->epoch = epoch;
	way->moves = moves;
	way->allow = slot->masks.allow & ~slot->hidden & ~slot->masks.audit;
	BH_READ_ONCE(way->seq) = seq + 2;
	return 0;
}

static __always_inline bool bh_directory_holds(const struct bh_directory_way *way, __u32 seq,
					       __u32 generation, const struct bh_slot *slot)
{
	return !(seq & 1) && way->inode == slot->directory && way->freed == slot->freed &&
	       way->generation == generation && way->epoch == bh_cache.epoch;
}

int bh_directory_find(const struct bh_subject *s, struct bh_slot *slot)
{
	struct bh_directory_way *way;
	struct bh_directory *directory;
	__u32 seq, state;

	if (!s || !slot)
		return 0;
	directory = bh_directory_of(slot->directory);
	if (!directory)
		return 0;
	slot->freed = BH_READ_ONCE(directory->freed);
	way = &directory->ways[s->generation & (BH_KNOWN_WAYS - 1)];
	seq = BH_READ_ONCE(way->seq);
	if (!bh_directory_holds(way, seq, s->generation, slot))
		return 0;
	state = way->state;
	if (BH_READ_ONCE(way->seq) != seq)
		return 0;
	slot->state = state;
	return 1;
}

int bh_directory_keep(const struct bh_subject *s, const struct bh_slot *slot)
{
	struct bh_directory *directory;
	struct bh_directory_way *way;
	__u32 seq;

	if (!s || !slot)
		return 0;
	directory = bh_directory_of(slot->directory);
	if (!directory)
		return 0;
	way = &directory->ways[s->generation & (BH_KNOWN_WAYS - 1)];
	if (!bh_write_begin(&way->seq, &seq))
		return 0;
	way->inode = slot->directory;
	way->freed = slot->freed;
	way->generation = s->generation;
	way->epoch = slot->epoch;
	way->state = slot->state;
	BH_READ_ONCE(way->seq) = seq + 2;
	return 0;
}
