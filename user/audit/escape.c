// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "escape.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct range {
	uint32_t first, last;
};

/* Characters that break a line, cannot be seen, or change the direction of what follows. */
static const struct range hidden[] = {
	{0x0000, 0x001f}, {0x007f, 0x009f}, {0x00ad, 0x00ad},	{0x061c, 0x061c},
	{0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},	{0x2060, 0x206f},
	{0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
};

static bool is_hidden(uint32_t code)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (code >= hidden[i].first && code <= hidden[i].last)
			return true;
	return false;
}

/* Bytes of the character at p and its number; 0 when it is not UTF-8 (overlong forms, surrogates
 * and numbers past the last plane are not). */
static size_t utf8_read(const unsigned char *p, size_t n, uint32_t *ret_code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = p[0] < 0x80		? 1
			: (p[0] & 0xe0) == 0xc0 ? 2
			: (p[0] & 0xf0) == 0xe0 ? 3
			: (p[0] & 0xf8) == 0xf0 ? 4
						: 0;
	uint32_t code;

	if (!length || length > n)
		return 0;
	code = length == 1 ? p[0] : p[0] & (0x7f >> length);
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return length;
}

static char *escape(const unsigned char *p, size_t n, bool backslash_too)
{
	/* Each byte becomes at most four. */
	char *text = malloc(n * 4 + 1), *to = text;

	if (!text)
		return NULL;
	while (n) {
		uint32_t code = 0;
		size_t length = utf8_read(p, n, &code);

		if (length && !is_hidden(code) && !(backslash_too && code == '\\')) {
			memcpy(to, p, length);
			to += length;
		} else {
			length = length ? length : 1;
			for (size_t i = 0; i < length; i++)
				to += sprintf(to, "\\x%02x", p[i]);
		}
		p += length;
		n -= length;
	}
	*to = '\0';
	return text;
}

char *escape_bytes(const void *bytes, size_t n)
{
	return escape(bytes, n, true);
}

char *unescape_bytes(const char *escaped)
{
	char *bytes = strdup(escaped), *to = bytes;
	unsigned int byte;

	for (const char *p = escaped; to && *p; to++) {
		if (p[0] == '\\' && p[1] == 'x' && sscanf(p + 2, "%2x", &byte) == 1) {
			*to = (char)byte;
			p += 4;
		} else {
			*to = *p++;
		}
	}
	if (to)
		*to = '\0';
	return bytes;
}

char *escape_line(const char *line)
{
	return escape((const unsigned char *)line, strlen(line), false);
}

char *escape_word(const char *escaped)
{
	size_t n = strlen(escaped);
	char *text, *to;

	/* Blanks and brackets are what a line of ours is made of. */
	if (n && !strpbrk(escaped, " \"[]():#"))
		return strdup(escaped);
	text = malloc(n * 4 + 3);
	if (!text)
		return NULL;
	to = text;
	*to++ = '"';
	for (const char *p = escaped; *p; p++)
		if (*p == '"')
			to += sprintf(to, "\\x22");
		else
			*to++ = *p;
	*to++ = '"';
	*to = '\0';
	return text;
}
