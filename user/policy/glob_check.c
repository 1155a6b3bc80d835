// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which globs are well formed: first as they are written, then each branch. */
#include "glob.h"

#include <errno.h>
#include <string.h>

#define NOT_ABSOLUTE "not absolute: write /dir/name, /**/name for any directory, or @name"
#define TOO_MANY_BRANCHES "braces stand for more than 1024 globs: write * or several rules"

struct fault {
	size_t offset;
	const char *reason;
};

static int refuse(struct fault *fault, size_t offset, const char *reason)
{
	*fault = (struct fault){offset, reason};
	return -EINVAL;
}

/* Open braces: how many branches are behind and in the alternative read now. */
struct brace {
	size_t offset;
	unsigned int done, now;
};

struct braces {
	struct brace stack[BH_MAX_BRACE_DEPTH + 1]; /* [0] is the whole glob */
	size_t depth;
};

static int open_brace(struct braces *braces, size_t offset, struct fault *fault)
{
	if (braces->depth == BH_MAX_BRACE_DEPTH)
		return refuse(fault, offset, "braces nest deeper than 8: write several globs");
	braces->stack[++braces->depth] = (struct brace){offset, 0, 1};
	return 0;
}

static int close_brace(struct braces *braces, size_t offset, struct fault *fault)
{
	struct brace brace = braces->stack[braces->depth], *outer;

	if (!braces->depth)
		return refuse(fault, offset, "} without {: write \\} for the byte");
	if (!brace.done)
		return refuse(fault, brace.offset,
			      "{} has alternatives: write {a,b}, or \\{ and \\} for the bytes");
	outer = &braces->stack[--braces->depth];
	outer->now *= brace.done + brace.now;
	if (outer->now > BH_MAX_BRANCHES)
		return refuse(fault, brace.offset, TOO_MANY_BRANCHES);
	return 0;
}

static int take_comma(struct braces *braces, struct fault *fault)
{
	struct brace *brace = &braces->stack[braces->depth];

	if (!braces->depth)
		return 0;
	brace->done += brace->now;
	brace->now = 1;
	if (brace->done < BH_MAX_BRANCHES)
		return 0;
	return refuse(fault, brace->offset, TOO_MANY_BRANCHES);
}

/* Every element and every brace, as they are written. */
static int check_elements(const char *glob, struct fault *fault)
{
	struct braces braces = {.stack = {{0, 0, 1}}};
	struct glob_element element;
	const char *at = glob, *reason;
	size_t offset;
	int r = 0;

	while (r == 0 && *at) {
		offset = (size_t)(at - glob);
		if (*at == '{')
			r = open_brace(&braces, offset, fault);
		else if (*at == '}')
			r = close_brace(&braces, offset, fault);
		else if (*at == ',')
			r = take_comma(&braces, fault);
		else if (*at == ']')
			r = refuse(fault, offset, "] without [: write \\] for the byte");
		reason = glob_read(&at, &element);
		if (reason)
			return refuse(fault, (size_t)(at - glob), reason);
	}
	if (r == 0 && braces.depth)
		r = refuse(fault, braces.stack[braces.depth].offset,
			   "{ without }: write \\{ for the byte");
	return r;
}

/* Where two stars stand beside each other; `end` if nowhere. */
static size_t find_stars(const struct glob_branch *branch, size_t at, size_t end)
{
	for (; at < end; at += glob_element_size(branch->text + at)) {
		if (branch->text[at] == '*' && branch->text[at + 1] == '*')
			break;
	}
	return at;
}

static const char *stars_fault(const struct glob_branch *branch, size_t at, size_t end)
{
	size_t stars = find_stars(branch, at, end);

	if (stars == end)
		return NULL;
	if (branch->from[stars] + 1 != branch->from[stars + 1])
		return "a * of braces meets another one: write one of them";
	if (end - at > 2)
		return "** is a whole component: write * within a name, or dir/** for what is "
		       "below";
	return NULL;
}

/* Why this component of a path is no good, or NULL; *bytes grows by the least it can be long. */
static const char *component_fault(const struct glob_branch *branch, size_t at, size_t end,
				   size_t *bytes)
{
	const char *text = branch->text + at, *reason;
	size_t elements = 0, stars = 0, dots = 0;
	struct glob_element element;

	if (at == end)
		return "an empty component: write one / and none at the end";
	reason = stars_fault(branch, at, end);
	if (reason)
		return reason;
	for (; text < branch->text + end; elements++) {
		(void)glob_read(&text, &element);
		stars += element.kind == GLOB_STAR;
		dots += element.kind == GLOB_BYTE && element.byte == '.';
	}
	if (elements == dots && dots <= 2)
		return ". and .. never stand in a file's path: write the place itself";
	if (elements - stars > BH_MAX_NAME)
		return "longer than a file name can be (255 bytes)";
	*bytes += 1 + elements - stars;
	return NULL;
}

static int check_path(const struct glob_branch *branch, void *context)
{
	size_t at, end, bytes = 0, n = strlen(branch->text);
	struct fault *fault = context;
	const char *reason;

	if (branch->text[0] != '/')
		return refuse(fault, branch->from[0], NOT_ABSOLUTE);
	if (n == 1)
		return 0;
	for (at = 1; at <= n; at = end + 1) {
		end = at + strcspn(branch->text + at, "/");
		reason = component_fault(branch, at, end, &bytes);
		if (reason)
			return refuse(fault, branch->from[at], reason);
	}
	if (bytes > BH_MAX_PATH)
		return refuse(fault, branch->from[0], "longer than a path can be (4095 bytes)");
	return 0;
}

static int check_abstract(const struct glob_branch *branch, void *context)
{
	size_t end = strlen(branch->text), stars = find_stars(branch, 1, end);
	struct fault *fault = context;

	if (!branch->text[1])
		return refuse(fault, branch->from[1], "an abstract socket needs a name behind @");
	if (stars != end)
		return refuse(fault, branch->from[stars],
			      "** is for paths: write * in a socket's name");
	return 0;
}

static int check_whole(const char *glob, struct fault *fault)
{
	if (glob[0] == '~')
		return refuse(fault, 0,
			      "~ is not expanded: write the home directory's path or a variable");
	if (!glob[0] || !strchr("/@{", glob[0]))
		return refuse(fault, 0, NOT_ABSOLUTE);
	if (strlen(glob) > BH_MAX_GLOB)
		return refuse(fault, BH_MAX_GLOB,
			      "longer than a glob may be (16384 bytes): write several");
	return 0;
}

int glob_check(const char *glob, size_t *ret_offset, const char **ret_reason)
{
	struct fault fault = {0};
	int r = check_whole(glob, &fault);

	if (r == 0)
		r = check_elements(glob, &fault);
	if (r == 0)
		r = glob_expand(glob, glob[0] == '@' ? check_abstract : check_path, &fault);
	if (r < 0 && ret_offset)
		*ret_offset = fault.offset;
	if (r < 0 && ret_reason)
		*ret_reason = fault.reason;
	return r;
}
