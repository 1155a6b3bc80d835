// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A compartment that asks as often as it can, of what is listed, of what is not, and of nothing. BULKHEAD_FLOOD_MS
 * (default 500) says how long each flood lasts; what came of it is printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "egressd.h"

#define CONNECT_MS 1000
#define API "{'to': 'api.example.com:8443'}"
#define BATCH 64
#define PACKET 128
/* Somebody else's query, meanwhile: before c-ares would ask again, which waits least. */
#define SLOWEST_MS 2000
/* The wildcard's names; freed memory is kept by ASan. */
#ifdef __SANITIZE_ADDRESS__
#define RSS_KIB (512 * 1024)
#else
#define RSS_KIB 4096
#endif

enum kind { LISTED, WILD, UNLISTED, NOISE, KINDS };
static const char *const kind_names[KINDS] = {"listed", "of a wildcard", "unlisted", "noise"};

/* What the flooding process found. */
struct flood {
	__u64 sent, answered, us, dropped; /* dropped: answers, at its own socket */
};

/* --- the flood --- */

static __u64 drawn = 88172645463325252ull;

static __u64 draw(void)
{
	drawn ^= drawn << 13;
	drawn ^= drawn >> 7;
	drawn ^= drawn << 17;
	return drawn;
}

/* The first label's letters are others each time. */
static size_t write_packet(enum kind kind, const __u8 *query, size_t n, __u8 *ret)
{
	if (kind == NOISE) {
		for (size_t i = 0; i < PACKET; i++)
			ret[i] = (__u8)draw();
		return draw() % (PACKET + 1);
	}
	memcpy(ret, query, n);
	for (size_t i = 13; kind != LISTED && i < 13u + query[12]; i++)
		ret[i] = (__u8)('a' + draw() % 26);
	return n;
}

static __u64 receive(int fd)
{
	__u8 answer[1024];
	__u64 n = 0;

	while (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) > 0)
		n++;
	return n;
}

/* As the kernel counts them at the socket that has this port. */
static __u64 dropped_at(__u16 port)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/net/udp", "re");
	unsigned long long dropped;
	unsigned int at;
	char line[256];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line,
			   " %*u: %*x:%x %*x:%*x %*x %*x:%*x %*x:%*x %*x %*u %*u %*u %*u %*s %llu",
			   &at, &dropped) == 2 &&
		    at == port)
			return dropped;
	fail_msg("no socket at port %u", port);
	return 0;
}

static struct flood flood(__u16 stub, enum kind kind, __u64 ms)
{
	static const char *const names[KINDS] = {"api.example.com", "aaaaaaaaaa.cdn.example.com",
						 "aaaaaaaaaa.example.net", "x"};
	static __u8 packets[BATCH][PACKET];
	_cleanup_close_ int fd = resolver_socket(AF_INET, stub);
	struct mmsghdr messages[BATCH] = {0};
	struct iovec parts[BATCH];
	struct flood ret = {0};
	struct sockaddr_in own;
	socklen_t size = sizeof(own);
	__u8 query[PACKET];
	size_t n = write_query(names[kind], LDNS_RR_TYPE_A, query, sizeof(query));
	__u64 began = clock_us();

	while (clock_us() < began + ms * 1000) {
		int sent;

		for (int i = 0; i < BATCH; i++) {
			parts[i].iov_base = packets[i];
			parts[i].iov_len = write_packet(kind, query, n, packets[i]);
			messages[i].msg_hdr.msg_iov = &parts[i];
			messages[i].msg_hdr.msg_iovlen = 1;
		}
		sent = sendmmsg(fd, messages, BATCH, 0);
		ret.sent += sent > 0 ? (__u64)sent : 0;
		ret.answered += receive(fd);
	}
	ret.us = clock_us() - began;
	/* What stands in the queue. */
	while (is_readable(fd, 500))
		ret.answered += receive(fd);
	assert_int_equal(getsockname(fd, (void *)&own, &size), 0);
	ret.dropped = dropped_at(ntohs(own.sin_port));
	return ret;
}

/* --- meanwhile --- */

static long rss_kib(pid_t pid)
{
	char path[64], line[256];
	long kib = -1;
	_cleanup_fclose_ FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (kib < 0 && fgets(line, sizeof(line), file))
		sscanf(line, "VmRSS: %ld", &kib);
	assert_true(kib > 0);
	return kib;
}

/* Of how many refused queries it tells, those that were lost included. */
static __u64 told_by(json_t *said)
{
	if (!strcmp(field(said, "is"), "lost"))
		return (__u64)number(said, "count");
	return !strcmp(field(said, "is"), "event") ? (__u64)(number(said, "count") ?: 1) : 0;
}

