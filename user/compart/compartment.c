// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The way in and out of a compartment that lives: reload, detach, sweep, settle. The way in is
 * enrol.c.
 */
#include "enrol.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "pins.h"
#include "status.h"

/* Somebody else's enrolment: freeze, inventory and canary, each with its own deadline. */
#define LOCK_MS 10000
/* Of a tripped compartment, before it is released. */
#define KILL_MS 10000

int lock_changes(struct kern *kern, struct kern **ret, struct error *error)
{
	int r = kern_lock(kern, LOCK_MS, error);

	if (r == 0)
		*ret = kern;
	return r;
}

/* The view, and what a procfs that a member mounts is judged by. */
static int compile_view(const struct policy *policy, const struct mounts *mounts,
			struct automaton *ret, struct error *error)
{
	static const struct mount_view own_proc = {
		.sbid = BH_SBID_OWN_PROC, .root = "/", .point = "/proc"};
	_cleanup_free_ struct mount_view *views = calloc(mounts->n + 1, sizeof(*views));

	if (!views)
		return error_set(error, ENOMEM, "out of memory");
	if (mounts->n)
		memcpy(views, mounts->views, mounts->n * sizeof(*views));
	views[mounts->n] = own_proc;
	return automaton_compile(policy->rules, policy->nrules, views, mounts->n + policy->nested,
				 ret, error);
}

static const __u32 proc_flags[] = {
	[PROC_SELF] = BH_POLICY_PROC_SELF,
	[PROC_COMPARTMENT] = BH_POLICY_PROC_SELF | BH_POLICY_PROC_PEERS,
};

static struct bh_port port_of(const struct listen_at *at)
{
	struct bh_port port = {.port = at->port};

	if (at->any)
		return port;
	if (at->address.family == ADDRESS_V6) {
		memcpy(port.address, at->address.bytes, sizeof(port.address));
	} else {
		port.address[2] = htonl(0xffff);
		memcpy(&port.address[3], at->address.bytes, sizeof(port.address[3]));
	}
	return port;
}

static int ports_take(struct kern *kern, const struct policy *policy, __u32 generation,
		      struct error *error)
{
	struct bh_port ports[BH_MAX_LISTEN];
	int r;

	for (size_t i = 0; i < policy->nlisten; i++)
		ports[i] = port_of(&policy->listen[i].at);
	r = kern_ports_set(kern, generation, ports, policy->nlisten);
	if (r == -ENOSPC)
		return error_set(error, ENOSPC,
				 "no room for the ports that the policy names to listen at: detach "
				 "a compartment first");
	return r ? error_set(error, -r, "cannot tell the kernel where members listen: %s",
			     strerror(-r))
		 : 0;
}

int policy_compile(const struct policy *policy, const struct mounts *mounts, struct kern *kern,
		   __u32 *ret_generation, struct error *error)
{
	_cleanup_(automaton_done) struct automaton automaton = {};
	__u32 generation = 0;
	int r = compile_view(policy, mounts, &automaton, error);

	if (r)
		return r;
	automaton.head.flags = proc_flags[policy->proc] | (policy->nested ? BH_POLICY_NESTED : 0) |
			       (policy->negress ? BH_POLICY_EGRESS : 0) |
			       (policy->loopback ? BH_POLICY_LOOPBACK : 0) |
			       (policy->nlisten ? BH_POLICY_LISTEN : 0);
	automaton.head.caps = policy->caps;
	r = kern_policy_install(kern, &automaton, &generation, error);
	if (r)
		return r;
	r = pins_take(kern, policy->rules, policy->nrules, mounts, generation, error);
	if (!r)
		r = ports_take(kern, policy, generation, error);
	if (r)
		kern_policy_remove(kern, generation);
	else
		*ret_generation = generation;
	return r;
}

int entry_write(struct kern *kern, __u32 id, const struct bh_compartment *entry,
		struct error *error)
{
	struct bh_compartment now = {};
	int r = kern_compartment_set(kern, id, entry);

