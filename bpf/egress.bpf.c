// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The second layer: cgroup programs on each compartment's cgroup. They follow the cgroup a socket
 * was *born* in, so they also stop a socket that was made inside and handed to an outsider.
 *
 *   connect, sendmsg          to port 53: to the stub; TCP to a synthetic address: to the relay; at loopback what a member
 *                             bound there, where the policy says so; else refused
 *   recvmsg, getpeername      the outlet bears the name of what was asked for
 *
 * Nothing is redirected where nothing is refused: in audit mode what was asked for is told of, and goes its way.
 */
#include "outlet.bpf.h"

static __always_inline int bh_egress_refuse(struct bpf_sock_addr *ctx, const struct bh_subject *s,
					    struct bh_refusal *r, const struct bh_target *t,
					    bool hook6)
{
	long verdict;

	r->kind = BH_OBJECT_SOCKET;
	r->object[0] = ctx->family;
	r->object[1] = ctx->type;
	r->object[2] = ctx->protocol;
	r->object[3] = t->port;
	if (hook6) {
		r->tail = 16;
		__builtin_memcpy(r->small, t->address, 16);
	} else {
		r->tail = 4;
		r->small[0] = t->address[3];
	}
	verdict = bh_refuse(s, r, NULL);
	if (!verdict)
		return BH_CG_ALLOW;
	bpf_set_retval(verdict);
	return BH_CG_REFUSE;
}

static __always_inline struct bh_outlet *bh_outlet_of(struct bpf_sock_addr *ctx,
						      const struct bh_subject *s)
{
	struct bh_outlet_key key = {.netns = bpf_get_netns_cookie(ctx),
				    .compartment = s->compartment};
	struct bh_outlet *outlet = bpf_map_lookup_elem(&bh_outlets, &key);

	return outlet && outlet->serial == s->serial ? outlet : NULL;
}

/* What a socket of IPv6 sends that is connected to a mapped address comes here as if that were named anew: the one that it
 * was given when it connected (udpv6_sendmsg). */
static __always_inline bool bh_is_stub(const struct bh_outlet *o, const struct bh_target *t)
{
	return t->udp && t->port == o->stub4 && t->address[3] == BH_LOOPBACK4 && !t->six;
}

/* Before the table is asked, which costs more than all of this. */
static __always_inline bool bh_may_have_outlet(const struct bh_target *t)
{
	return !t->udp || t->port == BH_PORT_DNS || (t->address[3] == BH_LOOPBACK4 && !t->six);
}

/* The port of its outlet; 0: there is none for that. UDP over IPv6 has one of its own: a socket's address cannot be
 * rewritten to a mapped one when it sends (udpv6_sendmsg: ENOTSUPP). */
static __always_inline __u16 bh_outlet_port(const struct bh_outlet *o, const struct bh_target *t)
{
	if ((t->port == BH_PORT_DNS && t->udp) || bh_is_stub(o, t))
		return t->six ? o->stub6 : o->stub4;
	if (t->udp)
		return 0;
	if (t->port == BH_PORT_DNS)
		return o->relay;
	return !t->six && (t->address[3] & o->netmask) == o->synthetic ? o->relay : 0;
}

/* Does the agent's own socket stand there? */
static __always_inline bool bh_outlet_stands(struct bpf_sock_addr *ctx, const struct bh_subject *s,
					     const struct bh_target *t, __u16 port)
{
	struct bh_corner c = {.six = t->six && t->udp, .udp = t->udp};

	if (c.six) {
		c.tuple.ipv6.daddr[3] = bpf_htonl(1);
		c.tuple.ipv6.dport = bpf_htons(port);
	} else {
		c.tuple.ipv4.daddr = BH_LOOPBACK4;
		c.tuple.ipv4.dport = bpf_htons(port);
	}
	return bh_stands(ctx, s, &c, BH_OWNER_AGENT);
}

/* Did a member bind what it is sent to? A datagram's own address counts: a socket that is connected takes its
 * peer's alone. */
static __always_inline bool
bh_is_own_loopback(struct bpf_sock_addr *ctx, const struct bh_subject *s, const struct bh_target *t)
{
	struct bh_corner c = {.six = t->six, .udp = t->udp};
	struct bh_policy *policy = bh_policy_of(s);
	struct bpf_sock *sk = ctx->sk;
	__u16 from;

	if (!policy || !(policy->flags & BH_POLICY_LOOPBACK) || !bh_is_loopback(t) || !sk)
		return false;
	from = t->udp ? bpf_htons(sk->src_port) : 0;
	if (t->six) {
		c.tuple.ipv6.saddr[3] = c.tuple.ipv6.daddr[3] = bpf_htonl(1);
		c.tuple.ipv6.dport = bpf_htons(t->port);
		c.tuple.ipv6.sport = from;
	} else {
		c.tuple.ipv4.daddr = t->address[3] ?: BH_LOOPBACK4;
		c.tuple.ipv4.saddr = sk->src_ip4 ?: c.tuple.ipv4.daddr;
		c.tuple.ipv4.dport = bpf_htons(t->port);
		c.tuple.ipv4.sport = from;
	}
	return bh_stands(ctx, s, &c, BH_OWNER_MEMBER);
}