/* What the agent hears, until it was told of so many, or nothing comes. */
static __u64 drain(const struct scene *s, __u64 wanted, int ms)
{
	__u64 told = 0;
	json_t *said;

	while (told < wanted && (said = hear(s, ms))) {
		told += told_by(said);
		json_decref(said);
	}
	return told;
}

struct meanwhile {
	__u64 told, asked, slowest_us;
};

static void ask_and_hear(struct scene *s, const struct ports *other, struct meanwhile *ret)
{
	__u64 began = clock_us(), took;

	assert_int_equal(lookup(other, "api.example.com").address, SYNTHETIC + 1);
	took = clock_us() - began;
	ret->asked++;
	ret->slowest_us = took > ret->slowest_us ? took : ret->slowest_us;
	ret->told += drain(s, UINT64_MAX, 0);
	usleep(5000);
}

static pid_t flood_from(int result, __u16 stub, enum kind kind, __u64 ms)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		struct flood done = flood(stub, kind, ms);

		_exit(write(result, &done, sizeof(done)) != sizeof(done));
	}
	return pid;
}

static struct flood run_flood(struct scene *s, const struct ports *ports, const struct ports *other,
			      enum kind kind, struct meanwhile *ret)
{
	const char *text = getenv("BULKHEAD_FLOOD_MS");
	__u64 ms = text ? strtoull(text, NULL, 10) : 500;
	struct flood done;
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = flood_from(ends[1], ports->stub4, kind, ms);
	while (!is_readable(ends[0], 0) && waitpid(pid, &status, WNOHANG) == 0)
		ask_and_hear(s, other, ret);
	assert_int_equal(read(ends[0], &done, sizeof(done)), sizeof(done));
	waitpid(pid, &status, 0);
	close(ends[0]);
	close(ends[1]);
	return done;
}

/* Each refused query is told of or counted as lost, and each that was not heard the kernel counts. */
static void check_flood(struct scene *s, const struct ports *ports, const struct ports *other,
			enum kind kind)
{
	struct meanwhile meanwhile = {0};
	__u64 before = dropped_at(ports->stub4), dropped, refused;
	long kib = rss_kib(s->egressd), grown;
	struct flood done = run_flood(s, ports, other, kind, &meanwhile);

	dropped = dropped_at(ports->stub4) - before;
	refused = kind == UNLISTED || kind == NOISE ? done.answered + done.dropped : 0;
	if (meanwhile.told < refused)
		meanwhile.told += drain(s, refused - meanwhile.told, WAIT_MS);
	grown = rss_kib(s->egressd) - kib;
	print_message(
		"# %s: %llu a second for %.1f s, answered %llu, dropped %llu and %llu; told %llu; "
		"another's %llu queries took at most %.1f ms; %ld KiB more\n",
		kind_names[kind], done.sent * 1000000ull / done.us, (double)done.us / 1e6,
		done.answered, dropped, done.dropped, meanwhile.told, meanwhile.asked,
		(double)meanwhile.slowest_us / 1000, grown);
	assert_true(meanwhile.asked > 1 && meanwhile.slowest_us < SLOWEST_MS * 1000ull);
	if (kind != NOISE)
		assert_int_equal(done.sent, done.answered + done.dropped + dropped);
	if (kind != WILD)
		assert_int_equal(meanwhile.told, refused);
	assert_in_range(grown < 0 ? 0 : grown, 0, RSS_KIB);
	assert_int_equal(lookup(ports, "api.example.com").address, SYNTHETIC + 1);
}

static void flooded(enum kind kind)
{
	_cleanup_scene_ struct scene s = {0};
	struct ports ports, other;

	stub_buffer = 0;
	s = scene_start(CONNECT_MS);
	ports = compartment(&s, 7, API ", {'to': '*.cdn.example.com:8443'}");
	other = compartment(&s, 8, API);
	check_flood(&s, &ports, &other, kind);
}

static void test_listed(void **state)
{
	(void)state;
	flooded(LISTED);
}

/* Until no address is left, and on. */
static void test_wild(void **state)
{
	(void)state;
	flooded(WILD);
}

static void test_unlisted(void **state)
{
	(void)state;
	flooded(UNLISTED);
}

static void test_noise(void **state)
{
	(void)state;
	flooded(NOISE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listed),
		cmocka_unit_test(test_wild),
		cmocka_unit_test(test_unlisted),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
