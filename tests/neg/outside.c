// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What attempts meet outside: listeners, the fixture, descriptors that are held, a process. */
#include "run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { FD_SECRET = 200, FD_UDP, FD_TCP, FD_UDP6, FD_TCP6 };

static int keep_listener(struct runner *run, int fd)
{
	if (fd < 0 || run->nlisteners == MAX_LISTENERS)
		return -1;
	run->listeners[run->nlisteners++] = fd;
	return 0;
}

static int listen_unix(struct runner *run, const char *name, int type)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	size_t length = strlen(name);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	memcpy(sun.sun_path, name, length);
	if (name[0] == '@')
		sun.sun_path[0] = 0;
	if (bind(fd, (struct sockaddr *)&sun, offsetof(struct sockaddr_un, sun_path) + length) <
		    0 ||
	    (type != SOCK_DGRAM && listen(fd, 128) < 0))
		return -1;
	return keep_listener(run, fd);
}

/* Both families, mapped addresses and all local ones, so that every spelling has its control. */
static int listen_tcp(struct runner *run)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6};
	socklen_t size = sizeof(any);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0;

	if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0 ||
	    bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, 512) < 0 ||
	    getsockname(fd, (struct sockaddr *)&any, &size) < 0)
		return -1;
	run->port = ntohs(any.sin6_port);
	return keep_listener(run, fd);
}

int make_listeners(struct runner *run)
{
	if (listen_tcp(run) || listen_unix(run, "@bulkhead-neg-stream", SOCK_STREAM) ||
	    listen_unix(run, "@bulkhead-neg-listed", SOCK_STREAM) ||
	    listen_unix(run, "@bulkhead-neg-listed-not", SOCK_STREAM) ||
	    listen_unix(run, "@bulkhead-neg-seqpacket", SOCK_SEQPACKET))
		return -1;
	return listen_unix(run, "@bulkhead-neg-dgram", SOCK_DGRAM);
}

static int write_file(const char *path, const char *text, mode_t mode)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	return fd < 0 || write(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0 ? -errno : 0;
}

int make_scripts(struct runner *run)
{
	char text[PATH_MAX];

	/* The kernel adds the script's path: the verb takes no notice of it. */
	snprintf(text, sizeof(text), "#!%s unix-pair\n", run->probe);
	mkdir("/srv/quiet", 0755);
	if (write_file(FIXTURE "/open/run", text, 0755) ||
	    write_file(FIXTURE "/open/one", "#!/usr/bin/bash\n:\n", 0755) ||
	    write_file(FIXTURE "/work/run", text, 0755) ||
	    write_file(FIXTURE "/work/.env", "X=1\n", 0644) ||
	    write_file("/srv/quiet/file", "x\n", 0644))
		return -1;
	return symlink(FIXTURE_SECRET, FIXTURE "/work/link");
}

static int take_fd(int fd, int as)
{
	if (fd < 0 || dup2(fd, as) < 0)
		return -1;
	return fd == as ? 0 : close(fd);
}

static int make_descriptors(void)
{
	return take_fd(open(FIXTURE_SECRET, O_RDWR), FD_SECRET) ||
	       take_fd(socket(AF_INET, SOCK_DGRAM, 0), FD_UDP) ||
	       take_fd(socket(AF_INET, SOCK_STREAM, 0), FD_TCP) ||
	       take_fd(socket(AF_INET6, SOCK_DGRAM, 0), FD_UDP6) ||
	       take_fd(socket(AF_INET6, SOCK_STREAM, 0), FD_TCP6);
}

void close_listeners_from(struct runner *run, size_t from)
{
	while (run->nlisteners > from)
		close(run->listeners[--run->nlisteners]);
}

int prepare(struct runner *run, size_t *ret_listeners)
{
	*ret_listeners = run->nlisteners;
	umount2(FIXTURE "/work/sub", MNT_DETACH);
	if (fixture_make() < 0 || make_scripts(run) || make_descriptors())
		return -1;
	return listen_unix(run, FIXTURE "/secret/socket", SOCK_STREAM) ||
	       listen_unix(run, FIXTURE "/open/socket", SOCK_STREAM) ||
	       listen_unix(run, FIXTURE "/secret/dgram", SOCK_DGRAM);
}

int run_victim(void *data)
{
	char *argv[] = {data, (char *)"pause", NULL}, *envp[] = {NULL};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execve(data, argv, envp);
	return 1;
}
