/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Spans of time as people write them: a number and one of s, m, h, d. */
#ifndef BASE_DURATION_H
#define BASE_DURATION_H

#include <stdint.h>

#define DURATION_FORM "a number and s, m, h or d, as in 30s, 10m, 2h, 1d"
/* A year: nothing of ours lasts longer, and what is added to a clock stays far from its end. */
#define DURATION_MAX_MS (365ull * 24 * 3600 * 1000)

/* 0; -EINVAL: not of that form; -ERANGE: nothing at all, or more than DURATION_MAX_MS. */
int duration_parse(const char *text, uint64_t *ret_ms);

/* "2h 5m", its two largest units, rounded up to seconds. Returns buffer. */
#define DURATION_TEXT_SIZE 48
char *duration_format(uint64_t ms, char buffer[DURATION_TEXT_SIZE]);

#endif
