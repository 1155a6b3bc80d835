// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What timers do: label the threads of tasks that were moved in, renew views, sweep, settle the
 * account of lost events. */
#include "daemon.h"

#include <errno.h>
#include <string.h>
#include "base/cleanup.h"

/* Between two labellings: each freezes every live subtree for a moment. */
#define SETTLE_US 100000ull
/* The kernel raises `ask` at a move into a subtree and says nothing: so it is looked at. */
#define ASK_US 1000000ull
#define TICK_US 5000000ull
/* Between two renewals of one compartment's view: doubled when it did not help, as when the
 * filesystem is mounted nowhere that members see. */
#define RENEW_US 1000000ull
#define RENEW_MAX_US 60000000ull

static void arm(sd_event_source *timer, uint64_t after_us)
{
	sd_event_source_set_time(timer, now_us() + after_us);
	sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static bool is_armed(sd_event_source *timer)
{
	int enabled = SD_EVENT_OFF;

	sd_event_source_get_enabled(timer, &enabled);
	return enabled != SD_EVENT_OFF;
}

void upkeep_moved(struct daemon *d)
{
	uint64_t at;

	if (is_armed(d->settle_timer) && !sd_event_source_get_time(d->settle_timer, &at) &&
	    at <= now_us() + SETTLE_US)
		return;
	arm(d->settle_timer, SETTLE_US);
}

static int on_settle(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	struct daemon *d = data;
	struct error error = {0};

	if (kern_ask_read(d->kern) && compartments_settle(d->kern, &error))
		log_warning("threads of a moved task are not labelled yet, the cgroup is asked "
			    "meanwhile: %s",
			    error.text);
	arm(d->settle_timer, ASK_US);
	return 0;
}

void upkeep_renew(struct daemon *d, struct entry *entry)
{
	if (entry->renew)
		return;
	entry->renew = true;
	if (!is_armed(d->renew_timer))
		arm(d->renew_timer, 0);
}

static void renew(struct daemon *d, struct entry *entry)
{
	struct compartment *c = entry->record;
	struct error error = {0};
	int r;

	entry->renew = false;
	/* Asked again soon after the last time: that one did not help. */
	entry->renew_wait_us = now_us() - entry->renew_us < 2 * entry->renew_wait_us + RENEW_US
				       ? entry->renew_wait_us * 2
				       : RENEW_US;
	if (entry->renew_wait_us < RENEW_US)
		entry->renew_wait_us = RENEW_US;
	if (entry->renew_wait_us > RENEW_MAX_US)
		entry->renew_wait_us = RENEW_MAX_US;
	entry->renew_us = now_us();
	r = registry_reload(d, c, &error);
	if (r)
		log_warning("compartment %s: its view of mounts is not renewed, files there stay "
			    "refused: %s",
			    c->name, error.text);
	else
		log_info("compartment %s: view of mounts renewed", c->name);
}

static int on_renew(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	struct daemon *d = data;
	uint64_t soonest = UINT64_MAX;

	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++) {
		struct entry *entry = &d->entries[id];
		uint64_t due = entry->renew_us + entry->renew_wait_us;

		if (!entry->renew || !entry->record)
			continue;
		if (due <= now_us())
			renew(d, entry);
		else if (due < soonest)
			soonest = due;
	}
	if (soonest != UINT64_MAX)
		arm(d->renew_timer, soonest - now_us());
	return 0;
}

/* Numbers handed out before the last tick have come by now: the ring was read since. */
static void settle_losses(struct daemon *d, __u32 id)
{
	struct entry *entry = &d->entries[id];
	struct bh_tally tally;
	__u64 kernel;

	if (!entry->record || kern_tally(d->kern, id, &tally))
		return;
	stream_lost(d, id, loss_settle(d->loss, id, entry->settled_seq));
	kernel = tally.lost - entry->lost_before;
	if (tally.seq == entry->settled_seq && loss_total(d->loss, id) != kernel) {
		log_warning("compartment %s: %llu events did not come, the kernel lost %llu",
			    entry->record->name, (unsigned long long)loss_total(d->loss, id),
			    (unsigned long long)kernel);
		entry->lost_before = tally.lost - loss_total(d->loss, id);
	}
	entry->settled_seq = tally.seq;
}

static int on_tick(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	struct daemon *d = data;
	struct error error = {0};
	int r;

	stream_drain(d);
	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++)
		settle_losses(d, id);
	r = compartments_sweep(d->kern, &error);
	if (r < 0)
		log_warning("compartments that ended are not swept: %s", error.text);
	registry_refresh(d);
	arm(d->tick_timer, TICK_US);
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
		{&d->tick_timer, on_tick, TICK_US},
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
