// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table: the IANA special-purpose registries for IPv4 and IPv6 (RFC 6890 and 8190, with the additions up to
 * RFC 9780), the multicast registries, and what clouds answer on in ordinary space. What the registries call globally
 * reachable and is infrastructure all the same (AS112, AMT, anycasts of port control and TURN, drone and
 * cryptographic identifiers) is no destination of a provider's.
 *
 * A row within another says no more than the wider one: it is there for the reason that is told.
 */
#include "address.h"

#define V4(a, b, c, d, length_, public_, name_, source_)                     \
	{                                                                    \
		{ADDRESS_V4, {a, b, c, d}}, length_, public_, name_, source_ \
	}

#define G(group) (group) >> 8, (group)&0xff
#define V6(a, b, c, d, e, f, g, h, length_, public_, name_, source_)                              \
	{                                                                                         \
		{ADDRESS_V6, {G(a), G(b), G(c), G(d), G(e), G(f), G(g), G(h)}}, length_, public_, \
			name_, source_                                                            \
	}

/* Of a /64 at most. */
#define V6_NET(a, b, c, d, length_, public_, name_, source_) \
	V6(a, b, c, d, 0, 0, 0, 0, length_, public_, name_, source_)

static const struct address_block blocks[] = {
	V4(0, 0, 0, 0, 0, true, "public", "RFC 791"),
	V4(0, 0, 0, 0, 8, false, "this network", "RFC 791"),
	V4(10, 0, 0, 0, 8, false, "private", "RFC 1918"),
	V4(100, 64, 0, 0, 10, false, "shared by carriers", "RFC 6598"),
	V4(100, 100, 100, 200, 32, false, "Alibaba's metadata", "Alibaba ECS documentation"),
	V4(127, 0, 0, 0, 8, false, "loopback", "RFC 1122"),
	V4(168, 63, 129, 16, 32, false, "Azure's WireServer", "Azure documentation"),
	V4(169, 254, 0, 0, 16, false, "link-local", "RFC 3927"),
	V4(169, 254, 169, 254, 32, false, "cloud metadata", "AWS, GCP, Azure, OCI, OpenStack"),
	V4(169, 254, 170, 2, 32, false, "ECS credentials", "AWS documentation"),
	V4(169, 254, 170, 23, 32, false, "EKS pod credentials", "AWS documentation"),
	V4(172, 16, 0, 0, 12, false, "private", "RFC 1918"),
	V4(192, 0, 0, 0, 24, false, "protocol assignments", "RFC 6890"),
	V4(192, 0, 0, 192, 32, false, "Oracle's classic metadata", "Oracle documentation"),
	V4(192, 0, 2, 0, 24, false, "documentation", "RFC 5737"),
	V4(192, 31, 196, 0, 24, false, "AS112", "RFC 7535"),
	V4(192, 52, 193, 0, 24, false, "AMT", "RFC 7450"),
	V4(192, 88, 99, 0, 24, false, "6to4 relays", "RFC 7526"),
	V4(192, 168, 0, 0, 16, false, "private", "RFC 1918"),
	V4(192, 175, 48, 0, 24, false, "AS112", "RFC 7534"),
	V4(198, 18, 0, 0, 15, false, "benchmarks", "RFC 2544"),
	V4(198, 51, 100, 0, 24, false, "documentation", "RFC 5737"),
	V4(203, 0, 113, 0, 24, false, "documentation", "RFC 5737"),
	V4(224, 0, 0, 0, 4, false, "multicast", "RFC 5771"),
	V4(240, 0, 0, 0, 4, false, "reserved", "RFC 1112"),
	V4(255, 255, 255, 255, 32, false, "broadcast", "RFC 919"),

	V6_NET(0, 0, 0, 0, 0, false, "outside 2000::/3", "RFC 4291"),
	V6_NET(0, 0, 0, 0, 96, false, "IPv4-compatible", "RFC 4291"),
	V6(0, 0, 0, 0, 0, 0, 0, 0, 128, false, "unspecified", "RFC 4291"),
	V6(0, 0, 0, 0, 0, 0, 0, 1, 128, false, "loopback", "RFC 4291"),
	V6(0, 0, 0, 0, 0, 0xffff, 0, 0, 96, false, "IPv4-mapped", "RFC 4291"),
	V6(0, 0, 0, 0, 0xffff, 0, 0, 0, 96, false, "IPv4-translated", "RFC 2765"),
	V6_NET(0x64, 0xff9b, 0, 0, 96, false, "NAT64, not configured", "RFC 6052"),
	V6_NET(0x64, 0xff9b, 1, 0, 48, false, "local NAT64, not configured", "RFC 8215"),
	V6_NET(0x100, 0, 0, 0, 64, false, "discarded", "RFC 6666"),
	V6_NET(0x100, 0, 0, 1, 64, false, "dummy prefix", "RFC 9780"),
	V6_NET(0x2000, 0, 0, 0, 3, true, "public", "RFC 4291"),
	V6_NET(0x2001, 0, 0, 0, 23, false, "protocol assignments", "RFC 2928"),
	V6_NET(0x2001, 0, 0, 0, 32, false, "Teredo", "RFC 4380"),
	V6_NET(0x2001, 1, 0, 0, 32, false, "anycasts of protocols", "RFC 7723, 8155, 9665"),
	V6_NET(0x2001, 2, 0, 0, 48, false, "benchmarks", "RFC 5180"),
	V6_NET(0x2001, 3, 0, 0, 32, false, "AMT", "RFC 7450"),
	V6_NET(0x2001, 4, 0x112, 0, 48, false, "AS112", "RFC 7535"),
	V6_NET(0x2001, 0x10, 0, 0, 28, false, "ORCHID", "RFC 4843"),
	V6_NET(0x2001, 0x20, 0, 0, 28, false, "ORCHIDv2", "RFC 7343"),
	V6_NET(0x2001, 0x30, 0, 0, 28, false, "drone identifiers", "RFC 9374"),
	V6_NET(0x2001, 0xdb8, 0, 0, 32, false, "documentation", "RFC 3849"),
	V6_NET(0x2002, 0, 0, 0, 16, false, "6to4", "RFC 3056"),
	V6_NET(0x2620, 0x4f, 0x8000, 0, 48, false, "AS112", "RFC 7534"),
	V6_NET(0x3ffe, 0, 0, 0, 16, false, "6bone, returned", "RFC 3701"),
	V6_NET(0x3fff, 0, 0, 0, 20, false, "documentation", "RFC 9637"),
	V6_NET(0x5f00, 0, 0, 0, 16, false, "segment routing", "RFC 9602"),
	V6_NET(0xfc00, 0, 0, 0, 7, false, "private", "RFC 4193"),
	V6(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23, 128, false, "EKS pod credentials",
	   "AWS documentation"),
	V6(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254, 128, false, "AWS's metadata", "AWS documentation"),
	V6(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254, 128, false, "GCP's metadata", "GCP documentation"),
	V6(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42, 128, false, "Scaleway's metadata",
	   "Scaleway documentation"),
	V6_NET(0xfe80, 0, 0, 0, 10, false, "link-local", "RFC 4291"),
	V6_NET(0xfec0, 0, 0, 0, 10, false, "site-local", "RFC 3879"),
	V6_NET(0xff00, 0, 0, 0, 8, false, "multicast", "RFC 4291"),
};

const struct address_block *address_blocks(size_t *ret_count)
{
	*ret_count = sizeof(blocks) / sizeof(*blocks);
	return blocks;
}
