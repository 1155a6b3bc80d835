// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who gives names to files and takes them: hooks of every task on the host, and of inodes, for nfsd and
 * overlayfs call no path hooks. They refuse nothing. What they keep is for files with several names
 * (links.bpf.h), and for verdicts that are known (cache.bpf.h): each name that goes is counted.
 *
 *   inode_link    forgets that links were made inside when somebody else makes one; pins what stands at a
 *                 name that rules deny, or is going to
 *   inode_rename  the same, of the new name, if the file has others
 *   inode_unlink  forgets a file that goes, or is left with one name
 *   inode_mkdir   a directory on the way to such a name is a new one: what is pinned is loose
 *   inode_free_security   counts directories whose address can be another's from now on
 */
#include "cache.bpf.h"
#include "links.bpf.h"

/* Links stay "made inside" while members make them. Is this one? */
static __always_inline bool bh_made_keep(const struct bh_inode *inode)
{
	struct bh_made *made = bpf_map_lookup_elem(&bh_made, inode);
	struct bh_subject s = {};

	if (!made)
		return false;
	if (bh_subject_member(&s) == BH_SUBJECT_SOME && s.serial == made->serial)
		return true;
	bh_made_delete(inode, made);
	return false;
}

static __always_inline __u32 bh_sbid_of(struct dentry *dentry)
{
	__u64 address = (__u64)dentry->d_sb;
	struct bh_superblock *sb = bpf_map_lookup_elem(&bh_superblocks, &address);

	return sb ? sb->sbid : 0;
}

/* A member takes a name away from a file that has no more than so many: what is left needs no mark. git
 * links and unlinks each object that it makes. */
static __always_inline void bh_made_forget(struct dentry *dentry, __u32 links)
{
	struct inode *inode = dentry->d_inode;
	struct bh_inode key = {};
	struct bh_subject s = {};
	struct bh_made *made;

	if (!inode || inode->i_nlink > links || !bh_is_regular(inode))
		return;
	if (bh_subject_member(&s) != BH_SUBJECT_SOME)
		return;
	bh_inode_name(&key, inode);
	key.sbid = bh_sbid_of(dentry);
	made = bpf_map_lookup_elem(&bh_made, &key);
	if (made)
		bh_made_delete(&key, made);
}

/* --- names that rules deny --- */

/* A name is given: what to whom. Numbers alone, so that the verifier goes through what follows once. */
struct bh_giving {
	struct bh_inode inode;	       /* that gets it; sbid 0: a directory that is not made yet */
	struct bh_inode directory;     /* where it stands */
	const unsigned char *name;     /* an address of the kernel's */
	__u32 length, directory_given; /* the inode is a directory */
};

struct bh_loosening {
	__u32 pin; /* 0: all */
};

static long bh_loosen_one(struct bpf_map *map, const void *given_key, void *value,
			  struct bh_loosening *l)
{
	struct bh_pin_rule key = *(const struct bh_pin_rule *)given_key;
	__u32 index = BH_GENERATION_INDEX(key.generation);
	struct bh_policy *policy;

	if (l->pin && key.pin != l->pin)
		return 0;
	policy = bpf_map_lookup_elem(&bh_policies, &index);
	if (policy && policy->generation == key.generation && policy->loose == BH_PINNED)
		policy->loose = BH_LOOSE;
	return 0;
}

static __always_inline void bh_loosen(__u32 pin)
{
	struct bh_loosening l = {.pin = pin};

	bpf_for_each_map_elem(&bh_pin_rules, bh_loosen_one, &l, 0);
}

/* An inode that had another number has several; which, nobody needs to know. */
static __always_inline void bh_pin(const struct bh_inode *inode, __u32 pin)
{
	__u32 *old = bpf_map_lookup_elem(&bh_pins, inode);

	if (old && *old != pin)
		pin = BH_PIN_SEVERAL;
	if ((!old || *old != pin) && bpf_map_update_elem(&bh_pins, inode, &pin, BPF_ANY))
		bh_loosen(0);
}

/* The number of a name; 0: none of ours. BH_PIN_SEVERAL: it cannot be told. */
static __noinline __u32 bh_pin_of(const struct bh_giving *g)
{
	struct bh_slot *slot = bh_slot_claim();
	__u64 length = g->length;
	__u32 *pin, ret = BH_PIN_SEVERAL;

	if (!slot)
		return ret;
	slot->pin.directory = g->directory;
	__builtin_memset(slot->pin.name, 0, sizeof(slot->pin.name));
	if (length > BH_MAX_NAME)
		length = BH_MAX_NAME;
	if (bpf_probe_read_kernel(slot->pin.name, length, g->name) == 0) {
		pin = bpf_map_lookup_elem(&bh_pin_names, &slot->pin);
		ret = pin ? *pin : 0;
	}
	bh_slot_release(slot);
	return ret;
}

__noinline int bh_give(struct bh_giving *given)
{
	struct bh_giving g;
	__u32 pin;

	if (!given)
		return 0;
	g = *given;
	if (!bpf_map_lookup_elem(&bh_pin_directories, &g.directory))
		return 0;
	pin = bh_pin_of(&g);
	if (pin == BH_PIN_SEVERAL)
		bh_loosen(0);
	else if (pin && g.directory_given)
		bh_loosen(pin);
	else if (pin)
		bh_pin(&g.inode, pin);
	return 0;
}

