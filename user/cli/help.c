// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>
#include "options.h"

static void print_usage(const struct command *command, FILE *to)
{
	fprintf(to, "bulkhead %s", command->name);
	if (*command->words)
		fprintf(to, " %s", command->words);
	for (size_t i = 0; i < COMMAND_MAX_OPTIONS && command->options[i]; i++) {
		const struct option_row *option = command->options[i];

		fprintf(to, " [--%s%s%s]%s", option->name, option->value ? " " : "",
			option->value ?: "", option->kind == OPTION_LIST ? "..." : "");
	}
	if (command->takes_command)
		fputs(" -- COMMAND...", to);
	fputc('\n', to);
}

void help_command(const struct command *command, FILE *to)
{
	char name[32];

	fputs("usage: ", to);
	print_usage(command, to);
	fprintf(to, "\n%s.\n", command->summary);
	if (command->options[0])
		fputc('\n', to);
	for (size_t i = 0; i < COMMAND_MAX_OPTIONS && command->options[i]; i++) {
		const struct option_row *option = command->options[i];

		snprintf(name, sizeof(name), "--%s%s%s", option->name, option->value ? " " : "",
			 option->value ?: "");
		fprintf(to, "  %-20s %s\n", name, option->help);
	}
}

void help_all(FILE *to)
{
	fputs("usage: bulkhead COMMAND [ARGUMENT]...\n\n"
	      "Confines programs that already run, and everything they start, by their cgroup.\n\n",
	      to);
	for (const struct command *c = commands; c->name; c++)
		if (!c->hidden)
			fprintf(to, "  %-9s %s\n", c->name, c->summary);
	fputs("\nbulkhead help COMMAND tells more. Exit status: 0 done, 1 refused or failed, 2 "
	      "wrong "
	      "usage;\nof doctor, explain, learn and run: see bulkhead(8).\n",
	      to);
}
