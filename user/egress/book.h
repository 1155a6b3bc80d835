/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A compartment's book of synthetic addresses: which address stands for which name. An address that was given stands
 * for that one name as long as the book lives, whatever is listed later: programs keep what they resolved.
 *
 * Names that entries write out have addresses from the beginning, in the lower half of the range, in the order of
 * their bytes; names that a wildcard stands for get theirs when they are asked for, by hash, in the upper
 * half, so that nobody who asks for many takes one away that is written out. No address ends in 0 or 255, which
 * some programs take for a network's.
 *
 * Pure, and no lock: who holds it is one thread. Addresses are in the host's byte order.
 */
#ifndef EGRESS_BOOK_H
#define EGRESS_BOOK_H

#include <stddef.h>
#include <linux/types.h>
#include "base/cleanup.h"
#include "base/log.h"
#include "policy/address.h"
#include "policy/destination.h"

/* A name that no entry can be (.internal), and the address that stands for it and for nothing else in every book: the
 * last of its range that has such an end, 198.19.255.254 of 198.18.0.0/15. The relay is asked there by name, where a
 * policy says so. */
#define BOOK_PROXY "proxy.bulkhead.internal"

struct book;

/* An empty one for a range of IPv4 (address_set_synthetic). 0 or -ENOMEM. */
int book_new(const struct address_block *range, struct book **ret);
void book_free(struct book *book);
DEFINE_CLEANUP(struct book *, book_free)
#define _cleanup_book_ _cleanup_(cleanup_book_free)

/* From now on these entries are what is listed, in place of others. 0, -ENOSPC with a reason, -ENOMEM; the others are
 * listed still then. */
int book_list(struct book *book, const struct destination *entries, size_t n, struct error *error);

/* The address of a name (destination_name), which gets one if it has none and a wildcard stands for it. 0; -ENOENT: it
 * is not listed; -ENOSPC: no address is left; -ENOMEM. Where ret_address is NULL, none is given: 0 or -ENOENT. */
int book_find(struct book *book, const char *name, __u32 *ret_address);
/* Are names listed that end with a dot and this one? Of every name that has none: the root. */
bool book_is_above(const struct book *book, const char *name);

/* The name that an address stands for, listed still or not; NULL: none. Of the book's. */
const char *book_name(const struct book *book, __u32 address);

/* The address of BOOK_PROXY. */
__u32 book_proxy(const struct book *book);

/* Is this name and port listed? */
bool book_has(const struct book *book, const char *name, __u16 port);

/* Takes over what an earlier process gave. 0; -ERANGE: no address of the range; -EEXIST: one of the two has another
 * one, or it is book_proxy; -ENOMEM. */
int book_adopt(struct book *book, __u32 address, const char *name);

/* All that was given, for who keeps it. Returns how many; *ret_address and *ret_name are of number `i`, in the order in
 * which they were given. */
size_t book_count(const struct book *book);
void book_at(const struct book *book, size_t i, __u32 *ret_address, const char **ret_name);

#endif
