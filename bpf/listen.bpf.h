/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ports that the policy names, at one address or at all of them: members may listen there. */
#ifndef BULKHEAD_LISTEN_BPF_H
#define BULKHEAD_LISTEN_BPF_H

#include "subject.bpf.h"

/* The key as it was filled in, but for its generation; what it says of the address is gone after the call. */
static __noinline __attribute__((unused)) bool bh_is_named(const struct bh_subject *s,
							   struct bh_port *port)
{
	struct bh_policy *policy = bh_policy_of(s);

	if (!policy || !(policy->flags & BH_POLICY_LISTEN) || !port->port)
		return false;
	port->generation = s->generation;
	if (bpf_map_lookup_elem(&bh_ports, port))
		return true;
	port->address[0] = port->address[1] = port->address[2] = port->address[3] = 0;
	return bpf_map_lookup_elem(&bh_ports, port);
}

/* 0.0.0.0 means every address as :: does, alone or mapped. */
static __always_inline void bh_port_four(struct bh_port *port, __u32 address)
{
	port->address[0] = port->address[1] = 0;
	port->address[2] = address ? bpf_htonl(0xffff) : 0;
	port->address[3] = address;
}

static __always_inline void bh_port_six(struct bh_port *port, const __u32 address[4])
{
	if (!address[0] && !address[1] && address[2] == bpf_htonl(0xffff)) {
		bh_port_four(port, address[3]);
		return;
	}
	port->address[0] = address[0];
	port->address[1] = address[1];
	port->address[2] = address[2];
	port->address[3] = address[3];
}

#endif
