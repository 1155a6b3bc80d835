// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A rename or hard link is refused when the new name has rights that the old one has not: what is written
 * under a temporary name needs whatever is done with the file later. And what may be written does not run, but
 * by a rule that says so.
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "anew.h"
#include "base/cleanup.h"
#include "files.h"
#include "policy/grow.h"

/* Chains of renames in one run are short; each round follows one. */
#define CLOSURE_ROUNDS 16

struct together {
	struct rule *items;
	size_t n, size;
};

static int add_rule(struct together *all, struct rule rule)
{
	if (grow(&all->items, &all->size, all->n + 1) < 0)
		return -ENOMEM;
	if (rule.perms & BH_PERM_WRITE)
		rule.perms |= BH_PERM_APPEND;
	if (rule.perms & (BH_PERM_EXEC | BH_PERM_JIT))
		rule.perms |= BH_PERM_EXEC | BH_PERM_MAP_EXEC | BH_PERM_READ;
	all->items[all->n++] = rule;
	return 0;
}

static int add_policy(struct together *all, const struct policy *policy)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < policy->nrules; i++)
		r = add_rule(all, policy->rules[i]);
	return r;
}

static int gather(const struct proposal *p, struct together *all)
{
	int r = add_policy(all, p->base);

	if (r == 0)
		r = add_policy(all, p->credentials);
	for (size_t i = 0; r == 0 && i < p->includes.n; i++)
		if (p->includes.items[i].taken)
			r = add_policy(all, p->includes.items[i].rules);
	for (size_t i = 0; r == 0 && i < p->rows.n; i++) {
		const struct row *row = &p->rows.items[i];

		if (!row->merged)
			r = add_rule(all, (struct rule){.effect = RULE_ALLOW,
							.perms = row->perms,
							.glob = row->glob});
	}
	return r;
}

static uint32_t allowed(const struct automaton *automaton, const char *path)
{
	struct bh_masks masks = {0};

	automaton_walk(automaton, 0, path, strlen(path), &masks);
	return masks.allow & BH_PERM_ALL;
}

/* The row that names this use, or a new one. */
static int widen(struct proposal *p, size_t use, uint32_t perms)
{
	bool is_anew;
	char *glob;
	int r;

	for (size_t i = 0; i < p->rows.n; i++) {
		struct row *row = &p->rows.items[i];

		for (size_t j = 0; !row->merged && j < row->nuses; j++) {
			if (row->uses[j] != use)
				continue;
			row->perms |= perms;
			return 0;
		}
	}
	r = anew_path(&p->run, &p->run.uses[use], false, &glob, &is_anew);
	return r ? r : rows_add(&p->rows, glob, is_anew ? ROW_ANEW : ROW_NAME, perms, use);
}

/* 1: something was added. */
static int close_one(struct proposal *p, const struct automaton *automaton,
		     const struct rename *rename)
{
	const struct use *old = &p->run.uses[rename->old], *new = &p->run.uses[rename->new];
	uint32_t missing = allowed(automaton, new->path) & ~allowed(automaton, old->path);
	int r;

	if (!missing || p->left[rename->old] || p->left[rename->new])
		return 0;
	r = widen(p, rename->old, missing | (missing & RIGHTS_TO_RUN ? BH_RULE_WRITTEN_INSIDE : 0));
	return r ? r : 1;
}

/* What the rules let be written and the run ran, or loaded, needs a rule of programs that says so. 1:
 * something was added. */
static int close_written(struct proposal *p, const struct automaton *automaton, size_t i)
{
	const struct use *use = &p->run.uses[i];
	uint32_t allow = allowed(automaton, use->path);
	uint32_t missing = use->perms & RIGHTS_TO_RUN & ~allow;
	int r;

	if (!missing || p->left[i] || !(allow & RIGHTS_TO_CHANGE))
		return 0;
	if (missing == BH_PERM_INTERP && allow & BH_PERM_EXEC)
		return 0;
	r = widen(p, i, missing | BH_PERM_EXEC | BH_RULE_WRITTEN_INSIDE);
	return r ? r : 1;
}

