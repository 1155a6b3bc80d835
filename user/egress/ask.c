// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ask.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <arpa/inet.h>

const char *const ask_outcome_names[ASK_OUTCOMES] = {
	[ASK_MORE] = "incomplete",	     [ASK_TARGET] = "target",
	[ASK_NO_NAME] = "no name",	     [ASK_ADDRESS] = "an address",
	[ASK_METHOD] = "another method",     [ASK_VERSION] = "another version",
	[ASK_LOGIN] = "wants to log in",     [ASK_MALFORMED] = "malformed request",
	[ASK_TOO_LONG] = "request too long",
};

static enum ask_outcome say(struct ask *ask, enum ask_outcome outcome, const char *reason)
{
	ask->reason = reason;
	return outcome;
}

/* What can be written down of what is no name. */
static void keep(struct ask *ask, const char *text, size_t length)
{
	ask->name[0] = '\0';
	if (length >= sizeof(ask->name))
		return;
	for (size_t i = 0; i < length; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return;
	memcpy(ask->name, text, length);
	ask->name[length] = '\0';
}

static enum ask_outcome take_target(struct ask *ask, const char *text, size_t length, __u16 port)
{
	struct destination_fault fault;

	ask->port = port;
	if (!destination_name(text, length, ask->name, &fault))
		return ASK_TARGET;
	keep(ask, text, length);
	return say(ask, ASK_NO_NAME, fault.reason);
}

/* --- HTTP --- */

struct text {
	const char *at;
	size_t n;
};

static bool is(struct text text, const char *word)
{
	return text.n == strlen(word) && !memcmp(text.at, word, text.n);
}

/* Up to `byte`, and behind it is what is left; without it all is taken and *ret_found false. */
static struct text cut(struct text *from, char byte, bool *ret_found)
{
	const char *end = from->n ? memchr(from->at, byte, from->n) : NULL;
	struct text taken = {from->at, end ? (size_t)(end - from->at) : from->n};

	*ret_found = end;
	from->at += taken.n + (end != NULL);
	from->n -= taken.n + (end != NULL);
	return taken;
}

/* RFC 9110 §5.6.2. */
static bool is_token(struct text text)
{
	for (size_t i = 0; i < text.n; i++) {
		char byte = text.at[i];

		if (byte <= ' ' || byte > '~' || strchr("\"(),/:;<=>?@[\\]{}", byte))
			return false;
	}
	return text.n;
}

/* 1 to 65535 in decimal digits, as everybody reads them; 0: none. */
static __u16 read_port(struct text text)
{
	__u32 port = 0;

	if (!text.n || text.n > 5 || text.at[0] == '0')
		return 0;
	for (size_t i = 0; i < text.n; i++) {
		if (text.at[i] < '0' || text.at[i] > '9')
			return 0;
		port = 10 * port + (__u32)(text.at[i] - '0');
	}
	return port > 0xffff ? 0 : (__u16)port;
}

/* The last colon: those of an address stand before it. */
static bool split(struct text authority, struct text *ret_name, struct text *ret_port)
{
	const char *colon = authority.n ? memrchr(authority.at, ':', authority.n) : NULL;

	*ret_name = authority;
	if (!colon)
		return false;
	ret_name->n = (size_t)(colon - authority.at);
	*ret_port = (struct text){colon + 1, authority.n - ret_name->n - 1};
	return true;
}

/* Its name is the target's, and so is its port, which may be left out. */
static bool is_host(const struct ask *ask, struct text host)
{
	char canonical[DESTINATION_NAME_SIZE];
	struct destination_fault fault;
	struct text name, port;

	if (split(host, &name, &port) && read_port(port) != ask->port)
		return false;
	return !destination_name(name.at, name.n, canonical, &fault) &&
	       !strcmp(canonical, ask->name);
}

static struct text trim(struct text text)
{
	while (text.n && (text.at[0] == ' ' || text.at[0] == '\t')) {
		text.at++;
		text.n--;
	}
	while (text.n && (text.at[text.n - 1] == ' ' || text.at[text.n - 1] == '\t'))
		text.n--;
	return text;
}

static bool is_field(struct text name, const char *word)
{
	return name.n == strlen(word) && !strncasecmp(name.at, word, name.n);
}

/* MORE: it is one. */
static enum ask_outcome check_field(struct ask *ask, struct text line, bool *hosted)
{
	bool colon;
	struct text name = cut(&line, ':', &colon), value = trim(line);

	if (!colon || !is_token(name))
		return say(ask, ASK_MALFORMED, "a line that is no field");
	if (is_field(name, "transfer-encoding") ||
	    (is_field(name, "content-length") && !is(value, "0")))
		return say(ask, ASK_MALFORMED, "a body, which CONNECT has none of");
	if (!is_field(name, "host"))
		return ASK_MORE;
	if (*hosted)
		return say(ask, ASK_MALFORMED, "two Host fields");
	*hosted = true;
	/* Of what is no name, or no CONNECT, nothing is to be compared. */
	if (ask->outcome == ASK_TARGET && !is_host(ask, value))
		return say(ask, ASK_MALFORMED, "Host says another name than CONNECT does");
	return ASK_MORE;
}

static enum ask_outcome read_line(struct ask *ask, struct text line)
{
	bool spaces[2];
	struct text method = cut(&line, ' ', &spaces[0]), target = cut(&line, ' ', &spaces[1]),
		    name, port;

	if (!spaces[0] || !spaces[1] || !is_token(method) || !target.n || line.n != 8 ||
	    memcmp(line.at, "HTTP/", 5) != 0)
		return say(ask, ASK_MALFORMED, "its first line is no request's");
	if (!is(line, "HTTP/1.1") && !is(line, "HTTP/1.0"))
		return say(ask, ASK_VERSION, "neither HTTP/1.1 nor HTTP/1.0");
	if (!is(method, "CONNECT"))
		return say(ask, ASK_METHOD,
			   "CONNECT alone is answered: have http:// tunnelled, too (curl: "
			   "--proxytunnel), or use SOCKS");
	if (!split(target, &name, &port) || !read_port(port))
		return say(ask, ASK_MALFORMED, "no NAME:PORT behind CONNECT");
	return take_target(ask, name.at, name.n, read_port(port));
}

/* Lines end in CR LF, and each byte was looked at when it came. */
static enum ask_outcome read_head(struct ask *ask)
{
	struct text head = {(const char *)ask->raw, ask->length - 4}, line;
	bool more, hosted = false;
	enum ask_outcome field = ASK_MORE;

	line = cut(&head, '\r', &more);
	ask->outcome = read_line(ask, line);
	while (more && field == ASK_MORE) {
		head.at++;
		head.n--;
		line = cut(&head, '\r', &more);
		field = check_field(ask, line, &hosted);
	}
	return field == ASK_MORE ? ask->outcome : field;
}

static bool ends(const struct ask *ask, const char *text, size_t n)
{
	return ask->length >= n && !memcmp(ask->raw + ask->length - n, text, n);
}

static bool is_printed(__u8 byte)
{
	return (byte >= ' ' && byte <= '~') || byte == '\t';
}

/* The last byte, by the one before it. */
static enum ask_outcome step_http(struct ask *ask)
{
	__u8 byte = ask->raw[ask->length - 1],
	     before = ask->length > 1 ? ask->raw[ask->length - 2] : '\0';

	if ((before == '\r') != (byte == '\n'))
		return say(ask, ASK_MALFORMED, "CR and LF end a line together, and else are none");
	if (byte != '\r' && byte != '\n' && !is_printed(byte))
		return say(ask, ASK_MALFORMED, "a byte that is not printed");
	if (before == '\n' && (byte == ' ' || byte == '\t'))
		return say(ask, ASK_MALFORMED, "a line that goes on in the next one");
	/* An empty line in front, which some skip, is no request. */
	if (ask->length == 1 && byte == '\r')
		return say(ask, ASK_MALFORMED, "its first line is no request's");
	return ends(ask, "\r\n\r\n", 4) ? read_head(ask) : ASK_MORE;
}

/* --- SOCKS --- */

#define SOCKS_VERSION 5
#define SOCKS_NO_LOGIN 0
#define SOCKS_CONNECT 1
#define SOCKS_HEAD 4 /* version, command, a zero, kind of address */
enum { SOCKS_IPV4 = 1, SOCKS_NAME = 3, SOCKS_IPV6 = 4 };

static enum ask_outcome greet(struct ask *ask)
{
	size_t n = ask->length < 2 ? 0 : ask->raw[1];

	if (ask->length < 2 || ask->length < 2 + n)
		return ASK_MORE;
	if (!n || !memchr(ask->raw + 2, SOCKS_NO_LOGIN, n))
		return say(ask, ASK_LOGIN, "it offers no method without authentication");
	ask->greeted = true;
	ask->length = 0;
	return ASK_MORE;
}

static enum ask_outcome take_address(struct ask *ask, size_t n, __u16 port)
{
	ask->port = port;
	inet_ntop(n == 4 ? AF_INET : AF_INET6, ask->raw + SOCKS_HEAD, ask->name, sizeof(ask->name));
	return say(ask, ASK_ADDRESS,
		   "an address is no destination: have names resolved by the proxy (socks5h)");
}

/* 0: not known yet, or never. */
static size_t address_length(const struct ask *ask)
{
	switch (ask->raw[3]) {
	case SOCKS_IPV4:
		return 4;
	case SOCKS_IPV6:
		return 16;
	case SOCKS_NAME:
		return ask->length > SOCKS_HEAD ? 1 + (size_t)ask->raw[SOCKS_HEAD] : 0;
	}
	return 0;
}

static enum ask_outcome request(struct ask *ask)
{
	const __u8 *raw = ask->raw, *end;
	size_t n = ask->length < SOCKS_HEAD ? 0 : address_length(ask);
	__u16 port;

	if (ask->length >= SOCKS_HEAD && raw[3] != SOCKS_IPV4 && raw[3] != SOCKS_IPV6 &&
	    raw[3] != SOCKS_NAME)
		return say(ask, ASK_ADDRESS, "a kind of address that is not known");
	if (!n || ask->length < SOCKS_HEAD + n + 2)
		return ASK_MORE;
	end = raw + SOCKS_HEAD + n;
	port = (__u16)(end[0] << 8 | end[1]);
	if (raw[2])
		return say(ask, ASK_MALFORMED, "its reserved byte is not 0");
	if (raw[1] != SOCKS_CONNECT)
		return say(ask, ASK_METHOD, "another command than CONNECT");
	if (raw[3] != SOCKS_NAME)
		return take_address(ask, n, port);
	return take_target(ask, (const char *)raw + SOCKS_HEAD + 1, n - 1, port);
}

static enum ask_outcome step_socks(struct ask *ask)
{
	if (ask->raw[0] != SOCKS_VERSION)
		return ask->greeted ? say(ask, ASK_MALFORMED, "no SOCKS 5 behind its greeting")
				    : say(ask, ASK_VERSION, "no SOCKS 5");
	return ask->greeted ? request(ask) : greet(ask);
}

/* --- both --- */

enum ask_outcome ask_feed(struct ask *ask, const void *bytes, size_t length, size_t *ret_used)
{
	const __u8 *from = bytes;
	size_t i;

	for (i = 0; i < length && ask->outcome == ASK_MORE; i++) {
		ask->raw[ask->length++] = from[i];
		ask->outcome = ask->kind == ASK_HTTP ? step_http(ask) : step_socks(ask);
		if (ask->outcome == ASK_MORE && ask->length == sizeof(ask->raw))
			ask->outcome = say(ask, ASK_TOO_LONG, "longer than 8 KiB");
	}
	*ret_used = i;
	return ask->outcome;
}
