// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead check: needs no root and no agent. Tables are compiled too, for no mounts: which rules are
 * too much for one does not depend on those. */
#include <errno.h>
#include "audit/names.h"
#include <string.h>
#include "audit/escape.h"
#include "cli.h"
#include "compart/policies.h"
#include "egress/book.h"
#include "policy/authority.h"

DEFINE_CLEANUP(struct policy *, policy_free)

/* Columns of a line, where words allow it. */
#define WIDTH 100
#define INDENT "      "

/* Puts `word` behind what stands in the line, or into the next one. */
static void put_word(size_t *column, const char *word)
{
	size_t length = strlen(word);

	if (*column && *column + 1 + length > WIDTH) {
		fputs("\n" INDENT, stdout);
		*column = strlen(INDENT);
	} else if (*column) {
		putchar(' ');
		++*column;
	}
	fputs(word, stdout);
	*column += length;
}

static bool is_same_place(const struct place *a, const struct place *b)
{
	return a->file == b->file && a->line == b->line;
}

/* "/usr/bin/dash (shell),", the comma if another one stands on the line of the policy. */
static int put_program(size_t *column, const struct authority *item, bool is_last)
{
	_cleanup_free_ char *path = escape_line(item->path), *word = NULL;

	if (!path || asprintf(&word, "%s (%s)%s", path, item->what, is_last ? "" : ",") < 0)
		return -ENOMEM;
	put_word(column, word);
	return 0;
}

/* Items of one line of a policy, from the i-th on. *i: the first of the next line. */
static int put_place(const struct authorities *found, size_t *i)
{
	const struct place *place = &found->items[*i].rule->place;
	_cleanup_free_ char *file = escape_line(place->file);
	size_t column;
	bool is_last = false;
	int r = 0;

	if (!file)
		return -ENOMEM;
	column = (size_t)printf("    %s:%u:", file, place->line);
	for (; r == 0 && !is_last; ++*i) {
		is_last = *i + 1 == found->n ||
			  !is_same_place(place, &found->items[*i + 1].rule->place);
		r = put_program(&column, &found->items[*i], is_last);
	}
	putchar('\n');
	return r;
}

/* Disclosed, never refused: whoever may run one of these can do all that the rules allow. */
static int show_authority(const struct policy *policy, struct error *error)
{
	_cleanup_(authorities_done) struct authorities found = {0};
	int r = authorities_find(policy, &found);

	if (r == 0)
		puts(found.n ? "  shell authority: these run what they are given"
			     : "  no interpreter may be run: no shell authority");
	for (size_t i = 0; r == 0 && i < found.n;)
		r = put_place(&found, &i);
	return r ? error_set(error, ENOMEM, "out of memory") : 0;
}

static void show_destination(const struct policy_destination *destination)
{
	char to[DESTINATION_TEXT_SIZE];

	destination_format(&destination->to, to);
	show_terms(to, destination->discloses, destination->max_upload, destination->tls);
}

/* Disclosed, too: what leaves the host, to whom and how much of it. */
static void show_destinations(const struct policy *policy)
{
	if (policy->mode == BH_MODE_AUDIT)
		puts("  egress, which mode audit reports and does not bound:");
	else
		puts("  egress: these may be reached, and be sent");
	for (size_t i = 0; i < policy->negress; i++)
		show_destination(&policy->egress[i]);
	if (policy->proxy)
		puts("  proxy: by " BOOK_PROXY ", too, port 3128 (CONNECT) or 1080 (SOCKS5)");
}

/* And who may come in. */
static void show_ports(const struct policy *policy)
{
	char text[LISTEN_TEXT_SIZE];
	size_t column;

	if (policy->mode == BH_MODE_AUDIT)
		puts("  listen, which mode audit reports and does not bound:");
	else
		puts("  listen: members may, and whoever reaches them may connect to");
	column = (size_t)printf("   ");
	for (size_t i = 0; i < policy->nlisten; i++) {
		listen_format(&policy->listen[i].at, text);
		put_word(&column, text);
	}
	putchar('\n');
}

static void show_network(const struct policy *policy)
{
	if (policy->loopback)
		puts("  loopback: members may listen there, and connect to each other");
	else if (!policy->negress && !policy->nlisten)
		puts("  network: none");
	if (policy->nlisten)
		show_ports(policy);
	if (policy->negress)
		show_destinations(policy);
}

/* What `bulkhead run` gives a command; of what is attached the service manager has its own. */
static void show_limits(const struct policy *policy)
{
	char text[LIMIT_TEXT_SIZE];

	fputs("  limits of a run:", stdout);
	for (int i = 0; i < LIMITS; i++)
		printf("%s %s %s", i ? "," : "", limit_rows[i].key,
		       limit_format((enum limit)i, policy->limits[i], text));
	putchar('\n');
}

static int check_one(const char *path, const struct policy_options *options, struct error *error)
{
	_cleanup_(cleanup_policy_free) struct policy *policy = NULL;
	_cleanup_(automaton_done) struct automaton automaton = {};
	int r = policy_load(path, options, &policy, error);

	if (r == 0)
		r = automaton_compile(policy->rules, policy->nrules, NULL, 0, &automaton, error);
	if (r)
		return r;
	printf("%s: policy %s, mode %s, %zu rule%s from %zu file%s, a table of %zu KiB\n", path,
	       policy->name, mode_name(policy->mode), policy->nrules, plural(policy->nrules),
	       policy->nfiles, plural(policy->nfiles),
	       (automaton.head.nwords * sizeof(*automaton.words) + 1023) / 1024);
	r = show_authority(policy, error);
	if (r == 0) {
		show_network(policy);
		show_limits(policy);
	}
	return r;
}

int cmd_check(const struct arguments *arguments, struct error *error _unused_)
{
	const struct policy_options options = {.include_dir = policies_dir(),
					       .vars = arguments->vars};
	size_t bad = 0;

	for (size_t i = 0; i < arguments->nwords; i++) {
		struct error one = {0};

		if (check_one(arguments->words[i], &options, &one) == 0)
			continue;
		bad++;
		log_error("check: %s", one.text);
	}
	return bad ? 1 : 0;
}
