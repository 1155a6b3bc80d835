// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sockets, by the task that uses them.
 *
 *   socket_create             unix; where destinations are listed TCP, UDP and routes, which are read alone for want of
 *                             CAP_NET_ADMIN; routes of a network inside a nested sandbox
 *   socket_post_create        marks sockets made inside
 *   socket_connect            of what is not unix: refused, unless it was made inside and born in the compartment's
 *                             cgroup, whose programs say where it leads (egress.bpf.c)
 *   socket_sendmsg            with a destination or MSG_FASTOPEN: the same; of what is revoked
 *   socket_bind               to loopback or no address, to a port with loopback: own alone; TCP to a port that the policy
 *                             names
 *   socket_listen             with loopback: own; at a port that the policy names
 *   socket_setsockopt         groups, which the kernel tells the network of; source routes; sharing a port, by which
 *                             members would have what is sent to others
 *   unix_stream_connect       by the peer's own place, its abstract name, or made inside
 *   unix_may_send             the same for datagrams
 */
#include "held.bpf.h"
#include "nested.bpf.h"
#include <bpf/bpf_endian.h>
#include "listen.bpf.h"

static __always_inline bool bh_may_make(const struct bh_subject *s, int family, int type,
					int protocol)
{
	struct bh_policy *policy = bh_policy_of(s);

	if (!policy || !(policy->flags & BH_POLICY_INET))
		return false;
	if (family == AF_NETLINK)
		return protocol == NETLINK_ROUTE;
	if (family != AF_INET && family != AF_INET6)
		return false;
	/* MPTCP, SCTP and UDP-Lite have other programs, or none; ping sockets are SOCK_DGRAM. */
	if (type == SOCK_STREAM_TYPE)
		return !protocol || protocol == IPPROTO_TCP;
	return type == SOCK_DGRAM_TYPE && (!protocol || protocol == IPPROTO_UDP);
}

SEC("lsm/socket_create")
int BPF_PROG(bh_socket_create, int family, int type, int protocol, int kern, int ret)
{
	struct bh_refusal r = BH_REFUSAL(SOCKET_CREATE, BH_REASON_NETWORK);

	/* kern: made by the kernel for itself, out of the task's reach. */
	if (kern)
		return ret;
	BH_ENTER(s, SOCKET_CREATE, ret);
	if (family == AF_UNIX)
		return 0;
	if (family == AF_NETLINK && protocol == NETLINK_ROUTE && bh_has_own_network() &&
	    bh_may_nest(&s))
		return 0;
	if (bh_may_make(&s, family, type, protocol))
		return 0;
	r.kind = BH_OBJECT_SOCKET;
	r.object[0] = family;
	r.object[1] = type;
	r.object[2] = protocol;
	return bh_refuse(&s, &r, NULL);
}

static __always_inline bool bh_is_inet(__u16 family)
{
	return family == AF_INET || family == AF_INET6;
}

/* Is its cgroup the compartment's, or below it? */
static __noinline bool bh_is_born_inside(const struct bh_subject *s, struct sock *sk)
{
	struct bh_standing st = {};

	st.cgroup = BPF_CORE_READ(sk, sk_cgrp_data.cgroup);
	bpf_loop(BH_MAX_CGROUP_DEPTH, bh_standing_level, &st, 0);
	return st.compartment == s->compartment;
}

