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
	if (!real && !strcmp(field, "cgroup"))
		return error_set(error, errno,
				 "%s: %s: a cgroup is named by its directory, as in "
				 "/sys/fs/cgroup/system.slice/mcp.service",
				 path, strerror(errno));
	if (!real)
		return error_set(error, errno, "%s: %s", path, strerror(errno));
	return json_object_set_new(request, field, json_string(real))
		       ? error_set(error, EINVAL, "%s: names must be UTF-8", path)
		       : 0;
}

/* 0: it is none. */
static int read_pid(const char *text)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	return errno || end == text || *end || pid <= 0 || pid > INT_MAX ? 0 : (int)pid;
}

int check_attach(const struct arguments *a, struct error *error)
{
	const struct way ways[] = {{"--cgroup", a->cgroup}, {"--unit", a->unit}, {"--pid", a->pid}};
	int r = arguments_check_one("what to attach to", ways, sizeof(ways) / sizeof(*ways), error);

	if (r == 0 && a->pid && !read_pid(a->pid))
		r = error_set(error, EINVAL, "--pid: \"%s\" is no process id", a->pid);
	return r;
}

static int set_where(json_t *request, const struct arguments *a, struct error *error)
{
	if (a->cgroup)
		return set_path(request, "cgroup", a->cgroup, error);
	if (a->pid)
		return json_object_set_new(request, "pid", json_integer(read_pid(a->pid))) ? -ENOMEM
											   : 0;
	return json_object_set_new(request, "unit", json_string(a->unit))
		       ? error_set(error, EINVAL, "unit names are ASCII")
		       : 0;
}

static void show_attached(const json_t *reply)
{
	const json_t *compartments = json_object_get(reply, "compartments");
	const char *bound = text_of(reply, "bound");

	if (json_array_size(compartments))
		show_compartments(compartments);
	if (*bound)
		printf("%s%s: every start from now on begins inside, or does not begin\n",
		       json_array_size(compartments) ? "" : "nothing of it runs now; ", bound);
	printf("%zu ways are not closed yet: bulkhead doctor says which, and what limits each\n",
	       nopen_vectors);
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
