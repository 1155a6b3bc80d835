// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *program_name = "bulkhead";
static enum log_level max_level = LOG_LEVEL_INFO;

void log_open(const char *program)
{
	int fd;

	program_name = program;
	/* Else the next file that is opened is taken for a stream, and written to. */
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

void log_set_level(enum log_level level)
{
	max_level = level;
}

/* systemd tells which stream is the journal's; a pipe or file that took its place wants words. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

/* Texts have names in them that others chose: a newline would begin a line of ours, and a terminal
 * obeys the rest, the C1 controls of UTF-8 too. */
static void make_printable(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p; p++) {
		if (*p < ' ' || *p == 0x7f)
			*p = '?';
		else if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
			p[0] = p[1] = '?';
	}
}

void log_line(enum log_level level, const char *format, ...)
{
	/* syslog(3) priorities of the four levels, read by the journal from a leading <N>. */
	static const int priority[] = {3, 4, 6, 7};
	char line[2048];
	va_list ap;
	int n = 0;

	if (level > max_level)
		return;
	if (is_journal())
		n = snprintf(line, sizeof(line), "<%d>", priority[level]);
	else
		n = snprintf(line, sizeof(line), "%s: ", program_name);
	va_start(ap, format);
	vsnprintf(line + n, sizeof(line) - n, format, ap);
	va_end(ap);
	make_printable(line);
	/* One write: lines of several processes on one stream do not mix. */
	dprintf(STDERR_FILENO, "%s\n", line);
}

static void end_with_dots(char *text, size_t size)
{
	memcpy(text + size - 4, "...", 4);
}

int error_set(struct error *error, int code, const char *format, ...)
{
	va_list ap;

	if (!error)
		return -code;
	va_start(ap, format);
	if (vsnprintf(error->text, sizeof(error->text), format, ap) >= (int)sizeof(error->text))
		end_with_dots(error->text, sizeof(error->text));
	va_end(ap);
	return -code;
}

void error_prefix(struct error *error, const char *format, ...)
{
	char prefix[256], old[ERROR_TEXT_SIZE];
	va_list ap;

	if (!error)
		return;
	va_start(ap, format);
	vsnprintf(prefix, sizeof(prefix), format, ap);
	va_end(ap);
	memcpy(old, error->text, sizeof(old));
	if (snprintf(error->text, sizeof(error->text), "%s: %s", prefix, old) >=
	    (int)sizeof(error->text))
		end_with_dots(error->text, sizeof(error->text));
}
