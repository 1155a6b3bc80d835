// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* limits: what a policy says of them, and what they are where it says nothing. */
#include "limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/duration.h"
#include "load.h"
#include "quantity.h"

#define ROW(name, key, form, fallback, least, most, what) \
	[LIMIT_##name] = {key, LIMIT_FORM_##form, fallback, least, most, what},
const struct limit_row limit_rows[LIMITS] = {LIMITS_ROWS(ROW)};

/* More digits than any of them has: no overflow. */
#define MAX_DIGITS 9

static int parse_time(const char *text, __u64 *ret, const char **ret_why)
{
	uint64_t ms;
	int r = duration_parse(text, &ms);

	*ret_why = r == -ERANGE ? "write 1s to 365d" : "write " DURATION_FORM;
	*ret = ms;
	return r < 0 ? -EINVAL : 0;
}

static int parse_bytes(const char *text, __u64 *ret, const char **ret_why)
{
	size_t at;

	*ret = 0;
	return strcmp(text, "0") ? quantity_bytes(text, ret, ret_why, &at) : 0;
}

/* Digits, and `suffix` behind them. */
static int parse_number(const char *text, const char *suffix, __u64 *ret, const char **ret_why)
{
	size_t digits = strspn(text, "0123456789");

	*ret_why = *suffix ? "write a number and %, as in 150%: of one processor"
			   : "write a number, as in 64";
	if (!digits || digits > MAX_DIGITS || strcmp(text + digits, suffix))
		return -EINVAL;
	*ret = strtoull(text, NULL, 10);
	return 0;
}

int limit_parse(enum limit limit, const char *text, __u64 *ret, const char **ret_why)
{
	const struct limit_row *row = &limit_rows[limit];
	__u64 value = 0;
	int r = -EINVAL;

	switch (row->form) {
	case LIMIT_FORM_TIME:
		r = parse_time(text, &value, ret_why);
		break;
	case LIMIT_FORM_BYTES:
		r = parse_bytes(text, &value, ret_why);
		break;
	case LIMIT_FORM_COUNT:
		r = parse_number(text, "", &value, ret_why);
		break;
	case LIMIT_FORM_PERCENT:
		r = parse_number(text, "%", &value, ret_why);
		break;
	}
	if (r < 0)
		return r;
	if (value < row->least || value > row->most) {
		*ret_why = value < row->least ? "too little" : "too much";
		return -EINVAL;
	}
	*ret = value;
	return 0;
}

char *limit_format(enum limit limit, __u64 value, char buffer[LIMIT_TEXT_SIZE])
{
	_Static_assert(LIMIT_TEXT_SIZE >= DURATION_TEXT_SIZE &&
			       LIMIT_TEXT_SIZE >= QUANTITY_TEXT_SIZE,
		       "each has room");
	switch (limit_rows[limit].form) {
	case LIMIT_FORM_TIME:
		return duration_format(value, buffer);
	case LIMIT_FORM_BYTES:
		return quantity_format(value, buffer);
	case LIMIT_FORM_COUNT:
	case LIMIT_FORM_PERCENT:
		break;
	}
	snprintf(buffer, LIMIT_TEXT_SIZE, "%llu%s", (unsigned long long)value,
		 limit_rows[limit].form == LIMIT_FORM_PERCENT ? "%" : "");
	return buffer;
}

void limits_default(__u64 ret[LIMITS])
{
	const char *why;

	for (int i = 0; i < LIMITS; i++)
		limit_parse((enum limit)i, limit_rows[i].fallback, &ret[i], &why);
}

int limits_take(struct loader *loader, const struct unit *unit)
{
	const struct text_limits *given = unit->text->limits;
	char least[LIMIT_TEXT_SIZE], most[LIMIT_TEXT_SIZE];
	const struct outline_entry *entry;
	const char *why = NULL;

	limits_default(loader->policy->limits);
	for (int i = 0; given && i < LIMITS; i++) {
		if (!given->values[i] || limit_parse((enum limit)i, given->values[i],
						     &loader->policy->limits[i], &why) == 0)
			continue;
		entry = outline_find(&unit->outline, "limits.%s", limit_rows[i].key);
		return error_at(loader->error, &entry->place,
				"%s \"%s\": %s; it is finite, from %s to %s", limit_rows[i].key,
				given->values[i], why,
				limit_format((enum limit)i, limit_rows[i].least, least),
				limit_format((enum limit)i, limit_rows[i].most, most));
	}
	return 0;
}
