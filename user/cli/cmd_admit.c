// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead admit: the ExecCondition= of a bound unit. When it fails, the unit does not start. */
#include <errno.h>
#include "cli.h"

/* systemd.service(5): 1 to 254 only skip the start, 255 fails it. */
#define EXIT_FAIL_UNIT 255

int check_admit(const struct arguments *arguments, struct error *error)
{
	return arguments->unit ? 0 : error_set(error, EINVAL, "admit needs --unit NAME");
}

int cmd_admit(const struct arguments *arguments, struct error *error)
{
	_cleanup_json_ json_t *reply = NULL;
	int r;

	r = agent_call(json_pack("{s:s, s:s}", "request", "admit", "unit", arguments->unit), &reply,
		       error);
	/* Not to stdout: output that cannot be written does not keep a unit from its start. */
	show_report(reply, stderr);
	if (r >= 0)
		return r;
	log_error("admit: %s", error->text);
	return EXIT_FAIL_UNIT;
}
