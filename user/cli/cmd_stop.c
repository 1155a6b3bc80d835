// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include "cli.h"
#include "compart/compart.h"

#define STOP_LOCK_MS 10000

DEFINE_CLEANUP(struct kern *, kern_close)
DEFINE_CLEANUP(struct compartment *, compartment_free)

static int release_one(struct kern *kern, __u32 id, struct error *error)
{
	_cleanup_(cleanup_compartment_free) struct compartment *c = NULL;
	struct bh_compartment entry;
	int r;

	if (kern_compartment_get(kern, id, &entry) || entry.state == BH_STATE_RELEASED)
		return 0;
	r = compartment_load(id, &c, error);
	if (r == 0)
		r = compartment_detach(kern, c, error);
	if (r == 0)
		printf("%s: released\n", c->name);
	return r;
}

int cmd_stop(const struct arguments *arguments, struct error *error)
{
	_cleanup_(cleanup_kern_close) struct kern *kern = NULL;
	int r;

	if (agent_is_running())
		return error_set(error, EBUSY,
				 "the agent is running: systemctl stop bulkheadd first");
	r = kern_is_loaded(error);
	if (r <= 0)
		return r ? r : puts("nothing is loaded") < 0;
	r = kern_open(&kern, error);
	for (__u32 id = 1; r == 0 && arguments->release && id < BH_MAX_COMPARTMENTS; id++)
		r = release_one(kern, id, error);
	if (r == 0)
		r = kern_lock(kern, STOP_LOCK_MS, error);
	if (r)
		return r;
	r = kern_unload(kern, error);
	kern_unlock(kern);
	if (r == -EBUSY && !arguments->release)
		error_prefix(error, "compartments are attached (bulkhead stop --release)");
	return r;
}
