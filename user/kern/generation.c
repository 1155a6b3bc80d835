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
static int read_back(struct kern *kern, const struct bh_policy *head, const struct automaton *a,
		     int table_fd)
{
	__u32 index = BH_GENERATION_INDEX(head->generation), id = 0;
	struct bpf_map_info info = {};
	__u32 size = sizeof(info);
	struct bh_policy held;

	if (bpf_obj_get_info_by_fd(table_fd, &info, &size) < 0 ||
	    bpf_map_lookup_elem(kern->maps[KERN_MAP_TABLES], &index, &id) < 0 ||
	    bpf_map_lookup_elem(kern->maps[KERN_MAP_POLICIES], &index, &held) < 0)
		return -errno;
	if (id != info.id || info.max_entries != kern_table_pages(a->head.nwords) ||
	    memcmp(&held, head, sizeof(held)) != 0)
		return -EIO;
	for (size_t i = 0; i < a->nstarts; i++) {
		struct bh_start_key key = {.generation = head->generation,
					   .sbid = a->starts[i].sbid};
		struct bh_start start;

		if (bpf_map_lookup_elem(kern->maps[KERN_MAP_STARTS], &key, &start) < 0)
			return -errno;
		if (memcmp(&start, &a->starts[i].start, sizeof(start)) != 0)
			return -EIO;
	}
	return 0;
}

/* 1 when no policy stands in the place of this generation. */
static int is_free(struct kern *kern, __u32 generation)
{
	__u32 index = BH_GENERATION_INDEX(generation);
	struct bh_policy held;

	if (bpf_map_lookup_elem(kern->maps[KERN_MAP_POLICIES], &index, &held) < 0)
		return -errno;
	return !held.generation;
}

/* The next number whose place is free; -ENOSPC. Numbers rise and are never given twice. */
static int next_generation(struct kern *kern, __u32 *ret)
{
	struct bh_meta meta;
	int r = kern_meta_read(kern, &meta);

	if (r < 0)
		return r;
	for (__u32 i = 0; i < BH_MAX_GENERATIONS; i++) {
		*ret = meta.next_generation++;
		if (*ret == 0 || meta.next_generation == 0xffffffffu)
			return -EOVERFLOW;
		r = is_free(kern, *ret);
		if (r < 0)
			return r;
		if (r)
			return kern_meta_write(kern, &meta);
	}
	return -ENOSPC;
}

static int install(struct kern *kern, __u32 generation, const struct automaton *a)
{
	__u32 index = BH_GENERATION_INDEX(generation);
	struct bh_policy head = a->head;
	_cleanup_close_ int fd = -1;
	int r;

	head.generation = generation;
	if (automaton_appends(a))
		head.flags |= BH_POLICY_APPEND;
	kern_table_digest(a, &head);
	fd = kern_table_get(kern, a, &head);
	r = fd < 0 ? fd : put_starts(kern, generation, a);
	if (r < 0)
		return r;
	if (bpf_map_update_elem(kern->maps[KERN_MAP_TABLES], &index, &fd, BPF_ANY) < 0 ||
	    bpf_map_update_elem(kern->maps[KERN_MAP_POLICIES], &index, &head, BPF_ANY) < 0)
		return -errno;
	return read_back(kern, &head, a, fd);
}

int kern_policy_write(struct kern *kern, const struct automaton *automaton, __u32 *ret_generation,
		      struct error *error)
{
	__u32 generation;
	int r = next_generation(kern, &generation);

	if (r == 0) {
		r = install(kern, generation, automaton);
		if (r < 0)
			kern_policy_clear(kern, generation);
	}
	if (r == -EDQUOT)
		return error_set(
			error, ENOSPC,
			"no room for the policy's table: those of this host would take more than "
			"%u MiB (detach a compartment, or use one policy for several)",
			BH_MAX_HOST_PAGES / (unsigned int)((1 << 20) / sizeof(struct bh_page)));
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

int kern_policy_install(struct kern *kern, const struct automaton *automaton, __u32 *ret_generation,
			struct error *error)
{
	int r = 0;

	if (automaton_appends(automaton))
		r = kern_rechecks_attach(kern, KERN_RECHECK_APPEND, error);
	return r < 0 ? r : kern_policy_write(kern, automaton, ret_generation, error);
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

/* Returns when nobody decides by this table any more who began before the call: to write an element of
 * a map of maps, be it with what it held, waits for the programs under way (maybe_wait_bpf_programs in
 * the kernel's bpf/syscall.c). */
static int wait_for_deciders(struct kern *kern, __u32 index)
{
	_cleanup_close_ int fd = kern_table_open(kern, index);

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	return bpf_map_update_elem(kern->maps[KERN_MAP_TABLES], &index, &fd, BPF_ANY) < 0 ? -errno
											  : 0;
}

/* Its head keeps all but its number, for a decider that the wait failed for: what it looks up from now
 * on is refused. */
int kern_policy_clear(struct kern *kern, __u32 generation)
{
	__u32 index = BH_GENERATION_INDEX(generation);
	struct bh_policy head;
	int waited = 0;

	if (bpf_map_lookup_elem(kern->maps[KERN_MAP_POLICIES], &index, &head) < 0)
		return -errno;
	/* Of a generation that was not installed in full, or of another one by now. */
	if (head.generation == generation)
		waited = wait_for_deciders(kern, index);
	remove_starts(kern, generation);
	kern_pins_forget(kern, generation);
	if (head.generation == generation && head.flags & BH_POLICY_LISTEN)
		kern_ports_forget(kern, generation);
	if (head.generation && head.generation != generation)
		return 0;
	head.generation = 0;
	bpf_map_delete_elem(kern->maps[KERN_MAP_TABLES], &index);
	if (bpf_map_update_elem(kern->maps[KERN_MAP_POLICIES], &index, &head, BPF_ANY) < 0)
		return -errno;
	return waited;
}

/* What stays attached for nothing is taken away by the next sweep. */
int kern_policy_remove(struct kern *kern, __u32 generation)
{
	__u32 index = BH_GENERATION_INDEX(generation);
	struct bh_policy head = {};
	int r;

	bpf_map_lookup_elem(kern->maps[KERN_MAP_POLICIES], &index, &head);
	r = kern_policy_clear(kern, generation);
	if (head.flags & BH_POLICY_APPEND)
		kern_rechecks_settle(kern);
	return r;
}
