/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is told of a compartment, bounded: the first of a kind at once, those like it together when some seconds are
 * over, and no more of all than so many a second. Who floods us floods nobody behind us.
 *
 * Pure: it is told the time.
 */
#ifndef EGRESSD_FOLD_H
#define EGRESSD_FOLD_H

#include <stdbool.h>
#include <linux/types.h>
#include "policy/destination.h"

#define FOLD_ROWS 16 /* kinds that are known at a time: a program's retries are a few */
#define FOLD_WINDOW_US 5000000ull
/* Events of a compartment: what the agent can write down of a thousand of them. At the bound: lost, and counted. */
#define FOLD_BURST 256
#define FOLD_SECOND 32
#define FOLD_REASON 160

struct fold_key {
	int what;    /* the caller's */
	int outcome; /* the caller's */
	__u16 number;
	char name[DESTINATION_NAME_SIZE];
};

struct fold_row {
	struct fold_key key;
	char reason[FOLD_REASON]; /* the last one's */
	__u64 until_us;		  /* 0: empty */
	__u64 count;		  /* not told yet */
};

/* Zeroed: nothing was told yet. */
struct fold {
	struct fold_row rows[FOLD_ROWS];
	__u64 full_us; /* when all of FOLD_BURST is there again */
};

enum fold_verdict {
	FOLD_TELL, /* now */
	FOLD_KEPT, /* fold_next has it later */
	FOLD_LOST,
};

/* Of one that has nothing in common with others: TELL or LOST. */
enum fold_verdict fold_pass(struct fold *fold, __u64 now_us);
enum fold_verdict fold_note(struct fold *fold, const struct fold_key *key, const char *reason,
			    __u64 now_us);
/* Takes out what was kept and is due; UINT64_MAX as the time: whatever is. False: nothing. */
bool fold_next(struct fold *fold, __u64 now_us, struct fold_row *ret);
/* Will fold_next have something? */
bool fold_has_kept(const struct fold *fold);

#endif
