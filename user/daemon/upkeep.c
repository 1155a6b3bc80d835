// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What timers do: label the threads of tasks that were moved in, renew views, sweep, settle the
 * account of lost events. */
#include "daemon.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include "base/cleanup.h"
#include "compart/policies.h"
#include "egress.h"

/* Between two labellings: each freezes every live subtree for a moment. */
#define SETTLE_US 100000ull
/* The kernel raises `ask` at a move into a subtree and says nothing: so it is looked at. */
#define ASK_US 1000000ull
#define TICK_US 5000000ull
/* Looks at `ask` that found it up in vain. */
#define SETTLE_PATIENCE 30
/* Between two renewals of one compartment's view; so many times what the last one took, as a policy of ten
 * thousand rules compiles for seconds; and, where it is asked for by who was refused, doubled while it changes
 * nothing, as when the filesystem is mounted nowhere that members see. */
#define RENEW_US 1000000ull
#define RENEW_SHARE 10
#define RENEW_MAX_US 60000000ull

void upkeep_moved(struct daemon *d)
{
	timer_arm_by(d->settle_timer, SETTLE_US);
}

/* A directory on the way to a file that is denied by its whole name is another one: until it is pinned
 * anew, older hard links of any file are refused. */
static void pin_anew(struct daemon *d)
{
	struct bh_compartment now;

	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++) {
		if (!d->entries[id].record || kern_compartment_get(d->kern, id, &now))
			continue;
		if (kern_policy_loose(d->kern, now.generation) == BH_LOOSE)
			upkeep_renew(d, &d->entries[id]);
	}
}

static int on_settle(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	static unsigned int failed; /* in a row */
	struct daemon *d = data;
	struct error error = {0};
	int r = kern_ask_read(d->kern) ? compartments_settle(d->kern, &error) : 0;

	/* A unit that starts settles by itself; one that takes long is worth a line. */
	failed = r < 0 ? failed + 1 : 0;
	if (failed == SETTLE_PATIENCE)
		log_warning(
			"threads of a moved task are not labelled, the cgroup is asked meanwhile "
			"at a higher price: %s",
			error.text);
	pin_anew(d);
	timer_arm(d->settle_timer, ASK_US);
	return 0;
}

void upkeep_renew(struct daemon *d, struct entry *entry)
{
	if (entry->renew)
		return;
	entry->renew = true;
	timer_arm_by(d->renew_timer, 0);
}

void upkeep_renew_now(struct daemon *d, struct entry *entry)
{
	if (entry->renew_now)
		return;
	entry->renew = entry->renew_now = true;
	timer_arm_by(d->renew_timer, 0);
}

/* Kills without waiting: what does not go at once is killed again at the next tick. By the kernel's
 * table: an event can be lost, or be older than the agent. */
void upkeep_tripped(struct daemon *d, __u32 id)
{
	struct entry *entry = &d->entries[id];
	struct error error = {0};
	int r;

	if (!entry->record || !compartment_is_tripped(d->kern, id))
		return;
	if (!entry->tripped)
		log_warning("compartment %s: a tripwire was touched: killed", entry->record->name);
	entry->tripped = true;
	r = compartment_kill(d->kern, entry->record, 0, &error);
	if (r < 0 && r != -ETIMEDOUT)
		log_error("compartment %s: a tripwire was touched, and it cannot be killed: %s",
			  entry->record->name, error.text);
}

/* A view is renewed with the text that is in force: a file that was edited is for the operator to
 * reload. By the recorded digest: what this agent read when it started may have been edited before,
 * while none ran. Cannot tell: edited. */
static bool is_edited(const struct compartment *c)
{
	char digest[POLICY_DIGEST_SIZE];
	struct policy_options options = {
		.vars = (const char *const *)c->vars,
		.include_dir = *c->include_dir ? c->include_dir : policies_dir(),
	};
	struct policy *now = NULL;
	bool edited;

	if (policy_load(c->policy, &options, &now, NULL))
		return true;
	edited = strcmp(policy_digest_text(now, digest), c->digest) != 0;
	policy_free(now);
	return edited;
}

/* Another view than before: 1, the same: 0, -errno: it is not renewed. */
static int renew_view(struct daemon *d, struct entry *entry)
{
	struct compartment *c = entry->record;
	char before[MOUNTS_DIGEST_SIZE];
	struct error error = {0};
	int r;

	snprintf(before, sizeof(before), "%s", c->view);
	if (is_edited(c)) {
		if (!entry->edited)
			log_warning("compartment %s: its view of files is out of date, what is new "
				    "in it is refused or judged by older names; its policy was "
				    "edited, so renew both by: bulkhead reload %u",
				    c->name, c->id);
		entry->edited = true;
		return -EPERM;
	}
	r = registry_reload(d, c, &error);
	if (!r) {
		log_info("compartment %s: view of files renewed", c->name);
		return strcmp(before, c->view) != 0;
	}
	log_warning("compartment %s: its view of files is not renewed, what is new in it stays "
		    "refused or judged by older names: %s",
		    c->name, error.text);
	/* A bind of what it knows is undecided to nobody, who would ask again. */
	mountwatch_add(d, entry);
	return r;
}

