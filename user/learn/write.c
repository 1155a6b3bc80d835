// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A proposal as text: each rule under the reason for it, in an order that the run's does not change. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "audit/names.h"
#include "base/cleanup.h"
#include "policy/rewrite.h"

/* Names told of a row that stands for many. */
#define EXAMPLES 2
/* What an exec row gives. */
#define EXEC_PERMS (BH_PERM_EXEC | BH_PERM_MAP_EXEC | BH_PERM_READ)
#define OF_PROGRAMS (BH_PERM_EXEC | BH_PERM_JIT)

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* --- the reason of a row --- */

struct reason {
	size_t times;
	uint64_t hooks;
	const char *programs[USE_MAX_PROGRAMS + 1];
	size_t nprograms;
	bool others, made, links;
	const char **names;
	size_t nnames;
};

static void add_program(struct reason *reason, const char *program)
{
	for (size_t i = 0; i < reason->nprograms; i++)
		if (!strcmp(reason->programs[i], program))
			return;
	if (reason->nprograms == USE_MAX_PROGRAMS)
		reason->others = true;
	else
		reason->programs[reason->nprograms++] = program;
}

static void add_use(struct reason *reason, const struct use *use)
{
	reason->times += use->times;
	reason->hooks |= use->hooks;
	reason->others |= use->others;
	reason->links |= use->old_link;
	reason->made |= use->perms & (BH_PERM_CREATE | BH_PERM_WRITE | BH_PERM_APPEND);
	for (size_t i = 0; i < USE_MAX_PROGRAMS && use->programs[i]; i++)
		add_program(reason, use->programs[i]);
	reason->names[reason->nnames++] = use->path;
}

static int read_reason(const struct run *run, const struct row *row, struct reason *ret)
{
	ret->names = calloc(row->nuses + 1, sizeof(*ret->names));
	if (!ret->names)
		return -ENOMEM;
	for (size_t i = 0; i < row->nuses; i++)
		add_use(ret, &run->uses[row->uses[i]]);
	qsort(ret->names, ret->nnames, sizeof(*ret->names), by_name);
	qsort(ret->programs, ret->nprograms, sizeof(*ret->programs), by_name);
	return 0;
}

static void reason_done(struct reason *reason)
{
	free(reason->names);
}

static void put_hooks(FILE *to, uint64_t hooks)
{
	const char *between = " (";

	for (unsigned int hook = 0; hook < BH_HOOK_COUNT; hook++) {
		if (!(hooks >> hook & 1))
			continue;
		fprintf(to, "%s%s", between, hook_name(hook));
		between = ", ";
	}
	fputs(hooks ? ")" : "", to);
}

static void put_who(FILE *to, const struct reason *reason)
{
	put_times(to, reason->times);
	for (size_t i = 0; i < reason->nprograms; i++) {
		fputs(i ? ", " : " by ", to);
		put_bytes(to, reason->programs[i]);
	}
	fputs(reason->others ? " and others" : "", to);
	put_hooks(to, reason->hooks);
}

/* Columns: what is said in front of the names. */
static const char *const kind_words[] = {
	[ROW_NAME] = NULL,
	[ROW_ANEW] = "made anew each run",
	[ROW_TREE] = "all that is in this directory was used",
};

static void put_kind(FILE *to, const char *indent, const struct row *row,
		     const struct reason *reason)
{
	if (!kind_words[row->kind])
		return;
	fprintf(to, "%s# %s: ", indent, kind_words[row->kind]);
	for (size_t i = 0; i < reason->nnames && i < EXAMPLES; i++) {
		fputs(i ? ", " : "", to);
		put_bytes(to, reason->names[i]);
	}
	if (reason->nnames > EXAMPLES)
		fprintf(to, " and %zu more", reason->nnames - EXAMPLES);
	putc('\n', to);
}

static void put_reason(FILE *to, const char *indent, const struct row *row,
		       const struct reason *reason)
{
	fprintf(to, "%s# ", indent);
	put_who(to, reason);
	putc('\n', to);
	put_kind(to, indent, row, reason);
	if (row->perms & OF_PROGRAMS && reason->made)
		fprintf(to, "%s# the run wrote it itself: who writes it decides what runs\n",
			indent);
}

/* --- rows --- */

/* A rule of a whole name means its links too. */
static const char *links_word(const struct row *row)
{
	return row->links && row->kind != ROW_NAME ? ", hardlinks: allow" : "";
}

static void put_file_row(FILE *to, const struct row *row)
{
	uint32_t perms = row->perms & ~(uint32_t)(OF_PROGRAMS | BH_PERM_CONNECT);
	char rights[128];

	if (row->perms & OF_PROGRAMS)
		perms &= ~(uint32_t)(EXEC_PERMS | BH_PERM_INTERP);
	if (perms & BH_PERM_WRITE)
		perms &= ~(uint32_t)BH_PERM_APPEND;
	perms_to_text(perms, rights, sizeof(rights));
	fputs("  - {allow: [", to);
	for (const char *p = rights; *p; p++)
		fputs(*p == ',' ? ", " : (char[2]){*p, '\0'}, to);
	fputs("], on: [", to);
	yaml_word(row->glob, to);
	fprintf(to, "]%s}\n", links_word(row));
}

