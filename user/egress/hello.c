// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "hello.h"

#include <stdbool.h>
#include <string.h>

/* RFC 8446 §5.1 and §4; RFC 6066 §3. */
#define RECORD_HANDSHAKE 22
#define RECORD_MAJOR 3 /* SSL 3 to TLS 1.3: what stands behind it is not to be looked at */
#define RECORD_MAX 16384
#define MESSAGE_HEAD 4
#define MESSAGE_CLIENT_HELLO 1
#define RANDOM_SIZE 32
#define EXTENSION_SERVER_NAME 0
#define NAME_HOST 0

const char *const hello_outcome_names[HELLO_OUTCOMES] = {
	[HELLO_MORE] = "incomplete",	     [HELLO_NAME] = "name",
	[HELLO_NO_NAME] = "no server name",  [HELLO_NO_TLS] = "no TLS",
	[HELLO_MALFORMED] = "malformed TLS", [HELLO_TOO_LONG] = "too long",
};

/* --- a message, whole --- */

/* What is left of a part; once too little is there all that follows is empty and bad. */
struct part {
	const __u8 *at;
	size_t left;
	bool bad;
};

static struct part take(struct part *from, size_t n)
{
	struct part taken = {from->at, n, from->bad || n > from->left};

	if (taken.bad) {
		from->bad = true;
		from->left = taken.left = 0;
		return taken;
	}
	from->at += n;
	from->left -= n;
	return taken;
}

static unsigned int number(struct part *from, unsigned int bytes)
{
	struct part taken = take(from, bytes);
	unsigned int value = 0;

	for (size_t i = 0; i < taken.left; i++)
		value = value << 8 | taken.at[i];
	return value;
}

/* With its length in front, of so many bytes. */
static struct part vector(struct part *from, unsigned int length_bytes)
{
	return take(from, number(from, length_bytes));
}

static bool is_whole(const struct part *part)
{
	return !part->bad && part->left == 0;
}

/* A list of exactly one name: of two, servers take the one or the other. */
static enum hello_outcome read_names(struct hello *hello, struct part extension)
{
	struct part list = vector(&extension, 2), name;
	struct destination_fault fault;
	unsigned int type = number(&list, 1);

	name = vector(&list, 2);
	if (!is_whole(&extension) || list.bad || list.left || type != NAME_HOST || !name.left)
		return HELLO_MALFORMED;
	/* "without a trailing dot". */
	if (name.at[name.left - 1] == '.' ||
	    destination_name(name.at, name.left, hello->name, &fault))
		return HELLO_MALFORMED;
	return HELLO_NAME;
}

static enum hello_outcome read_extensions(struct hello *hello, struct part all)
{
	enum hello_outcome outcome = HELLO_NO_NAME;

	while (all.left) {
		unsigned int type = number(&all, 2);
		struct part extension = vector(&all, 2);

		if (all.bad)
			return HELLO_MALFORMED;
		if (type != EXTENSION_SERVER_NAME)
			continue;
		if (outcome != HELLO_NO_NAME)
			return HELLO_MALFORMED;
		outcome = read_names(hello, extension);
		if (outcome != HELLO_NAME)
			return outcome;
	}
	return outcome;
}

static enum hello_outcome read_message(struct hello *hello)
{
	struct part body = {hello->message + MESSAGE_HEAD, hello->length - MESSAGE_HEAD, false};
	struct part session, suites, compressions, extensions;

	take(&body, 2 + RANDOM_SIZE);
	session = vector(&body, 1);
	suites = vector(&body, 2);
	compressions = vector(&body, 1);
	if (body.bad || session.left > 32 || suites.left < 2 || suites.left % 2 ||
	    !compressions.left)
		return HELLO_MALFORMED;
	/* TLS 1.2 without extensions. */
	if (!body.left)
		return HELLO_NO_NAME;
	extensions = vector(&body, 2);
	return is_whole(&body) ? read_extensions(hello, extensions) : HELLO_MALFORMED;
}

/* --- records --- */

static size_t message_size(const struct hello *hello)
{
	return MESSAGE_HEAD +
	       ((size_t)hello->message[1] << 16 | hello->message[2] << 8 | hello->message[3]);
}

/* MORE, or why it is none. Each byte is judged when it comes: who speaks another protocol is not waited for. */
static enum hello_outcome add_head(struct hello *hello, __u8 byte)
{
	hello->head[hello->nhead++] = byte;
	if (hello->head[0] != RECORD_HANDSHAKE ||
	    (hello->nhead > 1 && hello->head[1] != RECORD_MAJOR))
		return hello->length ? HELLO_MALFORMED : HELLO_NO_TLS;
	if (hello->nhead < sizeof(hello->head))
		return HELLO_MORE;
	hello->nhead = 0;
	hello->left = (size_t)(hello->head[3] << 8 | hello->head[4]);
	/* Empty ones must not be, and would go on without end. */
	return hello->left && hello->left <= RECORD_MAX ? HELLO_MORE : HELLO_MALFORMED;
}

static enum hello_outcome add_content(struct hello *hello, __u8 byte)
{
	hello->left--;
	hello->message[hello->length++] = byte;
	if (hello->message[0] != MESSAGE_CLIENT_HELLO)
		return HELLO_MALFORMED;
	if (hello->length < MESSAGE_HEAD)
		return HELLO_MORE;
	if (message_size(hello) > sizeof(hello->message))
		return HELLO_TOO_LONG;
	if (hello->length < message_size(hello))
		return HELLO_MORE;
	/* The next message waits for the server's answer: one in the same record is no client's. */
	return hello->left ? HELLO_MALFORMED : read_message(hello);
}

enum hello_outcome hello_feed(struct hello *hello, const void *bytes, size_t length)
{
	const __u8 *at = bytes;

	for (; length && hello->outcome == HELLO_MORE; at++, length--) {
		if (hello->raw++ >= HELLO_RAW_SIZE)
			hello->outcome = HELLO_TOO_LONG;
		else if (hello->left)
			hello->outcome = add_content(hello, *at);
		else
			hello->outcome = add_head(hello, *at);
	}
	return hello->outcome;
}
