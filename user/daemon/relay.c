// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "base/cleanup.h"
#include "base/clock.h"

/* Messages read before the loop is asked again: what it tells is others' doing, without end. */
#define RELAY_BATCH 64
/* Of a dead one: what it had said. */
#define RELAY_LAST_WORDS 4096
/* Between the end of its channel and its own, which says more: the kernel closes one right before the other. */
#define RELAY_EXIT_MS 50
/* For it to end its connections and tell of them, when the agent ends; then it is killed. */
#define RELAY_PART_MS 1000
/* For the kernel to end what was killed, when the agent ends. */
#define RELAY_KILL_MS 1000
/* Room for one message and what the kernel counts beside it. */
#define RELAY_SOCKET_BYTES (2 * CHANNEL_MESSAGE)
#define EXIT_NO_EXEC 127

DEFINE_CLEANUP(json_t *, json_decref)
#define _cleanup_json_ _cleanup_(cleanup_json_decref)

enum life {
	LIFE_NONE,
	LIFE_RUNS,
	LIFE_ENDS, /* killed, not reaped yet */
};

struct relay {
	struct relay_options options;
	sd_event *event;
	enum life life;
	bool wanted;
	bool unstartable; /* last time */
	json_t *asked;	  /* whose answer is to come; NULL */
	pid_t pid;
	int pidfd, channel;
	sd_event_source *exit, *io, *answer_timer, *start_timer;
	uint64_t started_us;
	unsigned int pause_ms, deaths;
	char why[ERROR_TEXT_SIZE];
	char buffer[CHANNEL_MESSAGE + 1];
};

static void ask_next(struct relay *relay);

