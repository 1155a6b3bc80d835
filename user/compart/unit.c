// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Units of systemd, asked over its bus: their cgroups, and drop-ins that bind them to a policy. */
#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#define DROPIN "/etc/systemd/system/%s.d/50-bulkhead.conf"
/* An instance of a template that nobody started: to ask what its drop-ins say. */
#define PROBE_INSTANCE "bulkhead-probe"
/* A daemon-reload of a host with thousands of units takes seconds. */
#define BUS_US (25 * UINT64_C(1000000))

#define MANAGER "org.freedesktop.systemd1.Manager"
#define BUS_UNIT "org.freedesktop.systemd1.Unit"
#define BUS_SERVICE "org.freedesktop.systemd1.Service"

/* --- the bus --- */

/* The manager's own socket serves root where no bus runs. */
static int open_private(sd_bus **ret)
{
	_cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
	int r = sd_bus_new(&bus);

	if (r >= 0)
		r = sd_bus_set_address(bus, "unix:path=/run/systemd/private");
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(bus);
	return 0;
}

int unit_bus_open(sd_bus **ret, struct error *error)
{
	sd_bus *bus = NULL;
	int r;

	if (access("/run/systemd/system", F_OK))
		return error_set(error, EOPNOTSUPP,
				 "systemd is not running here: attach --cgroup or --pid instead");
	r = sd_bus_open_system(&bus);
	if (r < 0)
		r = open_private(&bus);
	if (r < 0)
		return error_set(error, -r, "cannot speak with systemd: %s", strerror(-r));
	sd_bus_set_method_call_timeout(bus, BUS_US);
	*ret = bus;
	return 0;
}

int unit_bus_call(sd_bus *bus, const char *path, const char *interface, const char *method,
		  sd_bus_message **ret, struct error *error, const char *types, ...)
{
	_cleanup_(sd_bus_error_free) sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
	va_list ap;
	int r = sd_bus_message_new_method_call(bus, &call, UNIT_DESTINATION, path, interface,
					       method);

	if (r >= 0 && types) {
		va_start(ap, types);
		r = sd_bus_message_appendv(call, types, ap);
		va_end(ap);
	}
	if (r >= 0)
		r = sd_bus_call(bus, call, BUS_US, &bus_error, ret);
	if (r >= 0)
		return 0;
	return error_set(error, -r, "systemd: %s: %s", method,
			 bus_error.message ? bus_error.message : strerror(-r));
}

static int get_text(sd_bus *bus, const char *path, const char *interface, const char *property,
		    char **ret, struct error *error)
{
	_cleanup_(sd_bus_error_free) sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	int r = sd_bus_get_property_string(bus, UNIT_DESTINATION, path, interface, property,
					   &bus_error, ret);

	if (r >= 0)
		return 0;
	return error_set(error, -r, "systemd: %s: %s", property,
			 bus_error.message ? bus_error.message : strerror(-r));
}

/* Object of a unit; `method` GetUnit finds what is loaded, LoadUnit loads it. */
static int find_unit(sd_bus *bus, const char *method, const char *unit, char **ret,
		     struct error *error)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	const char *path;
	int r = unit_bus_call(bus, UNIT_MANAGER, MANAGER, method, &reply, error, "s", unit);

	if (r)
		return r;
	r = sd_bus_message_read(reply, "o", &path);
	if (r < 0)
		return error_set(error, -r, "systemd: %s: %s", method, strerror(-r));
	*ret = strdup(path);
	return *ret ? 0 : error_set(error, ENOMEM, "out of memory");
}

int unit_check_name(const char *unit, char ret[UNIT_NAME_SIZE], struct error *error)
{
	return unit_name_normalise(unit, ret)
		       ? error_set(error, EINVAL,
				   "%s: not the name of a service: write NAME, NAME.service or "
				   "NAME@.service",
				   unit)
		       : 0;
}

/* --- cgroups of units --- */

