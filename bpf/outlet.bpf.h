/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The way out of a compartment: where what its sockets are sent to really goes. Sockets are the compartment's whose
 * cgroup they were born in; so are its outlets, by network namespace.
 */
#ifndef BULKHEAD_OUTLET_BPF_H
#define BULKHEAD_OUTLET_BPF_H

#include "verdict.bpf.h"
#include <bpf/bpf_endian.h>

#define BH_PORT_DNS 53
#define BH_CG_REFUSE 0
#define BH_CG_ALLOW 1

#define BH_LOOPBACK_IFINDEX 1 /* linux/if.h: each network namespace's */

/* With the compartment's id, in skb->priority: whose socket sent it. The loopback device leaves it as it is, and nobody
 * sets it so high without CAP_NET_ADMIN or CAP_NET_RAW. Addresses would not tell: a datagram may have any of the
 * loopback's for its source (IP_PKTINFO). */
#define BH_TAG 0xb1000000

#define BH_LOOPBACK4 bpf_htonl(0x7f000001)
#define BH_MAPPED bpf_htonl(0xffff)

/* Where to, as the hook was told. */
struct bh_target {
	__u32 address[4]; /* IPv4 mapped; network byte order */
	__u16 port;	  /* host byte order */
	bool six;	  /* of an address family that is not IPv4, nor mapped */
	bool udp;
};

static __always_inline bool bh_is_mapped(const __u32 address[4])
{
	return !address[0] && !address[1] && address[2] == BH_MAPPED;
}

static __always_inline void bh_target_read(struct bpf_sock_addr *ctx, bool hook6,
					   struct bh_target *t)
{
	t->port = bpf_ntohs(ctx->user_port);
	t->udp = ctx->protocol == IPPROTO_UDP;
	if (hook6) {
		t->address[0] = ctx->user_ip6[0];
		t->address[1] = ctx->user_ip6[1];
		t->address[2] = ctx->user_ip6[2];
		t->address[3] = ctx->user_ip6[3];
	} else {
		t->address[2] = BH_MAPPED;
		t->address[3] = ctx->user_ip4;
	}
	t->six = hook6 && !bh_is_mapped(t->address);
}

/* An address of the loopback device, or none, which means it. */
static __always_inline bool bh_is_loopback(const struct bh_target *t)
{
	if (t->six)
		return !t->address[0] && !t->address[1] && !t->address[2] &&
		       (!t->address[3] || t->address[3] == bpf_htonl(1));
	return !t->address[3] || (t->address[3] & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000);
}

static __always_inline bool bh_egress_subject(struct bh_subject *s)
{
	__u32 *id = bpf_get_local_storage(&bh_egress, 0);
	struct bh_compartment *c;

	s->compartment = *id;
	c = bpf_map_lookup_elem(&bh_compartments, &s->compartment);
	/* Attached a moment before its storage is written: the compartment is not enforced yet. */
	if (!c || !s->compartment || c->state == BH_STATE_ARMED || c->state == BH_STATE_RELEASED)
		return false;
	bh_subject_from_entry(s, c);
	return true;
}

enum bh_owner { BH_OWNER_AGENT, BH_OWNER_MEMBER, BH_OWNER_EITHER };

/* Where a socket is looked for. */
struct bh_corner {
	struct bpf_sock_tuple tuple;
	bool six, udp;
};

static __always_inline bool bh_is_of(const struct bh_subject *s, struct bpf_sock *sk,
				     enum bh_owner owner)
{
	struct bh_maker *made;
	struct bh_outlet_mark *mark;

	mark = owner == BH_OWNER_MEMBER ? NULL : bpf_sk_storage_get(&bh_outlet_sockets, sk, 0, 0);
	if (mark && mark->serial == s->serial)
		return true;
	made = owner == BH_OWNER_AGENT ? NULL : bpf_sk_storage_get(&bh_sockets, sk, 0, 0);
	return made && made->serial == s->serial;
}

/* Whose socket would take what is sent there: the kernel's own search for it. `ctx` is a program's. */
static __always_inline bool bh_stands(void *ctx, const struct bh_subject *s, struct bh_corner *c,
				      enum bh_owner owner)
{
	__u32 size = c->six ? sizeof(c->tuple.ipv6) : sizeof(c->tuple.ipv4);
	struct bpf_sock *sk;
	bool stands;

	sk = c->udp ? bpf_sk_lookup_udp(ctx, &c->tuple, size, BPF_F_CURRENT_NETNS, 0)
		    : bpf_sk_lookup_tcp(ctx, &c->tuple, size, BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return false;
	stands = bh_is_of(s, sk, owner);
	bpf_sk_release(sk);
	return stands;
}

#endif
