// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "draw.h"

#include <stdlib.h>
#include <string.h>

static uint64_t random_state;

/* Neighbouring turns begin far from each other (the finalizer of splitmix64). */
void draw_seed(uint64_t seed, unsigned int turn)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15u + turn;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	random_state = x ^ x >> 31;
}

unsigned int draw(unsigned int below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(random_state >> 33) % below;
}

uint64_t draw_seed_given(void)
{
	const char *given = getenv("BULKHEAD_SEED");

	return given ? strtoull(given, NULL, 0) : 1;
}

void text_clear(struct text *text)
{
	text->n = 0;
	text->bytes[0] = '\0';
}

void put(struct text *text, const char *bytes)
{
	size_t n = strlen(bytes);

	if (text->n + n < sizeof(text->bytes)) {
		memcpy(text->bytes + text->n, bytes, n + 1);
		text->n += n;
	}
}

void put_byte(struct text *text, unsigned int byte)
{
	const char bytes[] = {(char)byte, '\0'};

	put(text, bytes);
}

static const char letters[] = "aaabbbc.-*?[]{},\\!^\n\x7f\xc3\xff";

unsigned int draw_letter(void)
{
	return (unsigned char)letters[draw(draw(2) ? 7 : (unsigned int)sizeof(letters) - 1)];
}

void put_letters(struct text *text, unsigned int n)
{
	for (; n; n--)
		put_byte(text, (unsigned char)letters[draw(7)]);
}
