// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <ldns/ldns.h>
#include <unbound.h>
#include <unbound-event.h>
#include "resolve_events.h"

/* RFC 1035 §4.1: of a packet, of a question's tail, of what stands between a record's name and its data. */
#define HEADER 12
#define QUESTION_TAIL 4
#define RECORD_TAIL 10
/* §4.1.4: the first byte of two that lead elsewhere. */
#define POINTER 0xc0

static const struct family {
	int type;
	enum address_family family;
	int size;
} families[] = {{LDNS_RR_TYPE_A, ADDRESS_V4, 4}, {LDNS_RR_TYPE_AAAA, ADDRESS_V6, 16}};
#define NFAMILIES (sizeof(families) / sizeof(*families))

struct resolver {
	struct ub_event_base *events;
	struct ub_ctx *ctx;
	struct question *asked, *answered;
	sd_event_source *tell; /* on: some are answered */
};

struct question {
	struct resolver *resolver;
	struct question *next, **from; /* from: what leads to it */
	resolved_fn resolved;
	void *data;
	struct half {
		struct question *question;
		const struct family *family;
		bool open;
		int id; /* libunbound's */
		int result;
	} halves[NFAMILIES];
	unsigned int waits; /* halves that are not answered */
	struct address addresses[RESOLVE_ADDRESSES];
	size_t n;
};

/* --- the resolver --- */

static const struct {
	const char *option, *value;
} options[] = {
	/* Nothing but aliases is followed: the upstream does the rest, and does validate or not. */
	{"module-config:", "iterator"},
	/* An upstream on this host is a usual one. */
	{"do-not-query-localhost:", "no"},
	/* A thousand flows and what they ask fit into 16 MB. */
	{"msg-cache-size:", "1m"},
	{"rrset-cache-size:", "1m"},
	{"key-cache-size:", "16k"},
	{"neg-cache-size:", "16k"},
	/* The library's sixteen sockets are a few names' whose servers never answer; and what was given up goes on
	 * until its tries are over. */
	{"outgoing-range:", "1024"},
	{"outbound-msg-retry:", "2"},
};

static int configure(struct ub_ctx *ctx)
{
	int r = 0;

	for (size_t i = 0; !r && i < sizeof(options) / sizeof(*options); i++)
		r = ub_ctx_set_option(ctx, options[i].option, options[i].value);
	return r;
}

static bool is_port(const char *text)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	return *text >= '1' && *text <= '9' && !*end && port <= 65535;
}

/* libunbound takes less strict forms, and a zone behind '%'. */
static bool is_upstream(const char *text)
{
	char copy[ADDRESS_TEXT_SIZE + 8];
	struct address address;
	char *port;

	if (strlen(text) >= sizeof(copy))
		return false;
	port = strchr(strcpy(copy, text), '@');
	if (port)
		*port++ = '\0';
	return address_parse(copy, &address) == 0 && (!port || is_port(port));
}

static int add_upstreams(struct ub_ctx *ctx, const char *const *upstreams, size_t n,
			 struct error *error)
{
	if (!n || n > RESOLVE_UPSTREAMS)
		return error_set(error, EINVAL, "%zu resolvers are named: 1 to %u must be", n,
				 RESOLVE_UPSTREAMS);
	for (size_t i = 0; i < n; i++) {
		int r;

		if (!is_upstream(upstreams[i]))
			return error_set(
				error, EINVAL,
				"%.100s is no resolver: write its address, or ADDRESS@PORT",
				upstreams[i]);
		r = ub_ctx_set_fwd(ctx, upstreams[i]);
		if (r)
			return error_set(error, r == UB_NOMEM ? ENOMEM : EINVAL, "%s: %s",
					 upstreams[i], ub_strerror(r));
	}
	return 0;
}

static int on_answered(sd_event_source *source, void *data);

