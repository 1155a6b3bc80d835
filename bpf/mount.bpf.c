// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mounts and user namespaces: closed, but for sandboxes inside the compartment.
 *
 *   userns_create             with nested-sandbox alone
 *   sb_mount                  there, in mounts of such a user namespace: changes of what is mounted,
 *                             and new filesystems of four kinds
 *   move_mount                closed: the way in of what fsopen(2) makes
 *   sb_alloc_security         remembers superblocks that members make
 *   sb_free_security          forgets a superblock before its address can be used again
 */
#include "nested.bpf.h"

SEC("lsm/userns_create")
int BPF_PROG(bh_userns, const struct cred *cred, int ret)
{
	BH_ENTER(s, USERNS, ret);
	return bh_may_nest(&s) ? 0 : BH_CLOSED(s, USERNS, 0);
}

/* With one of these flags no superblock is made. */
#define BH_MOUNT_CHANGES \
	(MS_REMOUNT | MS_BIND | MS_MOVE | MS_UNBINDABLE | MS_PRIVATE | MS_SLAVE | MS_SHARED)

static __always_inline bool bh_mount_is_nested(const char *type, unsigned long flags)
{
	char text[8] = {};

	if (flags & BH_MOUNT_CHANGES)
		return true;
	if (bpf_probe_read_kernel_str(text, sizeof(text), type) < 0)
		return false;
	return !bpf_strncmp(text, sizeof(text), "tmpfs") ||
	       !bpf_strncmp(text, sizeof(text), "proc") ||
	       !bpf_strncmp(text, sizeof(text), "devpts") ||
	       !bpf_strncmp(text, sizeof(text), "mqueue");
}

/* Whether current may do it to these mounts, the kernel asks by capable. */
SEC("lsm/sb_mount")
int BPF_PROG(bh_sb_mount, const char *dev, const struct path *path, const char *type,
	     unsigned long flags, void *data, int ret)
{
	BH_ENTER(s, SB_MOUNT, ret);
	if (bh_may_nest(&s) && bh_has_own_mounts() && bh_mount_is_nested(type, flags))
		return 0;
	return BH_CLOSED(s, SB_MOUNT, flags);
}

SEC("lsm/move_mount")
int BPF_PROG(bh_move_mount, const struct path *from, const struct path *to, int ret)
{
	BH_ENTER(s, MOVE_MOUNT, ret);
	return BH_CLOSED(s, MOVE_MOUNT, 0);
}

/* Its type is not set yet: it is asked for when files there are judged. What is not remembered is
 * refused. */
SEC("lsm/sb_alloc_security")
int BPF_PROG(bh_sb_alloc, struct super_block *sb, int ret)
{
	__u64 address = (__u64)sb;
	struct bh_subject s = {};
	struct bh_tally *tally;
	struct bh_own own = {};

	if (ret || bh_subject_member(&s) != BH_SUBJECT_SOME)
		return ret;
	own.serial = s.serial;
	own.tally = s.tally;
	tally = bpf_map_lookup_elem(&bh_tallies, &own.tally);
	if (!tally || tally->own >= BH_MAX_OWN)
		return 0;
	if (bpf_map_update_elem(&bh_own_superblocks, &address, &own, BPF_ANY) == 0)
		__sync_fetch_and_add(&tally->own, 1);
	return 0;
}

/* The place in the tallies can be another compartment's by now. */
static __always_inline void bh_forget_own(__u64 address)
{
	struct bh_own *own = bpf_map_lookup_elem(&bh_own_superblocks, &address);
	struct bh_compartment *c;
	struct bh_tally *tally;
	__u32 index;

	if (!own)
		return;
	index = own->tally;
	c = bpf_map_lookup_elem(&bh_compartments, &index);
	tally = bpf_map_lookup_elem(&bh_tallies, &index);
	if (c && tally && c->serial == own->serial)
		__sync_fetch_and_add(&tally->own, -1);
	bpf_map_delete_elem(&bh_own_superblocks, &address);
}

/* An address is identity only while its superblock lives. */
SEC("lsm/sb_free_security")
void BPF_PROG(bh_sb_free, struct super_block *sb)
{
	__u64 address = (__u64)sb;

	bpf_map_delete_elem(&bh_superblocks, &address);
	bh_forget_own(address);
}
