// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "anew.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "audit/escape.h"
#include "base/cleanup.h"
#include "files.h"
#include "policy/glob.h"

/* Letters that mkstemp(3) and its kin put in; fewer could be a word. */
#define RANDOM_MIN 6
/* Digits of a time in seconds. */
#define TIME_DIGITS 9
#define UUID_LENGTH 36

/* Programs that make names of a fixed head and this many random letters. */
static const struct maker {
	const char *head;
	size_t letters; /* 0: RANDOM_MIN or more */
} makers[] = {
	{"tmp.", 0}, {"tmp", 8}, {"sed", 6}, {"sh-thd.", 0}, {"ccc", 0},
};

static bool is_letter(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static int class_of(char c)
{
	return isdigit((unsigned char)c) ? 1 : isupper((unsigned char)c) ? 2 : c == '_' ? 0 : 3;
}

/* Words and numbers that a run of letters is made of: "Report2024" is two, "Ab3dE9" five. */
static size_t parts(const char *text, size_t n)
{
	size_t count = 0;
	int before = 0;

	for (size_t i = 0; i < n; i++) {
		int now = class_of(text[i]);

		count += now && now != before && !(before == 2 && now == 3);
		before = now;
	}
	return count;
}

/* "Report", "LOG", "step_2": what a person calls a file. Of eight random letters one in three hundred
 * looks so. */
static bool is_word(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && (isupper((unsigned char)text[i]) || text[i] == '_'))
		i++;
	if (i < 2)
		while (i < n && (islower((unsigned char)text[i]) || text[i] == '_'))
			i++;
	while (i < n && isdigit((unsigned char)text[i]))
		i++;
	return i == n;
}

/* Two of five letters begin another word; of what did not stay, anything that is no word. */
static bool is_random(const char *text, size_t n, bool gone)
{
	if (n < RANDOM_MIN)
		return false;
	if (gone && !is_word(text, n))
		return true;
	return parts(text, n) >= 3 && 5 * parts(text, n) >= 2 * n;
}

static const char uuid[UUID_LENGTH + 1] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

static bool is_uuid(const char *text)
{
	for (size_t i = 0; i < UUID_LENGTH; i++)
		if (uuid[i] == 'x' ? !isxdigit((unsigned char)text[i]) : text[i] != '-')
			return false;
	return !is_letter(text[UUID_LENGTH]);
}

/* Bytes of a name's beginning that a known program put in front of `*ret` random letters; 0. */
static size_t maker_head(const char *name, size_t *ret)
{
	for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++) {
		size_t head = strlen(makers[i].head), n = 0;

		if (strncmp(name, makers[i].head, head) != 0)
			continue;
		while (is_letter(name[head + n]))
			n++;
		*ret = n;
		if (makers[i].letters ? n == makers[i].letters : n >= RANDOM_MIN)
			return head;
	}
	return 0;
}

static void put(FILE *to, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char one[2] = {text[i], '\0'}, escaped[3];

		glob_escape(one, escaped);
		fprintf(to, "%s%s", text[i] == '$' ? "\\" : "", escaped);
	}
}

static void put_any(FILE *to, size_t n)
{
	while (n--)
		putc('?', to);
}

/* A number that is a process's has as many digits as it likes. */
static bool is_number(const char *text, size_t n, uint32_t number)
{
	char digits[16];

	return number && n == (size_t)snprintf(digits, sizeof(digits), "%u", number) &&
	       !memcmp(text, digits, n);
}

