// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Parts of bulkhead-egressd that need no process, and its filter of system calls, by which a child lives. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/bpf.h>
#include <linux/sockios.h>
#include "base/cleanup.h"
#include "egressd/asking.h"
#include "egressd/entries.h"
#include "egressd/fold.h"
#include "egressd/grant.h"
#include "egressd/sandbox.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))

/* --- what is told --- */

static void test_fold(void **state)
{
	static struct fold fold;
	struct fold_key key = {.what = 1, .outcome = 2, .number = 3, .name = "a.b"}, other = key;
	struct fold_row row;
	__u64 now = 1000000, lost = 0;

	(void)state;
	other.number = 4;
	assert_int_equal(fold_note(&fold, &key, "", now), FOLD_TELL);
	assert_int_equal(fold_note(&fold, &other, "", now), FOLD_TELL);
	for (int i = 0; i < 10; i++)
		assert_int_equal(fold_note(&fold, &key, "why", now), FOLD_KEPT);
	assert_true(fold_has_kept(&fold));
	assert_false(fold_next(&fold, now + FOLD_WINDOW_US - 1, &row));
	assert_true(fold_next(&fold, now + FOLD_WINDOW_US, &row));
	assert_int_equal(row.count, 10);
	assert_string_equal(row.reason, "why");
	assert_false(fold_has_kept(&fold));
	/* It goes on: the next window began. */
	now += FOLD_WINDOW_US;
	assert_int_equal(fold_note(&fold, &key, "", now + 1), FOLD_KEPT);
	assert_int_equal(fold_note(&fold, &other, "", now + 1), FOLD_TELL);
	assert_true(fold_next(&fold, UINT64_MAX, &row));
	assert_int_equal(row.count, 1);
	/* Of those that have nothing in common so many pass, and then so many a second. */
	now += 100 * FOLD_WINDOW_US;
	for (int i = 0; i < FOLD_BURST + 100; i++) {
		snprintf(key.name, sizeof(key.name), "n%d", i);
		lost += fold_note(&fold, &key, "", now) == FOLD_LOST;
	}
	assert_int_equal(lost, 100);
	now += 1000000;
	for (int i = 0; i < FOLD_SECOND + 1; i++)
		lost += fold_pass(&fold, now) == FOLD_LOST;
	assert_int_equal(lost, 101);
}

/* --- questions --- */

static void test_asking(void **state)
{
	static struct asking asking = {.linger_us = 1000};
	char names[ASKING_SLOTS + 1][32];
	int slots[ASKING_EACH], again;

	(void)state;
	for (size_t i = 0; i < N_OF(names); i++)
		snprintf(names[i], sizeof(names[i]), "n%zu.example.com", i);
	for (int i = 0; i < ASKING_EACH; i++)
		assert_true((slots[i] = asking_begin(&asking, 7, names[i], 1)) >= 0);
	assert_int_equal(asking_begin(&asking, 7, names[ASKING_EACH], 1), -EBUSY);
	/* One that is asked for is no other. */
	again = asking_begin(&asking, 7, names[3], 1);
	assert_int_equal(again, slots[3]);
	asking_end(&asking, again, false, 1);
	assert_int_equal(asking_begin(&asking, 7, names[ASKING_EACH], 1), -EBUSY);
	/* Given up it stays for a while, answered it does not. */
	asking_end(&asking, slots[0], true, 1);
	assert_int_equal(asking_begin(&asking, 7, names[ASKING_EACH], 2), -EBUSY);
	assert_int_equal(asking_begin(&asking, 7, names[ASKING_EACH], 1 + 1000), slots[0]);
	asking_end(&asking, slots[1], false, 2);
	assert_int_equal(asking_begin(&asking, 7, names[1], 2), slots[1]);
	/* Others leave each other something, and all of it is had by no one. */
	for (__u64 serial = 8; serial < 8 + ASKING_FIRST; serial++) {
		size_t n = 0;

		while (n < N_OF(names) && asking_begin(&asking, serial, names[n], 3) >= 0)
			n++;
		assert_in_range(n, 1, ASKING_EACH);
	}
}

/* --- terms --- */

static struct entries entries_of(const char *const *texts, const __u64 *limits, const bool *tls,
				 size_t n)
{
	struct destination_fault fault;
	struct entries entries;

	assert_int_equal(entries_make(n, &entries), 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(
			destination_parse(texts[i], strlen(texts[i]), &entries.to[i], &fault), 0);
		entries.terms[i] = (struct terms){.max_upload = limits[i], .tls = tls[i]};
	}
	return entries;
}

