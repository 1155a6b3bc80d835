// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tables in the kernel: equal ones stand once, and all of them have a bound. */
#include "harness.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Maps of that name on the host: every table is one. -1 when they cannot be counted. */
static int count_tables(void)
{
	__u32 id = 0, size;
	int n = 0;

	while (bpf_map_get_next_id(id, &id) == 0) {
		_cleanup_close_ int fd = bpf_map_get_fd_by_id(id);
		struct bpf_map_info info = {};

		size = sizeof(info);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
			return -1;
		n += strcmp(info.name, "bh_table") == 0;
	}
	return n;
}

static int case_shared(struct kern *kern)
{
	static struct rule rules[] = {
		{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)FIXTURE "/open/**"},
		{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)FIXTURE "/work/**"}};
	const struct cell_options two = {.rules = rules, .nrules = 2},
				  one = {.rules = rules, .nrules = 1};
	_cleanup_cell_ struct cell *first = cell_new(kern, &two);
	int before = count_tables();
	_cleanup_cell_ struct cell *second = cell_new(kern, &two);
	int shared = count_tables();
	_cleanup_cell_ struct cell *other = cell_new(kern, &one);
	int after = count_tables();

	CHECK(first && second && other, "no cell");
	CHECK(before > 0 && shared == before, "%d tables became %d", before, shared);
	CHECK(after == before + 1, "another policy: %d tables, not %d", after, before + 1);
	/* The table stays while somebody uses it. */
	CHECK(kern_policy_remove(kern, first->generation) == 0, "cannot remove the generation");
	first->generation = 0;
	CHECK(cell_verb(second, INSIDE, "read", FIXTURE_OPEN, NULL) == 0,
	      "the other lost its table");
	CHECK(cell_verb(second, INSIDE, "read", FIXTURE_SECRET, NULL) == EACCES,
	      "it refuses nothing");
	return 0;
}

#define BIG (BH_MAX_TABLE_WORDS / BH_PAGE_WORDS) /* pages of the largest table */

/* Installs tables of the largest size, each another, until there is no room: how many. */
static int fill_host(struct kern *kern, __u32 *generations, __u32 max, struct error *error)
{
	struct automaton a = {.head = {.nclasses = 2, .nwords = BH_MAX_TABLE_WORDS}};
	__u32 n;
	int r = 0;

	a.words = calloc(BH_MAX_TABLE_WORDS, sizeof(*a.words));
	if (!a.words)
		return -ENOMEM;
	for (n = 0; n < max && r == 0; n += r == 0) {
		a.words[0] = n;
		r = kern_policy_install(kern, &a, &generations[n], error);
	}
	free(a.words);
	return r == -ENOSPC ? (int)n : r;
}

static int case_host_bound(struct kern *kern)
{
	__u32 generations[BH_MAX_HOST_PAGES / BIG + 1];
	struct error error = {};
	int i, n;

	n = fill_host(kern, generations, BH_MAX_HOST_PAGES / BIG + 1, &error);
	for (i = 0; i < n; i++)
		kern_policy_remove(kern, generations[i]);
	CHECK(n == BH_MAX_HOST_PAGES / BIG || n == BH_MAX_HOST_PAGES / BIG - 1,
	      "%d of the largest tables found room: %s", n, error.text);
	CHECK(strstr(error.text, "256 MiB"), "the error does not say the bound: %s", error.text);
	return 0;
}

const struct test_case table_cases[] = {
	{"table/shared", case_shared, CASE_REFUSES},
	{"table/host-bound", case_host_bound, CASE_ALLOWS},
	{},
};
