/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sandboxes that members make for themselves (nested-sandbox: true): what they take is had in user
 * namespaces below the first one, and in what such a namespace owns, never outside.
 */
#ifndef BULKHEAD_NESTED_BPF_H
#define BULKHEAD_NESTED_BPF_H

#include "verdict.bpf.h"

/* What bubblewrap asks for: it mounts, changes the root, maps users, brings a loopback up, looks at its
 * child. Of what NET_ADMIN could do the families of sockets that can be made leave rtnetlink (addresses,
 * routes, links, queues) of a network that leads nowhere, and of what SYS_PTRACE could do
 * ptrace_access_check leaves peers. */
#define BH_NESTED_CAPS                                                                           \
	(1ULL << CAP_SETGID | 1ULL << CAP_SETUID | 1ULL << CAP_SETPCAP | 1ULL << CAP_NET_ADMIN | \
	 1ULL << CAP_SYS_CHROOT | 1ULL << CAP_SYS_PTRACE | 1ULL << CAP_SYS_ADMIN)

static __always_inline bool bh_may_nest(const struct bh_subject *s)
{
	struct bh_policy *policy = bh_policy_of(s);

	return policy && policy->flags & BH_POLICY_NESTED;
}

/* Are current's mounts, or its network, of a user namespace below the first one? */
static __always_inline bool bh_has_own_mounts(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return BPF_CORE_READ(task, nsproxy, mnt_ns, user_ns, level) > 0;
}

static __always_inline bool bh_has_own_network(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return BPF_CORE_READ(task, nsproxy, net_ns, user_ns, level) > 0;
}

#endif