static void test_entries(void **state)
{
	static const char *const texts[] = {"*.b.c:1,2", "a.b.c:1", "a.b.c:1,3", "a.b.c:1"};
	static const __u64 limits[] = {10, 30, UINT64_MAX, 20}, lower[] = {10, 4, 5, 20};
	static const bool tls[] = {true, false, false, false};
	static struct allowances allowances;
	struct entries entries = entries_of(texts, limits, tls, N_OF(texts));
	struct error error = {0};
	struct terms terms;

	(void)state;
	assert_int_equal(entries_bind(&entries, &allowances, &error), 0);
	assert_true(entries.terms[1].allowance == entries.terms[3].allowance);
	assert_true(entries.terms[1].allowance != entries.terms[2].allowance);
	entries_apply(&entries);
	/* The one that writes it out decides, of two the less; the wildcard for its own port. */
	assert_true(entries_find(&entries, "a.b.c", 1, &terms));
	assert_int_equal(terms.allowance->left, 20);
	assert_false(terms.tls);
	assert_true(entries_find(&entries, "a.b.c", 2, &terms));
	assert_int_equal(terms.allowance->left, 10);
	assert_true(terms.tls);
	assert_true(entries_find(&entries, "a.b.c", 3, &terms));
	assert_int_equal(terms.allowance->left, UINT64_MAX);
	assert_false(entries_find(&entries, "a.b.c", 4, &terms));
	assert_false(entries_find(&entries, "b.c", 1, &terms));
	/* What was spent stays spent, without a limit too. */
	terms.allowance->left -= 3;
	entries_done(&entries);
	entries = entries_of(texts, lower, tls, N_OF(texts));
	assert_int_equal(entries_bind(&entries, &allowances, &error), 0);
	entries_apply(&entries);
	assert_true(entries_find(&entries, "a.b.c", 3, &terms));
	assert_int_equal(terms.allowance->left, 2);
	/* For this grant; and a lower limit than what was spent forgets none of it. */
	terms.allowance->left = 0;
	allowances_lease(&allowances, 0);
	entries.terms[2].max_upload = 1;
	entries_apply(&entries);
	entries.terms[2].max_upload = 7;
	entries_apply(&entries);
	assert_int_equal(terms.allowance->left, 2);
	allowances_lease(&allowances, 1);
	entries_apply(&entries);
	assert_int_equal(terms.allowance->left, 7);
	entries_done(&entries);
}

/* A process that is killed while limits change leaves what was spent before, at whatever step. */
static void test_settled(void **state)
{
	static const char *const text[] = {"a.b.c:1"};
	static const bool tls[] = {false};
	static struct allowances allowances;
	struct error error = {0};

	(void)state;
	for (int step = 0; step < 3; step++) {
		const __u64 limit = 50;
		struct entries entries = entries_of(text, &limit, tls, 1);
		struct allowance *a;

		memset(&allowances, 0, sizeof(allowances));
		assert_int_equal(entries_bind(&entries, &allowances, &error), 0);
		a = entries.terms[0].allowance;
		/* 30 of 40 are spent, and 50 may be: settled, not limited, a new remainder. */
		a->settled = 30;
		a->limit = step ? 0 : 40;
		a->left = step > 1 ? 20 : 10;
		entries_apply(&entries);
		assert_int_equal(a->left, 20);
		entries_done(&entries);
	}
}

/* Past the bound nothing is bound. */
static void test_many_entries(void **state)
{
	static struct allowances allowances;
	const __u64 limit = 1;
	const bool tls = false;
	struct error error = {0};

	(void)state;
	for (int i = 0; i <= ALLOWANCES; i++) {
		char name[32];
		const char *const text[] = {name};
		struct entries entries;

		snprintf(name, sizeof(name), "n%d.b.c:1", i);
		entries = entries_of(text, &limit, &tls, 1);
		assert_int_equal(entries_bind(&entries, &allowances, &error),
				 i < ALLOWANCES ? 0 : -ENOSPC);
		entries_done(&entries);
	}
}

/* --- the second yes --- */

