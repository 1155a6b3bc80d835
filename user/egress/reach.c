// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "dial.h"
#include "resolve.h"
#include "route.h"

#define REASON_SIZE 384
/* Some servers never answer for the one family: after this long the other's addresses do, looked for so often. */
#define PATIENCE_US 2000000ull
#define PATIENCE_STEP_US 250000ull

const char *const reach_outcome_names[REACH_OUTCOMES] = {
	[REACH_CONNECTED] = "connected",     [REACH_UNRESOLVED] = "not resolved",
	[REACH_BAD_ADDRESS] = "bad address", [REACH_BAD_ROUTE] = "bad route",
	[REACH_UNROUTED] = "no route",	     [REACH_FAILED] = "not connected",
	[REACH_OUT_OF_TIME] = "out of time", [REACH_INTERNAL] = "internal error",
};

struct reacher {
	sd_event *event;
	struct resolver *resolver;
	struct routes *routes;
	struct address_rules rules;
};

struct reach {
	struct reacher *reacher;
	reached_fn reached;
	void *data;
	__u16 port;
	struct question *question;
	struct dial *dial;
	sd_event_source *timer, *patience;
	enum reach_outcome outcome; /* the timer's */
	char reason[REASON_SIZE];
};

/* --- what all share --- */

void reacher_free(struct reacher *reacher)
{
	if (!reacher)
		return;
	resolver_free(reacher->resolver);
	routes_close(reacher->routes);
	sd_event_unref(reacher->event);
	free(reacher);
}

int reacher_new(sd_event *event, const struct reach_options *options, struct reacher **ret,
		struct error *error)
{
	_cleanup_reacher_ struct reacher *reacher = calloc(1, sizeof(*reacher));
	int r;

	if (!reacher)
		return error_set(error, ENOMEM, "out of memory");
	reacher->event = sd_event_ref(event);
	reacher->rules = options->rules;
	r = resolver_new(event, options->upstreams, options->nupstreams, &reacher->resolver, error);
	if (r)
		return r;
	r = routes_open(&reacher->routes);
	if (r)
		return error_set(error, -r, "routes cannot be asked for: %s", strerror(-r));
	*ret = TAKE_PTR(reacher);
	return 0;
}

/* --- the end --- */

void reach_cancel(struct reach *reach)
{
	if (reach->question)
		question_cancel(reach->question);
	sd_event_source_disable_unref(reach->timer);
	sd_event_source_disable_unref(reach->patience);
	dial_free(reach->dial);
	free(reach);
}

/* It is gone before who waited is told, and may begin another. */
static void end(struct reach *reach, enum reach_outcome outcome, int fd, const char *reason)
{
	reached_fn reached = reach->reached;
	void *data = reach->data;

	reach_cancel(reach);
	reached(data, outcome, fd, reason);
}

static void fail(struct reach *reach, int code)
{
	end(reach, REACH_INTERNAL, -1, strerror(-code));
}

/* By the loop: what is decided while it begins is not told yet. */
static void conclude(struct reach *reach, enum reach_outcome outcome, const char *reason)
{
	reach->outcome = outcome;
	snprintf(reach->reason, sizeof(reach->reason), "%s", reason);
	sd_event_source_set_time(reach->timer, 0);
}

static int on_timer(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	struct reach *reach = data;
	char reason[REASON_SIZE];

	snprintf(reason, sizeof(reason), "%s", reach->reason);
	if (reach->outcome == REACH_OUT_OF_TIME)
		snprintf(reason, sizeof(reason), "no %s has answered",
			 reach->question ? "resolver" : "address");
	end(reach, reach->outcome, -1, reason);
	return 0;
}

/* --- its addresses, dialled --- */

static void on_dialled(void *data, int result, int fd, const struct address *to)
{
	struct reach *reach = data;
	char text[ADDRESS_TEXT_SIZE];

	reach->dial = NULL;
	address_format(to, text);
	if (!result)
		end(reach, REACH_CONNECTED, fd, text);
	else if (result == -EMFILE || result == -ENFILE || result == -ENOMEM || result == -ENOBUFS)
		fail(reach, result);
	else
		end(reach, REACH_FAILED, -1, strerror(-result));
}

/* The deadline is our timer's. */
static void begin_dial(struct reach *reach, const struct address *addresses, size_t n)
{
	int r = dial_new(reach->reacher->event, addresses, n, reach->port, REACH_MAX_MS, on_dialled,
			 reach, &reach->dial);

	if (r)
		conclude(reach, REACH_INTERNAL, strerror(-r));
}