/* Of the processor alone: not how long another command held the lock. */
static uint64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static uint64_t between(uint64_t least, uint64_t us, uint64_t most)
{
	us = us > least ? us : least;
	return us < most ? us : most;
}

/* What changed nothing, or failed, is done ever more seldom while it is asked for. */
static void renew(struct daemon *d, struct entry *entry)
{
	uint64_t began_us = now_us(), cpu_began_us = cpu_us();
	bool soon = began_us - entry->renew_us <= 2 * entry->doubt_us + RENEW_US;
	int r = renew_view(d, entry);

	entry->renew = entry->renew_now = false;
	entry->pause_us = between(RENEW_US, (cpu_us() - cpu_began_us) * RENEW_SHARE, RENEW_MAX_US);
	if (r > 0)
		entry->doubt_us = 0;
	else
		entry->doubt_us = between(RENEW_US, soon ? 2 * entry->doubt_us : 0, RENEW_MAX_US);
	/* A failure is no less one where a mount was seen. */
	if (r < 0)
		entry->pause_us = between(entry->pause_us, entry->doubt_us, RENEW_MAX_US);
	entry->renew_us = now_us();
}

static uint64_t due_us(const struct entry *entry)
{
	uint64_t wait = entry->renew_now || entry->pause_us > entry->doubt_us ? entry->pause_us
									      : entry->doubt_us;

	return entry->renew_us + wait;
}

/* The next that is due, from `id` on, or BH_MAX_COMPARTMENTS; *soonest: when one of those that are not is. */
static __u32 next_due(const struct daemon *d, __u32 id, uint64_t *soonest)
{
	for (; id < BH_MAX_COMPARTMENTS; id++) {
		const struct entry *entry = &d->entries[id];
		uint64_t due;

		if (!entry->renew || !entry->record)
			continue;
		due = due_us(entry);
		if (due <= now_us())
			break;
		*soonest = due < *soonest ? due : *soonest;
	}
	return id;
}

/* One at a time, in turn: each may take seconds, in which nobody else is served. */
static int on_renew(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	struct daemon *d = data;
	uint64_t soonest = UINT64_MAX, now;
	__u32 id = next_due(d, d->renew_next, &soonest);

	if (id == BH_MAX_COMPARTMENTS)
		id = next_due(d, 1, &soonest);
	if (id < BH_MAX_COMPARTMENTS) {
		renew(d, &d->entries[id]);
		d->renew_next = id + 1;
		timer_arm(d->renew_timer, 0);
		return 0;
	}
	now = now_us();
	if (soonest != UINT64_MAX)
		timer_arm(d->renew_timer, soonest > now ? soonest - now : 0);
	return 0;
}

/* The kernel's count is the truth: what it lost before the first event that came is said here. */
static void reconcile(struct daemon *d, __u32 id, const struct bh_tally *tally)
{
	struct entry *entry = &d->entries[id];
	__u64 kernel = tally->lost - entry->lost_before, ours = loss_total(d->loss, id);

	if (kernel == ours)
		return;
	if (kernel > ours)
		stream_lost(d, id, kernel - ours);
	else
		log_warning("compartment %s: %llu events did not come, the kernel lost %llu",
			    entry->record->name, (unsigned long long)ours,
			    (unsigned long long)kernel);
	entry->lost_before = tally->lost - ours;
}

/* Numbers handed out before the last tick have come by now, as the ring was emptied since. */
static void settle_losses(struct daemon *d, __u32 id)
{
	struct entry *entry = &d->entries[id];
	struct bh_tally tally;

	if (!entry->record || kern_tally(d->kern, id, &tally))
		return;
	stream_lost(d, id, loss_settle(d->loss, id, entry->settled_seq));
	if (tally.seq == entry->settled_seq)
		reconcile(d, id, &tally);
	entry->settled_seq = tally.seq;
}

static int on_tick(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	struct daemon *d = data;
	struct error error = {0};
	int r;

	/* What is repeated comes after what it repeats. */
	if (stream_drain(d))
		stream_repeats(d, 0);
	for (__u32 id = 1; d->emptied && id < BH_MAX_COMPARTMENTS; id++)
		settle_losses(d, id);
	d->emptied = false;
	r = compartments_sweep(d->kern, &error);
	if (r < 0)
		log_warning("compartments that ended are not swept: %s", error.text);
	registry_refresh(d);
	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++)
		upkeep_tripped(d, id);
	egress_tick(d);
	timer_arm(d->tick_timer, TICK_US);
	return 0;
}

int upkeep_start(struct daemon *d, struct error *error)
{
	const struct {
		sd_event_source **timer;
		sd_event_time_handler_t handler;
		uint64_t first_us; /* 0: not armed */
	} timers[] = {
		{&d->settle_timer, on_settle, SETTLE_US},
		{&d->renew_timer, on_renew, 0},
		{&d->tick_timer, on_tick, SETTLE_US},
	};

	for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++) {
		int r = sd_event_add_time(d->event, timers[i].timer, CLOCK_MONOTONIC,
					  now_us() + timers[i].first_us, 1000, timers[i].handler,
					  d);

		if (r < 0)
			return error_set(error, -r, "event loop: %s", strerror(-r));
		if (!timers[i].first_us)
			sd_event_source_set_enabled(*timers[i].timer, SD_EVENT_OFF);
	}
	return 0;
}