int unit_control_group(sd_bus *bus, const char *unit, const char *interface, char **ret_cgroup,
		       char **ret_id, struct error *error)
{
	_cleanup_free_ char *object = NULL, *state = NULL, *group = NULL, *id = NULL;
	char *path;
	/* A unit that does not run is often not loaded, which GetUnit calls unknown. */
	int r = find_unit(bus, "LoadUnit", unit, &object, error);

	if (!r)
		r = get_text(bus, object, BUS_UNIT, "LoadState", &state, error);
	if (!r && !strcmp(state, "not-found"))
		r = error_set(error, ENOENT, "%s: systemd knows no such unit", unit);
	if (!r)
		r = get_text(bus, object, interface, "ControlGroup", &group, error);
	if (!r)
		r = get_text(bus, object, BUS_UNIT, "Id", &id, error);
	if (r)
		return r;
	if (!*group)
		return error_set(error, ESRCH, "%s is not running: start it first", unit);
	if (asprintf(&path, "%s%s", cgroup_root(), group) < 0)
		return error_set(error, ENOMEM, "out of memory");
	*ret_cgroup = path;
	if (ret_id)
		*ret_id = TAKE_PTR(id);
	return 0;
}

struct found {
	char **cgroups, **names;
	size_t ncgroups, nnames;
};

static int push_unit(sd_bus *bus, const char *unit, struct found *found, struct error *error)
{
	_cleanup_free_ char *cgroup = NULL, *id = NULL;
	int r = unit_control_group(bus, unit, BUS_SERVICE, &cgroup, &id, error);

	if (!r)
		r = strings_push(&found->cgroups, &found->ncgroups, cgroup);
	return r ? r : strings_push(&found->names, &found->nnames, id);
}

/* Loaded instances of a template; -ENOENT when none runs. */
static int list_instances(sd_bus *bus, const char *unit, char ***ret, struct error *error)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_cleanup_strings_ char **names = NULL;
	char pattern[UNIT_NAME_SIZE + 1];
	const char *name, *active;
	size_t n = 0;
	int r;

	snprintf(pattern, sizeof(pattern), "%.*s@*.service", (int)strcspn(unit, "@"), unit);
	r = unit_bus_call(bus, UNIT_MANAGER, MANAGER, "ListUnitsByPatterns", &reply, error, "asas",
			  0, 1, pattern);
	if (r)
		return r;
	r = sd_bus_message_enter_container(reply, 'a', "(ssssssouso)");
	while (r >= 0 && (r = sd_bus_message_read(reply, "(ssssssouso)", &name, NULL, NULL, &active,
						  NULL, NULL, NULL, NULL, NULL, NULL)) > 0)
		if (strcmp(active, "inactive") != 0 && strcmp(active, "failed") != 0 &&
		    strings_push(&names, &n, name))
			return error_set(error, ENOMEM, "out of memory");
	if (r < 0)
		return error_set(error, -r, "systemd: ListUnitsByPatterns: %s", strerror(-r));
	if (!n)
		return error_set(error, ESRCH, "%s: no instance is running: start one first", unit);
	*ret = TAKE_PTR(names);
	return 0;
}

int unit_cgroups(const char *unit, char ***ret_cgroups, char ***ret_names, struct error *error)
{
	_cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
	_cleanup_strings_ char **instances = NULL;
	struct found found = {};
	char name[UNIT_NAME_SIZE];
	size_t n = 0;
	int r = unit_check_name(unit, name, error);

	if (!r)
		r = unit_bus_open(&bus, error);
	if (!r && unit_is_template(name))
		r = list_instances(bus, name, &instances, error);
	else if (!r)
		r = strings_push(&instances, &n, name);
	for (char **p = instances; !r && *p; p++)
		r = push_unit(bus, *p, &found, error);
	if (r) {
		strings_free(found.cgroups);
		strings_free(found.names);
		return r;
	}
	*ret_cgroups = found.cgroups;
	*ret_names = found.names;
	return 0;
}

/* --- drop-ins --- */

static int admit_program(char ret[PATH_MAX], struct error *error)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-";
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return error_set(error, errno ? errno : EIO, "/proc/self/exe: %m");
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	if (snprintf(ret, PATH_MAX, "%s/bulkhead", self) >= PATH_MAX || access(ret, X_OK))
		return error_set(error, ENOENT, "%s/bulkhead is not there: a unit cannot start it",
				 self);
	if (strspn(ret, plain) != strlen(ret))
		return error_set(error, EINVAL,
				 "%s: install it in a directory whose name a unit file can hold",
				 ret);
	return 0;
}

