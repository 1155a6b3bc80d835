// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include "cli.h"

static void show_units(const json_t *reply, const char *key, const char *says)
{
	const json_t *unit;
	size_t i;

	json_array_foreach (json_object_get(reply, key), i, unit)
		printf("%s: %s\n", json_string_value(unit) ?: "", says);
}

int check_detach(const struct arguments *arguments, struct error *error)
{
	const struct way ways[] = {
		{"NAME or ID", arguments->nwords ? arguments->words[0] : NULL},
		{"--cgroup", arguments->cgroup},
		{"--unit", arguments->unit},
	};

	return arguments_check_one("what to detach", ways, sizeof(ways) / sizeof(*ways), error);
}

int cmd_detach(const struct arguments *arguments, struct error *error)
{
	const char *target = arguments->nwords ? arguments->words[0] : NULL;
	_cleanup_json_ json_t *reply = NULL;
	const json_t *compartments;
	_cleanup_free_ char *cgroup = NULL;
	json_t *request;
	int r;

	/* As attach takes it. One that is gone is known by the name that it had. */
	if (arguments->cgroup)
		cgroup = realpath(arguments->cgroup, NULL);
	request = json_pack("{s:s, s:s*, s:s*, s:s*}", "request", "detach", "target", target,
			    "cgroup", cgroup ?: arguments->cgroup, "unit", arguments->unit);
	r = agent_call(request, &reply, error);
	if (r)
		return r;
	compartments = json_object_get(reply, "compartments");
	if (json_array_size(compartments))
		show_compartments(compartments);
	show_units(reply, "unbound", "starts from now on are not confined");
	show_units(reply, "still_bound",
		   "stays bound, and its next starts are confined: detach --unit releases them");
	return 0;
}