static void arm(sd_event_source *timer, unsigned int ms)
{
	sd_event_source_set_time(timer, clock_us() + ms * 1000ull);
	sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static void disarm(sd_event_source *timer)
{
	sd_event_source_set_enabled(timer, SD_EVENT_OFF);
}

/* --- its end --- */

static void close_channel(struct relay *relay)
{
	relay->io = sd_event_source_disable_unref(relay->io);
	if (relay->channel >= 0)
		close(relay->channel);
	relay->channel = -1;
	json_decref(relay->asked);
	relay->asked = NULL;
	disarm(relay->answer_timer);
}

static void start_later(struct relay *relay)
{
	if (clock_us() - relay->started_us >= relay->options.steady_ms * 1000ull)
		relay->pause_ms = relay->options.pause_ms;
	arm(relay->start_timer, relay->pause_ms);
	relay->pause_ms *= 2;
	if (relay->pause_ms > relay->options.pause_max_ms)
		relay->pause_ms = relay->options.pause_max_ms;
}

static void end(struct relay *relay)
{
	close_channel(relay);
	relay->life = LIFE_ENDS;
	pidfd_send_signal(relay->pidfd, SIGKILL, NULL, 0);
}

static void fail(struct relay *relay, const char *why)
{
	if (relay->life != LIFE_RUNS)
		return;
	end(relay);
	relay->deaths++;
	snprintf(relay->why, sizeof(relay->why), "%s", why);
	relay->options.died(relay->options.data, relay->why);
}

static void describe_end(const siginfo_t *info, char *buffer, size_t size)
{
	if (info->si_code != CLD_EXITED)
		snprintf(buffer, size, "it was ended by signal %d (%s)", info->si_status,
			 strsignal(info->si_status));
	else if (info->si_status == EXIT_NO_EXEC)
		snprintf(buffer, size, "it could not be run");
	else
		snprintf(buffer, size, "it exited with status %d: see its log", info->si_status);
}

/* 1: it has, and says how; it is not reaped. */
static int has_exited(const struct relay *relay, siginfo_t *ret)
{
	*ret = (siginfo_t){0};
	return waitid(P_PIDFD, (id_t)relay->pidfd, ret, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       ret->si_pid;
}

static void hung_up(struct relay *relay)
{
	struct pollfd polled = {.fd = relay->pidfd, .events = POLLIN};
	char why[128] = "it hung up";
	siginfo_t info;

	if (poll(&polled, 1, RELAY_EXIT_MS) > 0 && has_exited(relay, &info))
		describe_end(&info, why, sizeof(why));
	fail(relay, why);
}

/* --- what it says --- */

/* 0, -EAGAIN, -EPIPE at its end, -EBADMSG. */
static int receive(struct relay *relay, json_t **ret)
{
	ssize_t n = recv(relay->channel, relay->buffer, sizeof(relay->buffer),
			 MSG_DONTWAIT | MSG_TRUNC);
	json_t *message;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EPIPE;
	if (n == 0)
		return -EPIPE;
	message = n <= CHANNEL_MESSAGE
			  ? json_loadb(relay->buffer, (size_t)n, JSON_REJECT_DUPLICATES, NULL)
			  : NULL;
	if (!json_is_object(message)) {
		json_decref(message);
		return -EBADMSG;
	}
	*ret = message;
	return 0;
}

/* Answers come in the order of the questions, of which there is one. */
static bool is_answer(const json_t *asked, const json_t *message)
{
	const json_t *serial = json_object_get(asked, "serial");

	return asked && json_equal(json_object_get(asked, "do"), json_object_get(message, "of")) &&
	       (!serial || json_equal(serial, json_object_get(message, "serial")));
}

#define UNDONE "it does not do what must be done: killed"

static int take_answer(struct relay *relay, const json_t *message, bool done)
{
	const char *why = json_string_value(json_object_get(message, "error"));
	json_int_t code = json_integer_value(json_object_get(message, "errno"));
	int result = done ? 0 : code > 0 && code < 4096 ? -(int)code : -EIO;

	if (!is_answer(relay->asked, message))
		return -EBADMSG;
	json_decref(relay->asked);
	relay->asked = NULL;
	disarm(relay->answer_timer);
	if (!relay->options.answered(relay->options.data, result, why ?: "no reason given"))
		fail(relay, UNDONE);
	return 0;
}

static int take(struct relay *relay, const json_t *message)
{
	const char *is = json_string_value(json_object_get(message, "is")) ?: "";

	if (!strcmp(is, "done") || !strcmp(is, "failed"))
		return take_answer(relay, message, *is == 'd');
	return relay->options.heard(relay->options.data, message);
}

static void listen_for(struct relay *relay, uint32_t events)
{
	if (relay->io)
		sd_event_source_set_io_events(relay->io, events);
}

static void hear(struct relay *relay, unsigned int most)
{
	for (unsigned int i = 0; i < most && relay->life == LIFE_RUNS; i++) {
		_cleanup_json_ json_t *message = NULL;
		int r = receive(relay, &message);

		if (r == -EAGAIN)
			return;
		if (r == -EPIPE)
			hung_up(relay);
		if (!r)
			r = take(relay, message);
		if (r == -EBADMSG)
			fail(relay, "what it said makes no sense: killed");
	}
}

static int on_io(sd_event_source *source _unused_, int fd _unused_, uint32_t events _unused_,
		 void *data)
{
	struct relay *relay = data;

	hear(relay, RELAY_BATCH);
	ask_next(relay);
	return 0;
}

/* --- what it is asked --- */

static int transmit(struct relay *relay, const char *text, size_t n, const struct relay_ask *ask)
{
	union {
		char bytes[CMSG_SPACE(sizeof(ask->fds))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = (char *)text, .iov_len = n};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *header;

	if (n > CHANNEL_MESSAGE)
		return -E2BIG;
	if (ask->nfds) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(ask->nfds * sizeof(int));
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(ask->nfds * sizeof(int));
		memcpy(CMSG_DATA(header), ask->fds, ask->nfds * sizeof(int));
	}
	return sendmsg(relay->channel, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* 0: it was asked; -EAGAIN: it is asked again when there is room; -errno: it cannot be. */
static int ask_one(struct relay *relay, const struct relay_ask *ask)
{
	_cleanup_free_ char *text = ask->message ? json_dumps(ask->message, JSON_COMPACT) : NULL;
	int r = text ? transmit(relay, text, strlen(text), ask) : -ENOMEM;

	listen_for(relay, EPOLLIN | (r == -EAGAIN ? EPOLLOUT : 0));
	if (r)
		return r;
	relay->asked = json_incref(ask->message);
	arm(relay->answer_timer, relay->options.answer_ms);
	return 0;
}

/* What cannot be asked counts as refused, and something else may be next: but not without end. */
static void ask_next(struct relay *relay)
{
	for (unsigned int i = 0; i < RELAY_BATCH; i++) {
		struct relay_ask ask = {0};
		int r;

		if (relay->life != LIFE_RUNS || relay->asked ||
		    !relay->options.next(relay->options.data, &ask))
			return;
		r = ask_one(relay, &ask);
		json_decref(ask.message);
		if (r == -EPIPE || r == -ECONNRESET)
			hung_up(relay);
		if (!r || r == -EAGAIN || relay->life != LIFE_RUNS)
			return;
		if (!relay->options.answered(relay->options.data, r, strerror(-r)))
			fail(relay, UNDONE);
	}
}

void relay_poke(struct relay *relay)
{
	ask_next(relay);
}

static int on_answer_late(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	struct relay *relay = data;

	/* It may have come while the loop was busy. */
	hear(relay, RELAY_BATCH);
	if (relay->asked)
		fail(relay, "it did not answer in time: killed");
	ask_next(relay);
	return 0;
}

/* --- its beginning --- */

/* Before it is anybody: what it dials is judged by the cgroup that its sockets are born in. */
static int enter_cgroup(const char *directory)
{
	char path[PATH_MAX];
	_cleanup_close_ int fd = -1;

	if (!directory)
		return 0;
	if (snprintf(path, sizeof(path), "%s/cgroup.procs", directory) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, "0", 1) != 1 ? -errno : 0;
}

static void child_main(const struct relay *relay, int channel) __attribute__((noreturn));
static void child_main(const struct relay *relay, int channel)
{
	const char *argv[] = {relay->options.program, "--user", relay->options.user, NULL};
	const char *stream = getenv("JOURNAL_STREAM");
	char journal[128];
	char *envp[] = {NULL, NULL};
	sigset_t none;

	/* How log lines are written is all that it needs to know of where it runs. */
	if (stream &&
	    snprintf(journal, sizeof(journal), "JOURNAL_STREAM=%s", stream) < (int)sizeof(journal))
		envp[0] = journal;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (enter_cgroup(relay->options.cgroup))
		_exit(EXIT_NO_EXEC);
	if (channel == CHANNEL_FD ? fcntl(channel, F_SETFD, 0) : dup2(channel, CHANNEL_FD) < 0)
		_exit(EXIT_NO_EXEC);
	if (close_range(CHANNEL_FD + 1, ~0u, 0))
		_exit(EXIT_NO_EXEC);
	execve(relay->options.program, (char *const *)argv, envp);
	_exit(EXIT_NO_EXEC);
}

static int on_exit_of(sd_event_source *source, int fd, uint32_t events, void *data);

static int watch(struct relay *relay)
{
	int r = sd_event_add_io(relay->event, &relay->exit, relay->pidfd, EPOLLIN, on_exit_of,
				relay);

	/* Its end is a better reason than that it hung up. */
	if (r >= 0)
		r = sd_event_source_set_priority(relay->exit, SD_EVENT_PRIORITY_NORMAL - 1);
	if (r >= 0)
		r = sd_event_add_io(relay->event, &relay->io, relay->channel, EPOLLIN, on_io,
				    relay);
	return r < 0 ? r : 0;
}

static int fork_it(struct relay *relay, struct error *error)
{
	_cleanup_close_ int theirs = -1;
	int fds[2], bytes = RELAY_SOCKET_BYTES;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return error_set(error, errno, "a socket pair: %s", strerror(errno));
	relay->channel = fds[0];
	theirs = fds[1];
	/* What an administrator made the default may be less than one message. */
	if (setsockopt(fds[0], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	relay->pid = fork();
	if (relay->pid == 0)
		child_main(relay, theirs);
	if (relay->pid < 0)
		return error_set(error, errno, "fork: %s", strerror(errno));
	/* Its number is its own until it is reaped. */
	relay->pidfd = pidfd_open(relay->pid, 0);
	if (relay->pidfd >= 0)
		return 0;
	bytes = errno;
	kill(relay->pid, SIGKILL);
	waitpid(relay->pid, NULL, 0);
	return error_set(error, bytes, "pidfd: %s", strerror(bytes));
}

static void forget(struct relay *relay)
{
	close_channel(relay);
	relay->exit = sd_event_source_disable_unref(relay->exit);
	if (relay->pidfd >= 0)
		close(relay->pidfd);
	relay->pidfd = -1;
	relay->pid = 0;
	relay->life = LIFE_NONE;
}

static int spawn(struct relay *relay, struct error *error)
{
	int r = relay->options.may_start(relay->options.data, error);

	if (!r && access(relay->options.program, X_OK))
		r = error_set(error, errno, "%s: %s", relay->options.program, strerror(errno));
	if (!r)
		r = fork_it(relay, error);
	if (r)
		return r;
	relay->life = LIFE_RUNS;
	r = watch(relay);
	if (!r)
		return 0;
	/* Nobody would see it end. */
	end(relay);
	waitpid(relay->pid, NULL, 0);
	return error_set(error, -r, "event loop: %s", strerror(-r));
}

static void start(struct relay *relay)
{
	struct error error = {0};

	if (!relay->wanted || relay->life != LIFE_NONE)
		return;
	relay->started_us = clock_us();
	relay->unstartable = spawn(relay, &error);
	if (relay->unstartable) {
		forget(relay);
		if (strcmp(relay->why, error.text))
			log_error("egress: the relay cannot be started: %s", error.text);
		snprintf(relay->why, sizeof(relay->why), "%s", error.text);
		start_later(relay);
		return;
	}
	relay->why[0] = '\0';
	ask_next(relay);
}

static int on_start(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	start(data);
	return 0;
}

static int on_exit_of(sd_event_source *source _unused_, int fd _unused_, uint32_t events _unused_,
		      void *data)
{
	struct relay *relay = data;
	siginfo_t info = {0};
	char why[128];

	/* What it gave before it ended is to be kept. */
	if (relay->life == LIFE_RUNS) {
		if (!has_exited(relay, &info))
			return 0;
		describe_end(&info, why, sizeof(why));
		for (unsigned int i = 0; i < RELAY_LAST_WORDS && relay->life == LIFE_RUNS; i++) {
			_cleanup_json_ json_t *message = NULL;

			if (receive(relay, &message) || take(relay, message))
				break;
		}
		fail(relay, why);
	}
	if (waitid(P_PIDFD, (id_t)relay->pidfd, &info, WEXITED | WNOHANG) || !info.si_pid)
		return 0;
	forget(relay);
	if (relay->wanted)
		start_later(relay);
	return 0;
}

void relay_want(struct relay *relay, bool wanted)
{
	if (relay->wanted == wanted)
		return;
	relay->wanted = wanted;
	if (wanted) {
		relay->pause_ms = relay->options.pause_ms;
		/* One that ends yet is followed by the next. */
		start(relay);
		return;
	}
	disarm(relay->start_timer);
	relay->why[0] = '\0';
	if (relay->life == LIFE_RUNS)
		end(relay);
}

/* --- the object --- */

static int add_timers(struct relay *relay)
{
	const struct {
		sd_event_source **timer;
		sd_event_time_handler_t handler;
	} timers[] = {
		{&relay->answer_timer, on_answer_late},
		{&relay->start_timer, on_start},
	};

	for (size_t i = 0; i < sizeof(timers) / sizeof(*timers); i++) {
		int r = sd_event_add_time(relay->event, timers[i].timer, CLOCK_MONOTONIC, 0, 1000,
					  timers[i].handler, relay);

		if (r < 0)
			return r;
		disarm(*timers[i].timer);
	}
	return 0;
}

int relay_new(sd_event *event, const struct relay_options *options, struct relay **ret)
{
	struct relay *relay = calloc(1, sizeof(*relay));
	int r;

	if (!relay)
		return -ENOMEM;
	relay->options = *options;
	relay->event = sd_event_ref(event);
	relay->pidfd = relay->channel = -1;
	relay->pause_ms = options->pause_ms;
	r = add_timers(relay);
	if (r < 0) {
		relay_free(relay);
		return r;
	}
	*ret = relay;
	return 0;
}

static bool is_telling(const json_t *message)
{
	const char *is = json_string_value(json_object_get(message, "is")) ?: "";

	return strcmp(is, "done") && strcmp(is, "failed");
}

/* It is let end by itself, and what it tells of its connections is heard; what it was asked nobody waits for. */
static void part(struct relay *relay)
{
	struct pollfd polled = {.fd = relay->pidfd, .events = POLLIN};

	pidfd_send_signal(relay->pidfd, SIGTERM, NULL, 0);
	poll(&polled, 1, RELAY_PART_MS);
	for (unsigned int i = 0; i < RELAY_LAST_WORDS; i++) {
		_cleanup_json_ json_t *message = NULL;

		if (receive(relay, &message) ||
		    (is_telling(message) && relay->options.heard(relay->options.data, message)))
			break;
	}
	end(relay);
}

void relay_free(struct relay *relay)
{
	struct pollfd polled;

	if (!relay)
		return;
	if (relay->life == LIFE_RUNS)
		part(relay);
	if (relay->life == LIFE_ENDS) {
		polled = (struct pollfd){.fd = relay->pidfd, .events = POLLIN};
		if (poll(&polled, 1, RELAY_KILL_MS) > 0)
			waitpid(relay->pid, NULL, WNOHANG);
	}
	if (relay->answer_timer)
		forget(relay);
	sd_event_source_disable_unref(relay->answer_timer);
	sd_event_source_disable_unref(relay->start_timer);
	sd_event_unref(relay->event);
	free(relay);
}

pid_t relay_pid(const struct relay *relay)
{
	return relay->life == LIFE_RUNS ? relay->pid : 0;
}

unsigned int relay_deaths(const struct relay *relay)
{
	return relay->deaths;
}

const char *relay_why(const struct relay *relay)
{
	return relay->life == LIFE_RUNS ? "" : relay->why;
}

unsigned int relay_starts_ms(const struct relay *relay)
{
	uint64_t now = clock_us(), at = 0;

	if (relay->life == LIFE_RUNS)
		return 0;
	if (!relay->wanted || relay->unstartable)
		return UINT_MAX;
	/* One that ends yet is followed by a pause. */
	if (relay->life == LIFE_ENDS)
		return relay->pause_ms;
	sd_event_source_get_time(relay->start_timer, &at);
	return at > now ? (unsigned int)((at - now) / 1000) : 0;
}
