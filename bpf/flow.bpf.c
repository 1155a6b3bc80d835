// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections on their way to the relay, and the wire.
 *
 *   sockops                   who connects where: told before the first segment, forgotten when nobody answered; which
 *                             connections came from outside
 *   cgroup_skb                of sockets made inside nothing goes out, or comes in, but by the loopback device, or at a
 *                             port that the policy names: of who listens there, and what came. The
 *                             hooks above judge the address that a socket is given; a source route (IP_OPTIONS,
 *                             IP_RETOPTS), a device (IP_PKTINFO, SO_BINDTODEVICE) or a datagram that nobody asked for
 *                             goes another way. There, to a member's socket or an outlet alone: what was one when
 *                             the hooks above looked may be somebody else's when a segment is sent again, or a
 *                             datagram by who is connected. What passes there says whose it is: outlets take
 *                             nothing else (fence.bpf.c).
 */
#include "outlet.bpf.h"
#include "listen.bpf.h"

/* A socket is connected several times; where it leads now is told by its ends. By another device than loopback it leads
 * nowhere, and nobody would take the entry. */
static __always_inline bool bh_leads_to_relay(struct bpf_sock_ops *ctx, const struct bh_aim *aim)
{
	__u32 remote_port = ctx->remote_port; /* network byte order, of 32 bits */

	return ctx->remote_ip4 == BH_LOOPBACK4 &&
	       bpf_ntohl(remote_port) == bpf_ntohs(aim->outlet) &&
	       (ctx->local_ip4 & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000);
}

static __always_inline void bh_flow_begin(struct bpf_sock_ops *ctx, struct bpf_sock *sk,
					  const struct bh_subject *s)
{
	struct bh_aim *aim = bpf_sk_storage_get(&bh_aims, sk, 0, 0);
	struct bh_flow flow = {};
	struct bh_flow_key key = {};

	if (!aim || aim->serial != s->serial || !bh_leads_to_relay(ctx, aim))
		return;
	flow.serial = s->serial;
	flow.socket = bpf_get_socket_cookie(ctx);
	flow.compartment = s->compartment;
	flow.port = bpf_ntohs(aim->port);
	flow.address = aim->address[2] == bpf_htonl(0xffff) ? aim->address[3] : 0;
	key.netns = bpf_get_netns_cookie(ctx);
	key.address = ctx->local_ip4;
	key.port = ctx->local_port;
	key.relay = bpf_ntohs(aim->outlet);
	aim->flow = key;
	/* Where there is no memory, the relay finds nothing and resets it. */
	bpf_map_update_elem(&bh_flows, &key, &flow, BPF_ANY);
	bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_STATE_CB_FLAG);
}

/* Who has the port after it must not find the entry. One that was established the relay takes, and the entry with it,
 * though the client has sent all and closed it by then. */
static __always_inline void bh_flow_end(struct bpf_sock_ops *ctx, struct bpf_sock *sk)
{
	struct bh_aim *aim = bpf_sk_storage_get(&bh_aims, sk, 0, 0);
	struct bh_flow_key key;
	struct bh_flow *flow;

	if (!aim || !aim->flow.port)
		return;
	key = aim->flow;
	aim->flow.port = 0;
	flow = bpf_map_lookup_elem(&bh_flows, &key);
	if (flow && flow->socket == bpf_get_socket_cookie(ctx))
		bpf_map_delete_elem(&bh_flows, &key);
}

/* Said before the first packet of either. A socket whose connection came can be disconnected, and connect (AF_UNSPEC). */
static __always_inline void bh_passage_begin(struct bpf_sock *sk, bool came)
{
	struct bh_maker *made = bpf_sk_storage_get(&bh_sockets, sk, 0, 0);

	if (!made)
		return;
	made->came = came;
	made->device = sk->bound_dev_if;
}