static int dropin_write(const char *unit, const char *program, struct error *error)
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX];
	int r;

	if (asprintf(&text,
		     "# Written by bulkhead attach --unit; bulkhead detach --unit removes it.\n"
		     "[Unit]\n"
		     "Wants=bulkheadd.service\n"
		     "After=bulkheadd.service\n"
		     "\n"
		     "[Service]\n"
		     "# Before every ExecStartPre=; status 255 fails the start.\n"
		     "ExecCondition=+%s admit --unit %%n\n",
		     program) < 0) {
		text = NULL;
		return error_set(error, ENOMEM, "out of memory");
	}
	snprintf(path, sizeof(path), DROPIN, unit);
	r = text_replace(path, text, 0644);
	return r ? error_set(error, -r, "%s: %s", path, strerror(-r)) : 0;
}

static bool is_bound(const char *unit)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), DROPIN, unit);
	return access(path, F_OK) == 0;
}

static int remove_files(const char *unit, struct error *error)
{
	char path[PATH_MAX];
	bool found;

	snprintf(path, sizeof(path), DROPIN, unit);
	found = unlink(path) == 0;
	if (!found && errno != ENOENT)
		return error_set(error, errno, "%s: %m", path);
	*strrchr(path, '/') = '\0';
	rmdir(path); /* stays when others have drop-ins there */
	if (binding_path(unit, path))
		return error_set(error, ENAMETOOLONG, "%s: name too long", unit);
	found = unlink(path) == 0 || found;
	return found ? 0 : error_set(error, ENOENT, "%s is not bound", unit);
}

static int daemon_reload(sd_bus *bus, struct error *error)
{
	return unit_bus_call(bus, UNIT_MANAGER, MANAGER, "Reload", NULL, error, NULL);
}

/* The unit to ask for what a template says. */
static void instance_of(const char *unit, char ret[2 * UNIT_NAME_SIZE])
{
	if (unit_is_template(unit))
		snprintf(ret, 2 * UNIT_NAME_SIZE, "%.*s@" PROBE_INSTANCE ".service",
			 (int)strcspn(unit, "@"), unit);
	else
		snprintf(ret, 2 * UNIT_NAME_SIZE, "%s", unit);
}

/* The unit's own name (an alias has a drop-in directory nobody reads), when it exists. */
static int resolve_unit(sd_bus *bus, const char *unit, char ret[UNIT_NAME_SIZE],
			struct error *error)
{
	_cleanup_free_ char *object = NULL, *state = NULL, *id = NULL;
	char instance[2 * UNIT_NAME_SIZE];
	int r;

	instance_of(unit, instance);
	r = find_unit(bus, "LoadUnit", instance, &object, error);
	if (!r)
		r = get_text(bus, object, BUS_UNIT, "LoadState", &state, error);
	if (!r)
		r = get_text(bus, object, BUS_UNIT, "Id", &id, error);
	if (r)
		return r;
	if (strcmp(state, "loaded") != 0)
		return error_set(error, ENOENT, "%s: systemd says it is %s: write the unit first",
				 unit, state);
	if (unit_is_template(unit))
		return unit_template_of(id, ret)
			       ? error_set(error, EINVAL,
					   "%s: an alias of %s, which is no template", unit, id)
			       : 0;
	return unit_check_name(id, ret, error);
}

/* One command of ExecConditionEx: is it ours, with all privileges? */
static int read_command(sd_bus_message *m, const char *program)
{
	_cleanup_strings_ char **argv = NULL, **flags = NULL;
	bool ours, full = false;
	const char *path;
	int r = sd_bus_message_enter_container(m, 'r', "sasasttttuii");

	if (r <= 0)
		return r < 0 ? r : -ENXIO;
	r = sd_bus_message_read(m, "s", &path);
	if (r >= 0)
		r = sd_bus_message_read_strv(m, &argv);
	if (r >= 0)
		r = sd_bus_message_read_strv(m, &flags);
	if (r >= 0)
		r = sd_bus_message_skip(m, "ttttuii");
	if (r >= 0)
		r = sd_bus_message_exit_container(m);
	ours = r >= 0 && !strcmp(path, program) && argv && argv[0] && argv[1] &&
	       !strcmp(argv[1], "admit");
	for (char **p = flags; p && *p; p++)
		full = full || !strcmp(*p, "privileged");
	return r < 0 ? r : ours && full;
}

