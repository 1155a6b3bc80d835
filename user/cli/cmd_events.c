// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead events: the agent's files of records, or its stream. */
#include <errno.h>
#include <string.h>
#include "audit/event.h"
#include "cli.h"
#include "compart/control.h"

/* A canary's: provoked, not suffered. Its compartment has no record, and it is a child of one of
 * our programs that never execs: the name alone anybody can take. Only what people read by default
 * leaves these out. */
static bool is_scratch(const json_t *record)
{
	const json_t *subject = json_object_get(record, "subject");
	const char *comm = text_of(subject, "comm"), *kind = text_of(record, "kind");

	return (!strcmp(kind, "violation") || !strcmp(kind, "repeated")) &&
	       json_is_null(json_object_get(record, "name")) &&
	       !json_integer_value(json_object_get(subject, "exec_seq")) &&
	       (!strcmp(comm, "bulkhead") || !strcmp(comm, "bulkheadd"));
}

static int show_record(const char *text, const struct arguments *arguments)
{
	_cleanup_json_ json_t *record = json_loads(text, 0, NULL);
	_cleanup_free_ char *line = NULL;

	/* Half a line, from a disk that was full: the next one tells what was lost. */
	if (!record || (is_scratch(record) && !arguments->scratch))
		return 0;
	if (arguments->json)
		return puts(text) < 0 ? -errno : 0;
	line = record_line(record);
	return line && puts(line) < 0 ? -errno : 0;
}

static int show_file(const char *path, const struct arguments *arguments, struct error *error)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	ssize_t n;
	int r = 0;

	if (!file)
		return errno == ENOENT ? 0
				       : error_set(error, errno, "%s: %s", path, strerror(errno));
	while (r == 0 && (n = getline(&line, &size, file)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		r = show_record(line, arguments);
	}
	return r;
}

static int follow(const struct arguments *arguments, struct error *error)
{
	_cleanup_(cleanup_agent_close) struct agent *agent = NULL;
	_cleanup_json_ json_t *reply = NULL;
	int r = agent_open(&agent, error);

	if (r == 0)
		r = agent_ask(agent, json_pack("{s:s}", "request", "events"), &reply, error);
	if (r)
		return r;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (;;) {
		_cleanup_free_ char *line = NULL;

		r = agent_next(agent, &line);
		if (r == 0)
			return error_set(error, EPIPE, "the agent stopped");
		if (r > 0)
			r = show_record(line, arguments);
		if (r < 0)
			return error_set(error, -r, "%s", strerror(-r));
	}
}

/* Not by its lock: that is root's to see. */
static bool is_agent_there(void)
{
	_cleanup_(cleanup_agent_close) struct agent *agent = NULL;
	int r = agent_open(&agent, NULL);

	return r != -ENOENT && r != -ECONNREFUSED;
}

int cmd_events(const struct arguments *arguments, struct error *error)
{
	int r;

	if (arguments->follow)
		return follow(arguments, error);
	if (!is_agent_there())
		log_warning("events: no agent runs, so no events are recorded: what follows, if "
			    "anything, is from before");
	r = show_file(CONTROL_EVENTS ".1", arguments, error);
	return r ? r : show_file(CONTROL_EVENTS, arguments, error);
}
