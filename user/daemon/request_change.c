// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* detach and reload of compartments that exist. */
#include <errno.h>
#include <string.h>
#include "base/cleanup.h"
#include "request.h"

/* Adds `unit` to the reply's list `key`, once. */
static void tell_unit(struct request *request, const char *key, const char *unit)
{
	json_t *list = json_object_get(request->reply, key), *told;
	size_t i;

	json_array_foreach (list, i, told)
		if (!strcmp(json_string_value(told) ?: "", unit))
			return;
	json_array_append_new(list, json_string(unit));
}

static void tell_bound(struct request *request, const char *unit)
{
	_cleanup_free_ char *bound = NULL;

	if (unit_bound_as(unit, &bound) == 0)
		tell_unit(request, "still_bound", bound);
}

/* The unit's own binding goes; its template's, which is other instances', too, stays and is told. */
static int unbind(struct request *request, const char *unit, struct error *error)
{
	int r = unit_unbind(unit, error);

	if (r == 0)
		tell_unit(request, "unbound", unit);
	else if (r != -ENOENT)
		return r;
	tell_bound(request, unit);
	return 0;
}

/* Who names a compartment means what it is of, with its next starts; who names a cgroup that alone. */
static int unbind_found(struct request *request, struct compartment *const *found, size_t n,
			struct error *error)
{
	bool alone = request_text(request, "cgroup");
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		const char *unit = found[i]->unit;

		if (unit && *unit && alone)
			tell_bound(request, unit);
		else if (unit && *unit)
			r = unbind(request, unit, error);
	}
	return r;
}

static int detach_found(struct request *request, struct compartment *const *found, size_t n,
			struct error *error)
{
	struct daemon *d = request->daemon;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		__u32 id = found[i]->id;

		r = compartment_detach(d->kern, found[i], error);
		if (r < 0)
			break;
		request_show(request, found[i]);
		stream_drain(d);
		stream_repeats(d, id);
		registry_drop(d, id);
	}
	return r < 0 ? r : 0;
}

/* Neither bound nor attached; or by its template. */
static int say_not_detached(const struct request *request, const char *unit, struct error *error)
{
	const char *template = json_string_value(
		json_array_get(json_object_get(request->reply, "still_bound"), 0));

	if (template)
		return error_set(
			error, ENOENT,
			"%s: it does not run, and is bound by %s: bulkhead detach --unit %s "
			"releases all of its instances",
			unit, template, template);
	return error_set(
		error, ENOENT,
		"%s: it is not bound, and nothing of it is attached: bulkhead status lists "
		"what is",
		unit);
}

/* First the binding: else a restart between the two would begin inside again. */
int request_detach(struct request *request, struct error *error)
{
	struct compartment *found[BH_MAX_COMPARTMENTS];
	const char *unit = request_text(request, "unit");
	size_t n = 0;
	int r = 0;

	json_object_set_new(request->reply, "unbound", json_array());
	json_object_set_new(request->reply, "still_bound", json_array());
	if (unit)
		r = unbind(request, unit, error);
	if (r)
		return r;
	r = registry_select(request->daemon, request->body, found, &n, error);
	if (r == -ENOENT && json_array_size(json_object_get(request->reply, "unbound")))
		return 0;
	if (r == -ENOENT && unit)
		return say_not_detached(request, unit, error);
	if (r == 0 && !unit)
		r = unbind_found(request, found, n, error);
	return r ? r : detach_found(request, found, n, error);
}

int request_reload(struct request *request, struct error *error)
{
	struct daemon *d = request->daemon;
	struct compartment *found[BH_MAX_COMPARTMENTS];
	struct error one = {0};
	size_t n = 0, failed = 0;
	int r = registry_select(d, request->body, found, &n, error);

	if (r < 0)
		return r;
	/* One that does not load keeps its old policy and does not keep the others from theirs. */
	for (size_t i = 0; i < n; i++) {
		r = registry_reload(d, found[i], &one);
		if (r < 0 && !failed++)
			error_set(error, -r, "%s: %s", found[i]->name, one.text);
		request_show(request, found[i]);
	}
	if (failed > 1)
		error_prefix(error, "%zu of %zu not reloaded, their old policies stand; the first",
			     failed, n);
	return failed ? -EIO : 0;
}
