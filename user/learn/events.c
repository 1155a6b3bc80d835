// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include "audit/escape.h"
#include "audit/names.h"
#include "base/cleanup.h"
#include "policy/grow.h"
#include "policy/policy.h"

DEFINE_CLEANUP(json_t *, json_decref)
#define _cleanup_json_ _cleanup_(cleanup_json_decref)

/* --- one line --- */

static const char *text_of(const json_t *object, const char *field)
{
	return json_string_value(json_object_get(object, field)) ?: "";
}

static bool is_known(const char *name, const char *found)
{
	return !strcmp(name, found) && strcmp(name, "unknown") != 0;
}

static int hook_from(const char *name, enum bh_hook *ret)
{
	for (unsigned int i = 0; i < BH_HOOK_COUNT; i++) {
		if (!is_known(name, hook_name(i)))
			continue;
		*ret = (enum bh_hook)i;
		return 0;
	}
	return -EBADMSG;
}

/* "denied" and "written-inside" are words of records alone: the kernel's is no-rule. */
static int reason_from(const char *name, struct told *told)
{
	told->denied = !strcmp(name, "denied");
	if (told->denied || !strcmp(name, "written-inside"))
		name = reason_name(BH_REASON_NO_RULE);
	for (unsigned int i = 0; i < BH_REASON_COUNT; i++) {
		if (!is_known(name, reason_name(i)))
			continue;
		told->reason = (enum bh_reason)i;
		return 0;
	}
	return -EBADMSG;
}

static int perms_from(const json_t *array, uint32_t *ret)
{
	const json_t *word;
	size_t i;

	if (!json_is_array(array))
		return -EBADMSG;
	json_array_foreach (array, i, word) {
		uint32_t perm = perm_from_text(json_string_value(word) ?: "");

		if (!perm)
			return -EBADMSG;
		*ret |= perm;
	}
	return 0;
}

static int number_from(const json_t *object, const char *field, json_int_t least, json_int_t most,
		       json_int_t *ret)
{
	const json_t *value = json_object_get(object, field);

	*ret = json_integer_value(value);
	return json_is_integer(value) && *ret >= least && *ret <= most ? 0 : -EBADMSG;
}

/* What was tried: a message says it in front of what became of it. */
static char *words_of(const json_t *record)
{
	_cleanup_free_ char *line = escape_line(text_of(record, "message"));
	char *end = line ? strstr(line, " would be refused (") : NULL;

	if (line && !end)
		end = strstr(line, " refused (");
	if (end)
		*end = '\0';
	return TAKE_PTR(line);
}

static int take_object(const json_t *object, struct told *told)
{
	const char *kind = text_of(object, "kind");
	bool names = !strcmp(kind, "path") || !strcmp(kind, "unix");

	if (!json_is_object(object) || !*kind)
		return -EBADMSG;
	if (!names)
		return 0;
	if (!json_is_string(json_object_get(object, "path")))
		return -EBADMSG;
	told->path = unescape_bytes(text_of(object, "path"));
	told->mapped = !json_object_get(object, "superblock") && told->path &&
		       (told->path[0] == '/' || (told->path[0] == '@' && told->path[1]));
	return told->path ? 0 : -ENOMEM;
}

/*
 * A process's own directory in procfs is judged as /proc/self. Where rules were asked it was the own
 * one, whatever number it has in the namespace that it was seen from.
 */
static int take_proc(struct told *told)
{
	size_t head = strlen("/proc/");
	size_t digits;
	char own[16], *text;

	if (!told->mapped || strncmp(told->path, "/proc/", head) != 0)
		return 0;
	digits = strspn(told->path + head, "0123456789");
	snprintf(own, sizeof(own), "%u", told->tgid);
	if (!digits)
		return 0;
	if (told->reason != BH_REASON_NO_RULE &&
	    (told->reason != BH_REASON_PROC_OTHER || digits != strlen(own) ||
	     strncmp(told->path + head, own, digits) != 0))
		return 0;
	if (asprintf(&text, "/proc/self%s", told->path + head + digits) < 0)
		return -ENOMEM;
	free(told->path);
	told->path = text;
	told->own = true;
	return 0;
}

static int take_subject(const json_t *subject, struct told *told)
{
	const char *exe = json_string_value(json_object_get(subject, "exe"));
	json_int_t tgid, tid, exec_seq;

	if (number_from(subject, "tgid", 0, UINT32_MAX, &tgid) ||
	    number_from(subject, "tid", 0, UINT32_MAX, &tid) ||
	    number_from(subject, "exec_seq", 0, INT64_MAX, &exec_seq))
		return -EBADMSG;
	told->tgid = (uint32_t)tgid;
	told->tid = (uint32_t)tid;
	told->exec_seq = (uint64_t)exec_seq;
	told->nameless = !exe;
	told->program = unescape_bytes(exe ?: text_of(subject, "comm"));
	return told->program ? 0 : -ENOMEM;
}

