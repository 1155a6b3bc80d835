// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "anew.h"
#include "base/cleanup.h"
#include "files.h"
#include "policy/grow.h"

static int row_of(struct rows *rows, char *glob, enum row_kind kind, struct row **ret)
{
	uint64_t hash = hash_text(glob);
	size_t at;
	__u32 item;

	if (hash_reserve(&rows->by_glob) < 0 || grow(&rows->items, &rows->size, rows->n + 1) < 0) {
		free(glob);
		return -ENOMEM;
	}
	for (at = hash_begin(&rows->by_glob, hash); hash_next(&rows->by_glob, hash, &at, &item);) {
		*ret = &rows->items[item];
		if (strcmp((*ret)->glob, glob) != 0)
			continue;
		free(glob);
		return 0;
	}
	hash_put(&rows->by_glob, hash, at, (__u32)rows->n);
	*ret = &rows->items[rows->n++];
	**ret = (struct row){.glob = glob, .kind = kind};
	return 0;
}

int rows_add(struct rows *rows, char *glob, enum row_kind kind, uint32_t perms, size_t use)
{
	struct row *row;
	int r = row_of(rows, glob, kind, &row);

	if (r == 0)
		r = grow(&row->uses, &row->uses_size, row->nuses + 1);
	if (r < 0)
		return r;
	row->uses[row->nuses++] = use;
	row->perms |= perms;
	return 0;
}

void rows_done(struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		free(rows->items[i].glob);
		free(rows->items[i].uses);
	}
	free(rows->items);
	hash_done(&rows->by_glob);
}

/* --- patterns --- */

static int add_use(struct rows *rows, const struct run *run, size_t i, bool literal)
{
	const struct use *use = &run->uses[i];
	bool is_anew = false;
	char *glob = NULL;
	int r = anew_path(run, use, literal, &glob, &is_anew);

	return r ? r : rows_add(rows, glob, is_anew ? ROW_ANEW : ROW_NAME, use->perms, i);
}

static bool allows_too_much(const struct row *row)
{
	size_t most = ROWS_FACTOR * row->nuses;

	return row->kind == ROW_ANEW && files_matching(row->glob, most) > most;
}

static int unmake_pattern(struct rows *rows, struct run *run, size_t i)
{
	size_t n = rows->items[i].nuses;
	int r = 0;

	rows->items[i].merged = true;
	for (size_t j = 0; r == 0 && j < n; j++) {
		size_t use = rows->items[i].uses[j];

		r = run_remark_use(run, REMARK_PATTERN, &run->uses[use], run->uses[use].perms);
		if (r == 0)
			r = add_use(rows, run, use, true);
	}
	return r;
}

int rows_fill(struct rows *rows, struct run *run, const bool *wanted)
{
	size_t n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < run->nuses; i++)
		if (wanted[i])
			r = add_use(rows, run, i, false);
	n = rows->n;
	for (size_t i = 0; r == 0 && i < n; i++)
		if (allows_too_much(&rows->items[i]))
			r = unmake_pattern(rows, run, i);
	return r;
}
