// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Enrolment, a transaction: a row of steps, each of which leaves what undo() takes back. Nothing is
 * judged before the last but one; members are frozen from the fifth step on, so everything after
 * it has a deadline.
 */
#include "enrol.h"

#include <errno.h>
#include <string.h>
#include "status.h"

/* Labels that somebody's moves into the frozen subtree keep missing. */
#define LABEL_TRIES 3

struct enrolment {
	struct kern *kern;
	const struct attach_request *request;
	struct report *report;
	struct compartment *c;
	struct mounts mounts;
	struct revocations revoked;
	pid_t *pids; /* members; of a frozen subtree from enrol_freeze on */
	size_t npids;
	struct bh_compartment entry;
	bool recorded, armed, asked, frozen;
};

/* --- the steps --- */

static int read_members(struct enrolment *e, struct error *error)
{
	static const pid_t init = 1;
	pid_t *pids = NULL;
	size_t n = 0;
	int r = 0;

	/* What joins at a unit's start comes from the service manager. */
	if (e->request->starting) {
		pids = malloc(sizeof(*pids));
		r = pids ? 0 : -ENOMEM;
		n = 1;
		if (pids)
			*pids = init;
	} else {
		r = cgroup_pids(e->c->cgroup, &pids, &n);
	}
	if (r == -EXDEV)
		return error_set(error, EXDEV,
				 "%s holds processes of a pid namespace that this agent cannot "
				 "see: run it in the host's own",
				 e->c->cgroup);
	if (r)
		return error_set(error, -r, "%s: cannot list its processes: %s", e->c->cgroup,
				 strerror(-r));
	free(e->pids);
	e->pids = pids;
	e->npids = n;
	return 0;
}

static int compile(struct enrolment *e, __u32 *ret_generation, struct error *error)
{
	char view[MOUNTS_DIGEST_SIZE];
	int r;

	mounts_done(&e->mounts);
	r = check_nested(e->c->loaded, e->pids, e->npids, error);
	if (r)
		return r;
	r = mounts_read(e->kern, e->pids, e->npids, &e->mounts, error);
	if (r)
		return r;
	r = mounts_digest(e->mounts.tables, view);
	if (!r)
		r = text_set(&e->c->view, view);
	if (r)
		return error_set(error, -r, "mount tables of the subtree: %s", strerror(-r));
	return policy_compile(e->c->loaded, &e->mounts, e->kern, ret_generation, error);
}

static int enrol_record(struct enrolment *e, struct error *error)
{
	int r = read_members(e, error);

	if (!r)
		r = kern_cgroup_id(e->c->cgroup, &e->c->cgroup_id);
	if (r)
		return r;
	r = kern_compartment_new(e->kern, &e->c->id);
	if (r)
		return error_set(error, -r, "no room for another compartment: %s (at most %u)",
				 strerror(-r), BH_MAX_COMPARTMENTS - 1);
	e->recorded = true;
	r = kern_compartment_get(e->kern, e->c->id, &e->entry);
	/* Before the subtree is touched: who finds the half of it must know where to undo it. */
	return r ? r : compartment_save(e->c, error);
}

static int enrol_compile(struct enrolment *e, struct error *error)
{
	__u32 generation = 0;
	int r = compile(e, &generation, error);

	if (r)
		return r;
	e->entry.generation = e->c->generation = generation;
	e->entry.state = BH_STATE_ARMED;
	return entry_write(e->kern, e->c->id, &e->entry, error);
}

/* While the members run: it takes long. What they hold is known when they are frozen; what the policy would
 * do about it is now. */
static int enrol_load(struct enrolment *e, struct error *error)
{
	const enum existing_action *existing = e->c->loaded->existing;
	bool revokes = false;

	for (int kind = 0; kind < EXISTING_KINDS; kind++)
		revokes = revokes || existing[kind] == EXISTING_REVOKE;
	if (!revokes || e->request->starting)
		return 0;
	return kern_rechecks_load(e->kern, KERN_RECHECK_REVOKED, error);
}

