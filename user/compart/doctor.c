// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "doctor.h"

#include <errno.h>
#include <string.h>
#include "audit/names.h"
#include "vectors.h"

#define DOCTOR_LOCK_MS 10000

struct examination {
	struct kern *kern;
	struct kern_probe probe;
	struct canary_result results[BH_HOOK_COUNT];
	struct error canary_error;
	struct error recheck_errors[KERN_RECHECK_COUNT]; /* why these cannot be attached; "" */
	bool ran;					 /* the canary came to its end */
	enum doctor_verdict verdict;
};

/* Words about a hook: here, which ones cover it where the kernel does not have it. */
struct cover {
	enum bh_hook hook;
	const char *by;
};

static const struct cover covers[] = {
	{BH_HOOK_INODE_SET_ACL, "inode_setxattr"},
	{BH_HOOK_INODE_REMOVE_ACL, "inode_removexattr"},
	{BH_HOOK_INODE_FILE_SETATTR, "file_ioctl"},
	{BH_HOOK_USERNS, "capable"},
	{BH_HOOK_MOVE_MOUNT, "sb_mount and capable"},
	{BH_HOOK_PERF_EVENT, "capable"},
	{BH_HOOK_CONNECT6, "socket_connect"},
	{BH_HOOK_SENDMSG6, "socket_sendmsg"},
};

/* Hooks that are proved otherwise than by an errno of their own. */
static const struct cover proofs[] = {
	{BH_HOOK_TASK_ALLOC, "a child was labelled, and refused what its parent is"},
	{BH_HOOK_CGROUP_MOVE, "a task moved in was labelled"},
};

static const char *look_up(const struct cover *rows, size_t n, enum bh_hook hook)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].hook == hook)
			return rows[i].by;
	return NULL;
}

static const char *const verdict_names[] = {
	[DOCTOR_PROVED] = "proved",
	[DOCTOR_MISSING] = "missing",
	[DOCTOR_UNKNOWN] = "unknown",
	[DOCTOR_UNABLE] = "unable",
};

const char *doctor_verdict_name(enum doctor_verdict verdict)
{
	return verdict_names[verdict];
}

static void worsen(struct examination *x, enum doctor_verdict verdict)
{
	if (verdict > x->verdict)
		x->verdict = verdict;
}

/* Nothing was asked of the kernel, as who asks may not. */
static bool is_blind(const struct examination *x)
{
	return !x->kern && !x->probe.ok[KERN_NEED_ROOT];
}

static const char *need_state(const struct examination *x, int need)
{
	return x->probe.ok[need] ? "there" : x->probe.unknown[need] ? "unknown" : "missing";
}

static json_t *needs_record(struct examination *x)
{
	json_t *array = json_array();

	for (int need = 0; need < KERN_NEED_COUNT; need++) {
		const char *remedy = x->probe.ok[need] ? "" : x->probe.remedy[need];

		json_array_append_new(array,
				      json_pack("{s:s, s:b, s:s, s:s}", "need",
						kern_need_name(need), "ok", x->probe.ok[need],
						"state", need_state(x, need), "remedy", remedy));
		if (!x->probe.ok[need] && !x->probe.unknown[need] && need != KERN_NEED_ROOT)
			worsen(x, DOCTOR_UNABLE);
	}
	return array;
}

struct finding {
	const char *state, *how, *remedy;
	bool is_absent;
};

/* A hook that is attached, or was for the canary: what that says of it. */
static struct finding proved(struct examination *x, const struct canary_result *result, bool idle)
{
	if (result->refused && result->counted)
		return (struct finding){idle ? "idle" : "enforced", NULL, "", false};
	worsen(x, DOCTOR_MISSING);
	if (!x->ran && !result->note[0])
		return (struct finding){"not proved", x->canary_error.text,
					"read the canary's error and try again", false};
	if (!result->tried)
		return (struct finding){"not proved", result->note, "none: it cannot be tried here",
					false};
	return (struct finding){"not proved", result->note,
				"rely on nothing on this host; report this kernel", false};
}

/* Attached for the canary, and not now. */
static struct finding idle(struct examination *x, enum bh_hook hook)
{
	const char *why = x->recheck_errors[kern_recheck_set(hook)].text;

	if (!*why)
		return proved(x, &x->results[hook], true);
	worsen(x, DOCTOR_MISSING);
	return (struct finding){"not attached", why, "write no policy that needs it on this host",
				false};
}

static struct finding find(struct examination *x, enum bh_hook hook)
{
	enum kern_hook_state state = KERN_HOOK_LOST;
	__u32 link_id;

