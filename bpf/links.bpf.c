// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What names of a file besides the one at hand take from it, and which links were made inside. */
#include "links.bpf.h"

int bh_place_links(const struct bh_subject *s, struct bh_slot *slot)
{
	struct bh_start_key key = {};
	struct bh_pin_rule rule = {};
	struct bh_policy *policy;
	struct bh_start *start;
	struct bh_inode inode;
	struct bh_made *made;
	__u32 *pin, *taken;

	if (!s || !slot)
		return 0;
	/* Nothing but what members made stands there. */
	if (!slot->sbid)
		return 0;
	slot->pinned = 0;
	slot->hidden = BH_PERM_ALL;
	inode = slot->inode;
	key.generation = rule.generation = s->generation;
	key.sbid = slot->sbid;
	start = bpf_map_lookup_elem(&bh_starts, &key);
	policy = bh_policy_of(s);
	if (!start || !policy)
		return 0;
	slot->hidden = 0;
	made = bpf_map_lookup_elem(&bh_made, &inode);
	if (made && made->serial == s->serial)
		return 0;
	if (!(slot->masks.allow & BH_PERM_LINKS)) {
		slot->hidden |= start->patterns;
		if (policy->loose)
			slot->hidden |= start->literals;
	}
	if (slot->masks.quiet & BH_PERM_LINKS)
		slot->hidden |= BH_PERM_DELETE;
	pin = bpf_map_lookup_elem(&bh_pins, &inode);
	if (!pin)
		return 0;
	rule.pin = *pin;
	taken = bpf_map_lookup_elem(&bh_pin_rules, &rule);
	if (rule.pin == BH_PIN_SEVERAL)
		slot->pinned = start->literals;
	else if (taken)
		slot->pinned = *taken;
	slot->hidden |= slot->pinned;
	return 0;
}

/* kernel/locking/rwsem.c: read by somebody, not to be waited for by spinning. */
#define BH_RWSEM_OWNER_FLAGS 3

/* The task that holds it to write; 0: none. */
static __always_inline __u64 bh_writer_of(__u64 address)
{
	struct inode *inode = (void *)address;

	return BPF_CORE_READ(inode, i_rwsem.owner.counter) & ~(__u64)BH_RWSEM_OWNER_FLAGS;
}

/* A mark stays when the name is gone, and at its address another inode may be. Who writes to a file, or sets its mode,
 * holds its lock alone. */
int bh_is_losing(__u64 inode, __u64 directory)
{
	__u64 *losing = bh_losing_of(inode), writer;

	if (losing && *losing != inode)
		return 0;
	if (!bpf_core_field_exists(((struct inode *)0)->i_rwsem.owner))
		return 1;
	writer = bh_writer_of(inode);
	return writer && writer == bh_writer_of(directory);
}

/* --- made inside --- */

/* What is full is not marked: such files count as linked outside. */
int bh_made_mark(const struct bh_subject *s, const struct bh_inode *given)
{
	struct bh_made new = {}, *old;
	struct bh_tally *tally;
	struct bh_inode inode;
	__u32 index;

	if (!s || !given)
		return 0;
	inode = *given;
	index = s->tally;
	new.serial = s->serial;
	new.tally = index;
	tally = bpf_map_lookup_elem(&bh_tallies, &index);
	if (!tally || tally->made >= BH_MAX_MADE)
		return 0;
	old = bpf_map_lookup_elem(&bh_made, &inode);
	if (old && old->serial == s->serial)
		return 0;
	if (old)
		bh_made_delete(&inode, old);
	if (bpf_map_update_elem(&bh_made, &inode, &new, BPF_NOEXIST) == 0)
		__sync_fetch_and_add(&tally->made, 1);
	return 0;
}
