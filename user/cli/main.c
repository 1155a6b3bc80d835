// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <signal.h>
#include <string.h>
#include "cli.h"

/* What was asked for and could not be written was not done. */
static int finish(const struct command *command)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	log_error("%s: the output cannot be written: %s", command->name, strerror(errno));
	return 1;
}

static int run(const struct command *command, char **argv)
{
	struct arguments arguments = {0};
	struct error error = {0};
	int r = arguments_parse(command, argv, &arguments, &error);

	if (r) {
		log_error("%s", error.text);
		return EXIT_USAGE;
	}
	if (arguments.help) {
		help_command(command, stdout);
		r = 0;
	} else {
		r = command->run(&arguments, &error);
	}
	arguments_done(&arguments);
	if (r >= 0) {
		int unwritten = finish(command);

		return r ? r : unwritten;
	}
	log_error("%s: %s", command->name, *error.text ? error.text : strerror(-r));
	return r == -EINVAL && command->run == cmd_help ? EXIT_USAGE : 1;
}

static const char *aliased(const char *name)
{
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		return "help";
	return strcmp(name, "--version") ? name : "version";
}

int main(int argc, char **argv)
{
	const struct command *command;
	struct error error = {0};

	log_open("bulkhead");
	/* Inherited as ignored, it has children leave no status to wait for. */
	signal(SIGCHLD, SIG_DFL);
	if (argc < 2) {
		help_all(stderr);
		return EXIT_USAGE;
	}
	command = command_find(aliased(argv[1]), &error);
	if (!command) {
		log_error("%s", error.text);
		return EXIT_USAGE;
	}
	return run(command, argv + 2);
}
