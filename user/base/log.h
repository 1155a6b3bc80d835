/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Log lines and error texts. Libraries return and describe (struct error), programs report, once.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stddef.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Name put before each line; a string that outlives all calls. Also sees to it that descriptors 0 to
 * 2 are open: a program's first call. */
void log_open(const char *program);
void log_set_level(enum log_level level);
/* Writes one line to stderr, with the <N> prefix the journal understands when stderr is a journal
 * stream ($JOURNAL_STREAM). What is no text in it becomes "?". */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* The "s" of a number of things. */
static inline const char *plural(unsigned long long n)
{
	return n == 1 ? "" : "s";
}

/*
 * What went wrong, where, and what to do: filled by the function that fails, printed by the
 * program. Bounded; text that does not fit is cut with "...". A zeroed struct is an empty error.
 */
#define ERROR_TEXT_SIZE 1024

struct error {
	char text[ERROR_TEXT_SIZE];
};

/* Sets the text (when error is not NULL) and returns -code; code is a positive errno. */
int error_set(struct error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Puts "prefix: " before the text. */
void error_prefix(struct error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
