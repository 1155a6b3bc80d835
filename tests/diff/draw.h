/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chance that can be had again, and text that grows: what the generator of cases is made of. */
#ifndef DIFF_DRAW_H
#define DIFF_DRAW_H

#include <stddef.h>
#include <stdint.h>
#include <bulkhead/limits.h>

/* The draws that follow depend on these two alone. */
void draw_seed(uint64_t seed, unsigned int turn);
unsigned int draw(unsigned int below);
/* The number BULKHEAD_SEED says, 1 without. */
uint64_t draw_seed_given(void);

/* As long as a path can be; what does not fit is left out. */
#define TEXT_SIZE (BH_MAX_PATH + 1)

struct text {
	size_t n;
	char bytes[TEXT_SIZE];
};

void text_clear(struct text *text);
void put(struct text *text, const char *bytes);
void put_byte(struct text *text, unsigned int byte);

/* Few letters, so that random globs and random paths meet; and what has a meaning in globs. */
unsigned int draw_letter(void);
/* So many of the few. */
void put_letters(struct text *text, unsigned int n);

#endif