/* What systemd will run is what was written. */
static int read_back(sd_bus *bus, const char *unit, const char *program, struct error *error)
{
	_cleanup_(sd_bus_error_free) sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_cleanup_free_ char *object = NULL;
	char instance[2 * UNIT_NAME_SIZE];
	int r, found = 0;

	instance_of(unit, instance);
	r = find_unit(bus, "LoadUnit", instance, &object, error);
	if (r)
		return r;
	r = sd_bus_get_property(bus, UNIT_DESTINATION, object, BUS_SERVICE, "ExecConditionEx",
				&bus_error, &reply, "a(sasasttttuii)");
	if (r < 0)
		return error_set(error, -r, "systemd: ExecConditionEx: %s",
				 bus_error.message ? bus_error.message : strerror(-r));
	r = sd_bus_message_enter_container(reply, 'a', "(sasasttttuii)");
	while (r >= 0 && !found && (r = sd_bus_message_at_end(reply, 0)) == 0)
		r = found = read_command(reply, program);
	if (r >= 0 && found)
		return 0;
	return error_set(error, EIO,
			 "%s: systemd does not run what the drop-in says: look for a drop-in that "
			 "comes later and empties ExecCondition= (systemctl cat %s)",
			 unit, unit);
}

/* The text of the binding that stands now: NULL when the unit is not bound, "" when it is and has
 * none. */
static int binding_keep(const char *unit, char **ret, struct error *error)
{
	char path[PATH_MAX], *text = NULL;
	int r = is_bound(unit) ? binding_path(unit, path) : 0;

	if (!r && is_bound(unit))
		r = text_read(path, BH_MAX_RECORD_BYTES, &text, NULL);
	if (r == -ENOENT)
		r = (text = strdup("")) ? 0 : -ENOMEM;
	if (r)
		return error_set(error, -r, "%s: its binding cannot be kept: %s", unit,
				 strerror(-r));
	*ret = text;
	return 0;
}

/* Bound means verified: nothing is left that looks like it. A unit that was bound before stays so,
 * to what it was: better that it does not start than that it starts outside. */
static void put_back(sd_bus *bus, const char *unit, const char *before)
{
	char path[PATH_MAX];
	int r = binding_path(unit, path);

	if (!before) {
		remove_files(unit, NULL);
		daemon_reload(bus, NULL);
		return;
	}
	if (!r)
		r = *before ? text_replace(path, before, 0600) : unlink(path) ? -errno : 0;
	if (r && r != -ENOENT)
		log_error("%s: what it was bound to cannot be put back: %s", unit, strerror(-r));
}

int unit_bind(const char *unit, const char *policy, const char *const *vars, char **ret_before,
	      struct error *error)
{
	char name[UNIT_NAME_SIZE], own[UNIT_NAME_SIZE], program[PATH_MAX];
	_cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
	_cleanup_free_ char *file = realpath(policy, NULL), *before = NULL;
	int r;

	if (!file)
		return error_set(error, errno, "%s: %m", policy);
	r = unit_check_name(unit, name, error);
	if (!r)
		r = unit_bus_open(&bus, error);
	if (!r)
		r = resolve_unit(bus, name, own, error);
	if (!r)
		r = admit_program(program, error);
	if (!r)
		r = binding_keep(own, &before, error);
	if (r)
		return r;
	r = binding_write(own, file, vars, error);
	if (!r)
		r = dropin_write(own, program, error);
	if (!r)
		r = daemon_reload(bus, error);
	if (!r)
		r = read_back(bus, own, program, error);
	if (r)
		put_back(bus, own, before);
	else
		*ret_before = TAKE_PTR(before);
	return r;
}

void unit_bind_undo(const char *unit, const char *before)
{
	_cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
	char name[UNIT_NAME_SIZE], own[UNIT_NAME_SIZE];
	struct error error = {0};
	int r = unit_check_name(unit, name, &error);

	if (!r)
		r = unit_bus_open(&bus, &error);
	if (!r)
		r = resolve_unit(bus, name, own, &error);
	if (r)
		log_error("%s: its binding is left as it is: %s", unit, error.text);
	else
		put_back(bus, own, before);
}

int unit_unbind(const char *unit, struct error *error)
{
	_cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
	char name[UNIT_NAME_SIZE], own[UNIT_NAME_SIZE];
	int r = unit_check_name(unit, name, error);

	if (!r)
		r = unit_bus_open(&bus, error);
	if (r)
		return r;
	/* A unit that was removed since has a drop-in all the same. */
	if (resolve_unit(bus, name, own, NULL))
		snprintf(own, sizeof(own), "%s", name);
	r = remove_files(own, error);
	return r ? r : daemon_reload(bus, error);
}