static void put_exec_row(FILE *to, const struct row *row)
{
	fputs("  - {on: [", to);
	yaml_word(row->glob, to);
	fprintf(to, "]%s%s%s}\n", row->perms & BH_PERM_JIT ? ", jit: true" : "",
		row->perms & BH_RULE_WRITTEN_INSIDE ? ", written-inside: true" : "",
		links_word(row));
}

static void put_connect_row(FILE *to, const struct row *row)
{
	fputs("    - ", to);
	yaml_word(row->glob, to);
	putc('\n', to);
}

static bool is_of_files(uint32_t perms)
{
	uint32_t more = perms & BH_PERM_ALL & ~(uint32_t)(OF_PROGRAMS | BH_PERM_CONNECT);

	if (perms & OF_PROGRAMS)
		more &= ~(uint32_t)(EXEC_PERMS | BH_PERM_INTERP);
	return more;
}

static bool is_of_programs(uint32_t perms)
{
	return perms & OF_PROGRAMS;
}

static bool is_of_sockets(uint32_t perms)
{
	return perms & BH_PERM_CONNECT;
}

struct section {
	bool (*has)(uint32_t perms);
	void (*put)(FILE *to, const struct row *row);
	const char *indent;
};

static const struct section files = {is_of_files, put_file_row, "  "};
static const struct section programs = {is_of_programs, put_exec_row, "  "};
static const struct section sockets = {is_of_sockets, put_connect_row, "    "};

static int by_glob(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->glob, ((const struct row *)b)->glob);
}

/* NULL in *ret when it has no rows. */
static int write_section(const struct proposal *p, const struct section *section, char **ret)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0, n = 0;
	FILE *to = open_memstream(&text, &size);
	int r = to ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < p->rows.n; i++) {
		struct row *row = &p->rows.items[i];
		_cleanup_(reason_done) struct reason reason = {0};

		if (row->merged || !section->has(row->perms))
			continue;
		r = read_reason(&p->run, row, &reason);
		if (r < 0)
			break;
		row->links = reason.links;
		put_reason(to, section->indent, row, &reason);
		section->put(to, row);
		n++;
	}
	if (to && fclose(to))
		r = -ENOMEM;
	*ret = r == 0 && n ? TAKE_PTR(text) : NULL;
	return r;
}

/* --- the whole --- */

struct blocks {
	char *head, *files, *exec, *connect;
	const char **includes;
};

static void blocks_done(struct blocks *blocks)
{
	free(blocks->head);
	free(blocks->files);
	free(blocks->exec);
	free(blocks->connect);
	free(blocks->includes);
}

static int list_includes(const struct proposal *p, struct blocks *blocks)
{
	size_t n = 0;

	blocks->includes = calloc(p->includes.n + 2, sizeof(*blocks->includes));
	if (!blocks->includes)
		return -ENOMEM;
	for (size_t i = 0; i < p->includes.n; i++)
		if (p->includes.items[i].taken)
			blocks->includes[n++] = p->includes.items[i].name;
	blocks->includes[n] = LEARN_CREDENTIALS;
	return 0;
}

static int write_blocks(struct proposal *p, struct blocks *blocks)
{
	int r;

	if (p->rows.n)
		qsort(p->rows.items, p->rows.n, sizeof(*p->rows.items), by_glob);
	r = proposal_head(p, &blocks->head);
	if (r == 0)
		r = write_section(p, &files, &blocks->files);
	if (r == 0)
		r = write_section(p, &programs, &blocks->exec);
	if (r == 0)
		r = write_section(p, &sockets, &blocks->connect);
	return r ? r : list_includes(p, blocks);
}

int proposal_write(struct proposal *p, char **ret, struct error *error)
{
	_cleanup_(blocks_done) struct blocks blocks = {0};
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *to;
	int r = write_blocks(p, &blocks);
	const struct rewrite rewrite = {
		.head = blocks.head,
		.mode = p->lacking ? "audit" : "enforce",
		.proc = p->run.proc_self ? "# it looked at its own /proc/PID\nproc: self\n" : NULL,
		.includes = blocks.includes,
		.files = blocks.files,
		.exec = blocks.exec,
		.connect = blocks.connect,
	};

	to = r == 0 ? open_memstream(&text, &size) : NULL;
	if (!to)
		return error_set(error, ENOMEM, "out of memory");
	r = policy_rewrite(p->request->policy, &rewrite, to, error);
	if (fclose(to) && r == 0)
		r = error_set(error, ENOMEM, "out of memory");
	if (r == 0)
		*ret = TAKE_PTR(text);
	return r;
}