/* From libunbound's own code nobody is called: it would come to call libunbound. */
static int prepare_telling(sd_event *event, struct resolver *resolver)
{
	int r = sd_event_add_defer(event, &resolver->tell, on_answered, resolver);

	return r < 0 ? r : sd_event_source_set_enabled(resolver->tell, SD_EVENT_OFF);
}

int resolver_new(sd_event *event, const char *const *upstreams, size_t n, struct resolver **ret,
		 struct error *error)
{
	_cleanup_resolver_ struct resolver *resolver = calloc(1, sizeof(*resolver));
	int r;

	if (resolver)
		resolver->events = resolve_events_new(event);
	if (resolver && resolver->events)
		resolver->ctx = ub_ctx_create_ub_event(resolver->events);
	if (!resolver || !resolver->ctx)
		return error_set(error, ENOMEM, "out of memory");
	r = prepare_telling(event, resolver);
	if (r < 0)
		return error_set(error, -r, "event loop: %s", strerror(-r));
	r = configure(resolver->ctx);
	if (r)
		return error_set(error, EINVAL, "libunbound: %s", ub_strerror(r));
	r = add_upstreams(resolver->ctx, upstreams, n, error);
	if (r)
		return r;
	/* It answers this one itself, unasked, and others that are reserved: those are no destinations. */
	r = ub_ctx_zone_add(resolver->ctx, "test.", "transparent");
	if (r)
		return error_set(error, EINVAL, "libunbound: %s", ub_strerror(r));
	*ret = TAKE_PTR(resolver);
	return 0;
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	while (resolver->asked)
		question_cancel(resolver->asked);
	while (resolver->answered)
		question_cancel(resolver->answered);
	sd_event_source_disable_unref(resolver->tell);
	if (resolver->ctx)
		ub_ctx_delete(resolver->ctx);
	resolve_events_free(resolver->events);
	free(resolver);
}

/* --- a question --- */

static void put(struct question *question, struct question **list)
{
	question->next = *list;
	question->from = list;
	if (question->next)
		question->next->from = &question->next;
	*list = question;
}

static void take_out(struct question *question)
{
	*question->from = question->next;
	if (question->next)
		question->next->from = question->from;
}

static void forget(struct question *question)
{
	take_out(question);
	free(question);
}

static void cancel_open(struct question *question)
{
	for (size_t i = 0; i < NFAMILIES; i++)
		if (question->halves[i].open)
			ub_cancel(question->resolver->ctx, question->halves[i].id);
}

void question_cancel(struct question *question)
{
	cancel_open(question);
	forget(question);
}

/* What was learnt counts, even where one family's question failed: nothing is dialled but what is told here. Of two
 * reasons for nothing the one that may pass is said. */
static int result_of(const struct question *question)
{
	int result = -ENOENT;

	for (size_t i = 0; i < NFAMILIES; i++) {
		int r = question->halves[i].result;

		if (r == -E2BIG || r == -EBADMSG)
			return r;
		if (r && r != -ENOENT)
			result = r;
	}
	return question->n ? 0 : result;
}

static int add_address(struct question *question, const struct family *family, const __u8 *data,
		       size_t length)
{
	struct address *address = &question->addresses[question->n];

	if (length != (size_t)family->size)
		return -EBADMSG;
	if (question->n == RESOLVE_ADDRESSES)
		return -E2BIG;
	*address = (struct address){.family = family->family};
	memcpy(address->bytes, data, length);
	question->n++;
	return 0;
}

/* Where what is behind the name begins; beyond the packet: it makes no sense. */
static size_t skip_name(const __u8 *packet, size_t size, size_t at)
{
	while (at < size && packet[at] && packet[at] < POINTER)
		at += packet[at] + 1u;
	return at < size && packet[at] >= POINTER ? at + 2 : at + 1;
}

