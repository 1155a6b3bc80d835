/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A resolver that runs (dnsmasq), on a port of the loopback address of the network namespace that it is started in. */
#ifndef UNIT_NAMESERVER_H
#define UNIT_NAMESERVER_H

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/cleanup.h"

#define NAMESERVER "127.0.0.1@5353"
#define NAMESERVER_PORT 5353
#define NAMESERVER_MS 20000
#define NAMESERVER_OPTIONS 32

#define HOSTS_OPTION 64

/* Its option for a file in the form of hosts(5), to be written before it starts and closed when it has: one that has no
 * name, which nothing can leave behind. */
static inline FILE *hosts_open(char ret_option[HOSTS_OPTION])
{
	int fd = memfd_create("hosts", MFD_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	assert_non_null(file);
	snprintf(ret_option, HOSTS_OPTION, "--addn-hosts=/proc/%d/fd/%d", (int)getpid(), fd);
	return file;
}

/* It listens before it has read its files: whoever takes them away waits for an answer, whatever that says. */
static inline void nameserver_wait(void)
{
	/* The root's address. */
	static const unsigned char query[] = {0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1};
	const struct sockaddr_in at = {.sin_family = AF_INET,
				       .sin_port = htons(NAMESERVER_PORT),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char answer[512];

	assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	for (int ms = 0; ms < NAMESERVER_MS; ms += 10) {
		send(fd, query, sizeof(query), MSG_NOSIGNAL);
		usleep(10000);
		if (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) > 0)
			return;
	}
	fail_msg("dnsmasq says nothing");
}

/* With these options besides: what it knows of example.com, which is all that it answers for. */
static inline pid_t nameserver_start(const char *const *options, size_t n)
{
	const char *argv[NAMESERVER_OPTIONS] = {"dnsmasq",
						"--keep-in-foreground",
						"--conf-file=/dev/null",
						"--no-resolv",
						"--no-hosts",
						"--no-poll",
						"--user=root",
						"--pid-file=",
						"--log-facility=/dev/null",
						"--listen-address=127.0.0.1",
						"--bind-interfaces",
						"--port=5353",
						"--local=/example.com/"};
	size_t argc = 13;
	pid_t pid;

	for (size_t i = 0; i < n; i++) {
		assert_true(argc < NAMESERVER_OPTIONS - 1);
		argv[argc++] = options[i];
	}
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp("dnsmasq", (char *const *)argv);
		_exit(127);
	}
	nameserver_wait();
	return pid;
}

static inline void nameserver_end(pid_t pid)
{
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

#endif
