/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The way that the kernel would send what goes to an address. The table of addresses (policy/address.h) cannot know the
 * host's own ones, nor those of its neighbours where they have public numbers: the routes do. Only what goes by a
 * gateway leaves the host's networks; everything else is refused, and what cannot be asked is.
 */
#ifndef EGRESS_ROUTE_H
#define EGRESS_ROUTE_H

#include "base/cleanup.h"
#include "policy/address.h"

/* Of the network namespace in which it was opened, whose routes may change. */
struct routes;

int routes_open(struct routes **ret);
void routes_close(struct routes *routes);
DEFINE_CLEANUP(struct routes *, routes_close)
#define _cleanup_routes_ _cleanup_(cleanup_routes_close)

/* Of TCP to this port: routes may be chosen by it. Where there are several ways (multipath), each counts.
 * 0: by a gateway. -EPERM: another way, which must not be gone. -ENETUNREACH: no way, so that nothing would come there
 * (IPv6 on a host that has none). Another -errno: the kernel did not say; -ETIMEDOUT. All but 0 come with a reason. */
int routes_check(struct routes *routes, const struct address *to, __u16 port,
		 const char **ret_reason);

#endif
