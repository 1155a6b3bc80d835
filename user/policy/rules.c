// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "glob.h"
#include "grow.h"

/* Running a file means reading it, mapping it executable, and being the program. */
#define EXEC_PERMS (BH_PERM_EXEC | BH_PERM_MAP_EXEC | BH_PERM_READ)

/* Globs that share an effect and rights, and where they stand. */
struct clause {
	enum rule_effect effect;
	__u32 perms;
	bool links; /* older hard links too */
	char **globs;
	unsigned int count;
	const char *path; /* of the list: "files[3].on" */
};

static int prefix_place(struct loader *loader, const struct place *place, int r)
{
	error_prefix(loader->error, "%s:%u:%u", place->file, place->line, place->column);
	return r;
}

static int check_glob(struct loader *loader, const struct place *place, const char *glob,
		      const char *written)
{
	const char *reason;
	size_t offset;

	if (glob_check(glob, &offset, &reason) == 0)
		return 0;
	if (glob == written)
		return error_at(loader->error, place, "\"%.200s\" at byte %zu: %s", glob,
				offset + 1, reason);
	return error_at(loader->error, place, "\"%.200s\" leads to \"%.200s\": %s", written, glob,
			reason);
}

/* Links behind a brace would not be followed, and the rule would name nothing. */
static int check_branch(const struct glob_branch *branch, void *context)
{
	_cleanup_free_ char *resolved = NULL;
	struct loader *loader = context;
	int r = resolve_glob(&loader->resolver, branch->text, &resolved, loader->error);

	if (r < 0 || !strcmp(branch->text, resolved))
		return r;
	return error_set(loader->error, EINVAL,
			 "%s leads to %s, which braces hide: write that place, or the directory in "
			 "front of the braces",
			 branch->text, resolved);
}

int rules_read_glob(struct loader *loader, const struct place *place, const char *text,
		    char **ret_glob, char **ret_written)
{
	_cleanup_free_ char *written = NULL, *glob = NULL;
	int r = vars_expand(&loader->vars, text, &written, loader->error);

	if (r < 0)
		return prefix_place(loader, place, r);
	r = check_glob(loader, place, written, written);
	if (r < 0)
		return r;
	r = resolve_glob(&loader->resolver, written, &glob, loader->error);
	if (r < 0)
		return prefix_place(loader, place, r);
	r = check_glob(loader, place, glob, written);
	if (r < 0)
		return r;
	if (strchr(glob, '{'))
		r = glob_expand(glob, check_branch, loader);
	if (r < 0)
		return prefix_place(loader, place, r);
	*ret_glob = TAKE_PTR(glob);
	if (ret_written)
		*ret_written = TAKE_PTR(written);
	return 0;
}

static int push_rule(struct loader *loader, const struct clause *clause, const struct place *place,
		     char *glob, char *written)
{
	struct policy *policy = loader->policy;

	if (policy->nrules >= BH_MAX_RULES)
		return error_at(loader->error, place,
				"more than %d rules: write ** or * for what is alike",
				BH_MAX_RULES);
	loader->nbranches += glob_branches(glob);
	if (loader->nbranches > BH_MAX_GLOBS)
		return error_at(loader->error, place,
				"more than %d globs, braces written out: write * or fewer braces",
				BH_MAX_GLOBS);
	if (grow(&policy->rules, &loader->rules_size, policy->nrules + 1) < 0 ||
	    grow(&loader->written, &loader->written_size, policy->nrules + 1) < 0)
		return error_set(loader->error, ENOMEM, "no memory for rules");
	loader->written[loader->nwritten++] = written;
	policy->rules[policy->nrules++] = (struct rule){
		.effect = clause->effect,
		.perms = clause->perms,
		.links = clause->effect == RULE_ALLOW && (clause->links || policy->hardlinks),
		.glob = glob,
		.place = *place,
	};
	return 0;
}

static int add_glob(struct loader *loader, const struct clause *clause, const struct place *place,
		    const char *text)
{
	_cleanup_free_ char *glob = NULL, *written = NULL;
	int r;

	loader->reading = place;
	r = rules_read_glob(loader, place, text, &glob, &written);
	loader->reading = NULL;
	if (r < 0)
		return r;
	if (glob[0] == '@' && clause->perms & ~(__u32)BH_PERM_CONNECT)
		return error_at(loader->error, place,
				"%s is an abstract socket: write it under unix: connect", glob);
	r = push_rule(loader, clause, place, glob, written);
	if (r == 0) {
		(void)TAKE_PTR(glob);
		(void)TAKE_PTR(written);
	}
	return r;
}

static int add_clause(struct loader *loader, const struct unit *unit, const struct clause *clause)
{
	const struct outline_entry *entry;
	unsigned int i;
	int r = 0;

	for (i = 0; r == 0 && i < clause->count; i++) {
		entry = outline_find(&unit->outline, "%s[%u]", clause->path, i);
		r = add_glob(loader, clause, &entry->place, clause->globs[i]);
	}
	return r;
}

/* A list of rights under `path`. */
static int read_perms(struct loader *loader, const struct unit *unit, const char *path,
		      char *const *words, unsigned int count, __u32 *ret_perms)
{
	const struct outline_entry *entry;
	char known[256];
	__u32 perms = 0;
	unsigned int i;

	for (i = 0; i < count; i++) {
		__u32 perm = perm_from_text(words[i]);

		entry = outline_find(&unit->outline, "%s[%u]", path, i);
		if (perm == BH_PERM_JIT)
			return error_at(loader->error, &entry->place,
					"jit belongs to a program: write exec: [{on: [...], jit: "
					"true}]");
		if (!perm)
			return error_at(loader->error, &entry->place,
					"unknown right \"%s\": write some of %s", words[i],
					perms_to_text(BH_PERM_ALL & ~BH_PERM_JIT, known,
						      sizeof(known)));
		perms |= perm;
	}
	if (perms & BH_PERM_WRITE)
		perms |= BH_PERM_APPEND;
	*ret_perms = perms;
	return 0;
}

