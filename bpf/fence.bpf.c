// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The relay's own second fence: cgroup programs on the cgroup that it was born in. It dials what it judged by the table
 * of addresses; should that judgement be wrong, or the relay be somebody else's by then, the same table stands here.
 * Beside public addresses there are the operator's resolvers. What is refused is counted; who it was for, the relay
 * itself tells.
 */
#include "outlet.bpf.h"

/* An interface's identifier with an IPv4 address in it (ISATAP, RFC 5214). */
#define BH_ISATAP bpf_htonl(0x00005efe)
#define BH_ISATAP_GLOBAL bpf_htonl(0x02005efe)

static __always_inline bool bh_fence_public4(__u32 address)
{
	struct bh_fence_key4 key = {.length = 32, .address = address};
	__u32 *row = bpf_map_lookup_elem(&bh_fence4, &key);

	return row && *row == BH_FENCE_PUBLIC;
}

static __always_inline bool bh_fence_public6(const __u32 address[4])
{
	struct bh_fence_key6 key = {.length = 128};
	__u32 *row;

	__builtin_memcpy(key.address, address, sizeof(key.address));
	row = bpf_map_lookup_elem(&bh_fence6, &key);
	if (!row || *row == BH_FENCE_CLOSED)
		return false;
	if (*row == BH_FENCE_NAT64 || address[2] == BH_ISATAP || address[2] == BH_ISATAP_GLOBAL)
		return bh_fence_public4(address[3]);
	return true;
}

static __always_inline bool bh_fence_allows(const struct bh_target *t, __u32 protocol)
{
	struct bh_resolver key = {.port = t->port, .protocol = protocol};

	__builtin_memcpy(key.address, t->address, sizeof(key.address));
	if (bpf_map_lookup_elem(&bh_resolvers, &key))
		return true;
	if (protocol != IPPROTO_TCP)
		return false;
	return t->six ? bh_fence_public6(t->address) : bh_fence_public4(t->address[3]);
}

static __always_inline int bh_fence_judge(struct bpf_sock_addr *ctx, bool hook6)
{
	struct bh_target t = {};
	__u32 zero = 0;
	__u64 *refused;

	bh_target_read(ctx, hook6, &t);
	if (bh_fence_allows(&t, ctx->protocol))
		return BH_CG_ALLOW;
	refused = bpf_map_lookup_elem(&bh_fence_refusals, &zero);
	if (refused)
		__sync_fetch_and_add(refused, 1);
	bpf_set_retval(-BH_EACCES);
	return BH_CG_REFUSE;
}

#define BH_FENCE(section, name, six)                     \
	SEC(section) int name(struct bpf_sock_addr *ctx) \
	{                                                \
		return bh_fence_judge(ctx, six);         \
	}

BH_FENCE("cgroup/connect4", bh_fence_connect4, false)
BH_FENCE("cgroup/connect6", bh_fence_connect6, true)
BH_FENCE("cgroup/sendmsg4", bh_fence_sendmsg4, false)
BH_FENCE("cgroup/sendmsg6", bh_fence_sendmsg6, true)
