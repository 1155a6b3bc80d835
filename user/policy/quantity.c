// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "quantity.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* From the smallest. */
static const struct {
	const char *suffix;
	unsigned int shift;
} units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
#define NUNITS (sizeof(units) / sizeof(*units))

/* Decimal digits up to `end`. */
static int read_number(const char *text, const char *end, __s64 *ret)
{
	__s64 number = 0;

	for (; text < end; text++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, *text - '0', &number))
			return -ERANGE;
	}
	*ret = number;
	return 0;
}

int quantity_bytes(const char *text, __u64 *ret, const char **ret_why, size_t *ret_at)
{
	const char *end = text + strspn(text, "0123456789");
	__s64 number;
	size_t i;

	*ret_at = 0;
	*ret_why = "write a number above 0, as in 200MiB";
	if (end == text || *text == '0')
		return -EINVAL;
	for (i = 0; i < NUNITS; i++) {
		if (strcmp(end, units[i].suffix) != 0)
			continue;
		*ret_why = "too many: write less than 8589934592GiB";
		if (read_number(text, end, &number) < 0 || number > INT64_MAX >> units[i].shift)
			return -EINVAL;
		*ret = (__u64)number << units[i].shift;
		return 0;
	}
	*ret_at = (size_t)(end - text);
	*ret_why = "write KiB, MiB or GiB behind the number, or nothing for bytes";
	return -EINVAL;
}

char *quantity_format(__u64 bytes, char buffer[QUANTITY_TEXT_SIZE])
{
	size_t i = NUNITS - 1;

	while (i && (!bytes || bytes & ((1ull << units[i].shift) - 1)))
		i--;
	snprintf(buffer, QUANTITY_TEXT_SIZE, "%llu%s",
		 (unsigned long long)(bytes >> units[i].shift), units[i].suffix);
	return buffer;
}
