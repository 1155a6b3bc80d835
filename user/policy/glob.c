// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What globs are made of, and the names among them. */
#include "glob.h"

#include <string.h>

#define ESCAPABLE "*?[]{},!^-$\\ "
/* What has a meaning outside of a set. */
#define SPECIAL "*?[]{},\\"
#define WILD "*?[{"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

static const char *read_hex(const char **at, __u8 *ret)
{
	int high = hex_digit((*at)[2]), low = high < 0 ? -1 : hex_digit((*at)[3]);
	int byte = 16 * high + low;

	if (low < 0)
		return "\\x stands before two hexadecimal digits: write \\xff";
	if (byte == 0)
		return "\\x00 is in no name: leave it out";
	if (byte == '/')
		return "\\x2f would be a / within a name, and none has one: write /";
	*ret = (__u8)byte;
	*at += 4;
	return NULL;
}

/* One byte, written as it is or behind a backslash. */
static const char *read_byte(const char **at, __u8 *ret)
{
	const char *p = *at;

	if (*p != '\\') {
		*ret = (__u8)*p;
		*at = p + 1;
		return NULL;
	}
	if (p[1] == 'x')
		return read_hex(at, ret);
	if (!p[1] || !strchr(ESCAPABLE, p[1]))
		return "a backslash stands before * ? [ ] { } , ! ^ - $ space, another backslash "
		       "or xNN: write \\\\ for the byte";
	*ret = (__u8)p[1];
	*at = p + 2;
	return NULL;
}

static const char *read_member(const char **at, __u8 *ret)
{
	if (**at == '/')
		return "a set never matches /: leave it out, or write {a,b} for several paths";
	if (**at == '[' && (*at)[1] && strchr(":.=", (*at)[1]))
		return "[:class:] is not known: write the range, as in [a-z], or \\[ for the byte";
	return read_byte(at, ret);
}

static bool is_range(const char *at)
{
	return at[0] == '-' && at[1] && at[1] != ']';
}

/* A byte or a range of a set. */
static const char *read_members(const char **at, struct byte_set *set)
{
	const char *begin = *at, *reason;
	__u8 low, high;
	unsigned int byte;

	reason = read_member(at, &low);
	high = low;
	if (!reason && is_range(*at)) {
		(*at)++;
		reason = read_member(at, &high);
		if (!reason && is_range(*at))
			return "a range behind a range: write \\- for the byte";
	}
	if (reason)
		return reason;
	if (high < low) {
		*at = begin;
		return "a reversed range: write the smaller byte first, or \\- for the byte";
	}
	for (byte = low; byte <= high; byte++)
		byte_set_add(set, byte);
	return NULL;
}

static const char *read_set(const char **at, struct byte_set *set)
{
	const char *begin = *at, *first, *reason;
	bool negated = begin[1] == '!' || begin[1] == '^';

	memset(set, 0, sizeof(*set));
	first = *at += 1 + negated;
	while (**at != ']' || *at == first) {
		if (!**at) {
			*at = begin;
			return "[ without ] (one that comes first is a byte of the set): write \\[ "
			       "for the byte";
		}
		reason = read_members(at, set);
		if (reason)
			return reason;
	}
	(*at)++;
	if (negated)
		byte_set_invert(set);
	byte_set_remove(set, '/');
	byte_set_remove(set, 0);
	if (!byte_set_is_empty(set))
		return NULL;
	*at = begin;
	return "a set that no byte is in: write the bytes it should have";
}

const char *glob_read(const char **at, struct glob_element *ret)
{
	switch (**at) {
	case '*':
		ret->kind = GLOB_STAR;
		(*at)++;
		return NULL;
	case '?':
		ret->kind = GLOB_SET;
		ret->set = (struct byte_set){0};
		byte_set_invert(&ret->set);
		byte_set_remove(&ret->set, '/');
		byte_set_remove(&ret->set, 0);
		(*at)++;
		return NULL;
	case '[':
		ret->kind = GLOB_SET;
		return read_set(at, &ret->set);
	default:
		ret->kind = GLOB_BYTE;
		return read_byte(at, &ret->byte);
	}
}

/* --- braces --- */

size_t glob_element_size(const char *at)
{
	struct glob_element element;
	const char *end = at;

	(void)glob_read(&end, &element);
	return (size_t)(end - at);
}

