/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A relay that a test plays itself: its own program, run again. How it behaves is told by what follows "=" in the name by
 * which it is run, else by the only argument that it is given, the user: "good", or "WORD-DO": what it does when it is
 * asked to DO. "bows": it tells something when it is ended.
 */
#ifndef UNIT_FAKE_RELAY_H
#define UNIT_FAKE_RELAY_H

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "egress/channel.h"

static inline void fake_send(const char *text)
{
	if (send(CHANNEL_FD, text, strlen(text), MSG_NOSIGNAL) < 0)
		_exit(9);
}

static inline const char *fake_text(const json_t *message, const char *key)
{
	return json_string_value(json_object_get(message, key)) ?: "";
}

static inline void fake_answer(const json_t *message, const char *is, const char *of)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"is\":\"%s\",\"of\":\"%s\",\"serial\":%lld,\"error\":\"it does not "
		 "want\",\"errno\":5}",
		 is, of, (long long)json_integer_value(json_object_get(message, "serial")));
	fake_send(text);
}

/* "gave" and an event, as of a member that asked. */
static inline void fake_tell(const json_t *message)
{
	long long serial = json_integer_value(json_object_get(message, "serial"));
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"is\":\"gave\",\"serial\":%lld,\"names\":[[\"198.18.0.1\",\"api.example.com\"]]"
		 "}",
		 serial);
	fake_send(text);
	snprintf(text, sizeof(text),
		 "{\"is\":\"event\",\"serial\":%lld,\"what\":\"query\",\"name\":\"evil\\u001b."
		 "example\","
		 "\"type\":\"A\",\"outcome\":\"unlisted\"}",
		 serial);
	fake_send(text);
	fake_send("{\"is\":\"lost\",\"count\":7}");
}

/* What came with a message: as many as it has words for. */
static inline int fake_receive(char *text, size_t size, size_t *ret_fds)
{
	union {
		char bytes[CMSG_SPACE(CHANNEL_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = text, .iov_len = size - 1};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(CHANNEL_FD, &message, 0);
	struct cmsghdr *header = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	int fds[CHANNEL_FDS];

	*ret_fds = header ? (header->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
	if (header)
		memcpy(fds, CMSG_DATA(header), *ret_fds * sizeof(int));
	for (size_t i = 0; i < *ret_fds; i++)
		close(fds[i]);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* True: it was answered here. */
static inline int fake_behave(const char *word, size_t n, const json_t *message)
{
	static unsigned int times; /* of "again": refused from the second on */
	const char *does = fake_text(message, "do");

	if (!strncmp(word, "dies", n))
		_exit(3);
	if (!strncmp(word, "stops", n))
		raise(SIGSTOP);
	else if (!strncmp(word, "mute", n))
		return 1;
	else if (!strncmp(word, "garbage", n))
		fake_send("{\"is\":");
	else if (!strncmp(word, "list", n))
		fake_send("[]");
	else if (!strncmp(word, "twice", n))
		fake_answer(message, "done", does);
	else if (!strncmp(word, "wrong", n))
		fake_answer(message, "done", "other");
	else if (!strncmp(word, "huge", n)) {
		static char huge[CHANNEL_MESSAGE + 100];

		memset(huge, ' ', sizeof(huge) - 1);
		fake_send(huge);
	} else if (!strncmp(word, "refuses", n) || (!strncmp(word, "again", n) && times++)) {
		fake_answer(message, "failed", does);
		return 1;
	} else if (!strncmp(word, "hangs", n)) {
		close(CHANNEL_FD);
		pause();
	} else if (!strncmp(word, "tells", n)) {
		fake_tell(message);
	} else if (!strncmp(word, "parts", n)) {
		fake_tell(message);
		_exit(4);
	}
	return 0;
}

/* Descriptors 0 to 3 and no more; a relay that has others would be led by them. */
static inline void fake_check_fds(void)
{
	for (int fd = CHANNEL_FD + 1; fd < 64; fd++) {
		int copy = dup(fd);

		if (copy >= 0)
			_exit(8);
	}
}

static inline void fake_bow(int number)
{
	(void)number;
	fake_send("{\"is\":\"lost\",\"count\":7}");
	_exit(0);
}

static inline void fake_main(const char *behaviour) __attribute__((noreturn));
static inline void fake_main(const char *behaviour)
{
	static char text[CHANNEL_MESSAGE + 1];
	size_t n = strcspn(behaviour, "-"), fds;
	const char *when = behaviour[n] ? behaviour + n + 1 : "";

	fake_check_fds();
	if (!strcmp(behaviour, "bows"))
		signal(SIGTERM, fake_bow);
	while (fake_receive(text, sizeof(text), &fds)) {
		json_t *message = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		const char *does = fake_text(message, "do");
		size_t wanted = json_array_size(json_object_get(message, "sockets"));

		if (!strcmp(does, "configure") || !strcmp(does, "open"))
			wanted = 1;
		if (!message || fds != wanted)
			_exit(7);
		if (strcmp(does, when) != 0 || !fake_behave(behaviour, n, message))
			fake_answer(message, "done", does);
		json_decref(message);
	}
	_exit(0);
}

/* First in main(): this process is the relay. */
static inline void fake_relay(int argc, char **argv)
{
	const char *named = strrchr(argv[0], '=');

	if (argc == 3 && !strcmp(argv[1], "--user"))
		fake_main(named ? named + 1 : argv[2]);
}

#endif
