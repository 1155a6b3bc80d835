/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What who asked by the proxy (egress/ask.h) is answered. */
#ifndef EGRESSD_REPLY_H
#define EGRESSD_REPLY_H

#include "egress/ask.h"
#include "relay.h"

/* SOCKS' greeting will do. 0 or -errno. */
int reply_greet(int fd);
/* It is connected: what follows is the server's. 0 or -errno. */
int reply_connected(int fd, enum ask_kind kind);
/* It is not, and why; takes the descriptor. */
void reply_refuse(int fd, enum ask_kind kind, enum relay_outcome outcome);
/* Its request was none: as ask->outcome says, or RELAY_OUT_OF_TIME. Takes the descriptor. */
void reply_bad(int fd, const struct ask *ask);

#endif
