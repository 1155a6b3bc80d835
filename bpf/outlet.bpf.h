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

#endif
