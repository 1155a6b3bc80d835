// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ports that policies name to listen at, by generation. */
#include "internal.h"

#include <bpf/bpf.h>
#include <errno.h>

/* Beside a generation that stands and that nothing uses yet. */
int kern_ports_set(struct kern *kern, __u32 generation, const struct bh_port *ports, size_t nports)
{
	const __u32 value = 1;
	int map = kern->maps[KERN_MAP_PORTS];

	for (size_t i = 0; i < nports; i++) {
		struct bh_port key = ports[i];
		__u32 back = 0;

		key.generation = generation;
		if (bpf_map_update_elem(map, &key, &value, BPF_NOEXIST) < 0)
			return errno == E2BIG ? -ENOSPC : -errno;
		if (bpf_map_lookup_elem(map, &key, &back) < 0)
			return -errno;
		if (back != value)
			return -EIO;
	}
	return 0;
}

void kern_ports_forget(struct kern *kern, __u32 generation)
{
	struct bh_port key, next;
	const struct bh_port *at = NULL;
	int map = kern->maps[KERN_MAP_PORTS];

	while (bpf_map_get_next_key(map, at, &next) == 0) {
		/* The key before is deleted only after its successor is known. */
		if (at && key.generation == generation)
			bpf_map_delete_elem(map, &key);
		key = next;
		at = &key;
	}
	if (at && key.generation == generation)
		bpf_map_delete_elem(map, &key);
}