static void test_grant(void **state)
{
	struct destination only[2];
	struct grant none = {0}, all = {.given = true},
		     some = {.given = true, .only = only, .n = N_OF(only)};
	struct error error = {0};

	(void)state;
	assert_int_equal(grant_read("*.b.c", &only[0], &error), 0);
	assert_int_equal(grant_read("A.b.d.", &only[1], &error), 0);
	assert_false(grant_covers(&none, "a.b.c"));
	assert_true(grant_covers(&all, "a.b.c"));
	assert_true(grant_covers(&some, "a.b.c"));
	assert_true(grant_covers(&some, "a.b.d"));
	assert_false(grant_covers(&some, "b.c"));
	assert_false(grant_covers(&some, "a.a.b.c"));
	assert_false(grant_covers(&some, "b.b.d"));
	some.given = false;
	assert_false(grant_covers(&some, "a.b.c"));
}

/* --- system calls --- */

static int by_socket(int family, int type)
{
	return socket(family, type, 0) < 0 ? errno : 0;
}

static int try_inet(void)
{
	return by_socket(AF_INET6, SOCK_STREAM);
}

static int try_unix(void)
{
	return by_socket(AF_UNIX, SOCK_STREAM);
}

static int try_packet(void)
{
	return by_socket(AF_PACKET, SOCK_RAW);
}

static int try_pair(void)
{
	int fds[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, fds) ? errno : 0;
}

/* A thread needs more flags: unfiltered the kernel refuses it. */
static int try_thread(void)
{
	return syscall(SYS_clone, CLONE_THREAD, 0, 0, 0, 0) < 0 ? errno : 0;
}

static int by_bpf(int command)
{
	union bpf_attr attr = {.map_fd = (__u32)-1};

	return syscall(SYS_bpf, command, &attr, sizeof(attr)) ? errno : 0;
}

static int try_take(void)
{
	return by_bpf(BPF_MAP_LOOKUP_AND_DELETE_ELEM);
}

static int try_update(void)
{
	return by_bpf(BPF_MAP_UPDATE_ELEM);
}

static int try_open(void)
{
	return open("/etc/passwd", O_RDONLY) < 0 ? errno : 0;
}

static int try_exec(void)
{
	char *const argv[] = {"true", NULL};

	return execv("/bin/true", argv) ? errno : 0;
}

static int try_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return pid < 0 ? errno : 0;
}

static int by_map(int protection)
{
	return mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
		       ? errno
		       : 0;
}

static int try_memory(void)
{
	return by_map(PROT_READ | PROT_WRITE);
}

static int try_code(void)
{
	return by_map(PROT_READ | PROT_EXEC);
}

static int try_type(void)
{
	return ioctl(STDERR_FILENO, TIOCSTI, "x") ? errno : 0;
}

static int try_kill(void)
{
	return kill(getppid(), 0) ? errno : 0;
}

/* Then nothing is refused (sandbox.c). */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

static const struct {
	const char *name;
	int (*attempt)(void);
	int code; /* -SIGSYS: it ends by that */
} calls[] = {
	{"inet", try_inet, 0},
	{"unix", try_unix, -SIGSYS},
	{"packet", try_packet, -SIGSYS},
	{"pair of sockets", try_pair, -SIGSYS},
	{"another thread", try_thread, -SIGSYS},
	{"take", try_take, EBADF},
	{"update", try_update, -SIGSYS},
	{"open", try_open, EACCES},
	{"exec", try_exec, -SIGSYS},
	{"fork", try_fork, -SIGSYS},
	{"memory", try_memory, 0},
	{"code", try_code, -SIGSYS},
	{"type", try_type, -SIGSYS},
	{"kill", try_kill, -SIGSYS},
};

/* An errno, or a signal's number below 0. */
static int in_child(int (*attempt)(void), bool filtered)
{
	struct error error = {0};
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (filtered && sandbox_filter(&error))
			_exit(255);
		_exit(attempt());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* Unfiltered nothing ends by it: the filter is what refuses. */
static void test_filter(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_OF(calls); i++) {
		int before = in_child(calls[i].attempt, false),
		    after = in_child(calls[i].attempt, true);

		if (before == -SIGSYS || before == EACCES)
			fail_msg("%s, unfiltered: %d", calls[i].name, before);
		if (after != (SANITIZED ? before : calls[i].code))
			fail_msg("%s: %d", calls[i].name, after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fold),	     cmocka_unit_test(test_asking),
		cmocka_unit_test(test_entries),	     cmocka_unit_test(test_settled),
		cmocka_unit_test(test_many_entries), cmocka_unit_test(test_grant),
		cmocka_unit_test(test_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
