// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Bindings of units to policies: what the agent looks up when a unit starts. */
#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include "status.h"

#define BINDING_DIR "/var/lib/bulkhead/units"

int binding_path(const char *unit, char ret[PATH_MAX])
{
	return snprintf(ret, PATH_MAX, BINDING_DIR "/%s.json", unit) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int binding_write(const char *unit, const char *policy, const char *const *vars,
		  struct error *error)
{
	json_t *list = json_array(), *o = NULL;
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX];
	int r = 0;

	for (; vars && *vars && !r; vars++)
		r = json_array_append_new(list, json_string(*vars));
	o = json_pack("{s:s, s:o}", "policy", policy, "vars", list);
	if (o && !r)
		text = json_dumps(o, JSON_INDENT(2));
	json_decref(o);
	if (!text || binding_path(unit, path))
		return error_set(error, EINVAL, "%s: its binding cannot be written as JSON", unit);
	r = record_fits(text, path, error);
	if (r)
		return r;
	r = text_replace(path, text, 0600);
	return r ? error_set(error, -r, "%s: %s", path, strerror(-r)) : 0;
}

static int take_binding(const json_t *o, char **ret_policy, char ***ret_vars)
{
	const char *policy = json_string_value(json_object_get(o, "policy"));
	const json_t *list = json_object_get(o, "vars");
	_cleanup_strings_ char **vars = strings_copy(NULL);
	size_t n = 0, i;
	json_t *value;

	if (!policy || !json_is_array(list))
		return -EINVAL;
	json_array_foreach (list, i, value) {
		if (!json_is_string(value))
			return -EINVAL;
		if (!vars || strings_push(&vars, &n, json_string_value(value)))
			return -ENOMEM;
	}
	*ret_policy = vars ? strdup(policy) : NULL;
	if (!*ret_policy)
		return -ENOMEM;
	*ret_vars = TAKE_PTR(vars);
	return 0;
}

static int binding_read(const char *unit, char **ret_policy, char ***ret_vars, struct error *error)
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX];
	json_t *o;
	int r = binding_path(unit, path);

	if (!r)
		r = text_read(path, BH_MAX_RECORD_BYTES, &text, NULL);
	if (r)
		return error_set(error, -r, "%s: %s", path, strerror(-r));
	o = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	r = o ? take_binding(o, ret_policy, ret_vars) : -EINVAL;
	json_decref(o);
	return r ? error_set(error, -r, "%s: not a unit's binding: bind the unit again", path) : 0;
}

int unit_binding(const char *unit, char **ret_policy, char ***ret_vars, struct error *error)
{
	char name[UNIT_NAME_SIZE], template[UNIT_NAME_SIZE];
	int r = unit_check_name(unit, name, error);

	if (r)
		return r;
	r = binding_read(name, ret_policy, ret_vars, error);
	if (r == -ENOENT && unit_template_of(name, template) == 0)
		r = binding_read(template, ret_policy, ret_vars, error);
	if (r == -ENOENT)
		return error_set(error, ENOENT,
				 "%s is bound to no policy: bulkhead attach --unit binds it", name);
	return r;
}

/* --- drop-ins --- */

/* The program beside this one; its path stands in a unit file, where some bytes mean more. */
static int add_binding(json_t *array, const char *file)
{
	_cleanup_free_ char *policy = NULL, *unit = strndup(file, strlen(file) - strlen(".json"));
	struct error error = {0};
	char **vars = NULL;
	int r = unit ? binding_read(unit, &policy, &vars, &error) : -ENOMEM;

	strings_free(vars);
	/* One that cannot be read binds all the same: its unit does not start. */
	return json_array_append_new(array, json_pack("{s:s, s:s}", "unit", unit ?: "", "policy",
						      r ? error.text : policy));
}

json_t *unit_bindings(void)
{
	_cleanup_closedir_ DIR *dir = opendir(BINDING_DIR);
	json_t *array = json_array();
	struct dirent *entry;
	size_t n;

	while (array && dir && (entry = readdir(dir))) {
		n = strlen(entry->d_name);
		if (n > strlen(".json") && !strcmp(entry->d_name + n - strlen(".json"), ".json"))
			add_binding(array, entry->d_name);
	}
	return array;
}

static bool has_binding(const char *unit)
{
	char path[PATH_MAX];

	return !binding_path(unit, path) && access(path, F_OK) == 0;
}

int unit_bound_as(const char *unit, char **ret)
{
	char name[UNIT_NAME_SIZE], template[UNIT_NAME_SIZE];
	const char *found = NULL;

	if (unit_name_normalise(unit, name))
		return -EINVAL;
	if (has_binding(name))
		found = name;
	else if (!unit_template_of(name, template) && has_binding(template))
		found = template;
	if (!found)
		return -ENOENT;
	*ret = strdup(found);
	return *ret ? 0 : -ENOMEM;
}