/* libunbound wrote the packet, and took out what does not belong to the name or to what its aliases lead to. */
static int take_record(struct question *question, const struct family *family, const __u8 *packet,
		       size_t size, size_t *at)
{
	const __u8 *tail;
	size_t length;

	*at = skip_name(packet, size, *at);
	tail = packet + *at;
	*at += RECORD_TAIL;
	if (*at > size)
		return -EBADMSG;
	length = ldns_read_uint16(tail + 8);
	if (length > size - *at)
		return -EBADMSG;
	*at += length;
	if (ldns_read_uint16(tail) != family->type ||
	    ldns_read_uint16(tail + 2) != LDNS_RR_CLASS_IN)
		return 0;
	return add_address(question, family, tail + RECORD_TAIL, length);
}

static int take(struct question *question, const struct family *family, const __u8 *packet,
		size_t size)
{
	size_t at, before = question->n;
	int r = 0;

	if (size < HEADER || LDNS_QDCOUNT(packet) != 1)
		return -EBADMSG;
	if (LDNS_RCODE_WIRE(packet) == LDNS_RCODE_NXDOMAIN)
		return -ENOENT;
	/* What was cut is not known to be all, nor to be nothing. */
	if (LDNS_RCODE_WIRE(packet) != LDNS_RCODE_NOERROR || LDNS_TC_WIRE(packet))
		return -EAGAIN;
	at = skip_name(packet, size, HEADER) + QUESTION_TAIL;
	for (unsigned int i = 0; !r && i < LDNS_ANCOUNT(packet); i++)
		r = take_record(question, family, packet, size, &at);
	return r || question->n > before ? r : -ENOENT;
}

static void end(struct question *question)
{
	question->resolved(question->data, result_of(question), question->addresses, question->n);
	forget(question);
}

/* Those that are answered meanwhile have their turn later. */
static int on_answered(sd_event_source *source _unused_, void *data)
{
	struct resolver *resolver = data;
	struct question *now = TAKE_PTR(resolver->answered);

	if (now)
		now->from = &now;
	while (now)
		end(now);
	return 0;
}

bool question_settle(struct question *question)
{
	struct resolver *resolver = question->resolver;

	if (!question->n)
		return false;
	cancel_open(question);
	end(question);
	if (!resolver->answered)
		sd_event_source_set_enabled(resolver->tell, SD_EVENT_OFF);
	return true;
}

static void on_answer(void *data, int rcode, void *packet, int length, int security _unused_,
		      char *why _unused_, int was_limited _unused_)
{
	struct half *half = data;
	struct question *question = half->question;

	half->open = false;
	if (rcode)
		half->result = rcode == LDNS_RCODE_NXDOMAIN ? -ENOENT : -EAGAIN;
	else
		half->result = take(question, half->family, packet, (size_t)length);
	if (--question->waits)
		return;
	take_out(question);
	put(question, &question->resolver->answered);
	sd_event_source_set_enabled(question->resolver->tell, SD_EVENT_ONESHOT);
}

/* What the library knows it says at once. */
static int begin(struct half *half, const char *name)
{
	int r;

	half->open = true;
	r = ub_resolve_event(half->question->resolver->ctx, name, half->family->type,
			     LDNS_RR_CLASS_IN, half, on_answer, &half->id);
	if (!r)
		return 0;
	half->open = false;
	return r == UB_NOMEM ? -ENOMEM : -EAGAIN;
}

int resolver_ask(struct resolver *resolver, const char *name, resolved_fn resolved, void *data,
		 struct question **ret)
{
	struct question *question = calloc(1, sizeof(*question));
	char rooted[256];
	int r = 0;

	if (!question)
		return -ENOMEM;
	*question = (struct question){
		.resolver = resolver, .resolved = resolved, .data = data, .waits = NFAMILIES};
	put(question, &resolver->asked);
	snprintf(rooted, sizeof(rooted), "%s.", name);
	for (size_t i = 0; !r && i < NFAMILIES; i++) {
		question->halves[i].question = question;
		question->halves[i].family = &families[i];
		r = begin(&question->halves[i], rooted);
	}
	if (r) {
		question_cancel(question);
		return r;
	}
	*ret = question;
	return !question->waits;
}