SEC("sockops")
int bh_sockops(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct bh_subject s = {};

	if (!sk)
		return 1;
	if (ctx->op == BPF_SOCK_OPS_TCP_CONNECT_CB)
		bh_passage_begin(sk, false);
	else if (ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		bh_passage_begin(sk, true);
	if (ctx->op == BPF_SOCK_OPS_TCP_CONNECT_CB && bh_egress_subject(&s))
		bh_flow_begin(ctx, sk, &s);
	else if (ctx->op == BPF_SOCK_OPS_STATE_CB && ctx->args[0] == BPF_TCP_SYN_SENT &&
		 ctx->args[1] == BPF_TCP_CLOSE)
		bh_flow_end(ctx, sk);
	return 1;
}

#define BH_IP6_HEADER 40
#define BH_TCP_FLAGS 13 /* where they stand; RFC 9293 */
#define BH_TCP_SYN 0x02
#define BH_TCP_ACK 0x10

/* The packet's ends. False: it is of no kind that a member's socket sends. *ret_at: of the transport's header. */
static __always_inline bool bh_wire_read(struct __sk_buff *skb, struct bh_corner *c, __u32 *ret_at)
{
	__u8 first = 0, protocol = 0;
	__u16 ports[2] = {};

	if (bpf_skb_load_bytes(skb, 0, &first, 1))
		return false;
	c->six = first >> 4 == 6;
	if (c->six) {
		*ret_at = BH_IP6_HEADER;
		if (bpf_skb_load_bytes(skb, 6, &protocol, 1) ||
		    bpf_skb_load_bytes(skb, 8, c->tuple.ipv6.saddr, 32))
			return false;
	} else {
		if (bpf_skb_load_bytes(skb, 9, &protocol, 1) ||
		    bpf_skb_load_bytes(skb, 12, &c->tuple.ipv4.saddr, 8))
			return false;
		*ret_at = (first & 0xf) * 4;
	}
	c->udp = protocol == IPPROTO_UDP;
	if ((!c->udp && protocol != IPPROTO_TCP) ||
	    bpf_skb_load_bytes(skb, *ret_at, ports, sizeof(ports)))
		return false;
	if (c->six) {
		c->tuple.ipv6.sport = ports[0];
		c->tuple.ipv6.dport = ports[1];
	} else {
		c->tuple.ipv4.sport = ports[0];
		c->tuple.ipv4.dport = ports[1];
	}
	return true;
}

/* Of TCP the first segment alone is judged: who answers it is whom it was for. A listener has no peer. */
static __always_inline bool bh_loop_allows(struct __sk_buff *skb, const struct bh_subject *s)
{
	struct bh_corner c = {};
	__u8 flags = 0;
	__u32 at = 0;

	if (!bh_wire_read(skb, &c, &at))
		return false;
	if (!c.udp) {
		if (bpf_skb_load_bytes(skb, at + BH_TCP_FLAGS, &flags, 1))
			return false;
		if ((flags & (BH_TCP_SYN | BH_TCP_ACK)) != BH_TCP_SYN)
			return true;
		if (c.six)
			c.tuple.ipv6.sport = 0;
		else
			c.tuple.ipv4.sport = 0;
	}
	return bh_stands(skb, s, &c, BH_OWNER_EITHER);
}

#define BH_IP4_HEADER 20

/* Of who listens, and of what came: by these nobody is reached who did not ask. Which ports are named the policy says that
 * is in force now. */
static __always_inline bool bh_port_allows(struct __sk_buff *skb, const struct bh_subject *s,
					   bool out)
{
	struct bh_port port = {};
	struct bh_corner c = {};
	__u32 at = 0;

	/* Options could lead to somebody else: IPv4's here, those of IPv6 stand where TCP should. */
	if (!bh_wire_read(skb, &c, &at) || c.udp || (!c.six && at != BH_IP4_HEADER))
		return false;
	if (c.six) {
		port.port = bpf_ntohs(out ? c.tuple.ipv6.sport : c.tuple.ipv6.dport);
		bh_port_six(&port, out ? c.tuple.ipv6.saddr : c.tuple.ipv6.daddr);
	} else {
		port.port = bpf_ntohs(out ? c.tuple.ipv4.sport : c.tuple.ipv4.dport);
		bh_port_four(&port, out ? c.tuple.ipv4.saddr : c.tuple.ipv4.daddr);
	}
	return bh_is_named(s, &port);
}

/* A connection that came by loopback would leave the host by a device that its socket is bound to after that. */
static __always_inline bool bh_passage_allows(struct __sk_buff *skb, struct bpf_sock *sk,
					      const struct bh_maker *made,
					      const struct bh_subject *s, bool out)
{
	struct bh_policy *policy = bh_policy_of(s);

	if (made->came && made->device != sk->bound_dev_if)
		return false;
	if (policy && policy->flags & BH_POLICY_LOOPBACK && skb->ifindex == BH_LOOPBACK_IFINDEX)
		return true;
	return policy && policy->flags & BH_POLICY_LISTEN && bh_port_allows(skb, s, out);
}

/* Of a socket that a member made. One that is older than the policy, and was kept, goes on. */
static __always_inline int bh_wire_judge(struct __sk_buff *skb, bool out)
{
	bool loops = skb->ifindex == BH_LOOPBACK_IFINDEX;

	struct bpf_sock *sk = skb->sk;
	struct bh_subject s = {};
	struct bh_maker *made;
	struct bh_tally *tally;
	bool allowed;

	if ((loops && !out) || !sk || !bh_egress_subject(&s))
		return 1;
	if (loops)
		skb->priority = BH_TAG | s.compartment;
	if (s.mode != BH_MODE_ENFORCE)
		return 1;
	sk = bpf_sk_fullsock(sk);
	made = sk ? bpf_sk_storage_get(&bh_sockets, sk, 0, 0) : NULL;
	if (!made || made->serial != s.serial)
		return 1;
	allowed = made->came || sk->state == BPF_TCP_LISTEN
			  ? bh_passage_allows(skb, sk, made, &s, out)
			  : loops && bh_loop_allows(skb, &s);
	if (allowed)
		return 1;
	tally = bpf_map_lookup_elem(&bh_tallies, &s.tally);
	if (tally)
		__sync_fetch_and_add(&tally->strayed, 1);
	return 0;
}

SEC("cgroup_skb/egress")
int bh_wire_out(struct __sk_buff *skb)
{
	return bh_wire_judge(skb, true);
}

SEC("cgroup_skb/ingress")
int bh_wire_in(struct __sk_buff *skb)
{
	return bh_wire_judge(skb, false);
}
