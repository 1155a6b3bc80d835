// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Random paths that a glob matches, or nearly. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "world.h"

static void put_name(struct text *path)
{
	unsigned int i;

	for (i = 1 + draw(2); i; i--)
		put_byte(path, draw_letter());
}

/* A byte that is written at `at`; returns what is behind it. */
static const char *sample_literal(struct text *path, const char *at)
{
	char hex[3] = "";

	if (at[0] == '\\' && at[1] == 'x') {
		memcpy(hex, at + 2, 2);
		put_byte(path, (unsigned int)strtoul(hex, NULL, 16));
		return at + 4;
	}
	at += at[0] == '\\';
	put_byte(path, (unsigned char)at[0]);
	return at + 1;
}

/* Often in the set: its first byte. */
static const char *sample_set(struct text *path, const char *at)
{
	bool negated = at[1] == '!' || at[1] == '^';
	size_t before = path->n;

	at = sample_literal(path, at + 1 + negated);
	if (negated || !draw(4)) {
		path->n = before;
		put_byte(path, draw_letter());
	}
	while (*at != ']')
		at += at[0] == '\\' ? 2 : 1;
	return at + 1;
}

/* The ',' or '}' behind an alternative. */
static const char *alternative_end(const char *at)
{
	unsigned int depth = 0;
	struct text nothing;

	while (depth || (*at != ',' && *at != '}')) {
		text_clear(&nothing);
		depth += *at == '{';
		depth -= *at == '}';
		at = *at == '[' ? sample_set(&nothing, at) : sample_literal(&nothing, at);
	}
	return at;
}

static void sample(struct text *path, const char *at, const char *end);

static const char *sample_braces(struct text *path, const char *at)
{
	const char *begins[8], *ends[8];
	unsigned int n = 0, i;

	do {
		begins[n] = at + 1;
		at = ends[n++] = alternative_end(at + 1);
	} while (*at == ',');
	i = draw(n);
	sample(path, begins[i], ends[i]);
	return at + 1;
}

static const char *sample_stars(struct text *path, const char *at)
{
	unsigned int i;

	if (at[1] != '*') {
		for (i = draw(3); i; i--)
			put_byte(path, draw_letter());
		return at + 1;
	}
	/* Its '/' goes with it when it stands for nothing. */
	if (!draw(3) && path->n && path->bytes[path->n - 1] == '/') {
		path->bytes[--path->n] = '\0';
		return at + 2;
	}
	for (i = draw(3), put_name(path); i; i--) {
		put(path, "/");
		put_name(path);
	}
	return at + 2;
}

static void sample(struct text *path, const char *at, const char *end)
{
	while (at < end) {
		if (*at == '*')
			at = sample_stars(path, at);
		else if (*at == '{')
			at = sample_braces(path, at);
		else if (*at == '[')
			at = sample_set(path, at);
		else if (*at == '?')
			put_byte(path, draw_letter()), at++;
		else
			at = sample_literal(path, at);
	}
}

/* One byte more, less or other. */
static void disturb(struct text *path)
{
	size_t at = path->n ? draw((unsigned int)path->n) : 0;
	char rest[TEXT_SIZE];

	strcpy(rest, path->bytes + at);
	path->n = at;
	path->bytes[at] = '\0';
	if (draw(3))
		put_byte(path, draw(4) ? draw_letter() : '/');
	put(path, rest + (draw(3) && rest[0]));
}

/* Up to the longest that a system call can name, or a few bytes less. */
static void stretch(struct text *path)
{
	size_t end = BH_MAX_PATH - draw(20), room;
	unsigned int longest = draw(2) ? 3 : BH_MAX_NAME, length;

	while (path->n + 2 <= end) {
		room = end - path->n - 1;
		length = 1 + draw(longest);
		put(path, "/");
		put_letters(path, length < room ? length : (unsigned int)room);
	}
}

void clean_path(struct text *path)
{
	size_t i, n = 0, name = 0;

	for (i = 0; i < path->n; i++) {
		name = path->bytes[i] == '/' ? 0 : name + 1;
		if (name ? name <= BH_MAX_NAME : !n || path->bytes[n - 1] != '/')
			path->bytes[n++] = path->bytes[i];
	}
	while (n > 1 && path->bytes[n - 1] == '/')
		n--;
	path->bytes[n] = '\0';
	path->n = n;
}

static void draw_any(struct text *path)
{
	unsigned int i;

	for (i = draw(4); i; i--) {
		put(path, "/");
		put_name(path);
	}
}

void draw_path(const struct world *world, struct text *path)
{
	const char *glob = world->rules[draw((unsigned int)world->nrules)].glob;
	char rest[TEXT_SIZE];
	unsigned int i;

	text_clear(path);
	if (draw(8))
		sample(path, glob, glob + strlen(glob));
	else
		draw_any(path);
	for (i = draw(3); i > 1; i--)
		disturb(path);
	if (!draw(100))
		stretch(path);
	if (path->bytes[0] != '/' && (path->bytes[0] != '@' || draw(4))) {
		strcpy(rest, path->bytes);
		text_clear(path);
		put(path, "/");
		put(path, rest);
	}
	if (path->bytes[0] == '/')
		clean_path(path);
}
