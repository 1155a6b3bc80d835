// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The project's own walk, start, match and verdict of a place, for cases out of a map. The dentries
 * are made up by user space, in a map that stands where the kernel's own could stand. What is left of
 * a hook is the subject, which needs a task: the generation is given.
 */
#include "verdict.bpf.c"
#include "cache.bpf.c"
#include "path.bpf.c"
#include "links.bpf.c"
#include "core.h"

_Static_assert(CORE_PATH_END == BH_PATH_END && CORE_PATH_MARGIN == BH_PATH_MARGIN, "as in a slot");

#define CORE_MAP(name_, type_, entries)            \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);  \
		__uint(map_flags, BPF_F_MMAPABLE); \
		__uint(max_entries, entries);      \
		__type(key, __u32);                \
		__type(value, type_);              \
	} name_ SEC(".maps")

CORE_MAP(core_cases, struct core_case, CORE_BATCH);
CORE_MAP(core_dentries, struct core_dentry, CORE_DENTRIES);
CORE_MAP(core_superblocks, struct core_superblock, CORE_SUPERBLOCKS);
CORE_MAP(core_inodes, struct core_inode, CORE_INODES);

struct core_turn {
	struct core_case *c;
	struct bh_slot *slot;
	__u32 pos;
};

/* In pieces of one size, the last of them NULs in its end; in front of the path stands what an earlier
 * one left. */
static long core_put_piece(__u32 i, struct core_turn *turn)
{
	__u64 pos = BH_BOUND(turn->pos, BH_PATH_END - 1);

	if (turn->pos >= BH_PATH_END)
		return 1;
	bpf_probe_read_kernel(&turn->slot->path[pos], CORE_PATH_MARGIN, &turn->c->path[pos]);
	turn->pos = pos + CORE_PATH_MARGIN;
	return 0;
}

/* As bh_look_abstract: a name that stands on no superblock. */
static __noinline struct bh_slot *core_look_name(const struct bh_subject *s, struct core_case *c)
{
	struct bh_slot *slot = bh_slot_claim();
	struct bh_policy *policy = bh_policy_of(s);
	struct core_turn turn = {.c = c, .slot = slot, .pos = c->pos};

	if (!slot)
		return NULL;
	bpf_loop(BH_PATH_END, core_put_piece, &turn, 0);
	slot->sbid = slot->class = slot->hidden = 0;
	slot->masks = (struct bh_masks){};
	slot->reason = policy ? 0 : BH_REASON_UNSURE_TABLE;
	slot->state = policy ? policy->start : BH_STATE_DEAD;
	slot->pos = slot->cursor = c->pos;
	if (!slot->reason)
		bh_match_path(s, slot);
	return slot;
}

/* As bh_judge. */
static long core_judge(__u32 i, struct core_run *run)
{
	struct bh_refusal r = BH_REFUSAL(FILE_OPEN, BH_REASON_NO_RULE);
	struct bh_subject s = {.generation = run->generation};
	struct core_case *c = bpf_map_lookup_elem(&core_cases, &i);
	struct bh_slot *slot;

	if (!c)
		return 1;
	slot = c->dentry ? bh_look(&s, (struct dentry *)c->dentry) : core_look_name(&s, c);
	if (!slot)
		return 1;
	c->reason = slot->reason;
	c->masks = slot->masks;
	c->hidden = slot->hidden;
	r.perms = c->asked;
	/* Or it would kill who runs this. */
	if (slot->masks.tripwire & c->asked)
		s.mode = BH_MODE_AUDIT;
	c->error = bh_judge_place_errno(&s, &r, slot);
	c->bits = r.bits;
	c->done = 1;
	bh_slot_release(slot);
	return 0;
}

SEC("syscall")
int core_run(struct core_run *given)
{
	struct core_run run = {.generation = given->generation};

	bpf_loop(given->n, core_judge, &run, 0);
	return 0;
}

SEC("syscall")
int core_tell(struct core_layout *ret)
{
	__u32 first = 0;

	ret->cases = (__u64)bpf_map_lookup_elem(&core_cases, &first);
	ret->dentries = (__u64)bpf_map_lookup_elem(&core_dentries, &first);
	ret->superblocks = (__u64)bpf_map_lookup_elem(&core_superblocks, &first);
	ret->inodes = (__u64)bpf_map_lookup_elem(&core_inodes, &first);
	ret->inode = bpf_core_field_offset(struct dentry, d_inode);
	ret->hash = bpf_core_field_offset(struct dentry, d_hash.pprev);
	ret->links = bpf_core_field_offset(struct inode, i_nlink);
	ret->mode = bpf_core_field_offset(struct inode, i_mode);
	ret->parent = bpf_core_field_offset(struct dentry, d_parent);
	ret->name = bpf_core_field_offset(struct dentry, d_name.name);
	ret->name_length = bpf_core_field_offset(struct dentry, d_name.len);
	ret->sb = bpf_core_field_offset(struct dentry, d_sb);
	ret->seq = bpf_core_field_offset(struct dentry, d_seq.seqcount.sequence);
	ret->root = bpf_core_field_offset(struct super_block, s_root);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
