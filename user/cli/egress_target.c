// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <string.h>
#include <strings.h>
#include "egress_check.h"

#define PORT_DIGITS 5

static const struct {
	const char *name;
	__u16 port;
} schemes[] = {{"https", 443}, {"http", 80}};

/* Where in the text host and port stand. */
struct site {
	const char *text, *at;
	size_t length;
	__u16 port; /* of the scheme; 0: none is written */
};

static int refuse(const struct site *site, const char *at, const char *reason, struct error *error)
{
	return error_set(error, EINVAL, "the destination, byte %zu: %s", (size_t)(at - site->text),
			 reason);
}

static int find_site(const char *text, struct site *ret, struct error *error)
{
	const char *end = strstr(text, "://");

	*ret = (struct site){.text = text, .at = text, .length = strlen(text)};
	if (!end)
		return 0;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
		if (strlen(schemes[i].name) != (size_t)(end - text) ||
		    strncasecmp(schemes[i].name, text, (size_t)(end - text)) != 0)
			continue;
		ret->at = end + 3;
		ret->length = strcspn(ret->at, "/?#");
		ret->port = schemes[i].port;
		return 0;
	}
	return refuse(ret, text,
		      "this scheme says no port: write https://NAME, http://NAME or NAME:PORT",
		      error);
}

static int take_name(const struct site *site, size_t length, struct target *target,
		     struct error *error)
{
	struct destination_fault fault;

	return destination_name(site->at, length, target->name, &fault)
		       ? refuse(site, site->at + fault.offset, fault.reason, error)
		       : 0;
}

static int take_port(const struct site *site, const char *at, struct target *target,
		     struct error *error)
{
	size_t length = (size_t)(site->at + site->length - at), digits = strspn(at, "0123456789");
	unsigned int port = 0;

	if (digits < length)
		return refuse(site, at + digits, "a port is decimal digits", error);
	for (size_t i = 0; i < length && i <= PORT_DIGITS; i++)
		port = 10 * port + (unsigned int)(at[i] - '0');
	if (!port || *at == '0' || port > UINT16_MAX)
		return refuse(site, at, "a port is 1 to 65535, without zeros in front", error);
	target->port = (__u16)port;
	return 0;
}

/* No reader of URLs may find another host in it: what some take for a user name, a zone or the end of the host
 * is no part of a name and is refused. */
static int read_site(const struct site *site, struct target *target, struct error *error)
{
	const char *at = memchr(site->at, '@', site->length);
	const char *colon = memchr(site->at, ':', site->length);
	const char *last = memrchr(site->at, ':', site->length);
	int r;

	if (at)
		return refuse(site, at, "no user name and no password: write the name alone",
			      error);
	if (colon != last)
		return refuse(site, last,
			      "a second colon: an IPv6 address is no destination, write the name "
			      "that has it",
			      error);
	r = take_name(site, colon ? (size_t)(colon - site->at) : site->length, target, error);
	if (r || colon)
		return r ? r : take_port(site, colon + 1, target, error);
	if (!site->port)
		return refuse(site, site->at + site->length,
			      "no port: write NAME:PORT, https://NAME or http://NAME", error);
	target->port = site->port;
	return 0;
}

int target_parse(const char *text, struct target *ret, struct error *error)
{
	struct target target = {0};
	struct site site;
	int r = find_site(text, &site, error);

	if (!r)
		r = read_site(&site, &target, error);
	if (!r)
		*ret = target;
	return r;
}
