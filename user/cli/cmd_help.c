// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead help, bulkhead version. */
#include <errno.h>
#include "base/version.h"
#include "cli.h"

int cmd_version(const struct arguments *arguments _unused_, struct error *error _unused_)
{
	puts("bulkhead " BULKHEAD_VERSION);
	return 0;
}

int cmd_help(const struct arguments *arguments, struct error *error)
{
	const struct command *command;

	if (!arguments->nwords) {
		help_all(stdout);
		return 0;
	}
	command = command_find(arguments->words[0], error);
	if (!command)
		return -EINVAL;
	help_command(command, stdout);
	return 0;
}
