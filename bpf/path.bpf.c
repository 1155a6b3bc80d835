// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The parts of a place's verdict that need no pointer of the kernel's: start, match, refusal. */
#include "path.bpf.h"

struct bh_match {
	struct bh_policy *policy;
	struct bh_table table;
	struct bh_slot *slot;
};

/* Takes the page that a state's row stands on. */
static __always_inline long bh_table_turn(struct bh_table *table, __u32 state)
{
	__u32 number = state / BH_PAGE_WORDS;
	struct bh_page *page = bpf_map_lookup_elem(table->map, &number);

	if (!page)
		return -1;
	table->page = page;
	table->first = number * BH_PAGE_WORDS;
	return 0;
}

static __always_inline long bh_table_hold(struct bh_table *table, __u32 state)
{
	return state / BH_PAGE_WORDS == table->first / BH_PAGE_WORDS ? 0
								     : bh_table_turn(table, state);
}

/* So many bytes, without a question of how many are left, for behind the path stand NULs, which lead
 * every state to itself; or fewer, as long as the states stand on one page. */
static long bh_match_chunk(__u32 i, struct bh_match *m)
{
	struct bh_slot *slot = m->slot;
	struct bh_policy *policy = m->policy;
	struct bh_table table;
	__u32 state = slot->state, next, j;
	/* The path has a margin behind its end: the first position bounds all of them. */
	const __u8 *path = &slot->path[BH_BOUND(slot->cursor, BH_PATH_END - 1)];

	if (bh_table_hold(&m->table, state))
		return 1;
	table = m->table;
#pragma unroll
	for (j = 0; j < BH_CHUNK; j++) {
		next = state;
		if (bh_match_byte(&table, policy, &next, path[j]))
			break;
		state = next;
	}
	slot->cursor += j;
	slot->state = state;
	return slot->cursor >= slot->end;
}

/* Every step takes a byte at least. The page of the first state is at hand before the first byte. */
static __always_inline int bh_match_to(const struct bh_subject *s, struct bh_slot *slot,
				       struct bh_match *m)
{
	__u32 index = BH_GENERATION_INDEX(s->generation);

	m->slot = slot;
	m->policy = bh_policy_of(s);
	m->table.map = bpf_map_lookup_elem(&bh_tables, &index);
	if (!m->policy || !m->table.map || bh_table_turn(&m->table, slot->state))
		return -1;
	if (slot->cursor < slot->end)
		bpf_loop(BH_PATH_END, bh_match_chunk, m, 0);
	return slot->cursor < slot->end ? -1 : 0;
}

int bh_match_path(const struct bh_subject *s, struct bh_slot *slot)
{
	struct bh_match m = {};

	if (!s || !slot)
		return 0;
	slot->end = BH_PATH_END;
	if (bh_match_to(s, slot, &m) || bh_table_hold(&m.table, slot->state) ||
	    bh_match_masks(&m.table, m.policy, slot->state, &slot->masks))
		slot->reason = BH_REASON_UNSURE_TABLE;
	return 0;
}

/* The last component's first bytes are NULs meanwhile. */
int bh_match_directory(const struct bh_subject *s, struct bh_slot *slot)
{
	struct bh_match m = {};
	__u64 first, *leaf;

	if (!s || !slot)
		return 0;
	leaf = (__u64 *)&slot->path[BH_BOUND(slot->leaf, BH_PATH_END - 1)];
	first = *leaf;
	*leaf = 0;
	slot->end = slot->leaf;
	if (bh_match_to(s, slot, &m))
		slot->reason = BH_REASON_UNSURE_TABLE;
	else
		bh_directory_keep(s, slot);
	*leaf = first;
	slot->cursor = slot->leaf;
	return 0;
}

/* The state of a directory's own name tells names apart that begin alike, "server" of "server.key": what
 * is below begins behind the next '/'. */
