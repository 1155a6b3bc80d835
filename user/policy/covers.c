// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Does one glob match all that another one does? Seen component by component, without "**" in the
 * middle and without comparing wildcards: what is not seen is not said. */
#include "glob.h"

#include <string.h>

static bool is_text(const char *component, size_t length, const char *text)
{
	return length == strlen(text) && !memcmp(component, text, length);
}

/* Is each name that `narrow` matches matched by `wide`? */
static bool covers_name(const char *wide, size_t wide_length, const char *narrow, size_t length)
{
	char name[BH_MAX_GLOB + 1];

	if (is_text(narrow, length, "**"))
		return false;
	if (is_text(wide, wide_length, "*"))
		return true;
	if (glob_head(narrow) < length)
		return wide_length == length && !memcmp(wide, narrow, length);
	glob_unescape(narrow, length, name);
	return glob_match_name(wide, wide_length, name, strlen(name));
}

/* Both stand on the '/' of a component, or at their end. */
static bool covers_path(const char *wide, const char *narrow)
{
	size_t wide_length, length;

	while (*wide) {
		wide_length = strcspn(wide + 1, "/");
		if (is_text(wide + 1, wide_length, "**"))
			return !wide[1 + wide_length];
		if (!*narrow)
			return false;
		length = strcspn(narrow + 1, "/");
		if (!covers_name(wide + 1, wide_length, narrow + 1, length))
			return false;
		wide += 1 + wide_length;
		narrow += 1 + length;
	}
	return !*narrow;
}

static bool covers_branch(const char *wide, const char *narrow)
{
	char name[BH_MAX_GLOB + 1];

	if (!strcmp(wide, narrow))
		return true;
	if (!narrow[glob_head(narrow)]) {
		glob_unescape(narrow, strlen(narrow), name);
		return glob_match(wide, name, strlen(name));
	}
	return wide[0] == '/' && narrow[0] == '/' && covers_path(wide, narrow);
}

struct pair {
	const char *wide, *narrow;
};

/* 1: seen. */
static int try_wide(const struct glob_branch *wide, void *context)
{
	const struct pair *pair = context;

	return covers_branch(wide->text, pair->narrow);
}

/* 1: not seen to be covered. */
static int try_narrow(const struct glob_branch *narrow, void *context)
{
	struct pair pair = *(const struct pair *)context;

	pair.narrow = narrow->text;
	return !glob_expand(pair.wide, try_wide, &pair);
}

static bool is_plain(char byte)
{
	return byte && !strchr("*?[{\\", byte);
}

bool glob_heads_meet(const char *a, const char *b)
{
	while (*a == *b && is_plain(*a)) {
		a++;
		b++;
	}
	return !is_plain(*a) || !is_plain(*b);
}

int glob_covers(const char *wide, const char *narrow)
{
	struct pair pair = {wide, narrow};

	return !strcmp(wide, narrow) || !glob_expand(narrow, try_narrow, &pair);
}