static bool has_number(const char *text, size_t n, uint32_t number)
{
	for (size_t i = 0; i < n; i++) {
		size_t digits = strspn(text + i, "0123456789");

		if (digits && is_number(text + i, digits, number))
			return true;
		i += digits;
	}
	return false;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t put_digits(FILE *to, const char *text, uint32_t pid, bool *ret_anew)
{
	size_t n = strspn(text, "0123456789");

	if (is_number(text, n, pid))
		fputs("[0-9]*", to);
	else if (n >= TIME_DIGITS)
		put_any(to, n);
	else
		return 0;
	*ret_anew = true;
	return n;
}

/* The next piece of a name, written as glob; its bytes. */
static size_t put_piece(FILE *to, const char *name, const struct anew_hint *hint, bool *ret_anew)
{
	size_t n = put_digits(to, name, hint->pid, ret_anew);

	if (n)
		return n;
	if (is_uuid(name)) {
		for (const char *p = uuid; *p; p++)
			putc(*p == 'x' ? '?' : *p, to);
		*ret_anew = true;
		return UUID_LENGTH;
	}
	while (is_letter(name[n]))
		n++;
	if (is_random(name, n, hint->gone) && !has_number(name, n, hint->pid)) {
		put_any(to, n);
		*ret_anew = true;
		return n;
	}
	/* Up to the next number, which is looked at by itself. */
	if (n && !isdigit((unsigned char)*name))
		n = least(n, strcspn(name, "0123456789"));
	else if (n)
		n = strspn(name, "0123456789");
	else
		n = 1;
	put(to, name, n);
	return n;
}

int anew_name(const char *name, const struct anew_hint *hint, char **ret)
{
	_cleanup_free_ char *text = NULL;
	bool is_anew = false;
	size_t size = 0, n = 0, head = maker_head(name, &n);
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return -ENOMEM;
	if (head) {
		put(to, name, head);
		put_any(to, n);
		name += head + n;
		is_anew = true;
	}
	while (*name)
		name += put_piece(to, name, hint, &is_anew);
	if (fclose(to))
		return -ENOMEM;
	*ret = is_anew ? TAKE_PTR(text) : NULL;
	return 0;
}

/* --- paths --- */

static const struct use *use_at(const struct run *run, const char *path, size_t n)
{
	_cleanup_free_ char *prefix = strndup(path, n);

	return prefix ? run_use(run, prefix) : NULL;
}

/* What procfs calls by number: threads and descriptors. */
static bool is_proc_number(const char *path, const char *name, size_t n)
{
	return !strncmp(path, "/proc/self/", strlen("/proc/self/")) && n &&
	       strspn(name, "0123456789") >= n;
}

/* A rule's head is followed through links, and this is no link where the run was, or it is about the
 * link itself: a set of one byte ends the head before it. */
static void put_unfollowed(FILE *to, const char *name, size_t n)
{
	size_t i = 0;

	while (i < n && !isalnum((unsigned char)name[i]))
		i++;
	put(to, name, i);
	if (i == n)
		return;
	fprintf(to, "[%c]", name[i]);
	put(to, name + i + 1, n - i - 1);
}

static bool is_made(const struct use *use)
{
	return use && use->perms & BH_PERM_CREATE;
}

/* In /proc nothing is followed. */
static bool is_link(const char *path, size_t n)
{
	_cleanup_free_ char *prefix = strndup(path, n);

	return prefix && strncmp(path, "/proc/", strlen("/proc/")) != 0 && file_is_link(prefix);
}

static bool is_gone(const struct use *use)
{
	return use->perms & BH_PERM_DELETE && !file_exists(use->path) &&
	       !file_is_directory(use->path);
}

static int put_component(FILE *to, const struct run *run, const struct use *use, const char *name,
			 size_t n, bool literal, bool *ret_anew)
{
	size_t end = (size_t)(name - use->path) + n;
	const struct use *made = literal ? NULL : use_at(run, use->path, end);
	_cleanup_free_ char *glob = NULL, *own = strndup(name, n);
	int r = own ? 0 : -ENOMEM;

	if (is_proc_number(use->path, name, n)) {
		putc('*', to);
		*ret_anew = true;
		return 0;
	}
	if (r == 0 && is_made(made))
		r = anew_name(own, &(struct anew_hint){made->pid, is_gone(made)}, &glob);
	if (glob) {
		fputs(glob, to);
		*ret_anew = true;
	} else if ((!use->path[end] && use->is_link) || is_link(use->path, end)) {
		put_unfollowed(to, name, n);
	} else {
		put(to, name, n);
	}
	return r;
}

int anew_path(const struct run *run, const struct use *use, bool literal, char **ret,
	      bool *ret_anew)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	const char *p = use->path;
	int r = to ? 0 : -ENOMEM;

	*ret_anew = false;
	if (r == 0 && *p == '@')
		put(to, p, strlen(p));
	for (; r == 0 && *p == '/'; p += strcspn(p, "/")) {
		putc(*p++, to);
		r = put_component(to, run, use, p, strcspn(p, "/"), literal, ret_anew);
	}
	if (to && fclose(to))
		r = -ENOMEM;
	/* Bytes that YAML or a terminal would not take are written by number. */
	*ret = r == 0 ? escape_line(text) : NULL;
	return *ret ? 0 : -ENOMEM;
}
