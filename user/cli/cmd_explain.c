// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead explain: needs no agent and no kernel that can enforce, but for an event's compartment. */
#include <errno.h>
#include <string.h>
#include "compart/policies.h"
#include "explain.h"
#include "policy/explain.h"

DEFINE_CLEANUP(struct policy *, policy_free)

static int check_usage(const struct arguments *a, struct error *error)
{
	if (a->event && (a->path || a->op || a->as_seen_by))
		return error_set(error, EINVAL,
				 "an event brings its own path, rights and view: --event stands "
				 "without --path, --op and --as-seen-by");
	if (a->event && a->nvars && !a->nwords)
		return error_set(
			error, EINVAL,
			"--var is for a POLICY that is named: an event's compartment has its "
			"own variables");
	if (a->event)
		return 0;
	if (a->compartment)
		return error_set(error, EINVAL, "--compartment says whose --event it is");
	if (!a->nwords || !a->path || !a->op)
		return error_set(
			error, EINVAL,
			"write POLICY --path PATH --op RIGHTS, or --event SEQ: see bulkhead "
			"help explain");
	return 0;
}

static int explain_path(const struct arguments *a, json_t **ret, struct error *error)
{
	const struct policy_options options = {.include_dir = policies_dir(), .vars = a->vars};
	_cleanup_(cleanup_policy_free) struct policy *policy = NULL;
	_cleanup_free_ char *cgroup = NULL;
	struct inquiry inquiry = {.path = a->path};
	int r = perms_from_list(a->op, &inquiry.perms, error);

	if (r == 0)
		r = policy_load(a->words[0], &options, &policy, error);
	if (r == 0 && a->as_seen_by)
		r = cgroup_named(a->as_seen_by, &cgroup, error);
	inquiry.policy = policy;
	inquiry.cgroup = cgroup;
	return r ? r : inquire(&inquiry, ret, error);
}

static int show(const struct arguments *arguments, const json_t *answer)
{
	if (arguments->json)
		return show_json(answer);
	explain_show(answer);
	return fflush(stdout) || ferror(stdout) ? -EIO : 0;
}

int cmd_explain(const struct arguments *arguments, struct error *error)
{
	_cleanup_json_ json_t *answer = NULL;
	int r = check_usage(arguments, error);

	if (r == 0)
		r = arguments->event ? explain_event(arguments, &answer, error)
				     : explain_path(arguments, &answer, error);
	if (r) {
		log_error("explain: %s", *error->text ? error->text : strerror(-r));
		return r == -EBADE ? EXPLAIN_INTERNAL : EXPLAIN_CANNOT;
	}
	r = show(arguments, answer);
	if (r)
		log_error("explain: the answer cannot be written: %s", strerror(-r));
	return r ? EXPLAIN_CANNOT : explain_is_allowed(answer) ? 0 : 1;
}
