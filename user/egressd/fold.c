// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "fold.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EACH_US (1000000ull / FOLD_SECOND)

static bool is_same(const struct fold_key *a, const struct fold_key *b)
{
	return a->what == b->what && a->outcome == b->outcome && a->number == b->number &&
	       !strcmp(a->name, b->name);
}

static struct fold_row *find(struct fold *fold, const struct fold_key *key)
{
	for (size_t i = 0; i < FOLD_ROWS; i++)
		if (fold->rows[i].until_us && is_same(&fold->rows[i].key, key))
			return &fold->rows[i];
	return NULL;
}

/* An empty one or the oldest of those that say nothing; NULL: each has something to be told. */
static struct fold_row *place(struct fold *fold)
{
	struct fold_row *best = NULL;

	for (size_t i = 0; i < FOLD_ROWS; i++) {
		struct fold_row *row = &fold->rows[i];

		if (!row->count && (!best || row->until_us < best->until_us))
			best = row;
	}
	return best;
}

enum fold_verdict fold_pass(struct fold *fold, __u64 now_us)
{
	__u64 full = fold->full_us > now_us ? fold->full_us : now_us;

	if (full - now_us > (FOLD_BURST - 1) * EACH_US)
		return FOLD_LOST;
	fold->full_us = full + EACH_US;
	return FOLD_TELL;
}

static void keep(struct fold_row *row, const char *reason)
{
	row->count++;
	snprintf(row->reason, sizeof(row->reason), "%s", reason);
}

enum fold_verdict fold_note(struct fold *fold, const struct fold_key *key, const char *reason,
			    __u64 now_us)
{
	struct fold_row *row = find(fold, key);

	if (row && (row->count || row->until_us > now_us)) {
		keep(row, reason);
		return FOLD_KEPT;
	}
	if (!row)
		row = place(fold);
	if (fold_pass(fold, now_us) == FOLD_LOST)
		return FOLD_LOST;
	if (row)
		*row = (struct fold_row){.key = *key, .until_us = now_us + FOLD_WINDOW_US};
	return FOLD_TELL;
}

/* What goes on has another window. */
bool fold_next(struct fold *fold, __u64 now_us, struct fold_row *ret)
{
	for (size_t i = 0; i < FOLD_ROWS; i++) {
		struct fold_row *row = &fold->rows[i];

		if (!row->count || row->until_us > now_us)
			continue;
		*ret = *row;
		row->count = 0;
		if (now_us < UINT64_MAX - FOLD_WINDOW_US)
			row->until_us = now_us + FOLD_WINDOW_US;
		return true;
	}
	return false;
}

bool fold_has_kept(const struct fold *fold)
{
	for (size_t i = 0; i < FOLD_ROWS; i++)
		if (fold->rows[i].count)
			return true;
	return false;
}