static int take_violation(const json_t *record, struct told *told)
{
	const char *name = json_string_value(json_object_get(record, "name"));
	const char *verdict = text_of(record, "verdict");
	json_int_t id, seq;
	int r;

	if (number_from(record, "compartment", 0, BH_MAX_COMPARTMENTS, &id) ||
	    number_from(record, "seq", 0, INT64_MAX, &seq) || !*verdict ||
	    hook_from(text_of(record, "hook"), &told->hook) ||
	    reason_from(text_of(record, "reason"), told) ||
	    perms_from(json_object_get(record, "perms"), &told->perms))
		return -EBADMSG;
	told->compartment = (uint32_t)id;
	told->seq = (uint64_t)seq;
	told->audited = !strcmp(verdict, "audit") || !strcmp(verdict, "noted");
	told->words = words_of(record);
	told->name = name ? strdup(name) : NULL;
	if (!told->words || (name && !told->name))
		return -ENOMEM;
	r = take_object(json_object_get(record, "object"), told);
	if (r == 0)
		r = take_subject(json_object_get(record, "subject"), told);
	return r ? r : take_proc(told);
}

static int take_lost(const json_t *record, struct told *told)
{
	json_int_t id = 0, count;

	if (number_from(record, "count", 0, INT64_MAX, &count))
		return -EBADMSG;
	if (json_object_get(record, "compartment") &&
	    number_from(record, "compartment", 0, BH_MAX_COMPARTMENTS, &id))
		return -EBADMSG;
	told->kind = TOLD_LOST;
	told->compartment = (uint32_t)id;
	told->seq = (uint64_t)count;
	return 0;
}

/* Records of other kinds are none of this room's business. */
static const struct {
	const char *kind;
	int (*take)(const json_t *record, struct told *told);
} kinds[] = {
	{"violation", take_violation},
	{"lost", take_lost},
};

static void told_done(struct told *told)
{
	free(told->path);
	free(told->words);
	free(told->program);
	free(told->name);
}

/* 1: nothing to keep. */
static int take_record(const json_t *record, struct told *told)
{
	const char *kind = text_of(record, "kind");

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kind, kinds[i].kind))
			return kinds[i].take(record, told);
	return *kind ? 1 : -EBADMSG;
}

static int take_line(struct events *events, const char *line, size_t length, const char *file,
		     size_t number, struct error *error)
{
	json_error_t why;
	_cleanup_json_ json_t *record =
		json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
	struct told told = {0};
	int r;

	if (!record)
		return error_set(error, EBADMSG,
				 "%s:%zu: not JSON (%s): write here what bulkhead events --json "
				 "prints, a whole record a line",
				 file, number, why.text);
	r = take_record(record, &told);
	if (r == 0 && grow(&events->items, &events->size, events->n + 1) < 0)
		r = -ENOMEM;
	if (r == 0) {
		events->items[events->n++] = told;
		return 0;
	}
	told_done(&told);
	if (r == -EBADMSG)
		return error_set(error, EBADMSG,
				 "%s:%zu: no record of this version's events: write here what "
				 "bulkhead events --json prints (\"EVENTS\" in bulkhead(8))",
				 file, number);
	return r < 0 ? error_set(error, ENOMEM, "out of memory") : 0;
}

/* --- the file --- */

static bool is_blank(const char *line)
{
	return !line[strspn(line, " \t\r\n")];
}

static int check_any(const struct events *events, const char *file, struct error *error)
{
	for (size_t i = 0; i < events->n; i++)
		if (events->items[i].kind == TOLD_VIOLATION)
			return 0;
	return error_set(error, ENODATA,
			 "%s: no violation in it: either nothing ran under a policy with mode: "
			 "audit, or the policy allows all that did, and can have mode: enforce",
			 file);
}

int events_read(FILE *from, const char *file, struct events *ret, struct error *error)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0, number = 0;
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = getline(&line, &size, from)) > 0) {
		if (++number > EVENTS_MAX)
			return error_set(error, E2BIG, "%s: more than %u lines", file, EVENTS_MAX);
		if (!is_blank(line))
			r = take_line(ret, line, (size_t)n, file, number, error);
	}
	if (r == 0 && ferror(from))
		return error_set(error, errno, "%s: %s", file, strerror(errno));
	return r ? r : check_any(ret, file, error);
}

void events_done(struct events *events)
{
	for (size_t i = 0; i < events->n; i++)
		told_done(&events->items[i]);
	free(events->items);
}
