// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* attach and admit: a policy put on what runs, and on what a unit will start. */
#include <errno.h>
#include <string.h>
#include "base/cleanup.h"
#include "compart/policies.h"
#include "egress.h"
#include "request.h"

DEFINE_CLEANUP(struct policy *, policy_free)

static void free_texts(char **texts)
{
	for (char **t = texts; t && *t; t++)
		free(*t);
	free(texts);
}
DEFINE_CLEANUP(char **, free_texts)

static void free_borrowed(const char **texts)
{
	free(texts);
}
DEFINE_CLEANUP(const char **, free_borrowed)

/* NULL-terminated; the texts belong to the request. */
static const char **vars_of(const struct request *request)
{
	const json_t *array = json_object_get(request->body, "vars");
	const char **vars = calloc(json_array_size(array) + 1, sizeof(*vars));

	for (size_t i = 0; vars && i < json_array_size(array); i++)
		vars[i] = json_string_value(json_array_get(array, i));
	return vars;
}

/* Attaches one subtree, remembers and shows it. */
static int attach_one(struct request *request, const struct attach_request *attach,
		      struct compartment **ret, struct error *error)
{
	struct attach_request asked = *attach;
	struct error no_egress = {0};
	struct compartment *c = NULL;
	struct report report = {0};
	int r;

	if (egress_check(request->daemon, &no_egress))
		asked.no_egress = no_egress.text;
	r = compartment_attach(request->daemon->kern, &asked, &c, &report, error);

	request_report(request, &report);
	report_done(&report);
	if (r < 0)
		return r;
	registry_put(request->daemon, c);
	request_show(request, c);
	*ret = c;
	return 0;
}

static int undo(struct request *request, struct compartment *c)
{
	__u32 id = c->id;
	struct error error = {0};
	int r = compartment_detach(request->daemon->kern, c, &error);

	/* It stays confined, and known: status shows it. */
	if (r < 0) {
		log_error("compartment %s: cannot be detached again: %s", c->name, error.text);
		return r;
	}
	registry_drop(request->daemon, id);
	return 0;
}

struct instances {
	struct compartment *done[BH_MAX_COMPARTMENTS];
	size_t n;
};

static bool is_attached(struct request *request, const char *cgroup)
{
	__u32 compartment;
	__u64 id;

	return kern_cgroup_id(cgroup, &id) == 0 &&
	       kern_cgroup_get(request->daemon->kern, id, &compartment) == 0;
}

/* All instances of a unit that run now; again: those that are not attached yet. */
static int attach_instances(struct request *request, struct attach_request *attach, bool again,
			    struct instances *in, struct error *error)
{
	_cleanup_(cleanup_free_texts) char **cgroups = NULL, **names = NULL;
	int r = unit_cgroups(request_text(request, "unit"), &cgroups, &names, error);

	if (r == -ESRCH && again)
		return 0;
	for (size_t i = 0; r == 0 && cgroups && cgroups[i]; i++) {
		if (again && is_attached(request, cgroups[i]))
			continue;
		attach->cgroup = cgroups[i];
		attach->unit = names[i];
		r = in->n < BH_MAX_COMPARTMENTS
			    ? attach_one(request, attach, &in->done[in->n], error)
			    : error_set(error, E2BIG, "too many instances");
		in->n += r == 0;
	}
	return r;
}

/* What runs, then its next starts, then what started in between. All of it or nothing. */
static int attach_unit(struct request *request, struct attach_request *attach, struct error *error)
{
	const char *unit = request_text(request, "unit");
	struct instances in = {.n = 0};
	_cleanup_free_ char *before = NULL;
	bool bound = false;
	int r = attach_instances(request, attach, false, &in, error);

	if (r == 0) {
		r = unit_bind(unit, attach->policy, attach->vars, &before, error);
		bound = r == 0;
		if (r < 0)
			error_prefix(error, "its next starts cannot be bound, so nothing is");
	}
	if (r == 0)
		r = attach_instances(request, attach, true, &in, error);
	if (r == 0) {
		json_object_set_new(request->reply, "bound", json_string(unit));
		return 0;
	}
	if (bound)
		unit_bind_undo(unit, before);
	while (in.n)
		undo(request, in.done[--in.n]);
	json_object_del(request->reply, "compartments");
	return r;
}