/* The name `dentry` in its directory, of `inode` or, NULL, of a directory to be made. */
static __always_inline void bh_name_given(struct dentry *dentry, struct inode *inode, __u32 sbid)
{
	struct dentry *parent = dentry->d_parent;
	struct inode *directory = parent->d_inode;
	struct bh_giving g = {};

	if (!directory)
		return;
	bh_inode_name(&g.directory, directory);
	g.directory.sbid = g.inode.sbid = sbid;
	g.directory_given = !inode || !bh_is_regular(inode);
	if (inode)
		bh_inode_name(&g.inode, inode);
	g.name = dentry->d_name.name;
	g.length = dentry->d_name.len;
	bh_give(&g);
}

static __noinline int bh_names_given(struct dentry *old, struct dentry *new, bool link)
{
	struct inode *inode = old->d_inode;
	__u32 sbid = bh_sbid_of(old);
	struct bh_inode key = {.sbid = sbid};

	if (!sbid || !inode)
		return 0;
	if (bh_is_regular(inode)) {
		bh_inode_name(&key, inode);
		/* Of what members linked pins say nothing. Nor are they needed of what has one name: the link
		 * that gives it a second comes here. A file that is replaced by a rename every minute, or as
		 * fast as a member can, would fill the table of all. */
		if (bh_made_keep(&key) || (!link && inode->i_nlink < 2))
			return 0;
	}
	bh_name_given(new, inode, sbid);
	/* From now on it is not by its name alone that it is known. */
	if (link)
		bh_name_given(old, inode, sbid);
	return 0;
}

/* Of a directory, and with it of all that is below, or of a file that is known. */
static __always_inline void bh_name_lost(struct dentry *trusted)
{
	struct inode *inode = trusted->d_inode;
	struct bh_known *known;

	if (!inode)
		return;
	if ((inode->i_mode & S_IFMT) == S_IFDIR) {
		__sync_fetch_and_add((__u64 *)&bh_cache.epoch, 1);
		return;
	}
	known = bh_known_of(inode, 0);
	if (known)
		__sync_fetch_and_add(&known->moves, 1);
}

/* One of several. An exchange, which takes none, says so for nothing. */
static __always_inline void bh_losing_mark(struct dentry *name)
{
	struct inode *inode = name->d_inode;
	__u64 address, *losing;

	if (!inode || inode->i_nlink < 2 || !bh_is_regular(inode))
		return;
	address = bh_inode_address(name);
	losing = bh_losing_of(address);
	if (losing)
		*losing = address;
}

SEC("lsm/inode_link")
int BPF_PROG(bh_inode_link, struct dentry *old, struct inode *dir, struct dentry *new, int ret)
{
	if (!ret)
		bh_names_given(BH_READONLY(struct dentry, old), BH_READONLY(struct dentry, new),
			       true);
	return ret;
}

SEC("lsm/inode_rename")
int BPF_PROG(bh_inode_rename, struct inode *old_dir, struct dentry *old, struct inode *new_dir,
	     struct dentry *new, int ret)
{
	struct dentry *target = BH_READONLY(struct dentry, new);

	if (ret)
		return ret;
	bh_name_lost(old);
	bh_name_lost(new);
	bh_losing_mark(target);
	bh_names_given(BH_READONLY(struct dentry, old), target, false);
	/* With two names it may be an exchange, which the hook is not told: then it keeps both. */
	if (bpf_get_current_task_btf()->bpf_storage)
		bh_made_forget(target, 1);
	return ret;
}

SEC("lsm/inode_unlink")
int BPF_PROG(bh_inode_unlink, struct inode *dir, struct dentry *dentry, int ret)
{
	struct dentry *name = BH_READONLY(struct dentry, dentry);

	if (ret)
		return ret;
	/* Of what has one name nothing is left that could be asked for. */
	if (name->d_inode && name->d_inode->i_nlink > 1)
		bh_name_lost(dentry);
	bh_losing_mark(name);
	if (bpf_get_current_task_btf()->bpf_storage)
		bh_made_forget(name, 2);
	return 0;
}

SEC("lsm/inode_mkdir")
int BPF_PROG(bh_inode_mkdir, struct inode *dir, struct dentry *dentry, umode_t mode, int ret)
{
	struct dentry *new = BH_READONLY(struct dentry, dentry);
	__u32 sbid = ret ? 0 : bh_sbid_of(new);

	if (sbid)
		bh_name_given(new, NULL, sbid);
	return ret;
}

/* An address is identity only while its inode lives. */
SEC("lsm/inode_free_security")
void BPF_PROG(bh_inode_free, struct inode *inode)
{
	struct bh_directory *directory;
	__u64 address;

	if ((inode->i_mode & S_IFMT) != S_IFDIR)
		return;
	/* Not to be calculated with as long as the verifier knows what it is. */
	directory = bpf_probe_read_kernel(&address, sizeof(address), ctx)
			    ? NULL
			    : bh_directory_of(address);
	__sync_fetch_and_add(directory ? &directory->freed : (__u64 *)&bh_cache.epoch, 1);
}
