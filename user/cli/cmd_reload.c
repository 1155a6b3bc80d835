// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include "cli.h"

int check_reload(const struct arguments *arguments, struct error *error)
{
	if (arguments->nwords && arguments->all)
		return error_set(error, EINVAL,
				 "reload: \"%s\" and --all were given: write one of them",
				 arguments->words[0]);
	return 0;
}

int cmd_reload(const struct arguments *arguments, struct error *error)
{
	const char *target = arguments->nwords ? arguments->words[0] : NULL;
	_cleanup_json_ json_t *reply = NULL;
	int r;

	r = agent_call(target ? json_pack("{s:s, s:s}", "request", "reload", "target", target)
			      : json_pack("{s:s, s:b}", "request", "reload", "all", 1),
		       &reply, error);
	if (json_array_size(json_object_get(reply, "compartments")))
		show_compartments(json_object_get(reply, "compartments"));
	return r;
}