int bh_match_below(const struct bh_subject *s, struct bh_slot *slot)
{
	struct bh_table table = {};
	struct bh_policy *policy;
	__u32 index, below;

	if (!s || !slot)
		return 0;
	index = BH_GENERATION_INDEX(s->generation);
	below = slot->state;
	policy = bh_policy_of(s);
	table.map = bpf_map_lookup_elem(&bh_tables, &index);
	if (!policy || !table.map || bh_table_turn(&table, below) ||
	    bh_match_byte(&table, policy, &below, '/'))
		slot->reason = BH_REASON_UNSURE_TABLE;
	slot->below = below;
	return 0;
}

#define BH_PERM_OWN (BH_PERM_READ | BH_PERM_WRITE | BH_PERM_APPEND | BH_PERM_ATTRIBUTES)

/*
 * Of a superblock that no view has. What members mounted holds what they made, and may be run by no
 * right of theirs; a procfs is judged as the one at /proc. Every other kind stays undecided.
 */
static __noinline __u32 bh_place_own(const struct bh_subject *s, struct bh_slot *slot)
{
	struct super_block *sb = (void *)slot->superblock;
	struct bh_policy *policy = bh_policy_of(s);
	__u64 address = slot->superblock, magic;
	struct bh_own *own;

	if (!policy || !(policy->flags & BH_POLICY_NESTED))
		return 0;
	own = bpf_map_lookup_elem(&bh_own_superblocks, &address);
	if (!own || own->serial != s->serial)
		return 0;
	magic = BPF_CORE_READ(sb, s_magic);
	if (magic == PROC_MAGIC) {
		slot->class = BH_SB_PROC;
		return BH_SBID_OWN_PROC;
	}
	if (magic == TMPFS_MAGIC || magic == MQUEUE_MAGIC)
		slot->masks.allow = BH_PERM_OWN | BH_PERM_NAMES | BH_PERM_IOCTL | BH_PERM_CONNECT;
	else if (magic == DEVPTS_MAGIC)
		slot->masks.allow = BH_PERM_OWN | BH_PERM_IOCTL;
	else
		return 0;
	slot->class = BH_SB_OWN;
	slot->reason = 0;
	return 0;
}

int bh_place_start(const struct bh_subject *s, struct bh_slot *slot)
{
	struct bh_start_key key = {};
	struct bh_superblock *sb;
	struct bh_start *start;
	__u64 address;

	if (!s || !slot)
		return 0;
	address = slot->superblock;
	key.generation = s->generation;
	sb = bpf_map_lookup_elem(&bh_superblocks, &address);
	slot->reason = BH_REASON_UNSURE_SB;
	slot->sbid = slot->class = slot->state = slot->self = 0;
	slot->masks = (struct bh_masks){};
	if (sb) {
		slot->sbid = sb->sbid;
		slot->class = sb->class;
	} else {
		slot->sbid = bh_place_own(s, slot);
	}
	if (slot->class == BH_SB_BPF)
		slot->reason = BH_REASON_CLOSED;
	if (!slot->sbid || slot->class == BH_SB_BPF)
		return 0;
	key.sbid = slot->sbid;
	start = bpf_map_lookup_elem(&bh_starts, &key);
	if (!start && slot->class != BH_SB_PIPE)
		return 0;
	slot->reason = 0;
	if (!start)
		return 0;
	slot->state = start->state;
	slot->self = start->self;
	return 0;
}

/* Was it forked by the service manager and has not exec'd since? It is not judged yet, so not to be looked at
 * by who is. What members fork does not exec either; but each exec on a line of descent counts one up, and
 * theirs was one at least since the manager's. */
static __always_inline bool bh_is_pending(struct task_struct *task, __u32 cgroup_flags)
{
	struct task_struct *first =
		BPF_CORE_READ(bpf_get_current_task_btf(), thread_pid, numbers[0].ns, child_reaper);

	return cgroup_flags & BH_CGROUP_STARTING && BPF_CORE_READ(task, flags) & PF_FORKNOEXEC &&
	       BPF_CORE_READ(task, self_exec_id) <= BPF_CORE_READ(first, self_exec_id);
}

/* By its cgroup: of a task that a program found by itself, 6.1 gives nobody the label. Every thread has a
 * pid, and a leader's is its process's, too. */
