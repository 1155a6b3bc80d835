// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Open files that compartments may not use any more. The re-checks (recheck.c) are attached before the first
 * entry is written and taken away after the last one went: an entry that outlives its file would be another
 * file's.
 */
#include "internal.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* --- the entries --- */

struct entry {
	__u64 address;
	struct bh_revoked value;
};

/* All that stand there; the kernel takes away those whose files die meanwhile. */
static int read_entries(struct kern *kern, struct entry **ret, size_t *ret_n)
{
	int map = kern->maps[KERN_MAP_REVOKED];
	_cleanup_free_ struct entry *entries = calloc(BH_MAX_REVOKED, sizeof(*entries));
	__u64 at, next, *before = NULL;
	size_t n = 0, tries = 0;

	if (!entries)
		return -ENOMEM;
	/* A key that is gone when the next one is asked for starts the list anew. */
	while (n < BH_MAX_REVOKED && tries++ < 16 * BH_MAX_REVOKED &&
	       bpf_map_get_next_key(map, before, &next) == 0) {
		at = next;
		before = &at;
		entries[n].address = at;
		if (bpf_map_lookup_elem(map, &at, &entries[n].value) == 0)
			n++;
	}
	*ret = TAKE_PTR(entries);
	*ret_n = n;
	return 0;
}

static bool is_for(const struct bh_revoked *value, __u64 serial)
{
	bool any = false;

	for (int i = 0; i < BH_MAX_REVOKERS; i++)
		any = any || (value->serials[i] && (!serial || value->serials[i] == serial));
	return any;
}

int kern_revoked(struct kern *kern, __u64 serial, __u32 *ret_n)
{
	_cleanup_free_ struct entry *entries = NULL;
	size_t n = 0;
	int r;

	*ret_n = 0;
	r = read_entries(kern, &entries, &n);
	for (size_t i = 0; i < n; i++)
		*ret_n += is_for(&entries[i].value, serial);
	return r;
}

/* The kernel changes no entry, it only takes them away: a file that died is not brought back. */
static int take_off(struct kern *kern, struct entry *e, __u64 serial)
{
	int map = kern->maps[KERN_MAP_REVOKED], r;

	for (int i = 0; i < BH_MAX_REVOKERS; i++)
		if (e->value.serials[i] == serial)
			e->value.serials[i] = 0;
	r = is_for(&e->value, 0) ? bpf_map_update_elem(map, &e->address, &e->value, BPF_EXIST)
				 : bpf_map_delete_elem(map, &e->address);
	return r < 0 && errno != ENOENT ? -errno : 0;
}

int kern_revoke_end(struct kern *kern, __u64 serial)
{
	_cleanup_free_ struct entry *entries = NULL;
	size_t n = 0;
	int r = serial ? read_entries(kern, &entries, &n) : -EINVAL;

	for (size_t i = 0; r == 0 && i < n; i++)
		if (is_for(&entries[i].value, serial))
			r = take_off(kern, &entries[i], serial);
	return r;
}

static int put_on(struct kern *kern, __u64 address, __u64 serial, int fd)
{
	int map = kern->maps[KERN_MAP_REVOKED], i;
	struct bh_revoked value = {.fd = (__u32)fd};

	if (bpf_map_lookup_elem(map, &address, &value) < 0 && errno != ENOENT)
		return -errno;
	if (is_for(&value, serial))
		return 0;
	for (i = 0; i < BH_MAX_REVOKERS && value.serials[i];)
		i++;
	if (i == BH_MAX_REVOKERS)
		return -ENOSPC;
	value.serials[i] = serial;
	if (bpf_map_update_elem(map, &address, &value, BPF_ANY) < 0)
		return errno == E2BIG ? -ENOSPC : -errno;
	return 0;
}

/* --- whose they are --- */

/* The open files of one process, threads with tables of their own too. */
struct files {
	void *items;
	size_t n;
};

static const struct bh_file *find(const struct files *files, const struct kern_held *held)
{
	const struct bh_file *f = files->items;

	for (size_t i = 0; i < files->n; i++)
		if (f[i].fd == (__u32)held->fd && f[i].tid == (__u32)held->tid)
			return &f[i];
	return NULL;
}

static int read_files(struct kern *kern, pid_t pid, struct files *ret)
{
	size_t size = 0;
	int r = kern_iterate(kern->progs[KERN_PROG_ITER_FILE], pid, &ret->items, &size);

	ret->n = size / sizeof(struct bh_file);
	/* Killed meanwhile: it holds nothing. */
	return r == -ESRCH ? 0 : r;
}

static void files_done(struct files *files)
{
	free(files->items);
}

/* Which open files these are; with `again`, whether they are still the same. A file that died after it
 * was seen and before its entry was written left an entry that nothing takes away. */
static int look_at_one(struct kern *kern, __u64 serial, struct kern_held *held, size_t n,
		       bool again)
{
	_cleanup_(files_done) struct files files = {};
	int r = read_files(kern, held->pid, &files);

	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct bh_file *file = find(&files, &held[i]);
		struct entry e = {.address = held[i].file};

		if (!again)
			held[i].file = file ? file->file : 0;
		else if (!held[i].revoked)
			continue;
		else if (file && file->file != e.address)
			r = -EAGAIN; /* of a frozen process: somebody else shares its table */
		else if (bpf_map_lookup_elem(kern->maps[KERN_MAP_REVOKED], &e.address, &e.value) <
			 0)
			r = file ? -EIO : 0;
		else if (!file)
			r = take_off(kern, &e, serial);
	}
	return r;
}

static int look(struct kern *kern, __u64 serial, struct kern_held *held, size_t n, bool again)
{
	size_t of_one;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i += of_one) {
		for (of_one = 1; i + of_one < n && held[i + of_one].pid == held[i].pid;)
			of_one++;
		r = look_at_one(kern, serial, held + i, of_one, again);
	}
	return r;
}

static bool is_kept(const struct kern_held *held, size_t n, __u64 file)
{
	for (size_t i = 0; i < n; i++)
		if (held[i].keep && held[i].file == file)
			return true;
	return false;
}

static int put_all(struct kern *kern, __u64 serial, struct kern_held *held, size_t n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		held[i].revoked = held[i].file && !is_kept(held, n, held[i].file);
		if (held[i].revoked)
			r = put_on(kern, held[i].file, serial, held[i].fd);
	}
	return r;
}

int kern_revoke(struct kern *kern, __u64 serial, struct kern_held *held, size_t n,
		struct error *error)
{
	int r = serial ? look(kern, serial, held, n, false) : -EINVAL;

	if (r == 0)
		r = put_all(kern, serial, held, n);
	if (r == 0)
		r = look(kern, serial, held, n, true);
	if (r == -ENOSPC)
		return error_set(
			error, ENOSPC,
			"more than %u open files are revoked on this host, or one for more "
			"than %u compartments: close what is not needed, or detach one",
			BH_MAX_REVOKED, BH_MAX_REVOKERS);
	return r < 0 ? error_set(error, -r, "cannot revoke open files: %s", strerror(-r)) : 0;
}
