// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Shell authority as it is recorded: found once, when the policy is taken, and never told of another text. */
#include "status.h"

#include <errno.h>
#include <string.h>
#include "audit/escape.h"
#include "base/cleanup.h"
#include "policy/authority.h"

DEFINE_CLEANUP(json_t *, json_decref)
#define _cleanup_json_ _cleanup_(cleanup_json_decref)

struct recording {
	json_t *programs;
	size_t bytes, more;
};

static json_t *program_record(const struct authority *item)
{
	const char *file = item->rule->place.file;
	_cleanup_free_ char *path = escape_bytes(item->path, strlen(item->path));
	_cleanup_free_ char *escaped = escape_bytes(file, strlen(file));

	if (!path || !escaped)
		return NULL;
	return json_pack("{s:s, s:b, s:s, s:s, s:s, s:I}", "path", path, "pattern",
			 item->is_pattern, "kind", interpreter_kind_text(item->kind), "what",
			 item->what, "file", escaped, "line", (json_int_t)item->rule->place.line);
}

static bool is_recorded(const json_t *programs, const json_t *program)
{
	const char *path = json_string_value(json_object_get(program, "path"));
	const json_t *other;
	size_t i;

	json_array_foreach (programs, i, other)
		if (!strcmp(json_string_value(json_object_get(other, "path")), path))
			return true;
	return false;
}

/* What does not fit is counted; so a path may be counted that an earlier rule has. */
static int take(struct recording *to, const struct authority *item)
{
	_cleanup_json_ json_t *program = program_record(item);
	_cleanup_free_ char *text = program ? json_dumps(program, JSON_INDENT(2)) : NULL;

	if (!text)
		return -ENOMEM;
	if (is_recorded(to->programs, program))
		return 0;
	if (to->bytes + strlen(text) > BH_MAX_RECORD_AUTHORITY) {
		to->more++;
		return 0;
	}
	to->bytes += strlen(text);
	return json_array_append(to->programs, program) ? -ENOMEM : 0;
}

json_t *authority_record(const struct policy *policy)
{
	_cleanup_(authorities_done) struct authorities found = {0};
	_cleanup_json_ json_t *programs = json_array();
	struct recording to = {.programs = programs};
	int r = programs ? authorities_find(policy, &found) : -ENOMEM;

	for (int kind = 0; kind < INTERPRETER_KINDS; kind++)
		for (size_t i = 0; r == 0 && i < found.n; i++)
			if ((int)found.items[i].kind == kind)
				r = take(&to, &found.items[i]);
	if (r < 0)
		return NULL;
	return json_pack("{s:O, s:I}", "programs", programs, "more", (json_int_t)to.more);
}
