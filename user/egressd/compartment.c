// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "egressd.h"

#include <errno.h>
#include <string.h>
#include "proxy.h"
#include "relay.h"
#include "report.h"
#include "stub.h"

struct compartment *compartment_find(const struct egressd *e, __u64 serial)
{
	struct compartment *c = e->compartments;

	while (c && c->serial != serial)
		c = c->next;
	return c;
}

/* --- its life --- */

static void add(struct egressd *e, struct compartment *c)
{
	c->next = e->compartments;
	if (c->next)
		c->next->previous = c;
	e->compartments = c;
	e->ncompartments++;
}

static void take_out(struct compartment *c)
{
	struct compartment **from = c->previous ? &c->previous->next : &c->egressd->compartments;

	*from = c->next;
	if (c->next)
		c->next->previous = c->previous;
	c->egressd->ncompartments--;
}

int compartment_new(struct egressd *e, __u64 serial, int allowances, struct error *error)
{
	struct compartment *c;
	int r;

	if (compartment_find(e, serial))
		return error_set(error, EEXIST, "it is open");
	if (e->ncompartments >= BH_MAX_COMPARTMENTS)
		return error_set(error, ENOSPC, "%u compartments are open", BH_MAX_COMPARTMENTS);
	c = calloc(1, sizeof(*c));
	if (!c || book_new(&e->rules.synthetic, &c->book)) {
		free(c);
		return error_set(error, ENOMEM, "out of memory");
	}
	r = allowances_map(allowances, &c->allowances);
	if (r) {
		book_free(c->book);
		free(c);
		return error_set(error, -r, "where uploads are counted: %s", strerror(-r));
	}
	c->egressd = e;
	c->serial = serial;
	add(e, c);
	return 0;
}

/* First what could add to it, then what it has. */
void compartment_free(struct compartment *c)
{
	while (c->outlets)
		outlet_free(c->outlets);
	proxy_cut(c);
	relay_cut(c);
	while (c->tcp_queries)
		tcp_query_free(c->tcp_queries);
	report_gave(c);
	report_rest(c);
	take_out(c);
	sd_event_source_disable_unref(c->expiry);
	grant_done(&c->grant);
	entries_done(&c->entries);
	allowances_unmap(c->allowances);
	book_free(c->book);
	free(c);
}

/* --- the first yes --- */

int compartment_list(struct compartment *c, struct entries *entries, bool proxy,
		     struct error *error)
{
	int r = entries_bind(entries, c->allowances, error);

	if (!r)
		r = book_list(c->book, entries->to, entries->n, error);
	if (r)
		return r;
	entries_apply(entries);
	entries_done(&c->entries);
	c->entries = *entries;
	*entries = (struct entries){0};
	c->proxy = proxy;
	if (!proxy)
		proxy_cut(c);
	report_gave(c);
	relay_recheck(c);
	return 0;
}

/* --- the second --- */

static void end_grant(struct compartment *c)
{
	grant_done(&c->grant);
	c->expiry = sd_event_source_disable_unref(c->expiry);
}

void compartment_revoke(struct compartment *c)
{
	end_grant(c);
	relay_recheck(c);
}

static int on_expiry(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	compartment_revoke(data);
	return 0;
}

/* A host that sleeps does not prolong it. */
static int set_expiry(struct compartment *c, __u64 for_ms, sd_event_source **ret)
{
	int r;

	if (!for_ms)
		return 0;
	r = sd_event_add_time_relative(c->egressd->event, ret, CLOCK_BOOTTIME, for_ms * 1000, 1000,
				       on_expiry, c);
	if (r >= 0)
		r = sd_event_source_set_priority(*ret, SD_EVENT_PRIORITY_IMPORTANT);
	return r < 0 ? r : 0;
}

int compartment_grant(struct compartment *c, struct grant *grant, __u64 lease, __u64 for_ms)
{
	sd_event_source *expiry = NULL;
	int r = set_expiry(c, for_ms, &expiry);

	if (r) {
		sd_event_source_disable_unref(expiry);
		return r;
	}
	end_grant(c);
	c->grant = *grant;
	c->expiry = expiry;
	*grant = (struct grant){0};
	allowances_lease(c->allowances, lease);
	entries_apply(&c->entries);
	relay_recheck(c);
	return 0;
}
