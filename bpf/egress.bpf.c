// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The second layer: cgroup programs on each compartment's cgroup. They follow the cgroup a socket
 * was *born* in, so they also stop a socket that was made inside and handed to an outsider.
 */
#include "verdict.bpf.h"
#include <bpf/bpf_endian.h>

#define BH_CG_REFUSE 0
#define BH_CG_ALLOW 1

static __always_inline bool bh_egress_subject(struct bh_subject *s)
{
	__u32 *id = bpf_get_local_storage(&bh_egress, 0);
	struct bh_compartment *c;

	s->compartment = *id;
	c = bpf_map_lookup_elem(&bh_compartments, &s->compartment);
	/* Attached a moment before its storage is written: the compartment is not enforced yet. */
	if (!c || !s->compartment || c->state == BH_STATE_ARMED || c->state == BH_STATE_RELEASED)
		return false;
	s->generation = c->generation;
	s->tally = c->tally;
	s->mode = c->mode;
	return true;
}

static __always_inline int bh_egress_refuse(struct bpf_sock_addr *ctx, const struct bh_subject *s,
					    struct bh_refusal *r, bool six)
{
	struct bh_slot *slot = bh_slot_claim();
	__u32 *address;
	long verdict;

	r->kind = BH_OBJECT_SOCKET;
	r->object[0] = ctx->family;
	r->object[1] = ctx->type;
	r->object[2] = ctx->protocol;
	r->object[3] = bpf_ntohs(ctx->user_port);
	if (slot) {
		address = (__u32 *)slot->tail;
		r->tail = six ? 16 : 4;
		address[0] = six ? ctx->user_ip6[0] : ctx->user_ip4;
		if (six) {
			address[1] = ctx->user_ip6[1];
			address[2] = ctx->user_ip6[2];
			address[3] = ctx->user_ip6[3];
		}
	}
	verdict = bh_refuse(s, r, slot);
	bh_slot_release(slot);
	if (!verdict)
		return BH_CG_ALLOW;
	bpf_set_retval(verdict);
	return BH_CG_REFUSE;
}

#define BH_EGRESS(section, name, hook_, six)                                \
	SEC(section) int name(struct bpf_sock_addr *ctx)                    \
	{                                                                   \
		struct bh_refusal r = BH_REFUSAL(hook_, BH_REASON_NETWORK); \
		struct bh_subject s = {};                                   \
                                                                            \
		if (!bh_egress_subject(&s))                                 \
			return BH_CG_ALLOW;                                 \
		return bh_egress_refuse(ctx, &s, &r, six);                  \
	}

BH_EGRESS("cgroup/connect4", bh_connect4, CONNECT4, false)
BH_EGRESS("cgroup/connect6", bh_connect6, CONNECT6, true)
BH_EGRESS("cgroup/sendmsg4", bh_sendmsg4, SENDMSG4, false)
BH_EGRESS("cgroup/sendmsg6", bh_sendmsg6, SENDMSG6, true)
