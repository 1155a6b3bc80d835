/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel wrote down of a connection that the relay took (struct bh_flow), by bpf(2) and nothing else of it. */
#ifndef EGRESSD_FLOWS_H
#define EGRESSD_FLOWS_H

#include <bulkhead/abi.h>

/* Is the map one that can be asked? 0 or -errno. */
int flows_check(int map);
/* Takes the entry out of the map: what it says holds for one connection. 0, -ENOENT, or another -errno. */
int flows_take(int map, const struct bh_flow_key *key, struct bh_flow *ret);

#endif