static int enrol_arm(struct enrolment *e, struct error *error)
{
	__u32 flags = e->request->starting ? BH_CGROUP_STARTING : 0;
	int r = 0;

	e->armed = true;
	/* The cgroup test covers every member at once, until each has its label. */
	if (!e->request->starting) {
		r = kern_ask_raise(e->kern);
		e->asked = !r;
	}
	if (!r)
		r = kern_cgroup_set(e->kern, e->c->cgroup_id, e->c->id, flags);
	if (r)
		return cgroup_not_armed(e->c->cgroup, r, error);
	return kern_egress_attach(e->kern, e->c->cgroup, e->c->cgroup_id, e->c->id, error);
}

static int describe_freeze(struct enrolment *e, int code, struct error *error)
{
	char threads[512];

	if (code != -ETIMEDOUT)
		return code;
	cgroup_describe_unfrozen(e->c->cgroup, threads, sizeof(threads));
	return error_set(
		error, ETIMEDOUT,
		"%s does not freeze in %u ms: %s. End what it waits for (a page fault that "
		"its own userfaultfd must answer never freezes) and attach again",
		e->c->cgroup, BH_FREEZE_MS, *threads ? threads : "no thread can be named");
}

static int enrol_freeze(struct enrolment *e, struct error *error)
{
	int r;

	if (e->request->starting)
		return 0;
	e->frozen = true;
	r = cgroup_freeze(e->c->cgroup, true, BH_FREEZE_MS, error);
	return r ? describe_freeze(e, r, error) : read_members(e, error);
}

/* The first thread inside that is not ours; n when there is none. */
static size_t find_stray(const struct bh_task *tasks, size_t n, __u32 id)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (tasks[i].inside && tasks[i].compartment != id)
			break;
	return i;
}

static int refuse_stray(struct enrolment *e, const struct bh_task *stray, struct error *error)
{
	char comm[32];

	process_comm((pid_t)stray->tid, comm, sizeof(comm));
	if (stray->compartment)
		return error_set(error, EEXIST,
				 "thread %u (%s) belongs to compartment %u, and a label cannot be "
				 "taken off: restart that process, or move it out of %s",
				 stray->tid, comm, stray->compartment, e->c->cgroup);
	return error_set(error, EAGAIN,
			 "thread %u (%s) has no label: processes keep being moved into %s; try "
			 "again when that is over",
			 stray->tid, comm, e->c->cgroup);
}

static int label_once(struct enrolment *e, bool label, struct bh_task *ret_stray,
		      struct error *error)
{
	struct bh_task_query query = {
		.cgroup_id = e->c->cgroup_id, .compartment = e->c->id, .label = label};
	_cleanup_free_ struct bh_task *tasks = NULL;
	size_t n = 0, stray;
	int r = kern_tasks(e->kern, &query, &tasks, &n, error);

	if (r)
		return r;
	stray = find_stray(tasks, n, e->c->id);
	if (stray == n)
		return 0;
	*ret_stray = tasks[stray];
	return 1;
}

static int enrol_label(struct enrolment *e, struct error *error)
{
	struct bh_task stray = {};
	int r = 1;

	for (int i = 0; r > 0 && !e->request->starting && i < LABEL_TRIES; i++) {
		r = label_once(e, true, &stray, error);
		if (r >= 0)
			r = label_once(e, false, &stray, error);
	}
	if (e->request->starting)
		return 0;
	return r > 0 ? refuse_stray(e, &stray, error) : r;
}

static int enrol_jit(struct enrolment *e, struct error *error)
{
	if (e->request->starting)
		return 0;
	return jit_mark(e->kern, e->c->id, e->c->loaded, e->pids, e->npids, error);
}

/* The view was read while they ran: what is mounted now? */
static int enrol_refresh(struct enrolment *e, struct error *error)
{
	int changed = mounts_changed(&e->mounts, e->pids, e->npids);
	__u32 before = e->entry.generation, generation = 0;
	int r;

	if (changed < 0)
		return error_set(error, -changed, "mount tables of %s: %s", e->c->cgroup,
				 strerror(-changed));
	if (!changed)
		return 0;
	r = compile(e, &generation, error);
	if (r)
		return r;
	e->entry.generation = e->c->generation = generation;
	r = entry_write(e->kern, e->c->id, &e->entry, error);
	if (!r)
		kern_policy_remove(e->kern, before);
	return r;
}

