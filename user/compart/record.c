// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What people want to know of a compartment besides what the kernel keeps, and reports. */
#include "internal.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#define RECORD_DIR KERN_RUN_DIR "/compartments"

/* Members that are plain strings, by the name they have in the file. */
static const struct {
	const char *key;
	size_t offset;
	bool optional; /* records of an older agent lack it */
} texts[] = {
	{"name", offsetof(struct compartment, name), false},
	{"policy", offsetof(struct compartment, policy), false},
	{"cgroup", offsetof(struct compartment, cgroup), false},
	{"unit", offsetof(struct compartment, unit), false},
	{"include_dir", offsetof(struct compartment, include_dir), false},
	{"digest", offsetof(struct compartment, digest), true},
	{"view", offsetof(struct compartment, view), true},
};
#define NTEXTS (sizeof(texts) / sizeof(*texts))

static char **text_of(const struct compartment *c, size_t i)
{
	return (char **)((char *)c + texts[i].offset);
}

struct compartment *compartment_new(void)
{
	struct compartment *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	for (size_t i = 0; i < NTEXTS; i++)
		*text_of(c, i) = strdup("");
	c->vars = strings_copy(NULL);
	c->revoked = strings_copy(NULL);
	for (size_t i = 0; i < NTEXTS; i++) {
		if (*text_of(c, i) && c->vars && c->revoked)
			continue;
		compartment_free(c);
		return NULL;
	}
	return c;
}

void compartment_free(struct compartment *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < NTEXTS; i++)
		free(*text_of(c, i));
	strings_free(c->vars);
	strings_free(c->revoked);
	json_decref(c->authority);
	policy_free(c->loaded);
	free(c);
}

static void record_path(__u32 id, char *buffer, size_t size)
{
	snprintf(buffer, size, RECORD_DIR "/%u.json", id);
}

static json_t *strings_to_json(char *const *strings)
{
	json_t *list = json_array();

	for (; *strings; strings++)
		if (json_array_append_new(list, json_string(*strings))) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static json_t *to_json(const struct compartment *c)
{
	json_t *o =
		json_pack("{s:I, s:I, s:I, s:b, s:I, s:I, s:o, s:o}", "id", (json_int_t)c->id,
			  "generation", (json_int_t)c->generation, "cgroup_id",
			  (json_int_t)c->cgroup_id, "starting", c->starting, "owner",
			  (json_int_t)c->owner, "owner_start", (json_int_t)c->owner_start, "vars",
			  strings_to_json(c->vars), "revoked", strings_to_json(c->revoked));

	if (o && c->authority && json_object_set(o, "authority", c->authority)) {
		json_decref(o);
		return NULL;
	}
	for (size_t i = 0; o && i < NTEXTS; i++) {
		if (json_object_set_new(o, texts[i].key, json_string(*text_of(c, i)))) {
			json_decref(o);
			return NULL;
		}
	}
	return o;
}

int record_fits(const char *text, const char *path, struct error *error)
{
	return strlen(text) <= BH_MAX_RECORD_BYTES
		       ? 0
		       : error_set(error, E2BIG,
				   "%s: longer than %u bytes, so nobody would read it again: set "
				   "fewer or shorter variables",
				   path, BH_MAX_RECORD_BYTES);
}

int compartment_save(const struct compartment *c, struct error *error)
{
	_cleanup_free_ char *text = NULL;
	json_t *o = to_json(c);
	char path[PATH_MAX];
	int r;

	record_path(c->id, path, sizeof(path));
	if (o)
		text = json_dumps(o, JSON_INDENT(2));
	json_decref(o);
	/* A name or path that is no UTF-8 ends here too. */
	if (!text)
		return error_set(error, EINVAL,
				 "%s: the record cannot be written as JSON: a path "
				 "or name is not UTF-8, or memory is short",
				 path);
	r = record_fits(text, path, error);
	if (r)
		return r;
	r = text_replace(path, text, 0600);
	return r ? error_set(error, -r, "%s: %s", path, strerror(-r)) : 0;
}

static int take_texts(struct compartment *c, const json_t *o)
{
	for (size_t i = 0; i < NTEXTS; i++) {
		const char *text = json_string_value(json_object_get(o, texts[i].key));

		if (!text && texts[i].optional)
			continue;
		if (!text)
			return -EINVAL;
		free(*text_of(c, i));
		*text_of(c, i) = strdup(text);
		if (!*text_of(c, i))
			return -ENOMEM;
	}
	return 0;
}

static int take_strings(char ***to, const json_t *list)
{
	size_t n = 0, i;
	json_t *value;

	json_array_foreach (list, i, value) {
		if (!json_is_string(value))
			return -EINVAL;
		if (strings_push(to, &n, json_string_value(value)))
			return -ENOMEM;
	}
	return 0;
}

static int from_json(struct compartment *c, json_t *o, __u32 id)
{
	json_int_t record_id, generation, cgroup_id, owner, owner_start;
	json_t *vars;
	int starting, r;

	if (json_unpack(o, "{s:I, s:I, s:I, s:b, s:I, s:I, s:o}", "id", &record_id, "generation",
			&generation, "cgroup_id", &cgroup_id, "starting", &starting, "owner",
			&owner, "owner_start", &owner_start, "vars", &vars) ||
	    record_id != id || !json_is_array(vars))
		return -EINVAL;
	c->id = id;
	c->generation = (__u32)generation;
	c->cgroup_id = (__u64)cgroup_id;
	c->starting = starting;
	c->owner = (pid_t)owner;
	c->owner_start = (__u64)owner_start;
	c->authority = json_incref(json_object_get(o, "authority"));
	r = take_texts(c, o);
	if (!r)
		r = take_strings(&c->vars, vars);
	/* Records of an older agent have none. */
	return r ? r : take_strings(&c->revoked, json_object_get(o, "revoked"));
}

int compartment_load(__u32 id, struct compartment **ret, struct error *error)
{
	_cleanup_compartment_ struct compartment *c = compartment_new();
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX];
	json_t *o;
	int r;

	if (!c)
		return error_set(error, ENOMEM, "out of memory");
	record_path(id, path, sizeof(path));
	r = text_read(path, BH_MAX_RECORD_BYTES, &text, NULL);
	if (r)
		return error_set(error, -r, "%s: %s", path, strerror(-r));
	o = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	r = o ? from_json(c, o, id) : -EINVAL;
	json_decref(o);
	if (r)
		return error_set(error, -r, "%s: not a record of compartment %u", path, id);
	*ret = TAKE_PTR(c);
	return 0;
}

int compartment_forget(__u32 id)
{
	char path[PATH_MAX];

	record_path(id, path, sizeof(path));
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

int report_add(struct report *report, const char *format, ...)
{
	char **bigger;
	char *line;
	va_list ap;
	int n;

	if (!report)
		return 0;
	va_start(ap, format);
	n = vasprintf(&line, format, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	bigger = reallocarray(report->lines, report->n + 1, sizeof(*bigger));
	if (!bigger) {
		free(line);
		return -ENOMEM;
	}
	report->lines = bigger;
	report->lines[report->n++] = line;
	return 0;
}

void report_done(struct report *report)
{
	for (size_t i = 0; i < report->n; i++)
		free(report->lines[i]);
	free(report->lines);
	*report = (struct report){};
}