/* --- judged --- */

struct judged {
	struct address dialled[RESOLVE_ADDRESSES];
	size_t n;
	enum reach_outcome outcome;
	char reason[REASON_SIZE];
};

static void note(struct judged *judged, enum reach_outcome outcome, const struct address *address,
		 const char *reason)
{
	char text[ADDRESS_TEXT_SIZE];

	address_format(address, text);
	judged->outcome = outcome;
	snprintf(judged->reason, sizeof(judged->reason), "%s: %s", text, reason);
}

/* 0, or -EPERM: nothing is dialled. */
static int judge(struct reacher *reacher, const struct address *address, __u16 port,
		 struct judged *judged)
{
	struct address_verdict verdict;
	char why[REASON_SIZE - ADDRESS_TEXT_SIZE];
	const char *reason = "";
	int r;

	if (!address_is_public(&reacher->rules, address, &verdict)) {
		address_why(address, &verdict, why, sizeof(why));
		snprintf(judged->reason, sizeof(judged->reason), "%s", why);
		judged->outcome = REACH_BAD_ADDRESS;
		return -EPERM;
	}
	r = routes_check(reacher->routes, address, port, &reason);
	if (!r)
		judged->dialled[judged->n++] = *address;
	else
		note(judged, r == -ENETUNREACH ? REACH_UNROUTED : REACH_BAD_ROUTE, address, reason);
	return r && r != -ENETUNREACH ? -EPERM : 0;
}

static const char *why_unresolved(int result)
{
	static const struct {
		int result;
		const char *why;
	} whys[] = {
		{-ENOENT, "the name has no address"},
		{-E2BIG, "the name has too many addresses"},
		{-EBADMSG, "a resolver's answer makes no sense"},
	};

	for (size_t i = 0; i < sizeof(whys) / sizeof(*whys); i++)
		if (whys[i].result == result)
			return whys[i].why;
	return "no resolver says an address";
}

static void on_resolved(void *data, int result, const struct address *addresses, size_t n)
{
	struct reach *reach = data;
	struct judged judged = {.outcome = REACH_INTERNAL};
	int r = 0;

	reach->question = NULL;
	if (result == -ENOMEM) {
		conclude(reach, REACH_INTERNAL, strerror(-result));
		return;
	}
	if (result) {
		conclude(reach, REACH_UNRESOLVED, why_unresolved(result));
		return;
	}
	for (size_t i = 0; !r && i < n; i++)
		r = judge(reach->reacher, &addresses[i], reach->port, &judged);
	if (r || !judged.n)
		conclude(reach, judged.outcome, judged.reason);
	else
		begin_dial(reach, judged.dialled, judged.n);
}

static int on_patience(sd_event_source *source, uint64_t usec _unused_, void *data)
{
	struct reach *reach = data;

	if (!reach->question || question_settle(reach->question))
		return 0;
	sd_event_source_set_time(source, clock_us() + PATIENCE_STEP_US);
	sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

static int begin(struct reach *reach, const char *name, unsigned int deadline_ms)
{
	sd_event *event = reach->reacher->event;
	uint64_t now = clock_us();
	int r = sd_event_add_time(event, &reach->timer, CLOCK_MONOTONIC,
				  now + (uint64_t)deadline_ms * 1000, 1000, on_timer, reach);

	if (r >= 0)
		r = resolver_ask(reach->reacher->resolver, name, on_resolved, reach,
				 &reach->question);
	if (r < 0)
		return r;
	if (r > 0) {
		question_settle(reach->question);
		return 0;
	}
	return sd_event_add_time(event, &reach->patience, CLOCK_MONOTONIC, now + PATIENCE_US, 1000,
				 on_patience, reach);
}

int reach_begin(struct reacher *reacher, const char *name, __u16 port, unsigned int deadline_ms,
		reached_fn reached, void *data, struct reach **ret)
{
	struct reach *reach = NULL;
	int r;

	if (!deadline_ms || deadline_ms >= REACH_MAX_MS)
		return -EINVAL;
	reach = calloc(1, sizeof(*reach));
	if (!reach)
		return -ENOMEM;
	*reach = (struct reach){.reacher = reacher,
				.reached = reached,
				.data = data,
				.port = port,
				.outcome = REACH_OUT_OF_TIME};
	r = begin(reach, name, deadline_ms);
	if (r < 0)
		reach_cancel(reach);
	else
		*ret = reach;
	return r < 0 ? r : 0;
}
