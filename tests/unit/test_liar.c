// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Name servers that lie, and what becomes of the names: none is reached that should not be, and the next one is. Over TCP
 * nobody answers.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "egress/reach.h"
#include "nameserver.h"
#include "netns.h"
#include "world.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define UPSTREAM "127.0.0.1@5355"
#define UPSTREAM_PORT 5355
#define LONG_MS 20000
#define PACKET 512
#define TYPE_A 1
#define TYPE_CNAME 5

/* --- the liar --- */

struct packet {
	__u8 bytes[PACKET];
	size_t n;
};

static void put(struct packet *p, const void *bytes, size_t n)
{
	assert_true(p->n + n <= sizeof(p->bytes));
	memcpy(p->bytes + p->n, bytes, n);
	p->n += n;
}

static void put_number(struct packet *p, unsigned int n)
{
	put(p, (const __u8[]){(__u8)(n >> 8), (__u8)n}, 2);
}

/* Below example.com. */
static void put_name(struct packet *p, const char *label)
{
	__u8 length = (__u8)strlen(label);

	put(p, &length, 1);
	put(p, label, length);
	put(p, "\7example\3com", 13);
}

/* Of the name that was asked, unless it is said of which. TTL 0: what is asked again is asked again. */
static void put_record(struct packet *p, const char *owner, unsigned int type, const void *data,
		       size_t n)
{
	if (owner)
		put_name(p, owner);
	else
		put_number(p, 0xc00c);
	put_number(p, type);
	put_number(p, 1);
	put(p, "\0\0\0", 4);
	put_number(p, (unsigned int)n);
	put(p, data, n);
	p->bytes[7]++;
}

static void put_a(struct packet *p, const char *owner, const char *address)
{
	struct in_addr in;

	assert_int_equal(inet_pton(AF_INET, address, &in), 1);
	put_record(p, owner, TYPE_A, &in, sizeof(in));
}

static void put_cname(struct packet *p, const char *owner, const char *target)
{
	struct packet name = {.n = 0};

	put_name(&name, target);
	put_record(p, owner, TYPE_CNAME, name.bytes, name.n);
}

static void say_good(struct packet *p)
{
	put_a(p, NULL, "8.8.8.8");
}

static void say_loop(struct packet *p)
{
	put_cname(p, NULL, "loops");
}

static void say_loops(struct packet *p)
{
	put_cname(p, NULL, "loop");
}

/* All of it at once. */
static void say_ring(struct packet *p)
{
	put_cname(p, NULL, "rung");
	put_cname(p, "rung", "ring");
	put_a(p, "rung", "8.8.8.8");
}

static void say_self(struct packet *p)
{
	put_cname(p, NULL, "self");
}

static void say_chain(struct packet *p)
{
	static unsigned int links;
	char next[32];

	snprintf(next, sizeof(next), "chain%u", ++links);
	put_cname(p, NULL, next);
}

static void say_alias(struct packet *p)
{
	put_cname(p, NULL, "inside");
	put_a(p, "inside", "10.1.2.3");
}

static void say_inside(struct packet *p)
{
	put_a(p, NULL, "10.1.2.3");
}

static void say_other(struct packet *p)
{
	put_a(p, "someone", "8.8.8.8");
}

static void say_number(struct packet *p)
{
	say_good(p);
	p->bytes[1] ^= 1;
}

/* The name that was asked, with another letter. */
static void say_question(struct packet *p)
{
	say_good(p);
	p->bytes[13]++;
}

static void say_cut(struct packet *p)
{
	p->bytes[2] |= 2;
}

static void say_noise(struct packet *p)
{
	for (size_t i = 2; i < p->n; i++)
		p->bytes[i] = (__u8)(i * 37 + 11);
}

static void say_short(struct packet *p)
{
	put_record(p, NULL, TYPE_A, "\10\10\10", 3);
}

/* More records than there are. */
static void say_many(struct packet *p)
{
	say_good(p);
	p->bytes[7] = 200;
}

/* Public first, and then the host's. */
static void say_flip(struct packet *p)
{
	static unsigned int times;

	put_a(p, NULL, times++ ? "127.0.0.1" : "8.8.8.8");
}

static void say_failed(struct packet *p)
{
	p->bytes[3] |= 2;
}