static int refuse_rule(struct loader *loader, const struct unit *unit, const char *list,
		       unsigned int i, const char *reason)
{
	return error_at(loader->error, &outline_find(&unit->outline, "%s[%u]", list, i)->place,
			"%s", reason);
}

/* hardlinks: of the entry at `list`[i]. */
static int read_links(struct loader *loader, const struct unit *unit, const char *list,
		      unsigned int i, const char *word, bool *ret)
{
	const struct outline_entry *entry =
		outline_find(&unit->outline, "%s[%u].hardlinks", list, i);
	int links = 0;
	int r = 0;

	if (word)
		r = settings_choose(loader, &entry->place, "hardlinks", word, settings_hardlinks,
				    &links);
	*ret = links;
	return r;
}

static int take_file_rule(struct loader *loader, const struct unit *unit, unsigned int i)
{
	const struct text_rule *rule = &unit->text->files[i];
	const struct {
		const char *key;
		char *const *words;
		unsigned int count;
	} effects[] = {
		[RULE_ALLOW] = {"allow", rule->allow, rule->allow_count},
		[RULE_DENY] = {"deny", rule->deny, rule->deny_count},
		[RULE_QUIET] = {"quiet", rule->quiet, rule->quiet_count},
		[RULE_AUDIT] = {"audit", rule->audit, rule->audit_count},
		[RULE_TRIPWIRE] = {"tripwire", rule->tripwire, rule->tripwire_count},
	};
	char rights_path[64], path[64];
	struct clause clause = {.globs = rule->on, .count = rule->on_count, .path = path};
	unsigned int e, given = 0;
	int r;

	for (e = 0; e < sizeof(effects) / sizeof(*effects); e++) {
		if (effects[e].words) {
			clause.effect = (enum rule_effect)e;
			given++;
		}
	}
	if (given != 1)
		return refuse_rule(loader, unit, "files", i,
				   "write one of allow, deny, quiet, audit and tripwire: one rule, "
				   "one effect");
	if (rule->hardlinks && !rule->allow)
		return refuse_rule(loader, unit, "files", i,
				   "hardlinks is for what is allowed: write it beside an allow");
	if (!rule->on)
		return refuse_rule(loader, unit, "files", i,
				   "no files: write on: [...], the globs it is about");
	snprintf(path, sizeof(path), "files[%u].on", i);
	snprintf(rights_path, sizeof(rights_path), "files[%u].%s", i, effects[clause.effect].key);
	r = read_perms(loader, unit, rights_path, effects[clause.effect].words,
		       effects[clause.effect].count, &clause.perms);
	if (r == 0)
		r = read_links(loader, unit, "files", i, rule->hardlinks, &clause.links);
	return r < 0 ? r : add_clause(loader, unit, &clause);
}

/* A key of an exec rule that is true, false or not there. */
struct flag {
	const char *key, *word;
	__u32 perm;
};

static int add_flag(struct loader *loader, const struct unit *unit, unsigned int i,
		    const struct flag *flag, __u32 *perms)
{
	int is_set = 0, r = 0;

	if (flag->word)
		r = settings_choose(
			loader, &outline_find(&unit->outline, "exec[%u].%s", i, flag->key)->place,
			flag->key, flag->word, settings_truth, &is_set);
	*perms |= is_set ? flag->perm : 0;
	return r;
}

static int take_exec_rule(struct loader *loader, const struct unit *unit, unsigned int i)
{
	const struct text_exec *exec = &unit->text->exec[i];
	char path[64];
	struct clause clause = {
		.effect = RULE_ALLOW,
		.perms = EXEC_PERMS,
		.globs = exec->on,
		.count = exec->on_count,
		.path = path,
	};
	int r;

	if (!exec->on)
		return refuse_rule(loader, unit, "exec", i,
				   "no programs: write on: [...], the programs it is about");
	r = add_flag(loader, unit, i, &(struct flag){"jit", exec->jit, BH_PERM_JIT}, &clause.perms);
	if (r == 0)
		r = add_flag(loader, unit, i,
			     &(struct flag){"written-inside", exec->written_inside,
					    BH_RULE_WRITTEN_INSIDE},
			     &clause.perms);
	if (r == 0)
		r = read_links(loader, unit, "exec", i, exec->hardlinks, &clause.links);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "exec[%u].on", i);
	return add_clause(loader, unit, &clause);
}

static int take_unix(struct loader *loader, const struct unit *unit)
{
	const struct text_unix *sockets = unit->text->unix_sockets;
	int r;

	if (!sockets)
		return 0;
	r = add_clause(loader, unit,
		       &(struct clause){.effect = RULE_ALLOW,
					.perms = BH_PERM_CONNECT,
					.globs = sockets->connect,
					.count = sockets->connect_count,
					.path = "unix.connect"});
	if (r < 0)
		return r;
	return add_clause(loader, unit,
			  &(struct clause){.effect = RULE_QUIET,
					   .perms = BH_PERM_CONNECT,
					   .globs = sockets->quiet,
					   .count = sockets->quiet_count,
					   .path = "unix.quiet"});
}

int rules_take(struct loader *loader, const struct unit *unit)
{
	unsigned int i;
	int r = 0;

	for (i = 0; r == 0 && i < unit->text->files_count; i++)
		r = take_file_rule(loader, unit, i);
	for (i = 0; r == 0 && i < unit->text->exec_count; i++)
		r = take_exec_rule(loader, unit, i);
	return r < 0 ? r : take_unix(loader, unit);
}
