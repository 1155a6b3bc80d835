/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bytes chosen by a confined program, made fit for a log line. The only escape is \xNN, and a
 * backslash is itself escaped, so the bytes can be had back and no name looks like another's.
 */
#ifndef AUDIT_ESCAPE_H
#define AUDIT_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

/* Valid UTF-8 without control, line-breaking, invisible or direction-changing characters. Free the
 * result; NULL when out of memory. */
char *escape_bytes(const void *bytes, size_t n);
/* The bytes of a text that escape_bytes made, terminated; NULL when out of memory. A name of a file
 * holds no NUL; of others what follows one is not seen. */
char *unescape_bytes(const char *escaped);
/* Puts a text that escape_bytes made into quotes when it would not stand as one word in a line. */
char *escape_word(const char *escaped);
/* A line of ours, as read back from a file: what could steer a terminal is escaped, backslashes
 * stay. */
char *escape_line(const char *line);

#endif
