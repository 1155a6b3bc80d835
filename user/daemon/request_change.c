// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* detach and reload of compartments that exist. */
#include <errno.h>
#include <string.h>
#include "request.h"

int request_detach(struct request *request, struct error *error)
{
	struct daemon *d = request->daemon;
	struct compartment *found[BH_MAX_COMPARTMENTS];
	const char *unit = request_text(request, "unit");
	size_t n = 0;
	int r;

	/* First the binding: else a restart between the two would begin inside again. */
	if (unit) {
		r = unit_unbind(unit, error);
		if (r < 0 && r != -ENOENT)
			return r;
		json_object_set_new(request->reply, "unbound", json_boolean(r == 0));
	}
	r = registry_select(d, request->body, found, &n, error);
	if (r == -ENOENT && json_is_true(json_object_get(request->reply, "unbound")))
		return 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		__u32 id = found[i]->id;

		r = compartment_detach(d->kern, found[i], error);
		if (r < 0)
			break;
		request_show(request, found[i]);
		registry_drop(d, id);
	}
	return r < 0 ? r : 0;
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
