// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "load.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "grow.h"

/* Where a file is included from; NULL: the main file. */
struct inclusion {
	const struct place *place; /* NULL: not from a file */
	const char *name;
};

static int read_unit(struct loader *loader, const char *path, const struct inclusion *inclusion);

static int no_memory(struct loader *loader)
{
	return error_set(loader->error, ENOMEM, "no memory to load the policy");
}

static void unit_done(struct unit *unit)
{
	text_free(unit->text);
	outline_done(&unit->outline);
	source_done(&unit->source);
}

/* Gives the path to the policy, which every place needs as long as it lives. */
static int keep_path(struct loader *loader, const char *path, const char **ret_path)
{
	struct policy *policy = loader->policy;

	if (grow(&policy->files, &loader->files_size, policy->nfiles + 1) < 0)
		return no_memory(loader);
	policy->files[policy->nfiles] = strdup(path);
	if (!policy->files[policy->nfiles])
		return no_memory(loader);
	*ret_path = policy->files[policy->nfiles++];
	return 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), nend = strlen(end);

	return n >= nend && !strcmp(text + n - nend, end);
}

/* "base/x" is in the include directory, "./x.yaml" beside the file that says so. */
static int include_path(struct loader *loader, const struct unit *unit, const struct place *place,
			const char *name, char **ret_path)
{
	const char *slash = strrchr(unit->path, '/');
	int r;

	if (!strncmp(name, "./", 2))
		r = asprintf(ret_path, "%.*s%s", slash ? (int)(slash - unit->path) + 1 : 0,
			     unit->path, name + 2);
	else if (name[0] == '/' || strstr(name, ".."))
		return error_at(loader->error, place,
				"include %s: write base/name, or ./name.yaml beside this file",
				name);
	else if (ends_with(name, ".yaml"))
		return error_at(loader->error, place, "include %s: leave .yaml off: write %.*s",
				name, (int)(strlen(name) - strlen(".yaml")), name);
	else if (!loader->options->include_dir)
		return error_at(loader->error, place,
				"include %s: no include directory was given: write ./name.yaml",
				name);
	else
		r = asprintf(ret_path, "%s/%s.yaml", loader->options->include_dir, name);
	if (r < 0) {
		*ret_path = NULL;
		return no_memory(loader);
	}
	return 0;
}

static int take_include(struct loader *loader, const struct unit *unit, unsigned int i)
{
	const struct inclusion inclusion = {
		.place = &outline_find(&unit->outline, "include[%u]", i)->place,
		.name = unit->text->include[i],
	};
	_cleanup_free_ char *path = NULL;
	int r;

	if (loader->depth >= BH_MAX_INCLUDE_DEPTH)
		return error_at(loader->error, inclusion.place, "include %s: nested deeper than %d",
				inclusion.name, BH_MAX_INCLUDE_DEPTH);
	r = include_path(loader, unit, inclusion.place, inclusion.name, &path);
	if (r < 0)
		return r;
	loader->depth++;
	r = read_unit(loader, path, &inclusion);
	loader->depth--;
	return r;
}

static int take_includes(struct loader *loader, const struct unit *unit)
{
	unsigned int i;
	int r = 0;

	for (i = 0; r == 0 && i < unit->text->include_count; i++)
		r = take_include(loader, unit, i);
	return r;
}

static int take_vars(struct loader *loader, const struct unit *unit)
{
	const struct place *place;
	unsigned int i;
	int r;

	for (i = 0; i < unit->text->vars_count; i++) {
		place = &outline_find(&unit->outline, "vars[%u]", i)->place;
		r = vars_set(&loader->vars, unit->text->vars[i], false, loader->error);
		if (r < 0) {
			error_prefix(loader->error, "%s:%u:%u", place->file, place->line,
				     place->column);
			return r;
		}
	}
	return 0;
}

/* 1: the file was read before. */
static int remember(struct loader *loader, const struct source *source, const char *path,
		    struct read_file **ret_file)
{
	struct read_file *file;
	size_t i;

