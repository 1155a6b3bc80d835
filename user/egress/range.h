/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The synthetic range must lead nowhere: where a network of the host's has such addresses, a program outside would
 * reach it by a number that stands for a name inside, and a member never.
 */
#ifndef EGRESS_RANGE_H
#define EGRESS_RANGE_H

#include "policy/address.h"

/* Does anything on this host lead into the range? 0; -EADDRINUSE and what does; another -errno: the kernel did not say.
 * Routes that lead nowhere (blackhole) do not count, nor the default ones: of them one takes any address. */
int range_check(const struct address_block *range, struct error *error);

#endif
