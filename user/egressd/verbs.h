/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the agent asks for (egress/channel.h): a row in the table of verbs, a handler. Each is answered. */
#ifndef EGRESSD_VERBS_H
#define EGRESSD_VERBS_H

#include "egressd.h"

void verbs_handle(struct egressd *e, struct message *message);

#endif