static const struct row {
	const char *label; /* of the name, which begins so */
	void (*say)(struct packet *);
	enum reach_outcome outcome;
} rows[] = {
	{"good", say_good, REACH_CONNECTED},	      {"loops", say_loops, REACH_UNRESOLVED},
	{"loop", say_loop, REACH_UNRESOLVED},	      {"ring", say_ring, REACH_UNRESOLVED},
	{"self", say_self, REACH_UNRESOLVED},	      {"chain", say_chain, REACH_UNRESOLVED},
	{"alias", say_alias, REACH_BAD_ADDRESS},      {"inside", say_inside, REACH_BAD_ADDRESS},
	{"other", say_other, REACH_UNRESOLVED},	      {"number", say_number, REACH_UNRESOLVED},
	{"question", say_question, REACH_UNRESOLVED}, {"cut", say_cut, REACH_UNRESOLVED},
	{"noise", say_noise, REACH_UNRESOLVED},	      {"short", say_short, REACH_UNRESOLVED},
	{"many", say_many, REACH_UNRESOLVED},	      {"failed", say_failed, REACH_UNRESOLVED},
	{"flip", say_flip, REACH_CONNECTED},	      {"flip", say_flip, REACH_BAD_ADDRESS},
	{"good", say_good, REACH_CONNECTED},
};

static const struct row *row_of(const __u8 *label)
{
	char name[64] = "";

	for (__u8 i = 0; i < *label && i < 63; i++)
		name[i] = (char)tolower(label[1 + i]);
	for (size_t i = 0; i < N_OF(rows); i++)
		if (!strncmp(name, rows[i].label, strlen(rows[i].label)))
			return &rows[i];
	return NULL;
}

/* The question, and what the row says; of an address of IPv6 nothing. */
static void answer(struct packet *p)
{
	const struct row *row = row_of(p->bytes + 12);
	size_t end = 12;

	while (end < p->n && p->bytes[end])
		end += p->bytes[end] + 1u;
	p->n = end + 5;
	memcpy(p->bytes + 2, "\x81\x80\0\1\0\0\0\0\0", 10);
	if (row && (p->bytes[end + 2] == TYPE_A || row->say == say_cut || row->say == say_failed))
		row->say(p);
}

__attribute__((noreturn)) static void be_liar(int fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		struct sockaddr_in from;
		socklen_t size = sizeof(from);
		struct packet p = {.n = 0};
		ssize_t n =
			recvfrom(fd, p.bytes, sizeof(p.bytes), 0, (struct sockaddr *)&from, &size);

		if (n <= 12)
			continue;
		p.n = (size_t)n;
		answer(&p);
		sendto(fd, p.bytes, p.n, 0, (struct sockaddr *)&from, size);
	}
}

static pid_t liar_start(void)
{
	const struct sockaddr_in at = {.sin_family = AF_INET,
				       .sin_port = htons(UPSTREAM_PORT),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	pid = fork();
	if (pid == 0)
		be_liar(fd);
	return pid;
}

/* --- reaching --- */

struct heard {
	unsigned int times;
	enum reach_outcome outcome;
	char reason[400];
};

static void on_reached(void *data, enum reach_outcome outcome, int fd, const char *reason)
{
	struct heard *heard = data;

	heard->times++;
	heard->outcome = outcome;
	snprintf(heard->reason, sizeof(heard->reason), "%s", reason);
	if (outcome == REACH_CONNECTED)
		close(fd);
}

static struct reacher *new_reacher(sd_event *event)
{
	static const char *const upstream = UPSTREAM;
	struct reach_options options = {.upstreams = &upstream, .nupstreams = 1};
	struct reacher *reacher = NULL;
	struct error error = {0};

	if (reacher_new(event, &options, &reacher, &error))
		fail_msg("%s", error.text);
	return reacher;
}

static void check_row(sd_event *event, struct reacher *reacher, const struct row *row)
{
	struct heard heard = {0};
	struct reach *reach;
	char name[64];

	snprintf(name, sizeof(name), "%s.example.com", row->label);
	assert_int_equal(
		reach_begin(reacher, name, WORLD_PORT, LONG_MS, on_reached, &heard, &reach), 0);
	while (!heard.times)
		assert_true(sd_event_run(event, LONG_MS * 1000ull) > 0);
	if (heard.outcome != row->outcome)
		fail_msg("%s: %s: %s", name, reach_outcome_names[heard.outcome], heard.reason);
}

static void test_lies(void **state)
{
	_cleanup_netns_ int before = netns_enter();
	pid_t world = world_start(), liar = liar_start();
	struct reacher *reacher;
	sd_event *event;

	(void)state;
	assert_true(sd_event_new(&event) >= 0);
	reacher = new_reacher(event);
	for (size_t i = 0; i < N_OF(rows); i++)
		check_row(event, reacher, &rows[i]);
	reacher_free(reacher);
	sd_event_unref(event);
	nameserver_end(liar);
	nameserver_end(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