/* What was asked for is kept, and replaced. */
static __always_inline bool bh_redirect(struct bpf_sock_addr *ctx, const struct bh_subject *s,
					const struct bh_target *t, __u16 port, bool hook6)
{
	struct bpf_sock *sk = ctx->sk;
	struct bh_aim *aim;

	if (!sk)
		return false;
	aim = bpf_sk_storage_get(&bh_aims, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!aim)
		return false;
	__builtin_memcpy(aim->address, t->address, sizeof(aim->address));
	aim->port = bpf_htons(t->port);
	aim->outlet = bpf_htons(port);
	aim->serial = s->serial;
	ctx->user_port = bpf_htons(port);
	if (!hook6) {
		ctx->user_ip4 = BH_LOOPBACK4;
		return true;
	}
	ctx->user_ip6[0] = 0;
	ctx->user_ip6[1] = 0;
	ctx->user_ip6[2] = t->six && t->udp ? 0 : BH_MAPPED;
	ctx->user_ip6[3] = t->six && t->udp ? bpf_htonl(1) : BH_LOOPBACK4;
	return true;
}

static __always_inline int bh_egress_judge(struct bpf_sock_addr *ctx, struct bh_refusal *r,
					   bool hook6)
{
	struct bh_target t = {};
	struct bh_subject s = {};
	struct bh_outlet *outlet;
	__u16 port;

	if (!bh_egress_subject(&s))
		return BH_CG_ALLOW;
	bh_target_read(ctx, hook6, &t);
	outlet = s.mode == BH_MODE_ENFORCE && bh_may_have_outlet(&t) ? bh_outlet_of(ctx, &s) : NULL;
	port = outlet ? bh_outlet_port(outlet, &t) : 0;
	if (port && !bh_outlet_stands(ctx, &s, &t, port)) {
		r->reason = BH_REASON_UNSURE_OUTLET;
		port = 0;
	}
	if (port && (bh_is_stub(outlet, &t) || bh_redirect(ctx, &s, &t, port, hook6)))
		return BH_CG_ALLOW;
	if (!port && bh_is_own_loopback(ctx, &s, &t)) {
		/* What it was connected to before is not where it goes. */
		if (!t.udp && ctx->sk)
			bpf_sk_storage_delete(&bh_aims, ctx->sk);
		return BH_CG_ALLOW;
	}
	return bh_egress_refuse(ctx, &s, r, &t, hook6);
}

#define BH_EGRESS(section, name, hook_, six)                                \
	SEC(section) int name(struct bpf_sock_addr *ctx)                    \
	{                                                                   \
		struct bh_refusal r = BH_REFUSAL(hook_, BH_REASON_NETWORK); \
                                                                            \
		return bh_egress_judge(ctx, &r, six);                       \
	}

BH_EGRESS("cgroup/connect4", bh_connect4, CONNECT4, false)
BH_EGRESS("cgroup/connect6", bh_connect6, CONNECT6, true)
BH_EGRESS("cgroup/sendmsg4", bh_sendmsg4, SENDMSG4, false)
BH_EGRESS("cgroup/sendmsg6", bh_sendmsg6, SENDMSG6, true)

/*
 * An outlet bears the name of what was asked for: resolvers throw away what another server than theirs answers. A socket
 * that asks several at once hears all of them by the name of the last one, which is one of those it asked.
 */
static __always_inline void bh_egress_rename(struct bpf_sock_addr *ctx, bool hook6)
{
	struct bpf_sock *sk = ctx->sk;
	struct bh_aim *aim;

	if (!sk)
		return;
	aim = bpf_sk_storage_get(&bh_aims, sk, 0, 0);
	if (!aim || ctx->user_port != aim->outlet)
		return;
	if (hook6) {
		if (ctx->user_ip6[3] != BH_LOOPBACK4 && ctx->user_ip6[3] != bpf_htonl(1))
			return;
		ctx->user_ip6[0] = aim->address[0];
		ctx->user_ip6[1] = aim->address[1];
		ctx->user_ip6[2] = aim->address[2];
		ctx->user_ip6[3] = aim->address[3];
	} else {
		if (ctx->user_ip4 != BH_LOOPBACK4)
			return;
		ctx->user_ip4 = aim->address[3];
	}
	ctx->user_port = aim->port;
}

#define BH_RENAME(section, name, six)                    \
	SEC(section) int name(struct bpf_sock_addr *ctx) \
	{                                                \
		bh_egress_rename(ctx, six);              \
		return BH_CG_ALLOW;                      \
	}

BH_RENAME("cgroup/recvmsg4", bh_recvmsg4, false)
BH_RENAME("cgroup/recvmsg6", bh_recvmsg6, true)
BH_RENAME("cgroup/getpeername4", bh_getpeername4, false)
BH_RENAME("cgroup/getpeername6", bh_getpeername6, true)
