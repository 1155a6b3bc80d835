// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* status, events and doctor: what changes nothing. */
#include <errno.h>
#include <string.h>
#include "base/cleanup.h"
#include "compart/doctor.h"
#include "compart/status.h"
#include "egress.h"
#include "request.h"

/* Between two canaries on behalf of readers: each takes the lock and some tens of milliseconds. */
#define DOCTOR_US 2000000ull

int request_status(struct request *request, struct error *error _unused_)
{
	struct daemon *d = request->daemon;
	struct bh_compartment entry;

	registry_refresh(d);
	json_object_set_new(request->reply, "compartments", json_array());
	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++)
		if (d->entries[id].record && kern_compartment_get(d->kern, id, &entry) == 0)
			request_show(request, d->entries[id].record);
	json_object_set_new(request->reply, "bindings", unit_bindings());
	json_object_set_new(request->reply, "agent",
			    json_pack("{s:i, s:I, s:I, s:o}", "pid", getpid(), "unwritten",
				      (json_int_t)sink_failed(d->sink), "malformed",
				      (json_int_t)d->malformed, "egress", egress_relay_status(d)));
	return 0;
}

int request_events(struct request *request, struct error *error _unused_)
{
	json_object_set_new(request->reply, "subscribed", json_true());
	return 0;
}

int request_doctor(struct request *request, struct error *error)
{
	static uint64_t last_us;
	static json_t *last;

	if (!last || now_us() - last_us >= DOCTOR_US) {
		json_decref(last);
		last = doctor_examine(request->daemon->kern, "", false);
		last_us = now_us();
	}
	if (!last)
		return error_set(error, ENOMEM, "out of memory");
	json_object_set(request->reply, "doctor", last);
	return 0;
}
