/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What unit.c, binding.c and scope.c share: one way to speak with systemd. */
#ifndef COMPART_UNIT_H
#define COMPART_UNIT_H

#include <limits.h>
#include <systemd/sd-bus.h>
#include "internal.h"

#define UNIT_DESTINATION "org.freedesktop.systemd1"
#define UNIT_MANAGER "/org/freedesktop/systemd1"

/* The name with its suffix; -EINVAL with words for what is no name of a service. */
int unit_check_name(const char *unit, char ret[UNIT_NAME_SIZE], struct error *error);
/* -EOPNOTSUPP where systemd does not run. */
int unit_bus_open(sd_bus **ret, struct error *error);
/* Calls with a deadline; ret may be NULL. */
int unit_bus_call(sd_bus *bus, const char *path, const char *interface, const char *method,
		  sd_bus_message **ret, struct error *error, const char *types, ...);
/* cgroup of a loaded unit, "Service" or "Scope" by its bus interface; ret_id may be NULL. */
int unit_control_group(sd_bus *bus, const char *unit, const char *interface, char **ret_cgroup,
		       char **ret_id, struct error *error);

/* --- binding.c --- */
/* Where a unit's binding is recorded. -ENAMETOOLONG. */
int binding_path(const char *unit, char ret[PATH_MAX]);
int binding_write(const char *unit, const char *policy, const char *const *vars,
		  struct error *error);

#endif