	if (is_blind(x))
		return (struct finding){"unknown", "it cannot be told without privilege",
					"see above", false};
	if (!x->kern) {
		worsen(x, DOCTOR_MISSING);
		return (struct finding){"not attached", "the programs are not loaded", "see above",
					false};
	}
	if (kern_hook_state(x->kern, hook, &state, &link_id))
		state = KERN_HOOK_LOST;
	switch (state) {
	case KERN_HOOK_ABSENT:
		return (struct finding){"absent", NULL, "", true};
	case KERN_HOOK_ATTACHED:
	case KERN_HOOK_PER_CGROUP:
		return proved(x, &x->results[hook], false);
	case KERN_HOOK_IDLE:
		return idle(x, hook);
	case KERN_HOOK_LOST:
		break;
	}
	worsen(x, DOCTOR_MISSING);
	return (struct finding){"not attached", "no link of ours in the kernel",
				"bulkhead stop --release, then start bulkheadd again", false};
}

/* How a finding without words of its own came about. */
static const char *how_text(const struct finding *finding, enum bh_hook hook, char *buffer,
			    size_t size)
{
	const char *text = look_up(proofs, sizeof(proofs) / sizeof(proofs[0]), hook);

	if (finding->how)
		return finding->how;
	if (finding->is_absent) {
		text = look_up(covers, sizeof(covers) / sizeof(covers[0]), hook);
		snprintf(buffer, size, "covered by %s", text ?: "nothing");
	} else if (text) {
		snprintf(buffer, size, "%s, in a scratch compartment", text);
	} else {
		snprintf(buffer, size, "refused %s, counted, in a scratch compartment%s",
			 errno_name(hook_errno(hook)),
			 strcmp(finding->state, "idle") ? ""
			 : hook == BH_HOOK_FILE_APPEND	? "; attached while a policy gives append "
							  "without write"
							: "; attached while something is revoked");
	}
	return buffer;
}

static json_t *hook_record(struct examination *x, enum bh_hook hook)
{
	struct finding finding = find(x, hook);
	char how[128];

	return json_pack("{s:s, s:s, s:s, s:s, s:s}", "hook", hook_name(hook), "plane",
			 plane_name(hook_plane(hook)), "state", finding.state, "how",
			 how_text(&finding, hook, how, sizeof(how)), "remedy", finding.remedy);
}

static void run_canary(struct examination *x)
{
	if (kern_lock(x->kern, DOCTOR_LOCK_MS, &x->canary_error))
		return;
	/* What is idle is attached to be proved. */
	for (int set = 0; set < KERN_RECHECK_COUNT; set++)
		kern_rechecks_attach(x->kern, set, &x->recheck_errors[set]);
	x->ran = canary_run(x->kern, x->results, &x->canary_error) == 0;
	if (kern_rechecks_settle(x->kern))
		log_warning("re-checks that nothing needs stay attached");
	kern_unlock(x->kern);
	if (!x->ran)
		worsen(x, DOCTOR_MISSING);
}

static json_t *hooks_record(struct examination *x)
{
	json_t *array = json_array();

	for (int hook = BH_HOOK_NONE + 1; hook < BH_HOOK_COUNT; hook++)
		json_array_append_new(array, hook_record(x, hook));
	return array;
}

json_t *doctor_examine(struct kern *kern, const char *why_not, bool unable)
{
	struct examination *x = calloc(1, sizeof(*x));
	json_t *record, *needs, *hooks;

	if (!x)
		return NULL;
	x->kern = kern;
	kern_probe(&x->probe);
	needs = needs_record(x);
	if (kern)
		run_canary(x);
	else if (is_blind(x))
		worsen(x, DOCTOR_UNKNOWN);
	else
		worsen(x, unable ? DOCTOR_UNABLE : DOCTOR_MISSING);
	hooks = hooks_record(x);
	record = json_pack("{s:s, s:s, s:o, s:{s:o, s:b, s:b, s:s}, s:s, s:o, s:o, s:s}", "kernel",
			   x->probe.release, "lsm", x->probe.lsm, "needs", needs, "programs",
			   "loaded", is_blind(x) ? json_null() : json_boolean(kern != NULL),
			   "loaded_before", kern != NULL, "left", kern != NULL, "error",
			   kern ? "" : why_not, "canary", x->canary_error.text, "hooks", hooks,
			   "vectors", vectors_record(), "verdict", doctor_verdict_name(x->verdict));
	free(x);
	return record;
}
