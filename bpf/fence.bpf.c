// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The relay's own second fence: cgroup programs on the cgroup that it was born in. It dials what it judged by the table
 * of addresses; should that judgement be wrong, or the relay be somebody else's by then, the same table stands here.
 * Beside public addresses there are the operator's resolvers. What is refused is counted; who it was for, the relay
 * itself tells.
 *
 * Outlets were born there, too: they hear the members of their compartment alone, and answer nobody else.
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

/* Of a stub to who asked it. Where nobody is any more, nobody hears it. */
static __always_inline bool bh_is_answer(struct bpf_sock_addr *ctx, const struct bh_target *t)
{
	__u32 size = t->six ? sizeof(((struct bpf_sock_tuple *)0)->ipv6)
			    : sizeof(((struct bpf_sock_tuple *)0)->ipv4);
	struct bpf_sock *own = ctx->sk, *sk;
	struct bpf_sock_tuple tuple = {};
	struct bh_outlet_mark *mark;
	struct bh_subject s = {};
	bool answers;

	mark = own && t->udp ? bpf_sk_storage_get(&bh_outlet_sockets, own, 0, 0) : NULL;
	if (!mark || !bh_is_loopback(t))
		return false;
	s.serial = mark->serial;
	if (t->six) {
		tuple.ipv6.saddr[3] = tuple.ipv6.daddr[3] = bpf_htonl(1);
		tuple.ipv6.sport = bpf_htons(own->src_port);
		tuple.ipv6.dport = bpf_htons(t->port);
	} else {
		tuple.ipv4.saddr = BH_LOOPBACK4;
		tuple.ipv4.daddr = t->address[3] ?: BH_LOOPBACK4;
		tuple.ipv4.sport = bpf_htons(own->src_port);
		tuple.ipv4.dport = bpf_htons(t->port);
	}
	sk = bpf_sk_lookup_udp(ctx, &tuple, size, BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return true;
	answers = bh_is_of(&s, sk, BH_OWNER_MEMBER);
	bpf_sk_release(sk);
	return answers;
}

static __always_inline int bh_fence_judge(struct bpf_sock_addr *ctx, bool hook6, bool connects)
{
	struct bh_target t = {};
	__u32 zero = 0;
	__u64 *refused;

	bh_target_read(ctx, hook6, &t);
	if (bh_fence_allows(&t, ctx->protocol) || (!connects && bh_is_answer(ctx, &t)))
		return BH_CG_ALLOW;
	refused = bpf_map_lookup_elem(&bh_fence_refusals, &zero);
	if (refused)
		__sync_fetch_and_add(refused, 1);
	bpf_set_retval(-BH_EACCES);
	return BH_CG_REFUSE;
}

#define BH_FENCE(section, name, six, connects)             \
	SEC(section) int name(struct bpf_sock_addr *ctx)   \
	{                                                  \
		return bh_fence_judge(ctx, six, connects); \
	}

BH_FENCE("cgroup/connect4", bh_fence_connect4, false, true)
BH_FENCE("cgroup/connect6", bh_fence_connect6, true, true)
BH_FENCE("cgroup/sendmsg4", bh_fence_sendmsg4, false, false)
BH_FENCE("cgroup/sendmsg6", bh_fence_sendmsg6, true, false)

/* All segments that come to a listener are judged, which those of connections that were taken do not: their sockets bear
 * no mark. What is not connected and bears none is no outlet yet, and hears nobody. */
SEC("cgroup_skb/ingress")
int bh_fence_in(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	struct bh_outlet_mark *mark;
	struct bh_compartment *c;
	struct bh_tally *tally;

	if (!sk)
		return 1;
	sk = bpf_sk_fullsock(sk);
	if (!sk)
		return 1;
	mark = bpf_sk_storage_get(&bh_outlet_sockets, sk, 0, 0);
	if (!mark)
		return sk->state != BPF_TCP_LISTEN && sk->state != BPF_TCP_CLOSE;
	c = bpf_map_lookup_elem(&bh_compartments, &mark->compartment);
	if (!c || c->serial != mark->serial)
		return 0;
	if (skb->ifindex == BH_LOOPBACK_IFINDEX && skb->priority == (BH_TAG | mark->compartment))
		return 1;
	tally = bpf_map_lookup_elem(&bh_tallies, &c->tally);
	if (tally)
		__sync_fetch_and_add(&tally->strangers, 1);
	return 0;
}