	for (i = 0; i < loader->nread; i++) {
		file = &loader->read[i];
		if (file->dev != source->dev || file->ino != source->ino)
			continue;
		if (file->open)
			return error_set(loader->error, EINVAL, "%s: includes itself in the end",
					 path);
		return 1;
	}
	if (loader->nread == BH_MAX_INCLUDES)
		return error_set(loader->error, EINVAL, "%s: more than %d files in one policy",
				 path, BH_MAX_INCLUDES);
	file = &loader->read[loader->nread++];
	*file = (struct read_file){source->dev, source->ino, true};
	*ret_file = file;
	return 0;
}

static int parse_unit(struct loader *loader, struct unit *unit)
{
	const struct source *source = &unit->source;
	int r;

	crypto_hash_sha256_update(&loader->digest, (const unsigned char *)source->text,
				  source->length);
	r = outline_read(&unit->outline, unit->path, source->text, source->length, loader->error);
	if (r < 0)
		return r;
	r = source_text(source->text, source->length, &unit->outline, &unit->text, loader->error);
	return r < 0 ? r : settings_check_version(loader, unit);
}

static int take_unit(struct loader *loader, struct unit *unit, bool main_file)
{
	int r = parse_unit(loader, unit);

	if (r < 0)
		return r;
	r = main_file ? settings_take(loader, unit) : settings_check_include(loader, unit);
	if (r < 0)
		return r;
	r = take_vars(loader, unit);
	if (r == 0 && main_file)
		r = environment_take(loader, unit);
	if (r < 0)
		return r;
	r = take_includes(loader, unit);
	if (r < 0)
		return r;
	unit->first_rule = loader->policy->nrules;
	r = rules_take(loader, unit);
	if (r < 0)
		return r;
	r = verify_rules(loader, unit);
	return r < 0 ? r : verify_tests(loader, unit);
}