	if (!r)
		r = kern_compartment_get(kern, id, &now);
	if (!r && memcmp(&now, entry, sizeof(now)) != 0)
		r = -EIO;
	return r ? error_set(error, -r, "compartment %u: its entry reads back wrong: %s", id,
			     strerror(-r))
		 : 0;
}

int jit_mark(struct kern *kern, __u32 id, const struct policy *policy, const pid_t *pids,
	     size_t npids, struct error *error)
{
	for (size_t i = 0; i < npids; i++) {
		_cleanup_free_ struct bh_task *tasks = NULL;
		struct bh_task_query query = {
			.compartment = id, .tgid = (__u32)pids[i], .set_flags = BH_LABEL_JIT};
		size_t n = 0;
		int r;

		/* The name of its program is one of its mounts: asked after it was read. */
		if (!process_may_jit(policy, pids[i]) || process_is_foreign(pids[i]))
			continue;
		r = kern_tasks(kern, &query, &tasks, &n, error);
		if (r)
			return r;
	}
	return 0;
}

static bool is_in_force(const struct bh_compartment *entry)
{
	return entry->state == BH_STATE_ENFORCED || entry->state == BH_STATE_TRIPPED;
}

/* Tasks that bear the label, wherever they stand; -errno. */
static ssize_t count_labelled(struct kern *kern, __u32 id)
{
	_cleanup_free_ struct bh_task *tasks = NULL;
	struct bh_task_query query = {.compartment = id};
	size_t n = 0, labelled = 0;
	int r = kern_tasks(kern, &query, &tasks, &n, NULL);

	if (r)
		return r;
	for (size_t i = 0; i < n; i++)
		labelled += tasks[i].compartment == id;
	return (ssize_t)labelled;
}

/* --- out --- */

/* Frees a released id with all that hangs on it. 1: freed, 0: labels are left. */
static int reap(struct kern *kern, __u32 id, const struct bh_compartment *entry)
{
	ssize_t labelled = count_labelled(kern, id);

	/* Twice: the pass goes up by process id, and a child whose id wrapped around below it may
	 * outlive a parent that ends above it. */
	if (!labelled)
		labelled = count_labelled(kern, id);
	if (labelled)
		return labelled < 0 ? (int)labelled : 0;
	/* Nobody bears the serial that open files are revoked for. */
	if (kern_revoke_end(kern, entry->serial))
		return -EIO;
	/* The entry goes first: a generation that is gone refuses, and nobody refers to it now. */
	if (kern_compartment_free(kern, id))
		return -EIO;
	kern_policy_remove(kern, entry->generation);
	compartment_forget(id);
	return 1;
}

int compartment_release(struct kern *kern, __u32 id, __u64 cgroup_id, struct error *error)
{
	struct bh_compartment entry;
	int r = kern_compartment_get(kern, id, &entry);

	if (r)
		return error_set(error, -r, "compartment %u: %s", id,
				 r == -ENOENT ? "no such compartment" : strerror(-r));
	entry.state = BH_STATE_RELEASED;
	r = entry_write(kern, id, &entry, error);
	if (r)
		return r;
	if (cgroup_id) {
		kern_egress_detach(kern, cgroup_id);
		kern_cgroup_unset(kern, cgroup_id);
	}
	r = kern_revoke_end(kern, entry.serial);
	if (r == 0)
		r = kern_rechecks_settle(kern);
	if (r == 0)
		r = reap(kern, id, &entry);
	return r < 0 ? error_set(error, -r,
				 "compartment %u: released, and its labels could not be "
				 "counted: bulkhead sweeps it later",
				 id)
		     : 0;
}

int compartment_detach(struct kern *kern, struct compartment *c, struct error *error)
{
	_cleanup_unlock_ struct kern *locked = NULL;
	struct bh_tally tally;
	int r = lock_changes(kern, &locked, error);

	/* Not even an operator lets out by mistake what is being killed. */
	if (r == 0 && compartment_is_tripped(kern, c->id))
		r = compartment_kill(kern, c, KILL_MS, error);
	if (r == 0)
		r = compartment_release(kern, c->id, c->cgroup_id, error);
	/* Touched since the question: the count says it, whatever the state is now. */
	if (r == 0 && kern_tally(kern, c->id, &tally) == 0 && tally.tripped)
		r = compartment_kill(kern, c, KILL_MS, error);
	return r;
}

