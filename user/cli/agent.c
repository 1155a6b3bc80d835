// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include "cli.h"
#include "compart/control.h"
#include "kern/kern.h"

/* Bytes of one answer: a thousand compartments with long paths. At the bound: an error. */
#define AGENT_MAX_LINE (64u << 20)
#define AGENT_CHUNK 65536

struct agent {
	int fd;
	char *buffer;
	size_t n, size;
};

void agent_close(struct agent *agent)
{
	if (!agent)
		return;
	if (agent->fd >= 0)
		close(agent->fd);
	free(agent->buffer);
	free(agent);
}

/* Nobody is told to start what cannot start. Who is not root cannot see all that it takes. */
static int no_agent(struct error *error, int code)
{
	struct kern_probe probe;
	struct error why = {};

	kern_probe(&probe);
	if (probe.ok[KERN_NEED_ROOT] && kern_probe_require(&probe, &why) < 0)
		return error_set(error, code, "no agent is running, and none can: %s", why.text);
	return error_set(error, code,
			 "no agent is running (systemctl start bulkheadd, or as root: bulkheadd)");
}

static int explain(struct error *error, int code)
{
	if (code == ENOENT || code == ECONNREFUSED)
		return no_agent(error, code);
	return error_set(error, code, "%s: %s", CONTROL_SOCKET, strerror(code));
}

int agent_open(struct agent **ret, struct error *error)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = CONTROL_SOCKET};
	_cleanup_(cleanup_agent_close) struct agent *agent = calloc(1, sizeof(*agent));

	if (!agent)
		return error_set(error, ENOMEM, "out of memory");
	/* Non-blocking: a full backlog answers EAGAIN at once instead of waiting. */
	agent->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (agent->fd < 0 || connect(agent->fd, (struct sockaddr *)&address, sizeof(address)))
		return explain(error, errno);
	*ret = TAKE_PTR(agent);
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

/* deadline_ms as of now_ms; -1: none. */
static int wait_for(int fd, short events, int64_t deadline_ms)
{
	struct pollfd p = {.fd = fd, .events = events};
	int64_t left = deadline_ms < 0 ? -1 : deadline_ms - now_ms();
	int r;

	if (deadline_ms >= 0 && left <= 0)
		return -ETIMEDOUT;
	r = poll(&p, 1, (int)left);
	return r < 0 && errno != EINTR ? -errno : r == 0 ? -ETIMEDOUT : 0;
}

static int send_all(int fd, const char *text, size_t n, int64_t deadline_ms)
{
	while (n) {
		ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);
		int r;

		if (sent > 0) {
			text += sent;
			n -= (size_t)sent;
			continue;
		}
		/* Turned away before the request was read: the answer is waiting for us. */
		if (errno == EPIPE || errno == ECONNRESET)
			return 0;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		r = wait_for(fd, POLLOUT, deadline_ms);
		if (r)
			return r;
	}
	return 0;
}

/* A line out of the buffer; NULL when it holds none. */
static char *take_line(struct agent *agent)
{
	char *end = agent->n ? memchr(agent->buffer, '\n', agent->n) : NULL;
	size_t length;
	char *line;

	if (!end)
		return NULL;
	length = (size_t)(end - agent->buffer);
	line = strndup(agent->buffer, length);
	agent->n -= length + 1;
	memmove(agent->buffer, end + 1, agent->n);
	return line;
}

static int make_room(struct agent *agent)
{
	char *bigger;

	if (agent->size - agent->n >= AGENT_CHUNK)
		return 0;
	if (agent->size >= AGENT_MAX_LINE)
		return -EMSGSIZE;
	bigger = realloc(agent->buffer, agent->size * 2 + AGENT_CHUNK);
	if (!bigger)
		return -ENOMEM;
	agent->buffer = bigger;
	agent->size = agent->size * 2 + AGENT_CHUNK;
	return 0;
}

/* 1 and a line, 0 at the end, or -errno. */
static int read_line(struct agent *agent, int64_t deadline_ms, char **ret_line)
{
	char *line;

	while (!(line = take_line(agent))) {
		int r = make_room(agent);
		ssize_t n;

		if (r == 0)
			r = wait_for(agent->fd, POLLIN, deadline_ms);
		if (r < 0)
			return r;
		n = read(agent->fd, agent->buffer + agent->n, agent->size - agent->n);
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return 0;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		agent->n += n > 0 ? (size_t)n : 0;
	}
	*ret_line = line;
	return 1;
}

int agent_next(struct agent *agent, char **ret_line)
{
	return read_line(agent, -1, ret_line);
}

static int judge(json_t *reply, struct error *error)
{
	int code = (int)json_integer_value(json_object_get(reply, "errno"));

	if (json_is_true(json_object_get(reply, "ok")))
		return 0;
	return error_set(error, code > 0 ? code : EIO, "%s", text_of(reply, "error"));
}

int agent_ask(struct agent *agent, json_t *request, json_t **ret_reply, struct error *error)
{
	_cleanup_json_ json_t *owned = request;
	_cleanup_free_ char *json = owned ? json_dumps(owned, JSON_COMPACT) : NULL;
	_cleanup_free_ char *text = NULL, *line = NULL;
	int64_t deadline = now_ms() + CONTROL_ANSWER_MS;
	int n = json ? asprintf(&text, "%s\n", json) : -1;
	json_t *reply;
	int r;

	if (n < 0) {
		text = NULL;
		return error_set(error, ENOMEM, "out of memory");
	}
	if (n > (int)CONTROL_MAX_REQUEST)
		return error_set(error, E2BIG, "the request is longer than %u bytes",
				 CONTROL_MAX_REQUEST);
	r = send_all(agent->fd, text, (size_t)n, deadline);
	if (r == 0)
		r = read_line(agent, deadline, &line);
	if (r < 0)
		return error_set(error, -r, "no answer from the agent: %s", strerror(-r));
	reply = r ? json_loads(line, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (!reply)
		return error_set(error, EPROTO,
				 r ? "the agent's answer makes no sense"
				   : "the agent hung up without an answer: see its log");
	*ret_reply = reply;
	return judge(reply, error);
}

int agent_call(json_t *request, json_t **ret_reply, struct error *error)
{
	_cleanup_(cleanup_agent_close) struct agent *agent = NULL;
	int r = agent_open(&agent, error);

	if (r) {
		json_decref(request);
		return r;
	}
	return agent_ask(agent, request, ret_reply, error);
}

bool agent_is_running(void)
{
	_cleanup_close_ int fd = open(CONTROL_LOCK, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
}
