// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Compartment entries, tallies, cgroup entries and the ask counter. */
#include "internal.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define GENERATION_NONE 0xffffffffu /* reserved, no policy yet */

int kern_compartment_get(struct kern *kern, __u32 id, struct bh_compartment *ret)
{
	struct bh_compartment entry;

	if (id == 0 || id >= BH_MAX_COMPARTMENTS)
		return -ENOENT;
	if (bpf_map_lookup_elem(kern->maps[KERN_MAP_COMPARTMENTS], &id, &entry) < 0)
		return -errno;
	if (entry.generation == 0)
		return -ENOENT;
	*ret = entry;
	return 0;
}

static int put_entry(struct kern *kern, __u32 id, const struct bh_compartment *entry)
{
	return bpf_map_update_elem(kern->maps[KERN_MAP_COMPARTMENTS], &id, entry, BPF_ANY) < 0
		       ? -errno
		       : 0;
}

/* A tripwire that was touched since the entry was read: the kernel writes its count before the state,
 * so whoever wrote over the state finds the count. */
static int keep_tripped(struct kern *kern, __u32 id, const struct bh_compartment *entry)
{
	struct bh_compartment tripped = *entry;
	struct bh_tally tally;
	int r = entry->state == BH_STATE_ENFORCED ? kern_tally(kern, entry->tally, &tally) : 1;

	if (r || !tally.tripped)
		return r < 0 ? r : 0;
	tripped.state = BH_STATE_TRIPPED;
	return put_entry(kern, id, &tripped);
}

int kern_compartment_set(struct kern *kern, __u32 id, const struct bh_compartment *entry)
{
	struct bh_compartment old;
	int r = entry->generation ? kern_compartment_get(kern, id, &old) : -EINVAL;

	if (r < 0)
		return r;
	if (entry->serial != old.serial || entry->tally != old.tally)
		return -EINVAL;
	r = put_entry(kern, id, entry);
	return r < 0 ? r : keep_tripped(kern, id, entry);
}

static int next_serial(struct kern *kern, __u64 *ret)
{
	struct bh_meta meta;
	int r = kern_meta_read(kern, &meta);

	if (r < 0)
		return r;
	*ret = ++meta.last_serial;
	return kern_meta_write(kern, &meta);
}

/* The first free id from a place that moves on: an id just freed is not the next one given. */
static int find_free(struct kern *kern, __u64 serial, __u32 *ret_id)
{
	struct bh_compartment old;

	for (__u32 i = 0; i < BH_MAX_COMPARTMENTS - 1; i++) {
		__u32 id = 1 + (__u32)((serial + i - 1) % (BH_MAX_COMPARTMENTS - 1));
		int r = kern_compartment_get(kern, id, &old);

		if (r == -ENOENT) {
			*ret_id = id;
			return 0;
		}
		if (r < 0)
			return r;
	}
	return -ENOSPC;
}

int kern_compartment_new(struct kern *kern, __u32 *ret_id)
{
	struct bh_compartment entry = {.generation = GENERATION_NONE};
	struct bh_tally tally = {};
	__u32 id;
	int r = next_serial(kern, &entry.serial);

	if (r == 0)
		r = find_free(kern, entry.serial, &id);
	if (r < 0)
		return r;
	entry.tally = id;
	if (bpf_map_update_elem(kern->maps[KERN_MAP_TALLIES], &id, &tally, BPF_ANY) < 0)
		return -errno;
	r = put_entry(kern, id, &entry);
	if (r < 0)
		return r;
	*ret_id = id;
	return 0;
}

int kern_compartment_free(struct kern *kern, __u32 id)
{
	struct bh_compartment zero = {}, old;

	if (kern_compartment_get(kern, id, &old) == 0)
		kern_made_forget(kern, old.serial);
	kern_outlets_clear(kern, id);
	return bpf_map_update_elem(kern->maps[KERN_MAP_COMPARTMENTS], &id, &zero, BPF_ANY) < 0
		       ? -errno
		       : 0;
}

int kern_tally(struct kern *kern, __u32 id, struct bh_tally *ret)
{
	return bpf_map_lookup_elem(kern->maps[KERN_MAP_TALLIES], &id, ret) < 0 ? -errno : 0;
}

int kern_cgroup_id(const char *path, __u64 *ret_id)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	/* kernfs: with 64-bit inode numbers the id is the inode number. */
	*ret_id = st.st_ino;
	return 0;
}

int kern_cgroup_set(struct kern *kern, __u64 cgroup_id, __u32 compartment, __u32 flags)
{
	struct bh_cgroup entry = {.compartment = compartment, .flags = flags};

	return bpf_map_update_elem(kern->maps[KERN_MAP_CGROUPS], &cgroup_id, &entry, BPF_ANY) < 0
		       ? -errno
		       : 0;
}

int kern_cgroup_unset(struct kern *kern, __u64 cgroup_id)
{
	return bpf_map_delete_elem(kern->maps[KERN_MAP_CGROUPS], &cgroup_id) < 0 ? -errno : 0;
}

int kern_cgroup_get(struct kern *kern, __u64 cgroup_id, __u32 *ret_compartment)
{
	struct bh_cgroup entry;

	if (bpf_map_lookup_elem(kern->maps[KERN_MAP_CGROUPS], &cgroup_id, &entry) < 0)
		return -errno;
	*ret_compartment = entry.compartment;
	return 0;
}

int kern_ask_raise(struct kern *kern)
{
	__atomic_add_fetch(kern->ask, 1, __ATOMIC_SEQ_CST);
	return 0;
}

int kern_ask_lower(struct kern *kern, __u32 amount)
{
	/* Never below 0: 0 means "a missing label is an outsider". */
	if (__atomic_load_n(kern->ask, __ATOMIC_SEQ_CST) < amount)
		return -ERANGE;
	__atomic_sub_fetch(kern->ask, amount, __ATOMIC_SEQ_CST);
	return 0;
}

__u32 kern_ask_read(struct kern *kern)
{
	return __atomic_load_n(kern->ask, __ATOMIC_SEQ_CST);
}
