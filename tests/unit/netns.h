/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A network namespace of the test's own, in which it is until the test ends. */
#ifndef UNIT_NETNS_H
#define UNIT_NETNS_H

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Where it was before. Skips the test where it may make none; only root may. */
static inline int netns_enter(void)
{
	int before = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	assert_true(before >= 0);
	if (unshare(CLONE_NEWNET)) {
		close(before);
		skip();
	}
	return before;
}

static inline void netns_leave(int *before)
{
	assert_int_equal(setns(*before, CLONE_NEWNET), 0);
	close(*before);
}
#define _cleanup_netns_ __attribute__((cleanup(netns_leave)))

/* Lines of ip(8), "-batch". */
static inline void netns_set(const char *lines)
{
	FILE *ip = popen("ip -batch -", "w");

	assert_non_null(ip);
	assert_true(fputs(lines, ip) >= 0);
	assert_int_equal(pclose(ip), 0);
}

/* An IPv6 address is the host's own a little after it was added (addrconf's work queue). */
static inline void netns_wait_own(const char *address)
{
	char command[128], answer[8] = "";

	snprintf(command, sizeof(command), "ip route get %s 2>/dev/null", address);
	for (int ms = 0; strncmp(answer, "local ", 6); ms += 10) {
		FILE *ip = popen(command, "r");

		assert_true(ms < 10000);
		usleep(10000);
		assert_non_null(ip);
		if (!fgets(answer, sizeof(answer), ip))
			answer[0] = '\0';
		pclose(ip);
	}
}

#endif
