// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Records of the stream as lines for people. A record may come from a file: nothing in it is
 * trusted to be there, or to be of its type. */
#include <string.h>
#include <time.h>
#include "base/cleanup.h"
#include "base/duration.h"
#include "base/log.h"
#include "event.h"
#include "escape.h"

static const char *text_of(const json_t *record, const char *field)
{
	const char *text = json_string_value(json_object_get(record, field));

	return text ? text : "?";
}

static long long number_of(const json_t *record, const char *field)
{
	return json_integer_value(json_object_get(record, field));
}

/* "12:03:04" in the reader's zone. */
static void clock_text(const json_t *record, char buffer[16])
{
	struct tm tm = {0};
	time_t seconds;

	strcpy(buffer, "??:??:??");
	if (!strptime(text_of(record, "time"), "%Y-%m-%dT%H:%M:%S", &tm))
		return;
	seconds = timegm(&tm);
	if (localtime_r(&seconds, &tm))
		strftime(buffer, 16, "%T", &tm);
}

/* A name of the record as one word of the line. */
static char *word_of(const json_t *record, const char *field)
{
	return escape_word(text_of(record, field));
}

/* A violation's own come before it, those of a record that says nothing else after the one it names. */
static void more_text(const json_t *record, char *buffer, size_t size)
{
	long long n = number_of(record, "repeated");

	*buffer = '\0';
	if (n > 0)
		snprintf(buffer, size, ", and %lld more like it%s", n,
			 strcmp(text_of(record, "kind"), "violation") ? "" : " before");
}

static char *violation_line(const json_t *record, const char *when)
{
	const json_t *subject = json_object_get(record, "subject");
	_cleanup_free_ char *name = word_of(record, "name"), *comm = word_of(subject, "comm");
	char *line = NULL, more[64];

	if (!name || !comm)
		return NULL;
	more_text(record, more, sizeof(more));
	if (asprintf(&line, "%s %s %s[%lld]: %s%s [%s #%lld]", when, name, comm,
		     number_of(subject, "tgid"), text_of(record, "message"), more,
		     text_of(record, "hook"), number_of(record, "seq")) < 0)
		return NULL;
	return line;
}

static char *lost_line(const json_t *record, const char *when)
{
	const json_t *compartment = json_object_get(record, "compartment");
	long long count = number_of(record, "count");
	char *line = NULL;
	int r;

	if (compartment)
		r = asprintf(&line, "%s compartment %lld: %lld event%s lost", when,
			     number_of(record, "compartment"), count,
			     plural((unsigned long long)count));
	else
		r = asprintf(&line, "%s %lld record%s lost on their way here", when, count,
			     plural((unsigned long long)count));
	return r < 0 ? NULL : line;
}

/* " for 10m", of a grant that ends by itself; " to 2 names", of one that is not of all. */
static void terms_text(const json_t *record, char *buffer, size_t size)
{
	size_t n = json_array_size(json_object_get(record, "only"));
	long long ms = number_of(record, "for_ms");
	char span[DURATION_TEXT_SIZE] = "", names[32] = "";

	if (ms > 0)
		duration_format((uint64_t)ms, span);
	if (n)
		snprintf(names, sizeof(names), " to %zu name%s", n, plural(n));
	snprintf(buffer, size, "%s%s%s", *span ? " for " : "", span, names);
}

static char *control_line(const json_t *record, const char *when)
{
	const char *error = json_string_value(json_object_get(record, "error"));
	const char *unit = text_of(record, "unit");
	char terms[DURATION_TEXT_SIZE + 40];
	char *line = NULL;

	terms_text(record, terms, sizeof(terms));
	if (asprintf(&line, "%s control: %s %s%s by uid %lld, process %lld%s%s%s: %s%s%s", when,
		     text_of(record, "request"), text_of(record, "target"), terms,
		     number_of(record, "uid"), number_of(record, "pid"), *unit ? " (" : "", unit,
		     *unit ? ")" : "", text_of(record, "outcome"), error ? ": " : "",
		     error ? error : "") < 0)
		return NULL;
	return line;
}

/* Of the relay itself there is no compartment to name. */
static char *egress_line(const json_t *record, const char *when)
{
	_cleanup_free_ char *name = word_of(record, "name");
	bool named = json_is_string(json_object_get(record, "name"));
	char *line = NULL;

	if (!name || asprintf(&line, "%s %s%s%s [egress]", when, named ? name : "",
			      named ? ": " : "", text_of(record, "message")) < 0)
		return NULL;
	return line;
}

char *record_line(const json_t *record)
{
	const char *kind = text_of(record, "kind");
	_cleanup_free_ char *line = NULL;
	char when[16];

	clock_text(record, when);
	if (!strcmp(kind, "lost"))
		line = lost_line(record, when);
	else if (!strcmp(kind, "control"))
		line = control_line(record, when);
	else if (!strcmp(kind, "egress"))
		line = egress_line(record, when);
	else
		line = violation_line(record, when);
	return line ? escape_line(line) : NULL;
}
