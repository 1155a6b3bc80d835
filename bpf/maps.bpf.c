// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Definitions of all maps; see maps.bpf.h. */
#define BH_MAP
#include "maps.bpf.h"

volatile __u32 bh_ask SEC(".data.ask");

char LICENSE[] SEC("license") = "Dual BSD/GPL";
