/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Open files that a compartment may not use (any more): they are older than its policy. Told by the
 * address of the open file, which fork, dup and SCM_RIGHTS share, and which is forgotten when it dies.
 */
#ifndef BULKHEAD_HELD_BPF_H
#define BULKHEAD_HELD_BPF_H

#include "path.bpf.h"

/* Revoked for anybody? */
static __always_inline struct bh_revoked *bh_held_entry(struct file *file)
{
	__u64 address = (__u64)file;

	return file ? bpf_map_lookup_elem(&bh_revoked, &address) : NULL;
}

static __always_inline bool bh_is_revoked(const struct bh_subject *s, const struct bh_revoked *held)
{
	__u64 serial = s->serial;

	_Static_assert(BH_MAX_REVOKERS == 4, "one comparison each");
	return held && serial &&
	       (held->serials[0] == serial || held->serials[1] == serial ||
		held->serials[2] == serial || held->serials[3] == serial);
}

static __always_inline void bh_revoke(struct bh_refusal *r, const struct bh_revoked *held)
{
	r->reason = BH_REASON_REVOKED;
	r->object[4] = held->fd + 1;
}

static __always_inline struct dentry *bh_dentry_of(struct file *trusted)
{
	return BH_READONLY(struct file, trusted)->f_path.dentry;
}

static __always_inline struct file *bh_file_of(struct socket *trusted)
{
	return BH_READONLY(struct socket, trusted)->file;
}

/* Judges as bh_judge, and refuses whatever the place when it is revoked: the place is told. */
static __noinline __attribute__((unused)) long bh_judge_held(const struct bh_subject *s,
							     struct dentry *dentry,
							     const struct bh_revoked *held,
							     struct bh_refusal *r)
{
	struct bh_slot *slot = bh_look(s, dentry);
	long ret;

	if (bh_is_revoked(s, held)) {
		bh_revoke(r, held);
		if (slot) {
			slot->reason = 0;
			slot->masks = (struct bh_masks){};
		}
	}
	ret = bh_judge_place(s, r, slot);
	bh_slot_release(slot);
	return ret;
}

/* Of a socket that is revoked. */
static __noinline __attribute__((unused)) long bh_refuse_held_socket(const struct bh_subject *s,
								     struct socket *trusted,
								     const struct bh_revoked *held,
								     struct bh_refusal *r)
{
	struct socket *sock = BH_READONLY(struct socket, trusted);
	struct sock *sk = sock->sk;

	bh_revoke(r, held);
	r->kind = BH_OBJECT_SOCKET;
	r->object[0] = sk ? sk->__sk_common.skc_family : AF_UNSPEC;
	r->object[1] = sock->type;
	return bh_refuse(s, r, NULL);
}

#endif
