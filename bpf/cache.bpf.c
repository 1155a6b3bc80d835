// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Writing of what is known. */
#include "path.bpf.h"

/* Several may write, on one CPU or on two: who comes second keeps nothing. */
int bh_known_keep(const struct bh_subject *s, struct bh_known *known, const struct bh_slot *slot,
		  __u64 epoch, __u64 moves)
{
	struct bh_known_way *way;
	__u32 seq;

	if (!s || !known || !slot || slot->reason || slot->odd)
		return 0;
	way = &known->ways[s->generation & (BH_KNOWN_WAYS - 1)];
	seq = BH_READ_ONCE(way->seq);
	if (seq & 1 || __sync_val_compare_and_swap(&way->seq, seq, seq + 1) != seq)
		return 0;
	way->generation = s->generation;
	way->epoch = epoch;
	way->moves = moves;
	way->allow = slot->masks.allow & ~slot->hidden & ~slot->masks.audit;
	BH_READ_ONCE(way->seq) = seq + 2;
	return 0;
}
