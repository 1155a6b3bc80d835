// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "scene.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "compart/compart.h"

void scene_done(struct scene *s)
{
	if (s->agent > 0) {
		kill(s->agent, SIGTERM);
		cell_wait(s->agent);
	}
	if (s->cgroup) {
		cgroup_kill(s->cgroup, HARNESS_DEADLINE_MS, NULL);
		cgroup_remove(s->cgroup);
	}
	if (s->provider > 0)
		cell_wait(s->provider);
	cleanup_closep(&s->notify);
	cleanup_closep(&s->letters);
	free(s->cgroup);
}

int scene_init(struct scene *s, const char *policy)
{
	char own[PATH_MAX / 2];
	struct error error = {};
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	s->notify = s->letters = -1;
	CHECK(n > 0, "no /proc/self/exe");
	own[n] = 0;
	dirname(own);
	snprintf(s->probe, sizeof(s->probe), "%.1900s/probe", own);
	snprintf(s->policy, sizeof(s->policy), "%s/policies/%s.yaml", own, policy);
	snprintf(s->var, sizeof(s->var), "PROBE=%s", s->probe);
	CHECK(access(s->probe, X_OK) == 0 && access(s->policy, R_OK) == 0,
	      "no probe and policies/ beside this program");
	CHECK(fixture_make() == 0, "no fixture");
	CHECK(cgroup_own_create("test-agent", &s->cgroup, &error) == 0, "%.200s", error.text);
	return 0;
}

/* --- programs --- */

static void child_outputs(int out)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(out >= 0 ? out : null, STDOUT_FILENO);
	close_range(3, ~0u, 0);
}

pid_t program_start(const char *const argv[], int out)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child_outputs(out);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	return pid;
}

int program_run(const char *const argv[])
{
	return cell_wait_ms(program_start(argv, -1), READY_MS, true);
}

static int notify_socket(char *name, size_t size)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int n;

	n = snprintf(name, size, "@bulkhead-test-notify-%d", getpid());
	memcpy(sun.sun_path + 1, name + 1, n - 1);
	if (bind(fd, (struct sockaddr *)&sun, offsetof(struct sockaddr_un, sun_path) + n) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* What it tells its service manager: 0 on READY=1. */
static int wait_ready(struct scene *s)
{
	struct pollfd p = {.fd = s->notify, .events = POLLIN};
	char text[2048];
	ssize_t n;

	while (poll(&p, 1, READY_MS) > 0) {
		n = read(s->notify, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = 0;
		if (strstr(text, "READY=1"))
			return 0;
		if (strstr(text, "ERRNO="))
			break;
	}
	return -1;
}

int agent_start(struct scene *s)
{
	const char *const argv[] = {"bulkheadd", NULL};
	char name[64];

	s->notify = notify_socket(name, sizeof(name));
	CHECK(s->notify >= 0, "no notify socket");
	setenv("NOTIFY_SOCKET", name, 1);
	s->agent = program_start(argv, -1);
	unsetenv("NOTIFY_SOCKET");
	CHECK(s->agent > 0 && wait_ready(s) == 0, "bulkheadd did not become ready");
	close(s->notify);
	s->notify = -1;
	return 0;
}

int agent_end(struct scene *s, int signal)
{
	int r;

	kill(s->agent, signal);
	r = cell_wait(s->agent);
	s->agent = 0;
	return r;
}

int scene_attach(struct scene *s)
{
	const char *const argv[] = {"bulkhead", "attach", s->policy, "--cgroup",
				    s->cgroup,	"--var",  s->var,    NULL};

	return program_run(argv);
}

int scene_detach(struct scene *s)
{
	const char *const argv[] = {"bulkhead", "detach", "--cgroup", s->cgroup, NULL};

	return program_run(argv);
}

int scene_provider(struct scene *s, const char *verb, const char *threads)
{
	const char *const argv[] = {s->probe, verb, FIXTURE_SECRET, threads, NULL};
	int ends[2];

	CHECK(pipe2(ends, O_CLOEXEC) == 0, "no pipe");
	s->provider = program_start(argv, ends[1]);
	close(ends[1]);
	s->letters = ends[0];
	CHECK(s->provider > 0 && cell_move(s->cgroup, s->provider) == 0, "no provider");
	return 0;
}

int program_print(const char *const argv[], char *text, size_t size)
{
	int ends[2], r;
	ssize_t n;

	CHECK(pipe2(ends, O_CLOEXEC) == 0, "no pipe");
	r = cell_wait_ms(program_start(argv, ends[1]), READY_MS, true);
	close(ends[1]);
	n = read(ends[0], text, size - 1);
	close(ends[0]);
	text[n > 0 ? n : 0] = 0;
	return r;
}

/* --- the agent --- */

int scene_policy(struct scene *s, const char *rule)
{
	FILE *out;
	int r;

	snprintf(s->policy, sizeof(s->policy), "/run/edited.yaml");
	out = fopen(s->policy, "w");
	CHECK(out, "%s: %s", s->policy, strerror(errno));
	r = fprintf(out,
		    "version: 1\nname: edited\nvars: [\"PROBE=/lab/probe\"]\nmode: enforce\n"
		    "existing: {default: report, keep: [stdio]}\nfiles:\n"
		    "  - {allow: [read], on: [\"" FIXTURE "/open/**\"]}\n%s"
		    "exec:\n  - {on: [\"${PROBE}\"]}\nnetwork: none\n",
		    rule);
	CHECK(!fclose(out) && r > 0, "%s is not written", s->policy);
	return 0;
}
