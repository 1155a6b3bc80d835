/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Destinations: names and ports that a provider may reach, and the names that it asks for.
 *
 *	entry = ["*."] label 1*("." label) ":" port *("," port)
 *	label = 1 to 63 of a-z 0-9 - _, neither beginning nor ending with "-"
 *	port  = 1 to 65535, decimal, but 53: what members send there goes to the stub
 *
 * "*." stands for exactly one label, and two labels at least stand behind it. A name has 253 bytes at most (RFC
 * 1035 §2.3.4 less the wire's two), and its last label is no number, for that would be read as an IPv4 address by
 * some (WHATWG URL, "ends in a number"). Names of the host itself, of its neighbours and of a cloud's metadata are
 * refused, whoever lists or asks them. Nothing else is a destination: no address, no scheme, no default port,
 * no range, no "*". What is not recognised is refused, with its place.
 *
 * What is asked for is bytes until it has passed here: folded in ASCII alone, one dot at the end taken away, no other
 * form accepted, so that two readers of one name cannot differ.
 */
#ifndef POLICY_DESTINATION_H
#define POLICY_DESTINATION_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#define DESTINATION_NAME_SIZE 254 /* 253 bytes and a NUL */
#define DESTINATION_PORTS 16	  /* of an entry; a service has one or two */
#define DESTINATION_TEXT_SIZE (2 + DESTINATION_NAME_SIZE + 6 * DESTINATION_PORTS)

struct destination {
	char name[DESTINATION_NAME_SIZE]; /* what stands behind "*." if it is a wildcard */
	bool wildcard;
	__u16 ports[DESTINATION_PORTS]; /* as written, none twice */
	size_t nports;
};

struct destination_fault {
	size_t offset; /* of the byte at fault */
	const char *reason;
};

/* Reads an entry. 0, or -EINVAL with *ret_fault. */
int destination_parse(const char *text, size_t length, struct destination *ret,
		      struct destination_fault *ret_fault);
void destination_format(const struct destination *destination, char ret[DESTINATION_TEXT_SIZE]);

/* The one form of a name that was asked for. 0, or -EINVAL with *ret_fault. */
int destination_name(const void *bytes, size_t length, char ret[DESTINATION_NAME_SIZE],
		     struct destination_fault *ret_fault);

/* Does it stand for this name, which is of destination_name's form? */
bool destination_has_name(const struct destination *destination, const char *name);
bool destination_has_port(const struct destination *destination, __u16 port);

#endif