static int enrol_judge(struct enrolment *e, struct error *error)
{
	const struct bh_task_query query = {.compartment = e->c->id};
	_cleanup_free_ struct bh_task *tasks = NULL;
	struct inventory_of of = {.pids = e->pids, .npids = e->npids};
	int r;

	if (e->request->starting)
		return 0;
	r = kern_tasks(e->kern, &query, &tasks, &of.ntasks, error);
	if (r)
		return r;
	of.tasks = tasks;
	return inventory_judge(e->c->loaded, &of, e->report, &e->revoked, error);
}

/* Before the canary, which proves what is attached for it. */
static int enrol_revoke(struct enrolment *e, struct error *error)
{
	strings_free(e->c->revoked);
	e->c->revoked = strings_copy((const char *const *)e->revoked.lines);
	if (!e->c->revoked)
		return error_set(error, ENOMEM, "out of memory");
	return revoke_held(e->kern, e->entry.serial, &e->revoked, e->report, error);
}

static int enrol_prove(struct enrolment *e, struct error *error)
{
	struct canary_result results[BH_HOOK_COUNT] = {};

	return canary_run(e->kern, results, error);
}

static int enrol_enforce(struct enrolment *e, struct error *error)
{
	e->entry.state = BH_STATE_ENFORCED;
	e->entry.mode = e->c->loaded->mode;
	return entry_write(e->kern, e->c->id, &e->entry, error);
}

/* Not before everything that can fail: a connection does not come back. Not in audit mode, in which
 * nothing is taken. */
static int enrol_disconnect(struct enrolment *e, struct error *error _unused_)
{
	if (e->entry.mode == BH_MODE_ENFORCE)
		revoke_connections(&e->revoked, e->report);
	return 0;
}

static int enrol_let_go(struct enrolment *e, struct error *error)
{
	int r = 0;

	/* Every member has its label. */
	if (e->asked)
		kern_ask_lower(e->kern, 1);
	e->asked = false;
	if (e->frozen)
		r = cgroup_freeze(e->c->cgroup, false, 0, error);
	/* A cgroup that went away meanwhile has nobody left to thaw. */
	if (r == -ENOENT)
		r = 0;
	if (!r)
		e->frozen = false;
	return r ? r : compartment_save(e->c, error);
}

static const struct {
	const char *what;
	int (*run)(struct enrolment *e, struct error *error);
} steps[] = {
	{"record", enrol_record},
	{"compile", enrol_compile},
	{"load", enrol_load},
	{"arm", enrol_arm},
	{"freeze", enrol_freeze},
	{"label", enrol_label},
	{"jit", enrol_jit},
	{"view", enrol_refresh},
	{"inventory", enrol_judge},
	{"revoke", enrol_revoke},
	{"canary", enrol_prove},
	{"enforce", enrol_enforce},
	{"disconnect", enrol_disconnect},
	{"let go", enrol_let_go},
};

/* --- and back --- */

static void undo(struct enrolment *e, struct error *error)
{
	struct error other = {};

	if (e->recorded &&
	    compartment_release(e->kern, e->c->id, e->armed ? e->c->cgroup_id : 0, &other))
		log_warning("%s: not undone in full: %s", e->c->cgroup, other.text);
	if (e->asked)
		kern_ask_lower(e->kern, 1);
	if (e->frozen && cgroup_freeze(e->c->cgroup, false, 0, NULL) &&
	    access(e->c->cgroup, F_OK) == 0)
		error_prefix(error, "AND THE SUBTREE IS STILL FROZEN (write 0 to %s/cgroup.freeze)",
			     e->c->cgroup);
}

/* `error` is never NULL here: what could not be undone must be said. */
static int run_steps(struct enrolment *e, struct error *error)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		int r = steps[i].run(e, error);

		if (!r)
			continue;
		if (!*error->text)
			error_set(error, -r, "%s: %s: %s", e->c->cgroup, steps[i].what,
				  strerror(-r));
		undo(e, error);
		return r;
	}
	return 0;
}

