// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An explanation for people: the verdict, a line for each right, and how the path was mapped. */
#include <string.h>
#include "audit/escape.h"
#include "audit/event.h"
#include "explain.h"

/* Width of the names that lines begin with: "attributes" is the longest right. */
#define LABEL_WIDTH 10

static void print_label(const char *label)
{
	printf("  %-*s  ", LABEL_WIDTH, label);
}

static void print_word(const char *escaped)
{
	_cleanup_free_ char *word = escape_word(escaped);

	fputs(word ?: "?", stdout);
}

/* "/etc/shadow* (base/libc.yaml:32:10)" */
static void print_rule(const json_t *rule)
{
	print_word(text_of(rule, "glob"));
	printf(" (%s:%lld:%lld)", text_of(rule, "file"),
	       (long long)json_integer_value(json_object_get(rule, "line")),
	       (long long)json_integer_value(json_object_get(rule, "column")));
}

static bool has_effect(const json_t *rule, const char *effect)
{
	return !strcmp(text_of(rule, "effect"), effect);
}

static bool is_audited(const json_t *answer)
{
	return !strcmp(text_of(json_object_get(answer, "policy"), "mode"), "audit");
}

static void print_verdict(const json_t *row, const json_t *answer)
{
	const json_t *rule = json_object_get(row, "rule"),
		     *hush = json_object_get(row, "quiet_rule"),
		     *watch = json_object_get(row, "audit_rule");
	const char *name = text_of(row, "name");
	/* Another name of the file decides, whatever its rules say. */
	bool linked = !strcmp(text_of(row, "reason"), "old-link") ||
		      !strcmp(text_of(row, "reason"), "pinned");
	bool decides = !linked && (has_effect(rule, "allow") || has_effect(rule, "deny") ||
				   has_effect(rule, "tripwire"));

	fputs(text_of(row, "verdict"), stdout);
	if (decides) {
		if (has_effect(rule, "allow") && !explain_is_allowed(row))
			printf(": %s ", text_of(row, "reason_text"));
		else
			fputs(has_effect(rule, "tripwire") ? " by the tripwire " : " by ", stdout);
		print_rule(rule);
		if (has_effect(rule, "tripwire") && !is_audited(answer))
			fputs(", which ends the compartment", stdout);
	} else {
		printf(": %s", text_of(row, "reason_text"));
	}
	if (decides && json_is_object(json_object_get(answer, "place")) &&
	    strcmp(name, text_of(answer, "resolved")) != 0) {
		fputs(", as ", stdout);
		print_word(name);
	}
	if (json_is_object(hush)) {
		fputs(", kept quiet by ", stdout);
		print_rule(hush);
	}
	if (json_is_object(watch)) {
		fputs(", reported by ", stdout);
		print_rule(watch);
	}
	putchar('\n');
}

static void show_links(const json_t *answer)
{
	const json_t *link;
	size_t i;

	json_array_foreach (json_object_get(answer, "links"), i, link) {
		print_label(i ? "" : "links");
		print_word(text_of(link, "link"));
		fputs(" is a link to ", stdout);
		print_word(text_of(link, "target"));
		putchar('\n');
	}
}

static void show_names(const json_t *names)
{
	const json_t *name;
	size_t i;

	if (json_array_size(names) < 2)
		return;
	json_array_foreach (names, i, name) {
		print_label(i ? "" : "names");
		print_word(json_string_value(name) ?: "?");
		putchar('\n');
	}
	print_label("");
	puts("allowed if one of its names is allowed and none is denied");
}

/* What is in procfs depends on who looks. */
static bool is_absent(const json_t *place)
{
	return json_is_false(json_object_get(place, "exists")) &&
	       strcmp(text_of(place, "filesystem"), "proc") != 0;
}

static void show_place(const json_t *answer)
{
	const json_t *place = json_object_get(answer, "place");
	const char *root = text_of(place, "mount_root");
	json_int_t tables = json_integer_value(json_object_get(place, "mount_tables"));

	if (!json_is_object(place))
		return;
	print_label("seen by");
	printf("process %lld of %s", (long long)json_integer_value(json_object_get(place, "pid")),
	       text_of(place, "cgroup"));
	if (tables > 1)
		printf("; its members have %lld different mount tables, whose names all count",
		       (long long)tables);
	putchar('\n');
	print_label("mount");
	print_word(text_of(place, "mount"));
	printf(", %s", text_of(place, "filesystem"));
	if (strcmp(root, "/") != 0) {
		fputs(", of which it shows ", stdout);
		print_word(root);
	}
	putchar('\n');
	print_label("stands at");
	print_word(text_of(place, "path"));
	printf(" on that filesystem%s\n", is_absent(place) ? "; nothing is there now" : "");
	show_names(json_object_get(place, "names"));
}

static void show_mapping(const json_t *answer)
{
	const char *path = text_of(answer, "resolved");

	show_links(answer);
	show_place(answer);
	if (*path && json_is_null(json_object_get(answer, "place"))) {
		print_label("path");
		print_word(path);
		fputs(*path == '@' ? ", judged by its name\n"
				   : ", as written: no mounts were looked at\n",
		      stdout);
	}
}

static void show_rights(const json_t *answer)
{
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(answer, "each"), i, row) {
		print_label(text_of(row, "right"));
		print_verdict(row, answer);
	}
}

static void print_rights(const json_t *rights)
{
	const json_t *right;
	size_t i;

	json_array_foreach (rights, i, right)
		printf("%s%s", i ? "," : "", json_string_value(right) ?: "?");
}

static void show_heading(const json_t *answer)
{
	const char *path = text_of(answer, "path");

	printf("%s%s: ", text_of(answer, "verdict"),
	       json_is_true(json_object_get(answer, "quiet")) ? " quietly" : "");
	if (!*path) {
		puts(text_of(answer, "reason_text"));
		return;
	}
	print_rights(json_object_get(answer, "rights"));
	putchar(' ');
	print_word(path);
	printf(" under policy %s\n", text_of(json_object_get(answer, "policy"), "name"));
}

static void show_event(const json_t *answer)
{
	const json_t *event = json_object_get(answer, "event");
	_cleanup_free_ char *line = json_is_object(event) ? record_line(event) : NULL;

	if (line)
		printf("%s\n\n", line);
}

void explain_show(const json_t *answer)
{
	const json_t *note;
	size_t i;

	show_event(answer);
	show_heading(answer);
	show_rights(answer);
	show_mapping(answer);
	json_array_foreach (json_object_get(answer, "notes"), i, note)
		printf("note: %s\n", json_string_value(note) ?: "?");
}
