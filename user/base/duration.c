// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "duration.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* From the largest. */
static const struct {
	char letter;
	uint64_t seconds;
} units[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
#define NUNITS (sizeof(units) / sizeof(*units))

/* Digits beyond these are past the largest span in any unit. */
#define MAX_DIGITS 12

int duration_parse(const char *text, uint64_t *ret_ms)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t number = 0;

	if (!digits || !text[digits] || text[digits + 1])
		return -EINVAL;
	for (size_t i = 0; i < NUNITS; i++) {
		if (units[i].letter != text[digits])
			continue;
		for (size_t k = 0; k < digits && k <= MAX_DIGITS; k++)
			number = number * 10 + (uint64_t)(text[k] - '0');
		if (digits > MAX_DIGITS || !number ||
		    number > DURATION_MAX_MS / 1000 / units[i].seconds)
			return -ERANGE;
		*ret_ms = number * units[i].seconds * 1000;
		return 0;
	}
	return -EINVAL;
}

char *duration_format(uint64_t ms, char buffer[DURATION_TEXT_SIZE])
{
	uint64_t seconds = ms / 1000 + (ms % 1000 != 0);
	size_t first = 0, n = 0;

	while (first < NUNITS - 1 && seconds < units[first].seconds)
		first++;
	for (size_t i = first; i < NUNITS && i < first + 2; i++) {
		uint64_t count = seconds / units[i].seconds;

		seconds %= units[i].seconds;
		if (count || i == first)
			n += (size_t)snprintf(buffer + n, DURATION_TEXT_SIZE - n, "%s%llu%c",
					      n ? " " : "", (unsigned long long)count,
					      units[i].letter);
	}
	return buffer;
}
