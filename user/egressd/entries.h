/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a compartment lists, each entry with its terms. What was uploaded counts for a grant's life, by the entry's text:
 * an entry that is listed again goes on where it was, and so it does in the next process.
 */
#ifndef EGRESSD_ENTRIES_H
#define EGRESSD_ENTRIES_H

#include "base/log.h"
#include "egress/allowances.h"
#include "policy/destination.h"

struct terms {
	bool tls;	  /* the client's first word has to be a ClientHello for that name */
	__u64 max_upload; /* UINT64_MAX: without end */
	struct allowance *allowance;
};

struct entries {
	struct destination *to;
	struct terms *terms; /* as many */
	size_t n;
};

void entries_done(struct entries *entries);

/* Room for n. 0 or -ENOMEM. */
int entries_make(size_t n, struct entries *ret);
/* Finds each entry's allowance or makes it; no limit is changed. 0, -ENOSPC with a reason, -ENOMEM. */
int entries_bind(struct entries *entries, struct allowances *allowances, struct error *error);
/* From now on the limits are these. */
void entries_apply(const struct entries *entries);

/* The agent's file; the descriptor stays the caller's. 0 or -errno. */
int allowances_map(int fd, struct allowances **ret);
void allowances_unmap(struct allowances *allowances); /* NULL: nothing */
/* Another grant: nothing is spent. The same one: nothing happens. The limits are to be applied after it. */
void allowances_lease(struct allowances *allowances, __u64 lease);

/*
 * The terms of a name and port: of the entry that writes it out, else of the wildcard's. Where several do, each counts:
 * TLS if one wants it, of allowances the one with the least left. False: not listed.
 */
bool entries_find(const struct entries *entries, const char *name, __u16 port, struct terms *ret);

#endif
