// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What one glob matches, found by trying, straight from its text. It shares nothing with the
 * automaton, nor with the reader of globs in glob.c, on purpose: each is the other's test. Globs
 * are well formed here.
 */
#include "glob.h"

#include <string.h>

static int digit(char c)
{
	return c <= '9' ? c - '0' : (c & 7) + 9;
}

/* Bytes of what stands at `at` for one byte of a name, and that byte. */
static size_t literal(const char *at, unsigned char *ret)
{
	if (at[0] == '\\' && at[1] == 'x') {
		*ret = (unsigned char)(digit(at[2]) << 4 | digit(at[3]));
		return 4;
	}
	*ret = (unsigned char)(at[0] == '\\' ? at[1] : at[0]);
	return at[0] == '\\' ? 2 : 1;
}

/* Is `byte` in the set at `at`? *ret_size: the set's bytes. */
static int match_set(const char *at, unsigned char byte, size_t *ret_size)
{
	int negated = at[1] == '!' || at[1] == '^', in = 0;
	size_t i = 1 + (size_t)negated, first = i;
	unsigned char low, high;

	while (at[i] != ']' || i == first) {
		i += literal(at + i, &low);
		high = low;
		if (at[i] == '-' && at[i + 1] != ']')
			i += 1 + literal(at + i + 1, &high);
		in |= low <= byte && byte <= high;
	}
	*ret_size = i + 1;
	return byte != '/' && byte && in != negated;
}

/* Does what stands at `at`, no star, match `byte`? *ret_size: its bytes. */
static int match_byte(const char *at, unsigned char byte, size_t *ret_size)
{
	unsigned char wanted;

	if (at[0] == '[')
		return match_set(at, byte, ret_size);
	if (at[0] == '?') {
		*ret_size = 1;
		return byte != '/' && byte;
	}
	*ret_size = literal(at, &wanted);
	return byte == wanted;
}

/* A later star takes over from an earlier one: only the last needs retrying. */
int glob_match_name(const char *glob, size_t glob_length, const char *name, size_t length)
{
	size_t g = 0, n = 0, retry_g = 0, retry_n = 0, size = 0;
	int starred = 0;

	while (n < length) {
		if (g < glob_length && glob[g] == '*') {
			starred = 1;
			retry_g = ++g;
			retry_n = n;
		} else if (g < glob_length && match_byte(glob + g, (unsigned char)name[n], &size)) {
			g += size;
			n++;
		} else if (starred && name[retry_n] != '/') {
			g = retry_g;
			n = ++retry_n;
		} else {
			return 0;
		}
	}
	while (g < glob_length && glob[g] == '*')
		g++;
	return g == glob_length;
}

/* Bytes of the component at `at`, which stands on its '/'. */
static size_t component_length(const char *text, size_t at, size_t length)
{
	const char *slash = memchr(text + at + 1, '/', length - at - 1);

	return slash ? (size_t)(slash - text) - at - 1 : length - at - 1;
}

static int is_deep(const char *component, size_t length)
{
	return length == 2 && component[0] == '*' && component[1] == '*';
}

/* "**" among components, retried as "*" is within a name. Both texts stand on '/' or at their end.
 */
static int match_components(const char *glob, size_t glob_length, const char *path, size_t length)
{
	size_t g = 0, p = 0, retry_g = 0, retry_p = 0;
	size_t glob_part, part;
	int starred = 0;

	for (;;) {
		glob_part = g < glob_length ? component_length(glob, g, glob_length) : 0;
		if (g < glob_length && is_deep(glob + g + 1, glob_part)) {
			starred = 1;
			g += glob_part + 1;
			retry_g = g;
			retry_p = p;
			if (g == glob_length)
				return 1;
			continue;
		}
		if (g == glob_length && p == length)
			return 1;
		part = p < length ? component_length(path, p, length) : 0;
		if (g < glob_length && p < length &&
		    glob_match_name(glob + g + 1, glob_part, path + p + 1, part)) {
			g += glob_part + 1;
			p += part + 1;
		} else if (starred && retry_p < length) {
			g = retry_g;
			retry_p += component_length(path, retry_p, length) + 1;
			p = retry_p;
		} else {
			return 0;
		}
	}
}

static int match_branch(const char *glob, const char *path, size_t length)
{
	size_t glob_length = strlen(glob);

	if (glob[0] == '@')
		return glob_match_name(glob, glob_length, path, length);
	if (length && path[0] != '/')
		return 0;
	/* The root directory: no components, on either side. */
	if (length == 1)
		length = 0;
	return match_components(glob, strcmp(glob, "/") ? glob_length : 0, path, length);
}

/* The first of `wanted` at `at` or behind, sets and inner braces skipped; or the end. */
static const char *find(const char *at, const char *wanted)
{
	unsigned char byte;
	size_t size;
	int depth = 0;

	while (*at && (depth || !strchr(wanted, *at))) {
		depth += *at == '{';
		depth -= *at == '}';
		if (*at == '[')
			(void)match_set(at, 'x', &size);
		else
			size = literal(at, &byte);
		at += size;
	}
	return at;
}

static int match_braces(const char *glob, const char *open, const char *path, size_t length)
{
	const char *alternative, *end, *close;
	char text[BH_MAX_GLOB + 1];

	for (close = open + 1; *close != '}'; close = find(close + (*close == ','), ",}"))
		;
	memcpy(text, glob, (size_t)(open - glob));
	for (alternative = open + 1; alternative <= close; alternative = end + 1) {
		end = find(alternative, ",}");
		stpcpy(mempcpy(text + (open - glob), alternative, (size_t)(end - alternative)),
		       close + 1);
		if (glob_match(text, path, length))
			return 1;
	}
	return 0;
}

/* The first braces are replaced by one alternative after the other. */
int glob_match(const char *glob, const char *path, size_t length)
{
	const char *open = strchr(glob, '{');

	if (open)
		open = find(glob, "{");
	return open && *open ? match_braces(glob, open, path, length)
			     : match_branch(glob, path, length);
}