static int compile(const struct proposal *p, struct automaton *ret, struct error *error)
{
	struct together all = {0};
	int r = gather(p, &all);

	if (r == 0)
		r = automaton_compile(all.items, all.n, NULL, 0, ret, error);
	free(all.items);
	return r;
}

static int close_round(struct proposal *p, struct error *error)
{
	_cleanup_(automaton_done) struct automaton automaton = {0};
	int r = compile(p, &automaton, error), more = 0;

	for (size_t i = 0; r >= 0 && i < p->run.nrenames; i++) {
		r = close_one(p, &automaton, &p->run.renames[i]);
		more |= r > 0;
	}
	for (size_t i = 0; r >= 0 && i < p->run.nuses; i++) {
		r = close_written(p, &automaton, i);
		more |= r > 0;
	}
	return r < 0 ? r : more;
}

static const struct row *tree_over(const struct proposal *p, const char *path)
{
	for (size_t i = 0; i < p->rows.n; i++)
		if (p->rows.items[i].kind == ROW_TREE &&
		    glob_match(p->rows.items[i].glob, path, strlen(path)))
			return &p->rows.items[i];
	return NULL;
}

/* Of a directory the rules have to go on alike from both names. */
static int remark_directories(struct proposal *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->run.nrenames; i++) {
		const struct use *old = &p->run.uses[p->run.renames[i].old];
		const struct use *new = &p->run.uses[p->run.renames[i].new];
		const struct row *tree = tree_over(p, new->path);

		if (file_is_directory(new->path) && (!tree || tree != tree_over(p, old->path)))
			r = run_remark_use(&p->run, REMARK_DIRECTORY, new, new->perms);
	}
	return r;
}

/* --- links: any name that can have been the old one must have the rights of the new one --- */

struct inode {
	bool exists;
	dev_t dev;
	ino_t ino;
	nlink_t names;
};

static struct inode *read_inodes(const struct run *run)
{
	struct inode *inodes = calloc(run->nuses + 1, sizeof(*inodes));
	struct stat st;

	for (size_t i = 0; inodes && i < run->nuses; i++)
		if (lstat(run->uses[i].path, &st) == 0)
			inodes[i] = (struct inode){true, st.st_dev, st.st_ino, st.st_nlink};
	return inodes;
}

static bool is_same(const struct inode *a, const struct inode *b)
{
	return a->exists && b->exists && a->dev == b->dev && a->ino == b->ino;
}

/* It was a name that this file has now, or one that the run took away. */
static bool is_safe_link(const struct proposal *p, const struct automaton *automaton,
			 const struct inode *inodes, size_t new)
{
	uint32_t needs = allowed(automaton, p->run.uses[new].path);
	nlink_t found = 1;

	for (size_t i = 0; i < p->run.nuses; i++) {
		const struct use *use = &p->run.uses[i];
		bool gone = use->perms & BH_PERM_DELETE && !inodes[i].exists;
		bool same = is_same(&inodes[i], &inodes[new]);

		if (i == new || (!gone && !same))
			continue;
		found += same;
		if (needs & ~allowed(automaton, use->path))
			return false;
	}
	return !inodes[new].exists || inodes[new].names <= found;
}

static int remark_links(struct proposal *p, struct error *error)
{
	_cleanup_(automaton_done) struct automaton automaton = {0};
	_cleanup_free_ struct inode *inodes = read_inodes(&p->run);
	int r = inodes ? compile(p, &automaton, error) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < p->run.nuses; i++) {
		const struct use *use = &p->run.uses[i];

		if (use->is_linked && !p->left[i] && !is_safe_link(p, &automaton, inodes, i))
			r = run_remark_use(&p->run, REMARK_RENAME, use,
					   BH_PERM_LINK | BH_PERM_CREATE);
	}
	return r;
}

static bool has_links(const struct run *run)
{
	for (size_t i = 0; i < run->nuses; i++)
		if (run->uses[i].is_linked)
			return true;
	return false;
}

int proposal_close(struct proposal *p, struct error *error)
{
	int r = 1;

	for (int i = 0; r > 0 && i < CLOSURE_ROUNDS; i++)
		r = close_round(p, error);
	if (r >= 0)
		r = remark_directories(p);
	return r == 0 && has_links(&p->run) ? remark_links(p, error) : r;
}
