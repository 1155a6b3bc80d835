// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Random globs. */
#include <stdio.h>
#include <string.h>
#include "world.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))

/* One byte as a glob writes it. */
static void put_literal(struct text *glob, unsigned int byte)
{
	char hex[8];

	if (!draw(12)) {
		snprintf(hex, sizeof(hex), draw(2) ? "\\x%02x" : "\\x%02X", byte);
		put(glob, hex);
		return;
	}
	if (strchr("*?[]{},\\", (int)byte) || (strchr("!^-", (int)byte) && !draw(4)))
		put_byte(glob, '\\');
	put_byte(glob, byte);
}

static void put_set(struct text *glob)
{
	static const char *const sets[] = {"[ab]",  "[!ab]",  "[^b]",	   "[a-b]",	    "[]a]",
					   "[!]a]", "[a-]",   "[-c]",	   "[\\x80-\\xff]", "[+-9]",
					   "[[{]",  "[,a}*]", "[\\]\\-c]", "[!\\x01-a]"};
	unsigned int i, byte;

	if (draw(3)) {
		put(glob, sets[draw(N_OF(sets))]);
		return;
	}
	put(glob, draw(3) ? "[" : "[!");
	for (i = 1 + draw(3); i; i--) {
		byte = draw_letter();
		if (strchr("[]\\!^-", (int)byte))
			put_byte(glob, '\\');
		put_byte(glob, byte);
		if (!draw(4))
			put(glob, "-\\xff");
	}
	put(glob, "]");
}

static void put_glob(struct text *glob, unsigned int components, unsigned int depth);

static void put_braces(struct text *glob, unsigned int depth)
{
	unsigned int i, n = 2 + draw(2);

	put(glob, "{");
	for (i = 0; i < n; i++) {
		put(glob, i ? "," : "");
		if (draw(5))
			put_glob(glob, draw(5) ? 1 : 2, depth + 1);
	}
	put(glob, "}");
}

static void put_component(struct text *glob, unsigned int depth)
{
	unsigned int i;

	if (!draw(7)) {
		put(glob, "**");
		return;
	}
	for (i = 1 + draw(3); i; i--) {
		switch (draw(9)) {
		case 0:
			put(glob, "*");
			break;
		case 1:
			put(glob, "?");
			break;
		case 2:
			put_set(glob);
			break;
		case 3:
			if (depth < 3) {
				put_braces(glob, depth);
				break;
			}
			/* fallthrough */
		default:
			put_literal(glob, draw_letter());
		}
	}
}

static void put_glob(struct text *glob, unsigned int components, unsigned int depth)
{
	unsigned int i;

	for (i = 0; i < components; i++) {
		put(glob, i ? "/" : "");
		put_component(glob, depth);
	}
}

/* Long names in front of what was drawn: each of their letters is a state. */
static void put_long(const struct world_shape *shape, struct text *glob)
{
	while (glob->n < shape->glob) {
		put_letters(glob, 1 + draw(shape->name));
		/* Few: what follows a star is multiplied by it. */
		if (!draw(40))
			put(glob, draw(2) ? "*" : "?");
		put(glob, "/");
	}
}

/* What is drawn may be malformed: ".", an empty component, stars that meet. Then again. */
void draw_glob(const struct world_shape *shape, struct text *glob)
{
	do {
		text_clear(glob);
		put(glob, draw(12) ? "/" : "@");
		put_long(shape, glob);
		if (draw(30))
			put_glob(glob, 1 + draw(shape->components), 0);
	} while (glob_check(glob->bytes, NULL, NULL) < 0);
}