/* --- reload --- */

/* Processes that bear the label, without any of these flags. */
static int members(struct kern *kern, __u32 id, __u32 without, pid_t **ret, size_t *ret_n,
		   struct error *error)
{
	_cleanup_free_ struct bh_task *tasks = NULL;
	struct bh_task_query query = {.compartment = id};
	_cleanup_free_ pid_t *pids = NULL;
	size_t n = 0, npids = 0;
	int r = kern_tasks(kern, &query, &tasks, &n, error);

	if (r)
		return r;
	pids = calloc(n + 1, sizeof(*pids));
	if (!pids)
		return error_set(error, ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		if (tasks[i].compartment == id && tasks[i].tid == tasks[i].tgid &&
		    !(tasks[i].flags & without))
			pids[npids++] = (pid_t)tasks[i].tgid;
	*ret = TAKE_PTR(pids);
	*ret_n = npids;
	return 0;
}

/* One write switches; the generation before goes after it. */
static int switch_generation(struct kern *kern, struct compartment *c, const struct policy *policy,
			     __u32 generation, struct error *error)
{
	struct bh_compartment entry;
	__u32 before;
	int r = kern_compartment_get(kern, c->id, &entry);

	if (r || entry.state != BH_STATE_ENFORCED)
		return error_set(error, ENOENT, "compartment %u: not enforced any more", c->id);
	before = entry.generation;
	entry.generation = generation;
	entry.mode = policy->mode;
	r = entry_write(kern, c->id, &entry, error);
	if (r) {
		/* Whatever the write did, the generation before is complete. */
		entry.generation = before;
		kern_compartment_set(kern, c->id, &entry);
		return r;
	}
	kern_policy_remove(kern, before);
	c->generation = generation;
	return 0;
}

static int take_policy(struct compartment *c, struct policy *policy, const struct mounts *mounts,
		       struct error *error)
{
	char digest[POLICY_DIGEST_SIZE], view[MOUNTS_DIGEST_SIZE];
	json_t *authority = authority_record(policy);

	if (!authority || mounts_digest(mounts->tables, view) || text_set(&c->view, view) ||
	    text_set(&c->name, policy->name) ||
	    text_set(&c->digest, policy_digest_text(policy, digest))) {
		json_decref(authority);
		return error_set(error, ENOMEM, "out of memory");
	}
	json_decref(c->authority);
	c->authority = authority;
	policy_free(c->loaded);
	c->loaded = policy;
	return 0;
}

int check_nested(const struct policy *policy, const pid_t *pids, size_t npids, struct error *error)
{
	for (size_t i = 0; policy->nested && i < npids; i++) {
		int r = process_has_own_users(pids[i]);

		if (!r)
			r = process_is_foreign(pids[i]);
		if (r == -ESRCH || r == 0)
			continue;
		return error_set(
			error, r < 0 ? -r : EPERM,
			"nested-sandbox: process %d is in a user namespace already: what is "
			"mounted there need not be its own; end it first",
			(int)pids[i]);
	}
	return 0;
}

static int reload_locked(struct kern *kern, struct compartment *c, struct policy **policy,
			 struct error *error)
{
	_cleanup_(mounts_done) struct mounts mounts = {};
	_cleanup_free_ pid_t *pids = NULL;
	__u32 generation = 0;
	size_t n = 0;
	int r = members(kern, c->id, 0, &pids, &n, error);

