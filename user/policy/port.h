/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A port as entries of the network's keys have it: 1 to 65535, decimal, no zero in front, no range; a comma stands
 * between two. */
#ifndef POLICY_PORT_H
#define POLICY_PORT_H

#include "destination.h"

#define PORT_ABSENT "no port: there is none by default, write "

/* The one from `at` on; *ret_end behind it, where the text ends or a comma stands. `absent`: what is said where there is
 * none. 0, or -EINVAL with *ret_fault. */
int port_parse(const char *text, size_t at, size_t length, const char *absent, size_t *ret_end,
	       __u16 *ret, struct destination_fault *ret_fault);

#endif
