// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead learn: needs no agent, and root only to see files that others may not. */
#include <errno.h>
#include <string.h>
#include "cli.h"
#include "compart/policies.h"
#include "learn/learn.h"

/* The proposal was printed, and the run did not show all that it needs. */
#define LEARN_LACKING 3

static int read_events(const char *path, struct events *ret, struct error *error)
{
	_cleanup_fclose_ FILE *file = NULL;

	if (!path || !strcmp(path, "-"))
		return events_read(stdin, "standard input", ret, error);
	file = fopen(path, "re");
	if (!file)
		return error_set(error, errno, "%s: %s", path, strerror(errno));
	return events_read(file, path, ret, error);
}

static void tell(const struct learned *learned)
{
	log_info(
		"learn: %zu rule%s for %zu files used, %zu files allowed now; what is not proposed "
		"stands in the head of the policy",
		learned->rows, plural(learned->rows), learned->used, learned->allowed);
	if (learned->refused)
		log_warning(
			"learn: %zu credential%s used and not proposed: see the head of the policy",
			learned->refused, learned->refused == 1 ? " was" : "s were");
	if (learned->lost)
		log_warning("learn: %zu event%s lost: the proposal is incomplete", learned->lost,
			    learned->lost == 1 ? " was" : "s were");
	else if (learned->lacking)
		log_warning("learn: the proposal is incomplete: its head says what is missing");
}

int cmd_learn(const struct arguments *arguments, struct error *error)
{
	const struct policy_options options = {.include_dir = policies_dir(),
					       .vars = arguments->vars};
	const struct learn_request request = {.policy = arguments->words[0],
					      .options = &options,
					      .compartment = arguments->compartment};
	_cleanup_(events_done) struct events events = {0};
	struct learned learned = {0};
	int r = read_events(arguments->words[1], &events, error);

	if (r == 0)
		r = learn(&request, &events, &learned, error);
	if (r < 0)
		return r;
	fputs(learned.text, stdout);
	free(learned.text);
	if (fflush(stdout) || ferror(stdout))
		return error_set(error, EIO, "the proposal cannot be written: %s", strerror(errno));
	tell(&learned);
	return learned.lacking ? LEARN_LACKING : 0;
}
