// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From nothing to READY: each step rests on the ones before, and the first that fails ends it. */
#include "daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include "base/cleanup.h"
#include "egress.h"

#define STARTUP_LOCK_MS 30000

static gid_t group_id(const char *name)
{
	const struct group *group = getgrnam(name);

	return group ? group->gr_gid : (gid_t)-1;
}

static int find_groups(struct daemon *d, struct error *error _unused_)
{
	d->group = group_id(CONTROL_GROUP_READ);
	d->admins = group_id(CONTROL_GROUP_CHANGE);
	return 0;
}

static int require_kernel(struct daemon *d _unused_, struct error *error)
{
	struct kern_probe probe;

	kern_probe(&probe);
	return kern_probe_require(&probe, error);
}

/* 0751: anybody may reach the control socket, which says itself who may ask what; only the group
 * can list the rest. */
static int make_run_dir(struct daemon *d, struct error *error)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (mkdir(KERN_RUN_DIR, 0750) && errno != EEXIST)
		return error_set(error, errno, "%s: %s", KERN_RUN_DIR, strerror(errno));
	fd = open(KERN_RUN_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return error_set(error, errno, "%s: %s: remove what stands there", KERN_RUN_DIR,
				 strerror(errno));
	if (st.st_uid != 0)
		return error_set(error, EPERM, "%s belongs to uid %u: remove it", KERN_RUN_DIR,
				 st.st_uid);
	if (fchown(fd, 0, d->group == (gid_t)-1 ? 0 : d->group) || fchmod(fd, 0751))
		return error_set(error, errno, "%s: %s", KERN_RUN_DIR, strerror(errno));
	return 0;
}

static int take_lock(struct daemon *d, struct error *error)
{
	d->lock = open(CONTROL_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (d->lock < 0)
		return error_set(error, errno, "%s: %s", CONTROL_LOCK, strerror(errno));
	if (flock(d->lock, LOCK_EX | LOCK_NB))
		return error_set(error, errno, "another bulkheadd is running");
	return 0;
}

static int open_kern(struct daemon *d, struct error *error)
{
	return kern_open(&d->kern, error);
}

static int sweep(struct daemon *d, struct error *error)
{
	int r = compartments_sweep(d->kern, error);

	if (r < 0)
		return r;
	registry_refresh(d);
	/* Threads that moved in while nobody looked. */
	if (kern_ask_read(d->kern) && compartments_settle(d->kern, error)) {
		log_warning("not all threads are labelled yet, the cgroup is asked meanwhile: %s",
			    error->text);
		*error = (struct error){0};
	}
	return 0;
}

/* Loaded and attached is not enforced: only a refusal seen from inside is. */
static int prove(struct daemon *d, struct error *error)
{
	struct canary_result results[BH_HOOK_COUNT];
	int r = kern_lock(d->kern, STARTUP_LOCK_MS, error);

	if (r < 0)
		return r;
	r = canary_run(d->kern, results, error);
	kern_unlock(d->kern);
	return r;
}

static int make_loss(struct daemon *d, struct error *error)
{
	d->loss = loss_new();
	return d->loss ? 0 : error_set(error, ENOMEM, "out of memory");
}

static int serve_egress(struct daemon *d, struct error *error)
{
	const struct egress_options options = {.config = d->egress_config};

	return egress_start(d, &options, error);
}

static int be_ready(struct daemon *d, struct error *error _unused_)
{
	unsigned int n = 0;

	for (size_t id = 1; id < BH_MAX_COMPARTMENTS; id++)
		n += d->entries[id].record != NULL;

	sd_notifyf(0, "READY=1\nSTATUS=enforcing, every hook proved; %u compartments found", n);
	log_info("enforcing, every hook proved; %u compartments found", n);
	return 0;
}

int daemon_start(struct daemon *d, struct error *error)
{
	static int (*const steps[])(struct daemon * d, struct error * error) = {
		find_groups,	  require_kernel, make_run_dir, take_lock, make_loss,
		open_kern,	  sweep,	  stream_open,	prove,	   upkeep_start,
		mountwatch_start, serve_egress,	  server_start, be_ready,
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int r = steps[i](d, error);

		if (r < 0)
			return r;
	}
	return 0;
}