	if (!r && !(c->loaded && c->loaded->nested))
		r = check_nested(*policy, pids, n, error);
	if (!r)
		r = mounts_read(kern, pids, n, &mounts, error);
	if (!r)
		r = policy_compile(*policy, &mounts, kern, &generation, error);
	if (r)
		return r;
	r = switch_generation(kern, c, *policy, generation, error);
	if (r) {
		kern_policy_remove(kern, generation);
		return r;
	}
	/* From here on the new policy is in force, whatever else fails. */
	r = jit_mark(kern, c->id, *policy, pids, n, error);
	if (!r)
		r = take_policy(c, *policy, &mounts, error);
	if (r)
		return r;
	*policy = NULL;
	return compartment_save(c, error);
}

int compartment_reload_locked(struct kern *kern, struct compartment *c, struct error *error)
{
	struct policy_options options = {.include_dir = *c->include_dir ? c->include_dir : NULL,
					 .vars = (const char *const *)c->vars};
	_cleanup_policy_ struct policy *policy = NULL;
	int r = policy_load(c->policy, &options, &policy, error);

	return r ? r : reload_locked(kern, c, &policy, error);
}

int compartment_reload(struct kern *kern, struct compartment *c, struct error *error)
{
	_cleanup_unlock_ struct kern *locked = NULL;
	int r = lock_changes(kern, &locked, error);

	return r ? r : compartment_reload_locked(kern, c, error);
}

/* Who is PENDING is a unit's process before its first exec: its manager's, which makes its mounts yet. */
static int tables_changed(struct kern *kern, const struct compartment *c, struct error *error)
{
	_cleanup_free_ char *tables = NULL;
	_cleanup_free_ pid_t *pids = NULL;
	char view[MOUNTS_DIGEST_SIZE];
	size_t n = 0;
	int r = members(kern, c->id, BH_LABEL_PENDING, &pids, &n, error);

	if (r)
		return r;
	r = n ? mounts_tables(pids, n, &tables) : -ESRCH;
	if (!r)
		r = mounts_digest(tables, view);
	if (r)
		return error_set(error, -r, "mount tables: %s", strerror(-r));
	return strcmp(c->view, view) != 0;
}

int compartment_view_changed(struct kern *kern, const struct compartment *c, bool idly,
			     struct error *error)
{
	struct bh_compartment entry;

	if (kern_compartment_get(kern, c->id, &entry) || entry.state == BH_STATE_RELEASED)
		return 0;
	if (entry.state != BH_STATE_ENFORCED)
		return error_set(error, EAGAIN, "not enforced yet");
	/* Who switched it died before the record was written: nobody knows what it was compiled for. */
	if (entry.generation != c->generation)
		return 1;
	if (idly && !cgroup_is_populated(c->cgroup))
		return error_set(error, ESRCH, "nobody is inside");
	return tables_changed(kern, c, error);
}

/* --- sweep: what dead agents and dead compartments left --- */

bool cgroup_is_gone(const struct compartment *c)
{
	__u64 id;

	return kern_cgroup_id(c->cgroup, &id) != 0 || id != c->cgroup_id;
}

/* An empty cgroup of our own, made for somebody who died. */
static void remove_abandoned(const struct compartment *c)
{
	if (path_covers(cgroup_own_root(), c->cgroup) && !process_is(c->owner, c->owner_start) &&
	    cgroup_is_populated(c->cgroup) == 0)
		cgroup_remove(c->cgroup);
}

/* Under the lock nobody else is enrolling: what is not enforced yet will never be. */
static int undo_half(struct kern *kern, const struct compartment *c, __u32 id, struct error *error)
{
	int r = compartment_release(kern, id, c ? c->cgroup_id : 0, error);

	if (c && !cgroup_is_gone(c))
		cgroup_freeze(c->cgroup, false, 0, NULL);
	return r;
}

static int sweep_enforced(struct kern *kern, const struct compartment *c, struct error *error)
{
	ssize_t labelled;

	remove_abandoned(c);
	if (!cgroup_is_gone(c))
		return 0;
	/* Tasks that were moved out in time live on under the policy. */
	labelled = count_labelled(kern, c->id);
	if (!labelled)
		labelled = count_labelled(kern, c->id);
	if (labelled)
		return labelled < 0 ? (int)labelled : 0;
	return compartment_release(kern, c->id, c->cgroup_id, error);
}

/* 1 when the id is free afterwards. */
static int sweep_one(struct kern *kern, __u32 id, const struct bh_compartment *entry,
		     struct error *error)
{
	_cleanup_compartment_ struct compartment *c = NULL;
	struct bh_compartment now;
	int r = compartment_load(id, &c, NULL);

