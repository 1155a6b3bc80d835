// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <limits.h>
#include <string.h>
#include "cli.h"
#include "compart/policies.h"
#include "compart/vectors.h"

static int set_texts(json_t *request, const struct arguments *a)
{
	json_t *vars = json_array();
	int r = json_object_set_new(request, "vars", vars);

	for (size_t i = 0; r == 0 && i < a->nvars; i++)
		r = json_array_append_new(vars, json_string(a->vars[i]));
	return r;
}

static int set_path(json_t *request, const char *field, const char *path, struct error *error)
{
	_cleanup_free_ char *real = realpath(path, NULL);

	/* The agent stands elsewhere: it needs the path from the top. */
	if (!real)
		return error_set(error, errno, "%s: %s", path, strerror(errno));
	return json_object_set_new(request, field, json_string(real))
		       ? error_set(error, EINVAL, "%s: names must be UTF-8", path)
		       : 0;
}

static int set_pid(json_t *request, const char *text, struct error *error)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	if (errno || end == text || *end || pid <= 0 || pid > INT_MAX)
		return error_set(error, EINVAL, "\"%s\" is no process id", text);
	return json_object_set_new(request, "pid", json_integer(pid)) ? -ENOMEM : 0;
}

static int set_where(json_t *request, const struct arguments *a, struct error *error)
{
	if (!!a->cgroup + !!a->unit + !!a->pid != 1)
		return error_set(error, EINVAL,
				 "say what to attach to: one of --cgroup, --unit and --pid");
	if (a->cgroup)
		return set_path(request, "cgroup", a->cgroup, error);
	if (a->pid)
		return set_pid(request, a->pid, error);
	return json_object_set_new(request, "unit", json_string(a->unit))
		       ? error_set(error, EINVAL, "unit names are ASCII")
		       : 0;
}

static void show_attached(const json_t *reply)
{
	const json_t *compartments = json_object_get(reply, "compartments");
	const char *bound = text_of(reply, "bound");
	_cleanup_json_ json_t *vectors = vectors_record();

	if (json_array_size(compartments))
		show_compartments(compartments);
	if (*bound)
		printf("%s%s: every start from now on begins inside, or does not begin\n",
		       json_array_size(compartments) ? "" : "nothing of it runs now; ", bound);
	putchar('\n');
	show_vectors(vectors, stdout);
}

int cmd_attach(const struct arguments *arguments, struct error *error)
{
	_cleanup_json_ json_t *request = json_pack("{s:s}", "request", "attach");
	_cleanup_json_ json_t *reply = NULL;
	int r = request ? 0 : error_set(error, ENOMEM, "out of memory");

	if (r == 0)
		r = set_path(request, "policy", arguments->words[0], error);
	if (r == 0)
		r = set_path(request, "include_dir", policies_dir(), error);
	if (r == 0)
		r = set_where(request, arguments, error);
	if (r == 0 && set_texts(request, arguments))
		r = error_set(error, EINVAL, "variables must be UTF-8");
	if (r)
		return r;
	r = agent_call(TAKE_PTR(request), &reply, error);
	if (arguments->json && reply) {
		show_json(reply);
		return r;
	}
	show_report(reply, stdout);
	if (r == 0)
		show_attached(reply);
	return r;
}
