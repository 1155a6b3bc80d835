/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the process may do yet: it reads what strangers write, and answers for it with as little as can be. */
#ifndef EGRESSD_SANDBOX_H
#define EGRESSD_SANDBOX_H

#include "base/log.h"

/* Gives up all privilege, for good. user: who it is from now on; NULL: who it is, and not root. 0 or -errno with a
 * reason. */
int sandbox_lower(const char *user, struct error *error);
/* From now on it makes the system calls that it needs, and ends at any other. 0 or -errno with a reason. */
int sandbox_filter(struct error *error);

#endif