	if (r && r != -ENOENT)
		log_warning("compartment %u: its record cannot be read: %s", id, strerror(-r));
	r = 0;
	if (entry->state == BH_STATE_RELEASED) {
		r = reap(kern, id, entry);
		if (c)
			remove_abandoned(c);
	} else if (is_in_force(entry)) {
		/* Without a record it is enforced all the same, and nobody knows where. */
		if (c)
			r = sweep_enforced(kern, c, error);
	} else {
		r = undo_half(kern, c, id, error);
	}
	if (r < 0)
		return error_set(error, -r, "compartment %u: cannot sweep it: %s", id,
				 strerror(-r));
	return kern_compartment_get(kern, id, &now) == -ENOENT;
}

int compartments_sweep_locked(struct kern *kern, struct error *error)
{
	struct bh_compartment entry;
	int freed = 0, failed = 0, r;

	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++) {
		if (kern_compartment_get(kern, id, &entry))
			continue;
		r = sweep_one(kern, id, &entry, error);
		if (r < 0)
			failed = r;
		else
			freed += r;
	}
	/* What was revoked may have been closed everywhere since. */
	if (kern_rechecks_settle(kern) < 0)
		log_warning("re-checks that nothing needs stay attached");
	return failed ? failed : freed;
}

int compartments_sweep(struct kern *kern, struct error *error)
{
	_cleanup_unlock_ struct kern *locked = NULL;
	int r = lock_changes(kern, &locked, error);

	return r ? r : compartments_sweep_locked(kern, error);
}

/* --- settle: tasks that an outsider moved in --- */

/* The helper of a unit's start stands in the subtree and stays an outsider: when it has gone. */
static bool is_starting(const struct compartment *c)
{
	_cleanup_free_ char *cgroup = NULL;

	return c->starting && process_is(c->owner, c->owner_start) &&
	       cgroup_of_pid(c->owner, &cgroup) == 0 && path_covers(c->cgroup, cgroup);
}

static int label_frozen(struct kern *kern, const struct compartment *c, struct error *error)
{
	struct bh_task_query query = {
		.cgroup_id = c->cgroup_id, .compartment = c->id, .label = true};
	_cleanup_free_ struct bh_task *tasks = NULL;
	size_t n = 0;

	return kern_tasks(kern, &query, &tasks, &n, error);
}

/* clone(2) takes the label before the cgroup of its maker, so that a child whose maker was moved in
 * between is inside without a label. Nothing frozen is inside clone(2). */
static int settle_one(struct kern *kern, const struct compartment *c, struct error *error)
{
	int was_frozen = cgroup_is_frozen(c->cgroup);
	int r;

	if (was_frozen < 0)
		return cgroup_is_gone(c) ? 0 : was_frozen;
	r = cgroup_freeze(c->cgroup, true, BH_FREEZE_MS, error);
	if (!r)
		r = label_frozen(kern, c, error);
	if (!was_frozen)
		cgroup_freeze(c->cgroup, false, 0, NULL);
	return cgroup_is_gone(c) ? 0 : r;
}

static int settle_id(struct kern *kern, __u32 id, struct error *error)
{
	_cleanup_compartment_ struct compartment *c = NULL;
	struct bh_compartment entry;
	int r;

	if (kern_compartment_get(kern, id, &entry) || !is_in_force(&entry))
		return 0;
	r = compartment_load(id, &c, error);
	if (!r && cgroup_is_gone(c))
		return 0;
	if (!r && is_starting(c))
		r = error_set(error, EAGAIN, "%s: its unit is starting", c->cgroup);
	return r ? r : settle_one(kern, c, error);
}

int compartments_settle(struct kern *kern, struct error *error)
{
	_cleanup_unlock_ struct kern *locked = NULL;
	__u32 amount;
	int failed = 0, r = lock_changes(kern, &locked, error);

	if (r)
		return r;
	/* Read first: a move that comes meanwhile is not settled by this round. */
	amount = kern_ask_read(kern);
	if (!amount)
		return 0;
	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++)
		if (settle_id(kern, id, error))
			failed = -EAGAIN;
	return failed ? failed : kern_ask_lower(kern, amount);
}
