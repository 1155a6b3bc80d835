// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead egress check: needs no root, no agent and no kernel that can enforce. */
#include <errno.h>
#include <string.h>
#include "compart/policies.h"
#include "egress/config.h"
#include "egress_check.h"

DEFINE_CLEANUP(struct policy *, policy_free)

int check_egress(const struct arguments *arguments, struct error *error)
{
	struct target target;

	if (strcmp(arguments->words[0], "check") != 0)
		return error_set(error, EINVAL,
				 "egress: \"%s\" is nothing that it does: write egress check "
				 "POLICY DESTINATION",
				 arguments->words[0]);
	return target_parse(arguments->words[2], &target, error);
}

int cmd_egress(const struct arguments *arguments, struct error *error)
{
	const struct policy_options options = {.include_dir = policies_dir(),
					       .vars = arguments->vars};
	_cleanup_(cleanup_policy_free) struct policy *policy = NULL;
	_cleanup_json_ json_t *answer = NULL;
	struct target target;
	int r = target_parse(arguments->words[2], &target, error);

	if (!r)
		r = policy_load(arguments->words[1], &options, &policy, error);
	if (!r)
		r = egress_ask(&(struct egress_question){.policy = policy,
							 .target = &target,
							 .config = EGRESS_CONFIG},
			       &answer, error);
	if (!r && arguments->json)
		r = show_json(answer);
	else if (!r)
		egress_show(answer);
	return r ? r : !egress_is_reached(answer);
}
