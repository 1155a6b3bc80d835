// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mounts and user namespaces: closed, but for sandboxes inside the compartment.
 *
 *   userns_create             with nested-sandbox alone
 *   sb_mount                  there, in mounts of such a user namespace: changes of what is mounted,
 *                             and new filesystems of four kinds
 *   move_mount                closed: the way in of what fsopen(2) makes
 *   fs_context_parse_param    of other filesystems than those four: overlayfs makes and removes files
 *                             in its layers while it is mounted, and fsopen(2) asks sb_mount nothing
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

static __always_inline bool bh_is_nested_type(const char *type)
{
	char text[8] = {};

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
	if (bh_may_nest(&s) && bh_has_own_mounts() &&
	    (flags & BH_MOUNT_CHANGES || bh_is_nested_type(type)))
		return 0;
	return BH_CLOSED(s, SB_MOUNT, flags);
}

SEC("lsm/move_mount")
int BPF_PROG(bh_move_mount, const struct path *from, const struct path *to, int ret)
{
	BH_ENTER(s, MOVE_MOUNT, ret);
	return BH_CLOSED(s, MOVE_MOUNT, 0);
}

/* With the events of mounts; the kernel asks for each option, "source" among them. */
SEC("lsm/fs_context_parse_param")
int BPF_PROG(bh_fs_param, struct fs_context *fc, struct fs_parameter *param, int ret)
{
	BH_ENTER(s, SB_MOUNT, ret);
	if (bh_may_nest(&s) && bh_is_nested_type(BPF_CORE_READ(fc, fs_type, name)))
		return 0;
	return BH_CLOSED(s, SB_MOUNT, 0);
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

	/* Not what a service manager's child mounts for the unit that it becomes. */
	if (ret || bh_subject_current(&s) != BH_SUBJECT_SOME || !bh_may_nest(&s))
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
