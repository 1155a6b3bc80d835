// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <string.h>
#include "cli.h"

const char *text_of(const json_t *object, const char *field)
{
	return json_string_value(json_object_get(object, field)) ?: "";
}

static void number_text(const json_t *object, const char *field, char buffer[24])
{
	snprintf(buffer, 24, "%lld", (long long)json_integer_value(json_object_get(object, field)));
}

void show_report(const json_t *reply, FILE *to)
{
	const json_t *line;
	size_t i;

	json_array_foreach (json_object_get(reply, "report"), i, line)
		fprintf(to, "note: %s\n", json_string_value(line) ?: "");
}

/* While somebody has it open. */
static void show_revoked(const json_t *c)
{
	const json_t *revoked = json_object_get(c, "revoked"), *line;
	json_int_t open = json_integer_value(json_object_get(revoked, "open"));
	size_t i;

	if (!open)
		return;
	printf("%s (%lld) may not use %lld open file%s that it held:\n", text_of(c, "name"),
	       (long long)json_integer_value(json_object_get(c, "id")), (long long)open,
	       plural((unsigned long long)open));
	json_array_foreach (json_object_get(revoked, "held"), i, line)
		printf("  %s\n", json_string_value(line) ?: "");
}

/* Of a policy of many: bulkhead check has all, --json those that are recorded. */
#define AUTHORITY_SHOWN 6

static void show_authority(const json_t *c)
{
	const json_t *authority = json_object_get(c, "shell_authority"), *program;
	const json_t *programs = json_object_get(authority, "programs");
	size_t i, n = json_array_size(programs), shown = n < AUTHORITY_SHOWN ? n : AUTHORITY_SHOWN;
	json_int_t more = json_integer_value(json_object_get(authority, "more"));

	/* An older agent's record has none. What is released is nobody's authority. */
	if (!json_is_object(authority) || !strcmp(text_of(c, "state"), "released") ||
	    !strcmp(text_of(c, "state"), "gone"))
		return;
	printf("%s (%lld): ", text_of(c, "name"),
	       (long long)json_integer_value(json_object_get(c, "id")));
	fputs(n || more ? "shell authority: " : "no interpreter may be run: no shell authority",
	      stdout);
	for (i = 0; i < shown; i++) {
		program = json_array_get(programs, i);
		printf("%s%s (%s)", i ? ", " : "", text_of(program, "path"),
		       text_of(program, "what"));
	}
	more += (json_int_t)(n - shown);
	if (more)
		printf("%s%lld more", shown ? ", and " : "", (long long)more);
	putchar('\n');
}

void show_compartments(const json_t *array)
{
	static const char *const titles[] = {"ID",	  "NAME",    "STATE",	  "MODE",
					     "PROCESSES", "REFUSED", "UNDECIDED", "QUIET",
					     "FOLDED",	  "LOST",    "WHERE"};
	_cleanup_(cleanup_table_free) struct table *table =
		table_new(sizeof(titles) / sizeof(titles[0]), titles);
	const json_t *c;
	size_t i;

	if (!table)
		return;
	json_array_foreach (array, i, c) {
		const json_t *tally = json_object_get(c, "tally");
		char id[24], processes[24], refused[24], unsure[24], quiet[24], folded[24],
			lost[24];
		const char *unit = text_of(c, "unit");
		const char *cells[] = {id,
				       text_of(c, "name"),
				       text_of(c, "state"),
				       text_of(c, "mode"),
				       processes,
				       refused,
				       unsure,
				       quiet,
				       folded,
				       lost,
				       *unit ? unit : text_of(c, "cgroup")};

		number_text(c, "id", id);
		number_text(c, "processes", processes);
		number_text(tally, "refused", refused);
		number_text(tally, "unsure", unsure);
		number_text(tally, "quiet", quiet);
		number_text(tally, "folded", folded);
		number_text(tally, "lost", lost);
		table_row(table, cells);
	}
	table_print(table, stdout);
	json_array_foreach (array, i, c) {
		show_way_out(c);
		show_dropped(c);
	}
	json_array_foreach (array, i, c)
		show_authority(c);
	json_array_foreach (array, i, c)
		show_revoked(c);
}

void show_vectors(const json_t *vectors, FILE *to)
{
	static const char *const titles[] = {"NOT CLOSED YET", "A CONFINED PROGRAM CAN STILL",
					     "WHAT LIMITS IT"};
	_cleanup_(cleanup_table_free) struct table *table = table_new(3, titles);
	const json_t *v;
	size_t i;

	if (!table)
		return;
	json_array_foreach (vectors, i, v) {
		const char *cells[] = {text_of(v, "name"), text_of(v, "open"),
				       text_of(v, "instead")};

		table_row(table, cells);
	}
	table_print(table, to);
}

int show_json(const json_t *object)
{
	if (json_dumpf(object, stdout, JSON_INDENT(2)) || putchar('\n') == EOF || fflush(stdout))
		return -EIO;
	return 0;
}
