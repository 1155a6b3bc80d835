// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unbound.h>

/* RFC 1035 §3.2.2, RFC 3596 §2.1; of class IN. */
#define CLASS_IN 1
#define RCODE_NONE 0
#define RCODE_NXDOMAIN 3

static const struct family {
	int type;
	enum address_family family;
	int size;
} families[] = {{1, ADDRESS_V4, 4}, {28, ADDRESS_V6, 16}};
#define NFAMILIES (sizeof(families) / sizeof(*families))

struct resolver {
	struct ub_ctx *ctx;
	struct question *questions;
};

struct question {
	struct resolver *resolver;
	struct question *next, *previous;
	resolved_fn resolved;
	void *data;
	struct half {
		struct question *question;
		const struct family *family;
		bool open;
		int id; /* libunbound's */
		int result;
	} halves[NFAMILIES];
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
	return r ? r : ub_ctx_async(ctx, 1);
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

int resolver_new(const char *const *upstreams, size_t n, struct resolver **ret, struct error *error)
{
	_cleanup_resolver_ struct resolver *resolver = calloc(1, sizeof(*resolver));
	int r;

	if (resolver)
		resolver->ctx = ub_ctx_create();
	if (!resolver || !resolver->ctx)
		return error_set(error, ENOMEM, "out of memory");
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
	while (resolver->questions)
		question_cancel(resolver->questions);
	if (resolver->ctx)
		ub_ctx_delete(resolver->ctx);
	free(resolver);
}

int resolver_fd(const struct resolver *resolver)
{
	return ub_fd(resolver->ctx);
}

void resolver_step(struct resolver *resolver)
{
	ub_process(resolver->ctx);
}

/* --- a question --- */

static void forget(struct question *question)
{
	struct question **from =
		question->previous ? &question->previous->next : &question->resolver->questions;

	*from = question->next;
	if (question->next)
		question->next->previous = question->previous;
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

static int add_address(struct question *question, const struct family *family, const char *data,
		       int length)
{
	struct address *address = &question->addresses[question->n];

	if (length != family->size)
		return -EBADMSG;
	if (question->n == RESOLVE_ADDRESSES)
		return -E2BIG;
	*address = (struct address){.family = family->family};
	memcpy(address->bytes, data, (size_t)length);
	question->n++;
	return 0;
}

static int take(struct question *question, const struct family *family,
		const struct ub_result *answer)
{
	int r = 0;

	if (answer->rcode == RCODE_NXDOMAIN)
		return -ENOENT;
	if (answer->rcode != RCODE_NONE)
		return -EAGAIN;
	if (!answer->havedata)
		return -ENOENT;
	for (int i = 0; !r && answer->data[i]; i++)
		r = add_address(question, family, answer->data[i], answer->len[i]);
	return r;
}

static void end(struct question *question)
{
	question->resolved(question->data, result_of(question), question->addresses, question->n);
	forget(question);
}

bool question_settle(struct question *question)
{
	if (!question->n)
		return false;
	cancel_open(question);
	end(question);
	return true;
}

static void on_answer(void *data, int error, struct ub_result *answer)
{
	struct half *half = data;
	struct question *question = half->question;
	bool open = false;

	half->open = false;
	half->result = error ? (error == UB_NOMEM ? -ENOMEM : -EAGAIN)
			     : take(question, half->family, answer);
	ub_resolve_free(answer);
	for (size_t i = 0; i < NFAMILIES; i++)
		open = open || question->halves[i].open;
	if (!open)
		end(question);
}

static int begin(struct half *half, const char *name)
{
	int r = ub_resolve_async(half->question->resolver->ctx, name, half->family->type, CLASS_IN,
				 half, on_answer, &half->id);

	half->open = !r;
	return r ? (r == UB_NOMEM ? -ENOMEM : -EAGAIN) : 0;
}

int resolver_ask(struct resolver *resolver, const char *name, resolved_fn resolved, void *data,
		 struct question **ret)
{
	struct question *question = calloc(1, sizeof(*question));
	char rooted[256];
	int r = 0;

	if (!question)
		return -ENOMEM;
	*question = (struct question){.resolver = resolver,
				      .next = resolver->questions,
				      .resolved = resolved,
				      .data = data};
	if (resolver->questions)
		resolver->questions->previous = question;
	resolver->questions = question;
	snprintf(rooted, sizeof(rooted), "%s.", name);
	for (size_t i = 0; !r && i < NFAMILIES; i++) {
		question->halves[i].question = question;
		question->halves[i].family = &families[i];
		r = begin(&question->halves[i], rooted);
	}
	if (r)
		question_cancel(question);
	else
		*ret = question;
	return r;
}
