// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a person has to know before the rules: what they are of, what is missing, what was left out. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "audit/escape.h"
#include "base/cleanup.h"

void put_bytes(FILE *to, const char *bytes)
{
	_cleanup_free_ char *escaped = escape_bytes(bytes, strlen(bytes));

	fputs(escaped ? escaped : "?", to);
}

void put_times(FILE *to, size_t times)
{
	if (times == 1)
		fputs("once", to);
	else
		fprintf(to, "%zu times", times);
}

static void put_lacks(const struct proposal *p, FILE *to)
{
	const struct chosen *chosen = &p->chosen;

	if (!p->lacking) {
		fputs("# Complete: none of its events was lost.\n", to);
		return;
	}
	fputs("# INCOMPLETE, so its mode stays audit: run the workload again under it.\n", to);
	if (chosen->lost)
		fprintf(to,
			"#   %zu of its events were lost: what they would have shown is missing\n",
			chosen->lost);
	if (chosen->unowned)
		fprintf(to, "#   %zu records were lost on their way, whoever they were about\n",
			chosen->unowned);
	if (p->run.enforced)
		fprintf(to,
			"#   %zu of its events were refusals: the workload may not have gone on\n",
			p->run.enforced);
	for (size_t i = 0; i < p->run.nremarks; i++)
		if (remark_is_lack(p->run.remarks[i].kind)) {
			fputs("#   the run needs more than rules could be made of: see below\n",
			      to);
			return;
		}
}

static void put_figures(const struct proposal *p, FILE *to)
{
	fprintf(to,
		"# %zu rule%s for %zu file%s that the run used and that %s; with includes added "
		"here they allow %zu that are there now.\n",
		p->count, plural(p->count), p->used, plural(p->used),
		p->used == 1 ? "is there now" : "are there now", p->allowed);
	if (p->chosen.earlier)
		fprintf(to, "# %zu events of earlier runs are left out.\n", p->chosen.earlier);
	fputs("# " LEARN_CREDENTIALS " is included: what it denies stays refused, whatever is "
	      "allowed.\n",
	      to);
}

/* As the audit run needed it. */
static void put_existing(const struct proposal *p, FILE *to)
{
	for (int kind = 0; kind < EXISTING_KINDS; kind++) {
		if (p->base->existing[kind] != EXISTING_REPORT)
			continue;
		fputs("# What processes hold when it is attached is reported, not refused: for "
		      "that, write\n"
		      "#   existing: {default: refuse, keep: [stdio, journal, notify]}\n",
		      to);
		return;
	}
}

static void put_includes(const struct proposal *p, FILE *to)
{
	for (size_t i = 0; i < p->includes.n; i++) {
		const struct include *include = &p->includes.items[i];

		if (include->taken)
			fprintf(to,
				"# %s is included: it covers %zu of the names used, and allows %zu "
				"files that are there now.\n",
				include->name, include->covers, include->allows);
		else
			fprintf(to,
				"# %s would cover %zu of the names used and allow more than %d "
				"times "
				"as many files: to have it,\n#   write it under include: and learn "
				"again.\n",
				include->name, include->covers, ROWS_FACTOR);
	}
}

static void put_remarks(const struct proposal *p, FILE *to)
{
	const struct run *run = &p->run;

	for (int kind = 0; kind < REMARK_COUNT; kind++) {
		bool headed = false;

		for (size_t i = 0; i < run->nremarks; i++) {
			const struct remark *remark = &run->remarks[i];

			if ((int)remark->kind != kind)
				continue;
			if (!headed)
				fprintf(to, "#\n# NOT PROPOSED. %s:\n",
					remark_heading(remark->kind));
			headed = true;
			fprintf(to, "#   %s  (", remark->text);
			put_times(to, remark->times);
			fputs(remark->program ? " by " : "", to);
			put_bytes(to, remark->program ? remark->program : "");
			fputs(")\n", to);
		}
	}
}

static int by_remark(const void *a, const void *b)
{
	return strcmp(((const struct remark *)a)->text, ((const struct remark *)b)->text);
}

int proposal_head(struct proposal *p, char **ret)
{
	size_t size = 0;
	FILE *to = open_memstream(ret, &size);

	if (!to)
		return -ENOMEM;
	if (p->run.nremarks)
		qsort(p->run.remarks, p->run.nremarks, sizeof(*p->run.remarks), by_remark);
	fputs("# Proposed by bulkhead learn for compartment ", to);
	put_bytes(to, p->chosen.items[0]->name);
	fprintf(to, ", from %zu events under ", p->chosen.n);
	put_bytes(to, p->request->policy);
	fputs(",\n# whose own rules come first; its comments are not carried over.\n", to);
	put_lacks(p, to);
	put_figures(p, to);
	put_existing(p, to);
	put_includes(p, to);
	put_remarks(p, to);
	return fclose(to) ? -ENOMEM : 0;
}