/* The process and its descendants get a scope of their own. The policy is read first: nothing is
 * moved for one that does not load. */
static int attach_pid(struct request *request, struct attach_request *attach, struct error *error)
{
	_cleanup_(cleanup_policy_free) struct policy *policy = NULL;
	const struct policy_options options = {.include_dir = attach->include_dir,
					       .vars = attach->vars};
	json_int_t pid = json_integer_value(json_object_get(request->body, "pid"));
	_cleanup_free_ char *cgroup = NULL;
	struct compartment *c;
	int r;

	if (pid <= 1 || pid > INT32_MAX)
		return error_set(error, EINVAL, "%lld is no process to attach", (long long)pid);
	r = policy_load(attach->policy, &options, &policy, error);
	if (r < 0)
		return r;
	r = unit_scope((pid_t)pid, attach->caller, policy->name, &cgroup, error);
	if (r < 0)
		return r;
	attach->cgroup = cgroup;
	return attach_one(request, attach, &c, error);
}

int request_attach(struct request *request, struct error *error)
{
	_cleanup_(cleanup_free_borrowed) const char **vars = vars_of(request);
	struct attach_request attach = {
		.policy = request_text(request, "policy"),
		.vars = vars,
		.include_dir = request_text(request, "include_dir") ?: policies_dir(),
		.cgroup = request_text(request, "cgroup"),
		.caller = request->client->peer.pid,
	};
	bool unit = request_text(request, "unit"), pid = json_object_get(request->body, "pid");
	struct compartment *c;

	if (!vars)
		return error_set(error, ENOMEM, "out of memory");
	if (!attach.policy || attach.policy[0] != '/')
		return error_set(error, EINVAL, "the policy's absolute path is needed");
	if (!!attach.cgroup + unit + pid != 1)
		return error_set(error, EINVAL, "one of cgroup, unit and pid is needed");
	if (unit)
		return attach_unit(request, &attach, error);
	if (pid)
		return attach_pid(request, &attach, error);
	return attach_one(request, &attach, &c, error);
}

/* The cgroup of `unit`, taken from a process in it: up to and including the component that is the
 * unit's name. NULL when the process does not stand in that unit. */
static char *cgroup_of_unit(const char *cgroup, const char *unit)
{
	size_t n = strlen(unit);

	for (const char *at = cgroup; (at = strchr(at, '/')); at++)
		if (!strncmp(at + 1, unit, n) && (at[1 + n] == '/' || at[1 + n] == '\0'))
			return strndup(cgroup, (size_t)(at + 1 + n - cgroup));
	return NULL;
}

int request_admit(struct request *request, struct error *error)
{
	_cleanup_(cleanup_free_texts) char **vars = NULL;
	_cleanup_free_ char *policy = NULL, *standing = NULL, *cgroup = NULL;
	const char *unit = request_text(request, "unit");
	const struct peer *peer = &request->client->peer;
	struct attach_request attach = {.unit = unit, .caller = peer->pid, .starting = true};
	struct compartment *c;
	int r;

	if (!unit)
		return error_set(error, EINVAL, "the unit's name is needed");
	if (peer->uid != 0)
		return error_set(error, EACCES,
				 "only the service manager's root child is admitted");
	r = unit_binding(unit, &policy, &vars, error);
	if (r < 0)
		return r;
	r = cgroup_of_pid(peer->pid, &standing);
	if (r < 0)
		return error_set(error, -r, "your cgroup cannot be read: %s", strerror(-r));
	cgroup = cgroup_of_unit(standing, unit);
	if (!cgroup)
		return error_set(error, EACCES, "you do not stand in unit %s but in %s", unit,
				 standing);
	attach.policy = policy;
	attach.vars = (const char *const *)vars;
	attach.include_dir = policies_dir();
	attach.cgroup = cgroup;
	r = attach_one(request, &attach, &c, error);
	return r ? r : request_await_outlets(request, c, error);
}