static __noinline int bh_pid_is_peer(__u32 compartment, __u64 address)
{
	struct pid *pid = (void *)address;
	struct hlist_node *first = BPF_CORE_READ(pid, tasks[PIDTYPE_PID].first);
	struct bh_standing st = {};
	struct task_struct *task;

	if (!first || !compartment)
		return 0;
	/* PIDTYPE_PID is the first of the links. */
	task = (void *)first - bpf_core_field_offset(struct task_struct, pid_links);
	st.cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	bpf_loop(BH_MAX_CGROUP_DEPTH, bh_standing_level, &st, 0);
	return st.compartment == compartment && !bh_is_pending(task, st.flags);
}

int bh_proc_is_peer(const struct bh_subject *s, __u64 top, __u64 leaf)
{
	if (!s || !bh_pid_is_peer(s->compartment, top))
		return 0;
	return !leaf || leaf == top || bh_pid_is_peer(s->compartment, leaf);
}

/* Told already. Whoever comes to a hook from now on is killed there (bh_subject_find), the rest by
 * the agent: kernel programs cannot go through a cgroup's tasks here. */
static __noinline int bh_trip(const struct bh_subject *s)
{
	__u32 id = s->compartment, index = s->tally;
	struct bh_compartment *c = bpf_map_lookup_elem(&bh_compartments, &id);
	struct bh_tally *tally = bpf_map_lookup_elem(&bh_tallies, &index);

	if (tally)
		__sync_fetch_and_add(&tally->tripped, 1);
	if (c)
		__sync_val_compare_and_swap(&c->state, BH_STATE_ENFORCED, BH_STATE_TRIPPED);
	return bpf_send_signal(SIGKILL);
}

static __always_inline bool bh_place_allows(const struct bh_slot *slot, const struct bh_refusal *r,
					    __u32 hidden)
{
	__u32 allow = slot->masks.allow & ~hidden;

	return !slot->reason && (bh_masks_allow(allow, r->perms) || allow & r->any);
}

/* Why it is to be told, and how. */
static __always_inline void bh_place_why(const struct bh_slot *slot, struct bh_refusal *r)
{
	if (slot->reason) {
		r->reason = slot->reason;
	} else if (bh_place_allows(slot, r, slot->hidden)) {
		r->reason = BH_REASON_AUDITED;
		r->bits |= BH_EVENT_AUDIT;
	} else if (bh_place_allows(slot, r, 0)) {
		r->reason = bh_place_allows(slot, r, slot->pinned) ? BH_REASON_OLD_LINK
								   : BH_REASON_PINNED;
	} else if (slot->masks.tripwire & (r->perms | r->any)) {
		r->reason = BH_REASON_TRIPWIRE;
		r->bits |= BH_EVENT_TRIPWIRE;
	} else if (r->perms && (r->perms & ~slot->masks.allow & ~slot->masks.quiet) == 0) {
		r->bits |= BH_EVENT_QUIET;
	}
}

/* The place as what the event is about, and the event. One call for what is refused and what is let
 * through: the verifier goes through it for each. */
static __noinline int bh_tell_place(const struct bh_subject *s, struct bh_refusal *r,
				    struct bh_slot *slot)
{
	bh_place_why(slot, r);
	r->kind = BH_OBJECT_PATH;
	r->object[0] = slot->sbid;
	r->object[1] = slot->class;
	if (slot->pos < BH_PATH_END)
		r->object[2] = r->tail = BH_PATH_END - slot->pos;
	return bh_refuse_errno(s, r, slot);
}

int bh_judge_place_errno(const struct bh_subject *s, struct bh_refusal *r, struct bh_slot *slot)
{
	int error;

	if (!s || !r)
		return BH_EACCES;
	if (!slot) {
		r->reason = BH_REASON_UNSURE_SLOT;
		return bh_refuse_errno(s, r, NULL);
	}
	if (bh_place_allows(slot, r, slot->hidden) && !(slot->masks.audit & (r->perms | r->any)))
		return 0;
	error = bh_tell_place(s, r, slot);
	if (error && r->bits & BH_EVENT_TRIPWIRE)
		bh_trip(s);
	return error;
}
