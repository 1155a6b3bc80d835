// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sockets, by the task that uses them. This version knows `network: none`.
 *
 *   socket_create             unix alone; routes of a network inside a nested sandbox
 *   socket_post_create        marks sockets made inside
 *   socket_connect            of what is not unix: refused (a socket can be older than the label)
 *   socket_sendmsg            of what is not unix, with a destination or MSG_FASTOPEN: refused; of what
 *                             is revoked
 *   unix_stream_connect       by the peer's own place, its abstract name, or made inside
 *   unix_may_send             the same for datagrams
 */
#include "held.bpf.h"
#include "nested.bpf.h"
#include <bpf/bpf_endian.h>

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
	r.kind = BH_OBJECT_SOCKET;
	r.object[0] = family;
	r.object[1] = type;
	r.object[2] = protocol;
	return bh_refuse(&s, &r, NULL);
}

SEC("lsm/socket_post_create")
int BPF_PROG(bh_socket_made, struct socket *sock, int family, int type, int protocol, int kern,
	     int ret)
{
	struct bh_subject s = {};
	struct sock *sk;
	__u64 *maker;

	if (ret || kern || bh_subject_member(&s) != BH_SUBJECT_SOME)
		return ret;
	sk = sock->sk;
	if (!sk)
		return 0;
	maker = bpf_sk_storage_get(&bh_sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (maker)
		*maker = s.serial;
	return 0; /* without its mark the socket is judged as an outsider's */
}

/* A socket that lost its sock has no family: it is refused like any that is not unix. */
static __always_inline __u16 bh_socket_family(struct socket *sock)
{
	struct sock *sk = sock->sk;

	return sk ? sk->__sk_common.skc_family : AF_UNSPEC;
}

static __always_inline bool bh_made_inside(const struct bh_subject *s, struct sock *sk)
{
	__u64 *maker = bpf_sk_storage_get(&bh_sockets, sk, 0, 0);

	return maker && *maker == s->serial;
}

/* Of a family whose destinations are judged elsewhere, or not at all: unix by the peer, in
 * unix_stream_connect and unix_may_send; netlink when it is made. */
static __always_inline bool bh_is_judged_elsewhere(const struct bh_subject *s, struct socket *sock,
						   __u16 family)
{
	struct sock *sk = sock->sk;

	return family == AF_UNIX || (family == AF_NETLINK && sk && bh_made_inside(s, sk));
}

/* Destination into the refusal: port in host order, address bytes in the tail. */
static __always_inline void bh_object_inet(struct bh_refusal *r, struct bh_slot *slot,
					   const void *address)
{
	struct sockaddr_in6 a = {};

	if (!address || !slot || bpf_probe_read_kernel(&a, sizeof(a), address))
		return;
	r->object[3] = bpf_ntohs(a.sin6_port);
	if (a.sin6_family == AF_INET6) {
		r->tail = 16;
		__builtin_memcpy(slot->tail, &a.sin6_addr, 16);
	} else {
		/* sockaddr_in: the address follows the port, where sin6_flowinfo stands. */
		r->tail = 4;
		__builtin_memcpy(slot->tail, &a.sin6_flowinfo, 4);
	}
}

static __noinline long bh_refuse_inet(const struct bh_subject *s, struct bh_refusal *r,
				      struct socket *sock, const void *address)
{
	struct bh_slot *slot = bh_slot_claim();
	long ret;

	r->kind = BH_OBJECT_SOCKET;
	r->object[0] = bh_socket_family(sock);
	r->object[1] = sock->type;
	bh_object_inet(r, slot, address);
	ret = bh_refuse(s, r, slot);
	bh_slot_release(slot);
	return ret;
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
	if ((family == AF_INET || family == AF_INET6) && wanted == AF_UNSPEC && length >= 2)
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

	if (bh_made_inside(s, other))
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