/* Appends ", base/a, base/b": what a directory has that can be included. Bounded, as an error is. */
static void list_includes(const char *include_dir, const char *directory, char *text, size_t size)
{
	size_t at = strlen(text);
	struct dirent **names = NULL;
	char path[PATH_MAX];
	int n;

	snprintf(path, sizeof(path), "%s/%s", include_dir, directory);
	n = scandir(path, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		size_t length = strlen(names[i]->d_name);

		if (ends_with(names[i]->d_name, ".yaml") && at < size)
			at += (size_t)snprintf(text + at, size - at, "%s%s/%.*s", at ? ", " : "",
					       directory, (int)(length - strlen(".yaml")),
					       names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

/* A shipped include that is not there: which ones are, or where they were looked for. */
static void say_includes(struct loader *loader, int code, const char *name)
{
	const char *directory = loader->options->include_dir;
	char known[512] = "";

	if (code != -ENOENT || !strncmp(name, "./", 2))
		return;
	list_includes(directory, "base", known, sizeof(known));
	list_includes(directory, "deny", known, sizeof(known));
	if (*known)
		error_set(loader->error, ENOENT, "no such file in %s, which has %s", directory,
			  known);
	else
		error_set(loader->error, ENOENT,
			  "there are no includes in %s: set BULKHEAD_POLICIES to the directory "
			  "that has base/",
			  directory);
}

static int given_source(struct loader *loader, struct source *ret)
{
	const char *text = loader->options->text;

	*ret = (struct source){.text = strdup(text), .length = strlen(text)};
	return ret->text ? 0 : no_memory(loader);
}

/* Reads the bytes, unless the file was read before: 1. */
static int open_unit(struct loader *loader, struct unit *unit, const char *path,
		     const struct inclusion *inclusion, struct read_file **ret_file)
{
	bool given = !inclusion && loader->options->text;
	int r = given ? given_source(loader, &unit->source)
		      : source_read(path, &unit->source, loader->error);

	if (r == 0)
		r = remember(loader, &unit->source, path, ret_file);
	if (r < 0 && inclusion)
		say_includes(loader, r, inclusion->name);
	if (r < 0 && inclusion)
		error_prefix(loader->error, "include %s", inclusion->name);
	if (r < 0 && inclusion && inclusion->place)
		error_prefix(loader->error, "%s:%u:%u", inclusion->place->file,
			     inclusion->place->line, inclusion->place->column);
	return r;
}

static int read_unit(struct loader *loader, const char *path, const struct inclusion *inclusion)
{
	_cleanup_(unit_done) struct unit unit = {0};
	struct read_file *file = NULL;
	int r = open_unit(loader, &unit, path, inclusion, &file);

	if (r)
		return r < 0 ? r : 0;
	r = keep_path(loader, path, &unit.path);
	if (r < 0)
		return r;
	r = take_unit(loader, &unit, !inclusion);
	file->open = false;
	return r;
}

static int set_overrides(struct loader *loader)
{
	const char *const *var = loader->options->vars;
	int r = 0;

	for (; var && *var && r == 0; var++)
		r = vars_set(&loader->vars, *var, true, loader->error);
	return r;
}

/* A main file, or with `include` what it would be included by. */
static int load(struct loader *loader, const char *path, const char *include)
{
	const struct place nowhere = {.file = "include", .line = 1, .column = 1};
	const struct unit unit = {.path = ""};
	const struct inclusion inclusion = {NULL, include};
	_cleanup_free_ char *place = NULL;
	int r = set_overrides(loader);

	if (r < 0)
		return r;
	loader->policy->path = strdup(path);
	if (!loader->policy->path)
		return no_memory(loader);
	crypto_hash_sha256_init(&loader->digest);
	if (include)
		r = include_path(loader, &unit, &nowhere, include, &place);
	if (r == 0)
		r = read_unit(loader, include ? place : path, include ? &inclusion : NULL);
	if (r < 0)
		return r;
	crypto_hash_sha256_final(&loader->digest, loader->policy->digest);
	return 0;
}

static int check_unused(struct loader *loader, const char *path)
{
	const char *unused = vars_unused(&loader->vars);

	if (!unused)
		return 0;
	return error_set(loader->error, EINVAL,
			 "%s: variable %s was set for a policy that has none: check its "
			 "name",
			 path, unused);
}

/* What links changed is kept. */
static void keep_written(struct loader *loader)
{
	for (size_t i = 0; i < loader->policy->nrules; i++) {
		struct rule *rule = &loader->policy->rules[i];

		if (strcmp(rule->glob, loader->written[i]) != 0)
			rule->written = TAKE_PTR(loader->written[i]);
	}
}

static void loader_done(struct loader *loader)
{
	size_t i;

	for (i = 0; i < loader->nwritten; i++)
		free(loader->written[i]);
	free(loader->written);
	for (i = 0; i < loader->nlinks; i++)
		free(loader->links[i].path);
	free(loader->links);
	vars_done(&loader->vars);
	policy_free(loader->policy);
	if (loader->resolver.root >= 0)
		close(loader->resolver.root);
}

static int load_any(const char *path, const char *include, const struct policy_options *options,
		    struct policy **ret, struct error *error)
{
	static const struct policy_options no_options;
	struct error unread = {0};
	_cleanup_(loader_done) struct loader loader = {
		.options = options ? options : &no_options,
		.error = error ? error : &unread,
		.policy = calloc(1, sizeof(struct policy)),
		.resolver = {.root = -1, .on_link = links_note},
	};
	const char *root = loader.options->root ? loader.options->root : "/";
	int r;

	if (!loader.policy)
		return no_memory(&loader);
	loader.resolver.data = &loader;
	loader.resolver.root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (loader.resolver.root < 0)
		return error_set(loader.error, errno, "%s: %s", root, strerror(errno));
	r = load(&loader, path, include);
	/* An include does not need to use all that its main file has. */
	if (r == 0 && !include)
		r = check_unused(&loader, path);
	if (r == 0 && !include)
		r = verify_written(&loader);
	if (r == 0 && !include)
		r = verify_links(&loader);
	if (r < 0)
		return r;
	keep_written(&loader);
	*ret = TAKE_PTR(loader.policy);
	return 0;
}

int policy_load(const char *path, const struct policy_options *options, struct policy **ret,
		struct error *error)
{
	return load_any(path, NULL, options, ret, error);
}

int policy_load_include(const char *name, const struct policy_options *options, struct policy **ret,
			struct error *error)
{
	return load_any(name, name, options, ret, error);
}
