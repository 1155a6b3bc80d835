/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What of a compartment's egress outlives the agent: the names that were given addresses (EGRESS_DIR/SERIAL), the
 * operator's grant (EGRESS_DIR/SERIAL.grant), and what was uploaded under it (EGRESS_DIR/SERIAL.spent). All say whose they
 * are, and of another compartment, or from before the host was started, they say nothing.
 */
#ifndef DAEMON_KEPT_H
#define DAEMON_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/types.h>
#include <bulkhead/limits.h>
#include "base/cleanup.h"

#define KEPT_BOOT_SIZE 37
#define KEPT_RANGE_SIZE 19 /* "255.255.255.255/24" */

/* Serial numbers begin anew when the programs were taken out of the kernel, ids of cgroups do not. */
struct kept_of {
	__u64 serial, cgroup_id;
	char boot[KEPT_BOOT_SIZE];
	char range[KEPT_RANGE_SIZE]; /* of which the addresses are: names alone */
};

/* The kernel's id of this boot. */
int kept_boot(char ret[KEPT_BOOT_SIZE]);

/* --- names --- */

/* Those that are written out and those that wildcards came to stand for, when all of a policy changed once. At the bound:
 * further ones are not kept, and after the next start of the relay may stand at another address. */
#define KEPT_MAX_NAMES (BH_MAX_WILDCARD_NAMES + 2 * BH_MAX_DESTINATIONS)

struct kept_name {
	__u32 address; /* host byte order */
	char *name;
};

struct kept_names {
	char *path;
	struct kept_name *names; /* in the order in which they were given */
	size_t n;
	int fd;	   /* appends; -1: it cannot be written, and they are kept in memory alone */
	bool full; /* said already */
};

/* What the file has, as far as it makes sense; where it does not, or it is another's, it is written anew. A directory
 * that cannot be written to is no error: *ret->fd says so. 0 or -ENOMEM. */
int kept_names_open(const char *directory, const struct kept_of *of, struct kept_names *ret);
/* 0, also for what is there already; -EBADMSG: no address, no name, or one of them has another; -ENOSPC, -ENOMEM. */
int kept_names_add(struct kept_names *names, const char *address, const char *name);
/* Those behind the first n are forgotten. */
void kept_names_cut(struct kept_names *names, const struct kept_of *of, size_t n);
void kept_names_done(struct kept_names *names);

/* --- the grant --- */

struct grant {
	bool given;
	uint64_t until_ms; /* CLOCK_BOOTTIME; 0: for good */
	char **only;	   /* names, NULL-terminated; NULL: all that is listed */
	uid_t uid;	   /* whose */
	uint64_t lease;	   /* no two grants of a compartment have the same; of 63 bits */
};

/* 0, or -errno and what was there is there still. */
int grant_save(const char *directory, const struct kept_of *of, const struct grant *grant);
/* 0; -ENOENT: there is none, or it is over or another's; -EBADMSG. */
int grant_load(const char *directory, const struct kept_of *of, struct grant *ret);
void grant_forget(const char *directory, const struct kept_of *of);
/* Of its time; UINT64_MAX: without end; 0: it is over. */
uint64_t grant_left_ms(const struct grant *grant);
void grant_done(struct grant *grant);
uint64_t boot_ms(void); /* CLOCK_BOOTTIME: goes on while the host sleeps */

/* --- what was uploaded --- */

/* The file of it, for the relay to count in; where there is none, or it is another's, nothing was. A descriptor or
 * -errno. */
int kept_spent_open(const char *directory, const struct kept_of *of);

/* --- all --- */

/* Nothing of it is kept any more. */
void kept_forget(const char *directory, __u64 serial);
/* Takes away what is nobody's: of which `is_live` says no. */
void kept_sweep(const char *directory, bool (*is_live)(void *data, __u64 serial), void *data);

#endif