/* The ',' or '}' that ends the alternative at `at`. */
static const char *alternative_end(const char *at)
{
	size_t depth = 0;

	for (; depth || (*at != ',' && *at != '}'); at += glob_element_size(at)) {
		depth += *at == '{';
		depth -= *at == '}';
	}
	return at;
}

static const char *braces_end(const char *at)
{
	do
		at = alternative_end(at + 1);
	while (*at == ',');
	return at + 1;
}

struct expansion {
	glob_branch_fn take;
	void *context;
	const char *glob;
	char text[BH_MAX_GLOB + 1];
	__u16 from[BH_MAX_GLOB + 1];
};

/* What follows an alternative: to `end`, and then what follows that. */
struct rest {
	const char *at, *end;
	const struct rest *next;
};

static int expand(struct expansion *e, size_t length, const char *at, const char *end,
		  const struct rest *rest);

static int expand_braces(struct expansion *e, size_t length, const char *at, const char *end,
			 const struct rest *rest)
{
	const char *behind = braces_end(at), *stop;
	const struct rest more = {behind, end, rest};
	int r = 0;

	for (at++; r == 0 && at < behind; at = stop + 1) {
		stop = alternative_end(at);
		r = expand(e, length, at, stop, &more);
	}
	return r;
}

/* Every branch whose first `length` bytes are those of e->text. */
static int expand(struct expansion *e, size_t length, const char *at, const char *end,
		  const struct rest *rest)
{
	size_t size;

	while (at < end || rest) {
		if (at == end) {
			at = rest->at;
			end = rest->end;
			rest = rest->next;
			continue;
		}
		if (*at == '{')
			return expand_braces(e, length, at, end, rest);
		for (size = glob_element_size(at); size; size--) {
			e->from[length] = (__u16)(at - e->glob);
			e->text[length++] = *at++;
		}
	}
	e->from[length] = (__u16)(at - e->glob);
	e->text[length] = '\0';
	return e->take(&(struct glob_branch){e->text, e->from}, e->context);
}

int glob_expand(const char *glob, glob_branch_fn take, void *context)
{
	struct expansion e;

	e.take = take;
	e.context = context;
	e.glob = glob;
	return expand(&e, 0, glob, glob + strlen(glob), NULL);
}

static int count_branch(const struct glob_branch *branch, void *context)
{
	size_t *n = context;

	(void)branch;
	++*n;
	return 0;
}

size_t glob_branches(const char *glob)
{
	size_t n = 0;

	if (!strchr(glob, '{'))
		return 1;
	(void)glob_expand(glob, count_branch, &n);
	return n;
}

/* --- names as globs --- */

size_t glob_head(const char *glob)
{
	const char *at = glob;

	while (*at && !strchr(WILD, *at))
		at += glob_element_size(at);
	return (size_t)(at - glob);
}

static size_t count_bytes(const struct byte_set *set)
{
	size_t i, n = 0;

	for (i = 0; i < BYTE_SET_WORDS; i++)
		n += (size_t)__builtin_popcountll(set->words[i]);
	return n;
}

static __u8 first_byte(const struct byte_set *set)
{
	unsigned int byte = 0;

	while (byte < 255 && !byte_set_has(set, byte))
		byte++;
	return (__u8)byte;
}

bool glob_is_name(const char *branch)
{
	struct glob_element element;

	while (*branch) {
		if (glob_read(&branch, &element) || element.kind == GLOB_STAR ||
		    (element.kind == GLOB_SET && count_bytes(&element.set) != 1))
			return false;
	}
	return true;
}

void glob_name(const char *branch, char *ret)
{
	struct glob_element element;

	while (*branch && !glob_read(&branch, &element))
		*ret++ = (char)(element.kind == GLOB_SET ? first_byte(&element.set) : element.byte);
	*ret = '\0';
}

void glob_unescape(const char *glob, size_t length, char *ret)
{
	const char *end = glob + length;
	__u8 byte = 0;

	while (glob < end) {
		(void)read_byte(&glob, &byte);
		*ret++ = (char)byte;
	}
	*ret = '\0';
}

void glob_escape(const char *text, char *ret)
{
	for (; *text; text++) {
		if (strchr(SPECIAL, *text))
			*ret++ = '\\';
		*ret++ = *text;
	}
	*ret = '\0';
}
