// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead status: from the agent; without one, root reads the kernel's tables. */
#include <errno.h>
#include "cli.h"
#include "compart/compart.h"
#include "compart/status.h"

DEFINE_CLEANUP(struct kern *, kern_close)

static int read_tables(json_t **ret, struct error *error)
{
	_cleanup_(cleanup_kern_close) struct kern *kern = NULL;
	_cleanup_json_ json_t *array = json_array();
	/* To look must not load anything. */
	int r = kern_is_loaded(error);

	if (r > 0)
		r = kern_open(&kern, error);
	if (r)
		return r;
	for (__u32 id = 1; kern && id < BH_MAX_COMPARTMENTS; id++) {
		struct compartment *c = NULL;

		if (compartment_load(id, &c, NULL))
			continue;
		json_array_append_new(array, status_record(kern, c));
		compartment_free(c);
	}
	*ret = json_pack("{s:o, s:o*, s:n}", "compartments", TAKE_PTR(array), "bindings",
			 unit_bindings(), "agent");
	return *ret ? 0 : error_set(error, ENOMEM, "out of memory");
}

/* Units whose starts are admitted, running or not: what `detach --unit` releases. */
static void show_bindings(const json_t *bindings)
{
	const json_t *b;
	size_t i;

	json_array_foreach (bindings, i, b)
		printf("%s starts inside: %s\n", text_of(b, "unit"), text_of(b, "policy"));
}

static void show(const json_t *reply)
{
	const json_t *compartments = json_object_get(reply, "compartments");
	const json_t *agent = json_object_get(reply, "agent");
	json_int_t unwritten = json_integer_value(json_object_get(agent, "unwritten"));

	if (json_array_size(compartments))
		show_compartments(compartments);
	else
		puts("nothing is attached");
	show_bindings(json_object_get(reply, "bindings"));
	show_relay(agent);
	if (!json_is_object(agent))
		puts("no agent is running: what is attached stays enforced, nothing can be "
		     "attached");
	if (unwritten)
		printf("%lld record%s could not be written to the file of events\n",
		       (long long)unwritten, plural((unsigned long long)unwritten));
}

int status_ask(json_t **ret, struct error *error)
{
	_cleanup_json_ json_t *reply = NULL;
	int r = agent_call(json_pack("{s:s}", "request", "status"), &reply, error);

	if ((r == -ENOENT || r == -ECONNREFUSED) && !reply && geteuid() == 0)
		r = read_tables(&reply, error);
	if (r)
		return r;
	*ret = TAKE_PTR(reply);
	return 0;
}

int cmd_status(const struct arguments *arguments, struct error *error)
{
	_cleanup_json_ json_t *reply = NULL;
	int r = status_ask(&reply, error);

	if (r)
		return r;
	if (arguments->json)
		return show_json(reply);
	show(reply);
	return 0;
}