SEC("lsm/socket_post_create")
int BPF_PROG(bh_socket_made, struct socket *sock, int family, int type, int protocol, int kern,
	     int ret)
{
	struct bh_subject s = {};
	struct bh_maker *maker;
	struct sock *sk;

	if (ret || kern || bh_subject_member(&s) != BH_SUBJECT_SOME)
		return ret;
	sk = sock->sk;
	if (!sk)
		return 0;
	maker = bpf_sk_storage_get(&bh_sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (maker) {
		maker->born_inside = bh_is_inet(family) && bh_is_born_inside(&s, sk);
		maker->serial = s.serial;
	}
	return 0; /* without its mark the socket is judged as an outsider's */
}

/* A socket that lost its sock has no family: it is refused like any that is not unix. */
static __always_inline __u16 bh_socket_family(struct socket *sock)
{
	struct sock *sk = sock->sk;

	return sk ? sk->__sk_common.skc_family : AF_UNSPEC;
}

/* NULL: it was not made inside. */
static __always_inline struct bh_maker *bh_maker_of(const struct bh_subject *s, struct sock *sk)
{
	struct bh_maker *maker = bpf_sk_storage_get(&bh_sockets, sk, 0, 0);

	return maker && maker->serial == s->serial ? maker : NULL;
}

/* Of a family whose destinations are judged elsewhere, or not at all: unix by the peer, in
 * unix_stream_connect and unix_may_send; netlink when it is made; TCP and UDP by the cgroup's programs. */
static __always_inline bool bh_is_judged_elsewhere(const struct bh_subject *s, struct socket *sock,
						   __u16 family)
{
	struct sock *sk = sock->sk;
	struct bh_policy *policy;
	struct bh_maker *maker;

	if (family == AF_UNIX)
		return true;
	maker = sk ? bh_maker_of(s, sk) : NULL;
	if (!maker)
		return false;
	if (family == AF_NETLINK)
		return true;
	policy = bh_policy_of(s);
	return bh_is_inet(family) && policy && policy->flags & BH_POLICY_INET && maker->born_inside;
}

/* Destination into the refusal: port in host order, address bytes in the tail. */
static __always_inline void bh_object_inet(struct bh_refusal *r, const void *address)
{
	struct sockaddr_in6 a = {};

	if (!address || bpf_probe_read_kernel(&a, sizeof(a), address))
		return;
	r->object[3] = bpf_ntohs(a.sin6_port);
	if (a.sin6_family == AF_INET6) {
		r->tail = 16;
		__builtin_memcpy(r->small, &a.sin6_addr, 16);
	} else {
		/* sockaddr_in: the address follows the port, where sin6_flowinfo stands. */
		r->tail = 4;
		r->small[0] = a.sin6_flowinfo;
	}
}

static __noinline long bh_refuse_inet(const struct bh_subject *s, struct bh_refusal *r,
				      struct socket *sock, const void *address)
{
	r->kind = BH_OBJECT_SOCKET;
	r->object[0] = bh_socket_family(sock);
	r->object[1] = sock->type;
	bh_object_inet(r, address);
	return bh_refuse(s, r, NULL);
}

SEC("lsm/socket_connect")
int BPF_PROG(bh_socket_connect, struct socket *sock, struct sockaddr *address, int length, int ret)
{
	struct bh_refusal r = BH_REFUSAL(SOCKET_CONNECT, BH_REASON_NETWORK);
	__u16 family, wanted = 0;

	BH_ENTER(s, SOCKET_CONNECT, ret);
	family = bh_socket_family(sock);
	if (bh_is_judged_elsewhere(&s, sock, family))
		return 0;
	bpf_probe_read_kernel(&wanted, sizeof(wanted), address);
	/* AF_UNSPEC on an inet socket only undoes an earlier connect. */
	if (bh_is_inet(family) && wanted == AF_UNSPEC && length >= 2)
		return 0;
	return bh_refuse_inet(&s, &r, sock, address);
}

/* Sending on a connection is free: connecting was judged, or the descriptor is kept by the policy.
 * MSG_FASTOPEN connects without socket_connect. */
SEC("lsm/socket_sendmsg")
int BPF_PROG(bh_socket_sendmsg, struct socket *sock, struct msghdr *msg, int size, int ret)
{
	struct bh_refusal r = BH_REFUSAL(SOCKET_SENDMSG, BH_REASON_NETWORK);

	struct bh_revoked *held;

	BH_ENTER(s, SOCKET_SENDMSG, ret);
	held = bh_held_entry(bh_file_of(sock));
	if (bh_is_revoked(&s, held))
		return bh_refuse_held_socket(&s, sock, held, &r);
	if (bh_is_judged_elsewhere(&s, sock, bh_socket_family(sock)))
		return 0;
	if (!msg->msg_name && !(msg->msg_flags & MSG_FASTOPEN))
		return 0;
	return bh_refuse_inet(&s, &r, sock, msg->msg_name);
}

static __always_inline bool bh_has_loopback(const struct bh_subject *s)
{
	struct bh_policy *policy = bh_policy_of(s);

	return policy && policy->flags & BH_POLICY_LOOPBACK;
}

/* Loopback or no address, by which nothing comes or goes but over loopback (flow.bpf.c). A port that is not named is what
 * clients bind to before they connect. */
static __noinline bool bh_may_bind(const struct bh_subject *s, const void *address)
{
	struct sockaddr_in6 a = {};
	__u32 *words = a.sin6_addr.in6_u.u6_addr32;

	if (!address || bpf_probe_read_kernel(&a, sizeof(a), address) ||
	    (a.sin6_port && !bh_has_loopback(s)))
		return false;
	if (a.sin6_family != AF_INET6)
		/* sockaddr_in: the address follows the port, where sin6_flowinfo stands. */
		return !a.sin6_flowinfo ||
		       (a.sin6_flowinfo & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000);
	if (!words[0] && !words[1] && !words[2])
		return !words[3] || words[3] == bpf_htonl(1);
	return !words[0] && !words[1] && words[2] == bpf_htonl(0xffff) &&
	       (!words[3] || (words[3] & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000));
}

/* UDP never: who has a socket there may send to anybody (flow.bpf.c judges what TCP has begun). */
static __noinline bool bh_may_bind_port(const struct bh_subject *s, const void *address)
{
	struct bh_port port = {};
	struct sockaddr_in6 a = {};

	if (!address || bpf_probe_read_kernel(&a, sizeof(a), address))
		return false;
	port.port = bpf_ntohs(a.sin6_port);
	if (a.sin6_family == AF_INET6)
		bh_port_six(&port, a.sin6_addr.in6_u.u6_addr32);
	else
		bh_port_four(&port, a.sin6_flowinfo);
	return bh_is_named(s, &port);
}

/* Where it is bound to. While listen(2) waits for the socket another thread may change that: packets ask again. */
static __noinline bool bh_may_listen_port(const struct bh_subject *s, struct socket *trusted)
{
	struct sock *sk = BH_READONLY(struct socket, trusted)->sk;
	struct bh_port port = {};

	port.port = sk->__sk_common.skc_num;
	if (sk->__sk_common.skc_family == AF_INET)
		bh_port_four(&port, sk->__sk_common.skc_rcv_saddr);
	else
		bh_port_six(&port, sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32);
	return bh_is_named(s, &port);
}

SEC("lsm/socket_bind")
int BPF_PROG(bh_socket_bind, struct socket *sock, struct sockaddr *address, int length, int ret)
{
	struct bh_refusal r = BH_REFUSAL(SOCKET_BIND, BH_REASON_NETWORK);
	__u16 family;

	BH_ENTER(s, SOCKET_BIND, ret);
	family = bh_socket_family(sock);
	if (bh_is_judged_elsewhere(&s, sock, family) &&
	    (!bh_is_inet(family) || bh_may_bind(&s, address) ||
	     (sock->type == SOCK_STREAM_TYPE && bh_may_bind_port(&s, address))))
		return 0;
	return bh_refuse_inet(&s, &r, sock, address);
}

SEC("lsm/socket_listen")
int BPF_PROG(bh_socket_listen, struct socket *sock, int backlog, int ret)
{
	struct bh_refusal r = BH_REFUSAL(SOCKET_LISTEN, BH_REASON_NETWORK);
	__u16 family;

	BH_ENTER(s, SOCKET_LISTEN, ret);
	family = bh_socket_family(sock);
	if (family == AF_UNIX ||
	    (bh_is_judged_elsewhere(&s, sock, family) &&
	     (bh_has_loopback(&s) || (bh_is_inet(family) && bh_may_listen_port(&s, sock)))))
		return 0;
	return bh_refuse_inet(&s, &r, sock, NULL);
}

/* Who joins a group makes the kernel itself tell the network of it, by a socket of the kernel's own. Of what is also
 * an option of UDP's or TCP's level none has such a number. */
static __always_inline bool bh_reaches_out(int level, int name, short type)
{
	if (level == SOL_SOCKET)
		return name == SO_REUSEPORT || (name == SO_REUSEADDR && type == SOCK_DGRAM_TYPE);
	if (level == IPPROTO_IP)
		return name == IP_OPTIONS || name == IP_ADD_MEMBERSHIP ||
		       name == IP_ADD_SOURCE_MEMBERSHIP || name == IP_MSFILTER ||
		       name == MCAST_JOIN_GROUP || name == MCAST_JOIN_SOURCE_GROUP ||
		       name == MCAST_MSFILTER;
	return level == IPPROTO_IPV6 && (name == IPV6_ADD_MEMBERSHIP || name == IPV6_JOIN_ANYCAST ||
					 name == IPV6_RTHDR || name == MCAST_JOIN_GROUP ||
					 name == MCAST_JOIN_SOURCE_GROUP || name == MCAST_MSFILTER);
}

SEC("lsm/socket_setsockopt")
int BPF_PROG(bh_socket_setsockopt, struct socket *sock, int level, int name, int ret)
{
	struct bh_refusal r = BH_REFUSAL(SOCKET_SETSOCKOPT, BH_REASON_NETWORK);

	BH_ENTER(s, SOCKET_SETSOCKOPT, ret);
	if (!bh_is_inet(bh_socket_family(sock)) || !bh_reaches_out(level, name, sock->type))
		return 0;
	return bh_refuse_inet(&s, &r, sock, NULL);
}

/* An abstract name, as "@name", through the automaton from its own start. */
static __noinline struct bh_slot *bh_look_abstract(const struct bh_subject *s,
						   struct unix_address *address)
{
	struct bh_slot *slot = bh_slot_claim();
	struct bh_policy *policy = bh_policy_of(s);
	__u64 length = address->len, pos;
	const void *name = (void *)address + bpf_core_field_offset(struct unix_address, name);

	if (!slot)
		return NULL;
	slot->sbid = slot->class = 0;
	slot->masks = (struct bh_masks){};
	slot->hidden = 0;
	slot->pos = BH_PATH_END;
	slot->reason = BH_REASON_UNSURE_TABLE;
	if (!policy)
		return slot;
	/* len counts sun_family and the leading NUL; sun_path has 108 bytes. */
	length = length > 3 ? BH_BOUND(length - 3, 127) : 0;
	pos = BH_BOUND(BH_PATH_END - length, BH_PATH_END - 1);
	slot->reason = BH_REASON_UNSURE_PATH;
	if (length && bpf_probe_read_kernel(&slot->path[pos], length, name + 3))
		return slot;
	pos = BH_BOUND(BH_PATH_END - length - 1, BH_PATH_END - 1);
	slot->path[pos] = '@';
	slot->pos = slot->cursor = pos;
	slot->state = policy->start;
	slot->reason = 0;
	bh_match_path(s, slot);
	return slot;
}

static __noinline long bh_judge_unix(const struct bh_subject *s, struct sock *other,
				     struct bh_refusal *r)
{
	struct bh_slot *slot = NULL;
	struct unix_sock *peer;
	long ret;

	if (bh_maker_of(s, other))
		return 0;
	r->perms = BH_PERM_CONNECT;
	peer = bpf_skc_to_unix_sock(other);
	if (peer && peer->path.dentry)
		slot = bh_look(s, peer->path.dentry);
	else if (peer && peer->addr)
		slot = bh_look_abstract(s, peer->addr);
	else if (peer)
		return 0; /* nameless: only a socket that the task was given can reach it */
	ret = bh_judge_place(s, r, slot);
	bh_slot_release(slot);
	return ret;
}

SEC("lsm/unix_stream_connect")
int BPF_PROG(bh_unix_connect, struct sock *sock, struct sock *other, struct sock *newsk, int ret)
{
	struct bh_refusal r = BH_REFUSAL(UNIX_CONNECT, BH_REASON_NO_RULE);

	BH_ENTER(s, UNIX_CONNECT, ret);
	return bh_judge_unix(&s, other, &r);
}

SEC("lsm/unix_may_send")
int BPF_PROG(bh_unix_send, struct socket *sock, struct socket *other, int ret)
{
	struct bh_refusal r = BH_REFUSAL(UNIX_SEND, BH_REASON_NO_RULE);
	struct sock *peer;

	BH_ENTER(s, UNIX_SEND, ret);
	peer = other->sk;
	if (!peer)
		return 0; /* a peer that is being closed: nothing is delivered */
	return bh_judge_unix(&s, peer, &r);
}
