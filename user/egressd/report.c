// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report.h"

#include <arpa/inet.h>
#include <ldns/ldns.h>
#include "base/clock.h"

/* What was kept is looked at so often. */
#define FOLDED_US 1000000ull

enum what { WHAT_QUERY, WHAT_CONNECT };

/* --- lost --- */

static bool say_lost(struct egressd *e)
{
	if (!e->lost)
		return true;
	if (!messages_has_room(e->messages) ||
	    messages_push(e->messages,
			  json_pack("{s:s, s:I}", "is", "lost", "count", (json_int_t)e->lost)))
		return false;
	e->lost = 0;
	return true;
}

/* `count`: of how many it tells. */
static void send_event(struct egressd *e, json_t *event, __u64 count)
{
	if (count > 1 && event)
		json_object_set_new(event, "count", json_integer((json_int_t)count));
	if (!say_lost(e) || !messages_has_room(e->messages)) {
		json_decref(event);
		e->lost += count;
	} else if (messages_push(e->messages, event)) {
		e->lost += count;
	}
}

/* --- names that were given --- */

static json_t *pair(const struct book *book, size_t i)
{
	char text[INET_ADDRSTRLEN];
	struct in_addr in;
	const char *name;
	__u32 address;

	book_at(book, i, &address, &name);
	in.s_addr = htonl(address);
	inet_ntop(AF_INET, &in, text, sizeof(text));
	return json_pack("[s, s]", text, name);
}

/* False: there is no room, and they are told later. */
static bool give_some(struct compartment *c)
{
	struct messages *messages = c->egressd->messages;
	size_t n = book_count(c->book) - c->told;
	json_t *names;

	n = n < CHANNEL_NAMES ? n : CHANNEL_NAMES;
	if (!messages_has_room(messages))
		return false;
	names = json_array();
	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(names, pair(c->book, c->told + i))) {
			json_decref(names);
			return false;
		}
	if (messages_push(messages, json_pack("{s:s, s:I, s:o}", "is", "gave", "serial",
					      (json_int_t)c->serial, "names", names)))
		return false;
	c->told += n;
	return true;
}

void report_gave(struct compartment *c)
{
	while (c->told < book_count(c->book) && give_some(c))
		;
}

/* --- events --- */

static json_t *query_event(const struct compartment *c, const struct fold_key *key)
{
	ldns_buffer *type = ldns_buffer_new(32);
	json_t *event = NULL;

	/* "TYPE65", where it has no name. */
	if (type && ldns_rr_type2buffer_str(type, (ldns_rr_type)key->number) == LDNS_STATUS_OK)
		event = json_pack("{s:s, s:I, s:s, s:s, s:s#, s:s}", "is", "event", "serial",
				  (json_int_t)c->serial, "what", "query", "name", key->name, "type",
				  (char *)ldns_buffer_begin(type), (int)ldns_buffer_position(type),
				  "outcome", answer_outcome_names[key->outcome]);
	ldns_buffer_free(type);
	return event;
}

static json_t *connect_event(const struct compartment *c, const struct fold_key *key,
			     const char *reason)
{
	return json_pack("{s:s, s:I, s:s, s:s, s:i, s:s, s:s}", "is", "event", "serial",
			 (json_int_t)c->serial, "what", "connect", "name", key->name, "port",
			 key->number, "outcome", relay_outcome_names[key->outcome], "reason",
			 reason);
}

static void tell(struct compartment *c, const struct fold_key *key, const char *reason, __u64 count)
{
	json_t *event =
		key->what == WHAT_QUERY ? query_event(c, key) : connect_event(c, key, reason);

	send_event(c->egressd, event, count);
}

static void tell_folded(struct compartment *c, __u64 now)
{
	struct fold_row row;

	while (fold_next(&c->fold, now, &row))
		tell(c, &row.key, row.reason, row.count);
}

static int on_folded(sd_event_source *source, uint64_t usec _unused_, void *data)
{
	struct egressd *e = data;
	__u64 now = clock_us();
	bool more;

	for (struct compartment *c = e->compartments; c; c = c->next)
		tell_folded(c, now);
	more = !say_lost(e);
	for (const struct compartment *c = e->compartments; c && !more; c = c->next)
		more = fold_has_kept(&c->fold);
	sd_event_source_set_time(source, now + FOLDED_US);
	sd_event_source_set_enabled(source, more ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
	return 0;
}

/* Without the timer, which may fail to be made, what was kept is told with the compartment's end. */
static void look_later(struct egressd *e)
{
	int enabled = SD_EVENT_OFF;

	if (!e->folded) {
		sd_event_add_time_relative(e->event, &e->folded, CLOCK_MONOTONIC, FOLDED_US, 0,
					   on_folded, e);
		return;
	}
	sd_event_source_get_enabled(e->folded, &enabled);
	if (enabled != SD_EVENT_OFF)
		return;
	sd_event_source_set_time(e->folded, clock_us() + FOLDED_US);
	sd_event_source_set_enabled(e->folded, SD_EVENT_ONESHOT);
}

static void note(struct compartment *c, const struct fold_key *key, const char *reason)
{
	switch (fold_note(&c->fold, key, reason, clock_us())) {
	case FOLD_TELL:
		tell(c, key, reason, 1);
		break;
	case FOLD_LOST:
		c->egressd->lost++;
		look_later(c->egressd);
		break;
	case FOLD_KEPT:
		look_later(c->egressd);
		break;
	}
}

static bool is_refusal(enum answer_outcome outcome)
{
	return outcome > ANSWER_DROPPED && outcome < ANSWER_NO_DATA;
}

void report_query(struct compartment *c, const struct answer *answer)
{
	struct fold_key key = {
		.what = WHAT_QUERY, .outcome = (int)answer->outcome, .number = answer->type};

	if (!is_refusal(answer->outcome))
		return;
	snprintf(key.name, sizeof(key.name), "%s", answer->name);
	note(c, &key, "");
}

void report_connect(struct compartment *c, const char *name, __u16 port, enum relay_outcome outcome,
		    const char *reason)
{
	struct fold_key key = {.what = WHAT_CONNECT, .outcome = (int)outcome, .number = port};

	snprintf(key.name, sizeof(key.name), "%s", name);
	note(c, &key, reason);
}

void report_flow(struct compartment *c, const char *name, __u16 port, const char *address,
		 enum flow_outcome outcome, const struct flow_counts *counts, __u64 ms)
{
	json_t *event;

	if (fold_pass(&c->fold, clock_us()) == FOLD_LOST) {
		c->egressd->lost++;
		look_later(c->egressd);
		return;
	}
	event = json_pack("{s:s, s:I, s:s, s:s, s:i, s:s, s:s, s:I, s:I, s:I}", "is", "event",
			  "serial", (json_int_t)c->serial, "what", "flow", "name", name, "port",
			  port, "address", address, "outcome", flow_outcome_names[outcome], "up",
			  (json_int_t)counts->up, "down", (json_int_t)counts->down, "ms",
			  (json_int_t)ms);
	send_event(c->egressd, event, 1);
}

void report_rest(struct compartment *c)
{
	tell_folded(c, UINT64_MAX);
}

void report_room(struct egressd *e)
{
	say_lost(e);
	for (struct compartment *c = e->compartments; c; c = c->next)
		report_gave(c);
}
