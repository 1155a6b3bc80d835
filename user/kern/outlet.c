// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Outlets: the loopback ports that a compartment's traffic is sent to, by network namespace. */
#include "internal.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

int kern_outlet_set(struct kern *kern, __u32 compartment, __u64 netns,
		    const struct bh_outlet *outlet)
{
	struct bh_outlet_key key = {.netns = netns, .compartment = compartment};
	struct bh_outlet back;
	int map = kern->maps[KERN_MAP_OUTLETS];

	if (bpf_map_update_elem(map, &key, outlet, BPF_ANY) < 0)
		return errno == E2BIG ? -ENOSPC : -errno;
	if (bpf_map_lookup_elem(map, &key, &back) < 0)
		return -errno;
	return memcmp(&back, outlet, sizeof(back)) == 0 ? 0 : -EIO;
}

int kern_outlet_unset(struct kern *kern, __u32 compartment, __u64 netns)
{
	struct bh_outlet_key key = {.netns = netns, .compartment = compartment};

	if (bpf_map_delete_elem(kern->maps[KERN_MAP_OUTLETS], &key) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

/* One that is deleted under the hands of who goes through them makes it begin anew: begun from the start each time,
 * until a whole round finds none. */
static int find_outlet(struct kern *kern, __u32 compartment, struct bh_outlet_key *ret)
{
	struct bh_outlet_key *previous = NULL, key;

	for (__u32 i = 0; i <= 2 * BH_MAX_OUTLETS; i++) {
		if (bpf_map_get_next_key(kern->maps[KERN_MAP_OUTLETS], previous, &key) < 0)
			return -errno;
		*ret = key;
		if (key.compartment == compartment)
			return 0;
		previous = ret;
	}
	return -ELOOP;
}

int kern_outlets_clear(struct kern *kern, __u32 compartment)
{
	struct bh_outlet_key key;
	int r;

	while ((r = find_outlet(kern, compartment, &key)) == 0) {
		r = kern_outlet_unset(kern, compartment, key.netns);
		if (r < 0)
			return r;
	}
	return r == -ENOENT ? 0 : r;
}

int kern_outlet_mark(struct kern *kern, int socket_fd, __u32 compartment, __u64 serial)
{
	struct bh_outlet_mark mark = {.serial = serial, .compartment = compartment}, back = {};
	int map = kern->maps[KERN_MAP_OUTLET_SOCKETS];

	if (bpf_map_update_elem(map, &socket_fd, &mark, BPF_ANY) < 0 ||
	    bpf_map_lookup_elem(map, &socket_fd, &back) < 0)
		return -errno;
	return memcmp(&back, &mark, sizeof(back)) == 0 ? 0 : -EIO;
}

int kern_flows_fd(const struct kern *kern)
{
	return kern->maps[KERN_MAP_FLOWS];
}

int kern_flows_clear(struct kern *kern)
{
	struct bh_flow_key key;

	for (__u32 i = 0; i <= BH_MAX_FLOWS; i++) {
		if (bpf_map_get_next_key(kern->maps[KERN_MAP_FLOWS], NULL, &key) < 0)
			return errno == ENOENT ? 0 : -errno;
		if (bpf_map_delete_elem(kern->maps[KERN_MAP_FLOWS], &key) < 0 && errno != ENOENT)
			return -errno;
	}
	return -ELOOP; /* as fast as that no compartment connects */
}
