// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Globs: which are well formed, and what one of them matches. glob_match shares nothing with the
 * automaton on purpose: each is the other's test.
 */
#include "glob.h"

#include <errno.h>
#include <string.h>

struct glob_fault {
	const char *bytes; /* any of these bytes is the fault */
	const char *reason;
};

static const struct glob_fault meta_faults[] = {
	{"?", "? is not in this version: write * or the names"},
	{"[", "[...] is not in this version: write one glob for each name, or *"},
	{"{", "{a,b} is not in this version: write one glob for each name"},
	{"\\", "backslash is not in this version: a name that needs it cannot be written"},
};

static int refuse(size_t offset, const char *reason, size_t *ret_offset, const char **ret_reason)
{
	if (ret_offset)
		*ret_offset = offset;
	if (ret_reason)
		*ret_reason = reason;
	return -EINVAL;
}

static int check_meta(const char *glob, size_t *ret_offset, const char **ret_reason)
{
	size_t i, at;

	for (i = 0; i < sizeof(meta_faults) / sizeof(*meta_faults); i++) {
		at = strcspn(glob, meta_faults[i].bytes);
		if (glob[at])
			return refuse(at, meta_faults[i].reason, ret_offset, ret_reason);
	}
	return 0;
}

static int is_text(const char *component, size_t length, const char *text)
{
	return length == strlen(text) && !memcmp(component, text, length);
}

static size_t literal_bytes(const char *component, size_t length)
{
	size_t i, n = 0;

	for (i = 0; i < length; i++)
		n += component[i] != '*';
	return n;
}

/* Why this component of a path glob is no good, or NULL. */
static const char *component_fault(const char *component, size_t length)
{
	if (length == 0)
		return "an empty component: write one / and none at the end";
	if (is_text(component, length, ".") || is_text(component, length, ".."))
		return ". and .. never stand in a file's path: write the place itself";
	if (length > 2 && memmem(component, length, "**", 2))
		return "** is a whole component: write * within a name, or dir/** for what is "
		       "below";
	if (literal_bytes(component, length) > BH_MAX_NAME)
		return "longer than a file name can be (255 bytes)";
	return NULL;
}

static int check_path(const char *glob, size_t *ret_offset, const char **ret_reason)
{
	const char *component = glob + 1, *reason;
	size_t length;

	if (!strcmp(glob, "/"))
		return 0;
	for (;; component += length + 1) {
		length = strcspn(component, "/");
		reason = component_fault(component, length);
		if (reason)
			return refuse((size_t)(component - glob), reason, ret_offset, ret_reason);
		if (!component[length])
			return 0;
	}
}

static int check_abstract(const char *glob, size_t *ret_offset, const char **ret_reason)
{
	const char *deep = strstr(glob, "**");

	if (!glob[1])
		return refuse(1, "an abstract socket needs a name behind @", ret_offset,
			      ret_reason);
	if (deep)
		return refuse((size_t)(deep - glob), "** is for paths: write * in a socket's name",
			      ret_offset, ret_reason);
	return 0;
}

int glob_check(const char *glob, size_t *ret_offset, const char **ret_reason)
{
	if (glob[0] == '~')
		return refuse(0, "~ is not expanded: write the home directory's path or a variable",
			      ret_offset, ret_reason);
	if (glob[0] != '/' && glob[0] != '@')
		return refuse(0,
			      "not absolute: write /dir/name, /**/name for any directory, or @name",
			      ret_offset, ret_reason);
	if (strlen(glob) > BH_MAX_PATH)
		return refuse(BH_MAX_PATH, "longer than a path can be (4095 bytes)", ret_offset,
			      ret_reason);
	if (check_meta(glob, ret_offset, ret_reason) < 0)
		return -EINVAL;
	if (glob[0] == '@')
		return check_abstract(glob, ret_offset, ret_reason);
	return check_path(glob, ret_offset, ret_reason);
}

/* "*" within one name. A later star takes over from an earlier one: only the last needs retrying.
 */
static int match_name(const char *glob, size_t glob_length, const char *name, size_t length)
{
	size_t g = 0, n = 0, retry_g = 0, retry_n = 0;
	int starred = 0;

	while (n < length) {
		if (g < glob_length && glob[g] == '*') {
			starred = 1;
			retry_g = ++g;
			retry_n = n;
		} else if (g < glob_length && glob[g] == name[n]) {
			g++;
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

/* "**" among components, retried as "*" is within a name. Both texts stand on '/' or at their end.
 */
static int match_components(const char *glob, size_t glob_length, const char *path, size_t length)
{
	size_t g = 0, p = 0, retry_g = 0, retry_p = 0;
	size_t glob_part, part;
	int starred = 0;

	for (;;) {
		glob_part = g < glob_length ? component_length(glob, g, glob_length) : 0;
		if (g < glob_length && is_text(glob + g + 1, glob_part, "**")) {
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
		    match_name(glob + g + 1, glob_part, path + p + 1, part)) {
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

int glob_match(const char *glob, const char *path, size_t length)
{
	size_t glob_length = strlen(glob);

	if (glob[0] == '@')
		return match_name(glob, glob_length, path, length);
	if (length && path[0] != '/')
		return 0;
	/* The root directory: no components, on either side. */
	if (length == 1)
		length = 0;
	return match_components(glob, strcmp(glob, "/") ? glob_length : 0, path, length);
}

/* Is each name that `narrow` (a component that may have stars) matches matched by `wide`? */
static int covers_name(const char *wide, size_t wide_length, const char *narrow, size_t length)
{
	if (is_text(narrow, length, "**"))
		return 0;
	if (is_text(wide, wide_length, "*"))
		return 1;
	if (memchr(narrow, '*', length))
		return wide_length == length && !memcmp(wide, narrow, length);
	return match_name(wide, wide_length, narrow, length);
}

int glob_covers(const char *wide, const char *narrow)
{
	size_t wide_length = strlen(wide), length = strlen(narrow), w = 0, n = 0;
	size_t wide_part, part;

	if (!strcmp(wide, narrow))
		return 1;
	if (!strchr(narrow, '*'))
		return glob_match(wide, narrow, length);
	if (wide[0] == '@' || narrow[0] == '@')
		return 0;
	while (w < wide_length) {
		wide_part = component_length(wide, w, wide_length);
		if (is_text(wide + w + 1, wide_part, "**"))
			return w + wide_part + 1 == wide_length;
		if (n == length)
			return 0;
		part = component_length(narrow, n, length);
		if (!covers_name(wide + w + 1, wide_part, narrow + n + 1, part))
			return 0;
		w += wide_part + 1;
		n += part + 1;
	}
	return n == length;
}
