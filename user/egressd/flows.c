// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "flows.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <linux/bpf.h>

int flows_take(int map, const struct bh_flow_key *key, struct bh_flow *ret)
{
	union bpf_attr attr = {
		.map_fd = (__u32)map,
		.key = (uintptr_t)key,
		.value = (uintptr_t)ret,
	};

	return syscall(SYS_bpf, BPF_MAP_LOOKUP_AND_DELETE_ELEM, &attr, sizeof(attr)) ? -errno : 0;
}

/* No network namespace has the cookie 0. */
int flows_check(int map)
{
	struct bh_flow flow;
	int r = flows_take(map, &(struct bh_flow_key){0}, &flow);

	return r == -ENOENT ? 0 : r ? r : -EINVAL;
}
