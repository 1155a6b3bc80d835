// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Attributes of files: mode, owner, times, extended attributes, ACLs, flags; and their length.
 *
 *   inode_setattr                     attributes, for chmod, chown and utimes; write, for truncate,
 *                                     ftruncate and O_TRUNC
 *   inode_getxattr                    read, of what users keep there ("user."); the kernel's own are free
 *   inode_setxattr inode_removexattr  ACLs too before 6.2
 *   inode_set_acl inode_remove_acl    since 6.2
 *   inode_file_setattr                flags, since 6.17; before, file_ioctl alone
 */
#include "path.bpf.h"

static __always_inline long bh_judge_attributes(const struct bh_subject *s, struct dentry *dentry,
						__u32 hook)
{
	struct bh_refusal r = BH_REFUSAL(INODE_SETATTR, BH_REASON_NO_RULE);

	if (bh_is_filesystem())
		return 0;
	r.hook = hook;
	r.perms = BH_PERM_ATTRIBUTES;
	return bh_judge(s, dentry, &r);
}

#define BH_JUDGE_ATTRIBUTES(hook_, dentry)                                   \
	({                                                                   \
		_Static_assert(BH_ERRNO_##hook_ == BH_ERRNO_INODE_SETATTR && \
				       BH_PLANE_OF_##hook_ == BH_PLANE_FILE, \
			       "one refusal for all of them");               \
		bh_judge_attributes(&s, dentry, BH_HOOK_##hook_);            \
	})

static __noinline long bh_judge_setattr(struct dentry *dentry, struct iattr *attr, int ret)
{
	struct bh_refusal r = BH_REFUSAL(INODE_SETATTR, BH_REASON_NO_RULE);
	unsigned int what = attr->ia_valid;

	BH_ENTER(s, INODE_SETATTR, ret);
	/* FORCE alone: set-id bits that writing takes off. O_TRUNC comes here as well: with O_RDONLY it
	 * was not opened to be written. */
	if ((what & (ATTR_FORCE | ATTR_SIZE)) == ATTR_FORCE || bh_is_filesystem())
		return 0;
	if (what & ATTR_SIZE && bh_is_memory(dentry))
		return 0;
	r.perms = what & ATTR_SIZE ? BH_PERM_WRITE : BH_PERM_ATTRIBUTES;
	return bh_judge(&s, dentry, &r);
}

/* The loader takes the one of these two that the kernel's hook fits. */
SEC("lsm/inode_setattr")
int BPF_PROG(bh_setattr, struct mnt_idmap *idmap, struct dentry *dentry, struct iattr *attr,
	     int ret)
{
	return bh_judge_setattr(dentry, attr, ret);
}

/* Before 6.9. */
SEC("lsm/inode_setattr")
int BPF_PROG(bh_setattr_two, struct dentry *dentry, struct iattr *attr, int ret)
{
	return bh_judge_setattr(dentry, attr, ret);
}

/* Content of a kind. What cannot be read counts as such. */
static __always_inline bool bh_is_users_attribute(const char *name)
{
	char c[5];

	return bpf_probe_read_kernel(c, sizeof(c), name) ||
	       (c[0] == 'u' && c[1] == 's' && c[2] == 'e' && c[3] == 'r' && c[4] == '.');
}

SEC("lsm/inode_getxattr")
int BPF_PROG(bh_getxattr, struct dentry *dentry, const char *name, int ret)
{
	struct bh_refusal r = BH_REFUSAL(INODE_GETXATTR, BH_REASON_NO_RULE);

	BH_ENTER(s, INODE_GETXATTR, ret);
	if (!bh_is_users_attribute(name) || bh_is_filesystem() || bh_is_memory(dentry))
		return 0;
	r.perms = BH_PERM_READ;
	return bh_judge(&s, dentry, &r);
}

SEC("lsm/inode_setxattr")
int BPF_PROG(bh_setxattr, void *idmap, struct dentry *dentry, const char *name, const void *value,
	     size_t size, int flags, int ret)
{
	BH_ENTER(s, INODE_SETXATTR, ret);
	return BH_JUDGE_ATTRIBUTES(INODE_SETXATTR, dentry);
}

SEC("lsm/inode_removexattr")
int BPF_PROG(bh_removexattr, void *idmap, struct dentry *dentry, const char *name, int ret)
{
	BH_ENTER(s, INODE_REMOVEXATTR, ret);
	return BH_JUDGE_ATTRIBUTES(INODE_REMOVEXATTR, dentry);
}

SEC("lsm/inode_set_acl")
int BPF_PROG(bh_set_acl, void *idmap, struct dentry *dentry, const char *name, void *acl, int ret)
{
	BH_ENTER(s, INODE_SET_ACL, ret);
	return BH_JUDGE_ATTRIBUTES(INODE_SET_ACL, dentry);
}

SEC("lsm/inode_remove_acl")
int BPF_PROG(bh_remove_acl, void *idmap, struct dentry *dentry, const char *name, int ret)
{
	BH_ENTER(s, INODE_REMOVE_ACL, ret);
	return BH_JUDGE_ATTRIBUTES(INODE_REMOVE_ACL, dentry);
}

SEC("lsm/inode_file_setattr")
int BPF_PROG(bh_file_setattr, struct dentry *dentry, void *attr, int ret)
{
	BH_ENTER(s, INODE_FILE_SETATTR, ret);
	return BH_JUDGE_ATTRIBUTES(INODE_FILE_SETATTR, dentry);
}