/* --- the request --- */

static int describe(struct compartment *c, const struct attach_request *request)
{
	_cleanup_free_ char *policy = realpath(request->policy, NULL);
	char **vars = strings_copy(request->vars), digest[POLICY_DIGEST_SIZE];

	if (!vars)
		return -ENOMEM;
	strings_free(c->vars);
	c->vars = vars;
	c->starting = request->starting;
	c->owner = request->caller ? request->caller : getpid();
	if (process_start(c->owner, &c->owner_start))
		c->owner = 0; /* dead already */
	if (text_set(&c->name, c->loaded->name) || text_set(&c->unit, request->unit) ||
	    text_set(&c->include_dir, request->include_dir) ||
	    text_set(&c->digest, policy_digest_text(c->loaded, digest)) ||
	    text_set(&c->policy, policy ? policy : request->policy))
		return -ENOMEM;
	json_decref(c->authority);
	c->authority = authority_record(c->loaded);
	return c->authority ? 0 : -ENOMEM;
}

static int prepare(struct compartment *c, const struct attach_request *request, struct error *error)
{
	const struct policy_options options = {.include_dir = request->include_dir,
					       .vars = request->vars};
	char *path = NULL;
	int r = subtree_check(request, &path, error);

	if (r)
		return r;
	free(c->cgroup);
	c->cgroup = path;
	r = policy_load(request->policy, &options, &c->loaded, error);
	if (!r && c->loaded->negress && request->no_egress)
		r = error_set(error, EOPNOTSUPP, "%s lists destinations, and %s", request->policy,
			      request->no_egress);
	if (r)
		return r;
	r = describe(c, request);
	return r ? error_set(error, -r, "%s", strerror(-r)) : 0;
}

/* The unit starts in a cgroup that outlived its last run: the compartment goes on, with the policy
 * as it is written now. */
static int adopt(struct kern *kern, __u32 id, const struct compartment *wanted,
		 struct compartment **ret, struct error *error)
{
	_cleanup_compartment_ struct compartment *c = NULL;
	int r = compartment_load(id, &c, error);

	if (r)
		return r;
	if (!wanted->starting || strcmp(c->policy, wanted->policy) != 0)
		return error_set(error, EEXIST,
				 "%s is attached already, as compartment %u (%s): bulkhead reload "
				 "%u, or bulkhead detach %u first",
				 c->cgroup, id, c->name, id, id);
	r = kern_cgroup_set(kern, c->cgroup_id, id, BH_CGROUP_STARTING);
	if (r)
		return cgroup_not_armed(c->cgroup, r, error);
	c->starting = true;
	c->owner = wanted->owner;
	c->owner_start = wanted->owner_start;
	r = compartment_reload_locked(kern, c, error);
	if (!r)
		*ret = TAKE_PTR(c);
	return r;
}

int compartment_attach(struct kern *kern, const struct attach_request *request,
		       struct compartment **ret, struct report *report, struct error *error)
{
	_cleanup_compartment_ struct compartment *c = compartment_new();
	struct enrolment e = {.kern = kern, .request = request, .report = report, .c = c};
	_cleanup_unlock_ struct kern *locked = NULL;
	struct error why = {};
	__u32 same = 0;
	int r;

	if (!c)
		return error_set(error, ENOMEM, "out of memory");
	r = prepare(c, request, &why);
	if (!r)
		r = lock_changes(kern, &locked, &why);
	if (!r && compartments_sweep_locked(kern, &why) < 0)
		log_warning("leftovers of dead compartments stay: %s", why.text);
	why.text[0] = r ? why.text[0] : '\0';
	if (!r)
		r = subtree_check_overlap(kern, c->cgroup, &same, &why);
	if (!r && same)
		r = adopt(kern, same, c, ret, &why);
	else if (!r)
		r = run_steps(&e, &why);
	if (!r && !same)
		*ret = TAKE_PTR(c);
	free(e.pids);
	mounts_done(&e.mounts);
	revocations_done(&e.revoked);
	return r ? error_set(error, -r, "%s", why.text) : 0;
}
