/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which Internet addresses a destination may have. One table says it for both families, and the row of the longest
 * prefix decides, as in the kernel's LPM tries, which are filled from it. IPv4 is public but for what is listed; of
 * IPv6 only 2000::/3 can be, and of that not what is listed.
 *
 * An address that another one is written into (mapped, compatible, translated, 6to4, Teredo, ISATAP, NAT64) has to
 * be public by both. Of NAT64 only prefixes that the operator names are: where a translator sends what it
 * gets is decided outside this host.
 *
 * Pure: what the host's routes say is asked elsewhere, and is asked, too.
 */
#ifndef POLICY_ADDRESS_H
#define POLICY_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include "base/log.h"

#define ADDRESS_TEXT_SIZE 46 /* INET6_ADDRSTRLEN */

enum address_family { ADDRESS_V4 = 4, ADDRESS_V6 = 6 };

struct address {
	enum address_family family;
	__u8 bytes[16]; /* in network order; of IPv4 the first four */
};

/* A row: addresses whose first `length` bits are these. */
struct address_block {
	struct address address; /* the bits behind are 0 */
	unsigned int length;
	bool is_public;
	const char *name;   /* what it is for */
	const char *source; /* where that is written */
};

/* The whole table. */
const struct address_block *address_blocks(size_t *ret_count);

/* One address within another. */
enum address_wrapping {
	ADDRESS_PLAIN,
	ADDRESS_MAPPED,	    /* ::ffff:a.b.c.d, RFC 4291 */
	ADDRESS_COMPATIBLE, /* ::a.b.c.d, RFC 4291 */
	ADDRESS_TRANSLATED, /* ::ffff:0:a.b.c.d, RFC 2765 */
	ADDRESS_6TO4,	    /* 2002:AABB:CCDD::, RFC 3056 */
	ADDRESS_TEREDO,	    /* the client's behind 2001::/32, its bits inverted, RFC 4380 */
	ADDRESS_ISATAP, /* an interface's identifier 0:5efe:a.b.c.d or 200:5efe:a.b.c.d, RFC 5214 */
	ADDRESS_NAT64,	/* behind a prefix, RFC 6052 */
};

#define ADDRESS_MAX_NAT64 8 /* prefixes that an operator names; hosts have one or two */

/* What the operator's configuration adds. Zeroed: nothing. */
struct address_rules {
	struct address_block nat64[ADDRESS_MAX_NAT64];
	size_t nat64_count;
	struct address_block synthetic; /* the host's own range of synthetic addresses */
};

/* Why: the row that decided and, where an address stood within the address, that one with its own. */
struct address_verdict {
	const struct address_block *block; /* never NULL; of the table or of `rules` */
	enum address_wrapping wrapping;
	struct address inner;			 /* unless PLAIN */
	const struct address_block *inner_block; /* unless PLAIN */
};

/* *ret_verdict is filled whatever the answer is. */
bool address_is_public(const struct address_rules *rules, const struct address *address,
		       struct address_verdict *ret_verdict);

/* Why an address is refused: "2002:7f00:1:: is 6to4 (RFC 3056): 6to4 of 127.0.0.1, loopback (RFC 1122)". Cut
 * where `size` ends. */
void address_why(const struct address *address, const struct address_verdict *verdict, char *ret,
		 size_t size);

/* An address as the RFCs write it, and nothing else: no octal, no hexadecimal, no short forms, no zone, nothing
 * around it. 0 or -EINVAL. */
int address_parse(const char *text, struct address *ret);
void address_format(const struct address *address, char ret[ADDRESS_TEXT_SIZE]);

/* "PREFIX/LENGTH" of a NAT64 prefix or of the synthetic range, added to the rules. 0, or -EINVAL with a reason. */
int address_add_nat64(struct address_rules *rules, const char *text, struct error *error);
int address_set_synthetic(struct address_rules *rules, const char *text, struct error *error);

#endif
