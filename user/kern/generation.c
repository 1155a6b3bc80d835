// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Policy generations: a table, its head and its start states, complete before anything uses them.
 */
#include "internal.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define BATCH_WORDS 4096

static int fill_table(int fd, const struct automaton *a)
{
	_cleanup_free_ __u32 *keys = malloc(BATCH_WORDS * sizeof(*keys));
	LIBBPF_OPTS(bpf_map_batch_opts, opts);

	if (!keys)
		return -ENOMEM;
	for (__u32 done = 0; done < a->head.nwords;) {
		__u32 n = a->head.nwords - done;

		if (n > BATCH_WORDS)
			n = BATCH_WORDS;
		for (__u32 i = 0; i < n; i++)
			keys[i] = done + i;
		if (bpf_map_update_batch(fd, keys, a->words + done, &n, &opts) < 0)
			return -errno;
		done += n;
	}
	return 0;
}

static int make_table(const struct automaton *a, int *ret_fd)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_INNER_MAP);
	_cleanup_close_ int fd = -1;
	int r;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bh_table", sizeof(__u32), sizeof(__u32),
			    a->head.nwords, &opts);
	if (fd < 0)
		return -errno;
	r = fill_table(fd, a);
	if (r < 0)
		return r;
	/* Nobody changes a generation any more, not even root through another pin. */
	if (bpf_map_freeze(fd) < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int put_starts(struct kern *kern, __u32 generation, const struct automaton *a)
{
	for (size_t i = 0; i < a->nstarts; i++) {
		struct bh_start_key key = {.generation = generation, .sbid = a->starts[i].sbid};

		if (bpf_map_update_elem(kern->maps[KERN_MAP_STARTS], &key, &a->starts[i].start,
					BPF_NOEXIST) < 0)
			return -errno;
	}
	return 0;
}

/* What the kernel holds now is what was meant. */
static int read_back(struct kern *kern, __u32 generation, const struct automaton *a, int table_fd)
{
	struct bpf_map_info info = {};
	__u32 size = sizeof(info), id = 0;
	struct bh_policy head;

	if (bpf_obj_get_info_by_fd(table_fd, &info, &size) < 0 ||
	    bpf_map_lookup_elem(kern->maps[KERN_MAP_TABLES], &generation, &id) < 0 ||
	    bpf_map_lookup_elem(kern->maps[KERN_MAP_POLICIES], &generation, &head) < 0)
		return -errno;
	if (id != info.id || info.max_entries != a->head.nwords ||
	    memcmp(&head, &a->head, sizeof(head)) != 0)
		return -EIO;
	for (size_t i = 0; i < a->nstarts; i++) {
		struct bh_start_key key = {.generation = generation, .sbid = a->starts[i].sbid};
		struct bh_start start;

		if (bpf_map_lookup_elem(kern->maps[KERN_MAP_STARTS], &key, &start) < 0)
			return -errno;
		if (memcmp(&start, &a->starts[i].start, sizeof(start)) != 0)
			return -EIO;
	}
	return 0;
}

static int next_generation(struct kern *kern, __u32 *ret)
{
	struct bh_meta meta;
	int r = kern_meta_read(kern, &meta);

	if (r < 0)
		return r;
	*ret = meta.next_generation++;
	if (*ret == 0 || meta.next_generation == 0xffffffffu)
		return -EOVERFLOW;
	return kern_meta_write(kern, &meta);
}

static int install(struct kern *kern, __u32 generation, const struct automaton *a)
{
	_cleanup_close_ int fd = -1;
	int r = make_table(a, &fd);

	if (r == 0)
		r = put_starts(kern, generation, a);
	if (r < 0)
		return r;
	if (bpf_map_update_elem(kern->maps[KERN_MAP_TABLES], &generation, &fd, BPF_NOEXIST) < 0 ||
	    bpf_map_update_elem(kern->maps[KERN_MAP_POLICIES], &generation, &a->head, BPF_NOEXIST) <
		    0)
		return -errno;
	return read_back(kern, generation, a, fd);
}

int kern_policy_install(struct kern *kern, const struct automaton *automaton, __u32 *ret_generation,
			struct error *error)
{
	__u32 generation;
	int r = next_generation(kern, &generation);

	if (r == 0) {
		r = install(kern, generation, automaton);
		if (r < 0)
			kern_policy_remove(kern, generation);
	}
	if (r == -E2BIG || r == -ENOSPC)
		return error_set(error, -r,
				 "no room for another policy: a map of the kernel programs is full "
				 "(detach a compartment first)");
	if (r < 0)
		return error_set(error, -r, "cannot write the policy's table to the kernel: %s",
				 strerror(-r));
	*ret_generation = generation;
	return 0;
}

static void remove_starts(struct kern *kern, __u32 generation)
{
	struct bh_start_key key, next;
	const struct bh_start_key *at = NULL;

	while (bpf_map_get_next_key(kern->maps[KERN_MAP_STARTS], at, &next) == 0) {
		/* The key before is deleted only after its successor is known. */
		if (at && key.generation == generation)
			bpf_map_delete_elem(kern->maps[KERN_MAP_STARTS], &key);
		key = next;
		at = &key;
	}
	if (at && key.generation == generation)
		bpf_map_delete_elem(kern->maps[KERN_MAP_STARTS], &key);
}

int kern_policy_remove(struct kern *kern, __u32 generation)
{
	bpf_map_delete_elem(kern->maps[KERN_MAP_POLICIES], &generation);
	bpf_map_delete_elem(kern->maps[KERN_MAP_TABLES], &generation);
	remove_starts(kern, generation);
	return 0;
}
