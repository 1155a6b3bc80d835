// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the host mounts while compartments live. A bind of what a view knows already gives files further
 * names, and no access to them is undecided: so the mount table is watched, and each compartment's view
 * compared with what its members see now.
 */
#include "daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "base/cleanup.h"

/* proc(5): poll(2) says EPOLLPRI when a table changed. Which of them are read does not matter: a mount
 * that members share with the host comes to both. */
#define MOUNT_TABLE "/proc/self/mountinfo"
/* Mounts come in bursts, a container's dozen within milliseconds: they are looked at together. */
#define COALESCE_US 500000ull
/* What cannot be compared now: nobody is inside, or all members are in sandboxes. */
#define AGAIN_US 5000000ull
/* For so long a unit that starts is compared again and again: systemd gives it a minute and a half. */
#define START_US 90000000ull
/* Each look goes through all the host's tasks: others of the loop come in between. */
#define LOOKS 8

static bool is_pending(const struct entry *entry)
{
	return entry->record && (entry->look || entry->look_again);
}

/* The next whose view is to be compared, from `id` on, or BH_MAX_COMPARTMENTS. */
static __u32 next_pending(const struct daemon *d, __u32 id)
{
	while (id < BH_MAX_COMPARTMENTS && !is_pending(&d->entries[id]))
		id++;
	return id;
}

static bool is_expected(int code)
{
	return code == -ESRCH || code == -EAGAIN || code == -EXDEV;
}

/* Another process may have reloaded it since its record was read. */
static void refresh(struct daemon *d, __u32 id)
{
	struct bh_compartment now;

	if (kern_compartment_get(d->kern, id, &now) == 0 &&
	    now.generation != d->entries[id].record->generation)
		registry_read(d, id);
}

static void look(struct daemon *d, __u32 id)
{
	struct entry *entry = &d->entries[id];
	struct error error = {0};
	bool idly = !entry->look;
	int r;

	refresh(d, id);
	entry->look = false;
	r = compartment_view_changed(d->kern, entry->record, idly, &error);
	/* Not decided is not the same. Who starts may have processes in the host's mounts first (ExecStartPre=+). */
	entry->look_again = r < 0 || now_us() < entry->look_until_us;
	if (r > 0)
		upkeep_renew_now(d, entry);
	if (r < 0 && !is_expected(r) && !entry->look_failed)
		log_warning("compartment %s: whether its view of files is out of date cannot be "
			    "told: %s",
			    entry->record->name, error.text);
	entry->look_failed = r < 0 && !is_expected(r);
}

static bool is_marked(const struct daemon *d)
{
	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++)
		if (d->entries[id].record && d->entries[id].look)
			return true;
	return false;
}

static int on_look(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	struct daemon *d = data;
	__u32 id = next_pending(d, d->look_next);

	for (int i = 0; i < LOOKS && id < BH_MAX_COMPARTMENTS; i++) {
		look(d, id);
		id = next_pending(d, id + 1);
	}
	d->look_next = id < BH_MAX_COMPARTMENTS ? id : 1;
	if (id < BH_MAX_COMPARTMENTS)
		timer_arm(d->look_timer, 0);
	else if (is_marked(d))
		timer_arm(d->look_timer, COALESCE_US);
	else if (next_pending(d, 1) < BH_MAX_COMPARTMENTS)
		timer_arm(d->look_timer, AGAIN_US);
	return 0;
}

static void look_at_all(struct daemon *d)
{
	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++)
		d->entries[id].look = true;
	timer_arm_by(d->look_timer, COALESCE_US);
}

static int on_mounts(sd_event_source *source _unused_, int fd _unused_, uint32_t events _unused_,
		     void *data)
{
	look_at_all(data);
	return 0;
}

void mountwatch_add(struct daemon *d, struct entry *entry)
{
	entry->look = true;
	if (entry->record->starting)
		entry->look_until_us = now_us() + START_US;
	/* Records are read before anything is watched. */
	if (d->look_timer)
		timer_arm_by(d->look_timer, COALESCE_US);
}

int mountwatch_start(struct daemon *d, struct error *error)
{
	_cleanup_close_ int fd = open(MOUNT_TABLE, O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return error_set(error, errno, "%s: %s", MOUNT_TABLE, strerror(errno));
	r = sd_event_add_time(d->event, &d->look_timer, CLOCK_MONOTONIC, now_us(), 1000, on_look,
			      d);
	if (r >= 0)
		r = sd_event_add_io(d->event, &d->mounts, fd, EPOLLPRI, on_mounts, d);
	if (r >= 0)
		r = sd_event_source_set_io_fd_own(d->mounts, true);
	if (r < 0)
		return error_set(error, -r, "event loop: %s", strerror(-r));
	TAKE_FD(fd);
	d->look_next = 1;
	/* What was mounted while no agent ran. */
	look_at_all(d);
	return 0;
}
