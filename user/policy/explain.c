// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "explain.h"

#include <errno.h>
#include <string.h>
#include "base/cleanup.h"

/* --- what the text says --- */

/* Rules that speak of an object and some of the rights asked for: the first of each kind. */
struct hearing {
	const struct rule *deny, *covers_all, *covers_some, *quiet;
	__u32 allowed, denied, quieted;
};

static void hear(struct hearing *hearing, const struct rule *rule, __u32 perms)
{
	__u32 says = rule->perms | (rule->perms & BH_PERM_WRITE ? BH_PERM_APPEND : 0);
	__u32 *const masks[] = {
		[RULE_ALLOW] = &hearing->allowed,
		[RULE_DENY] = &hearing->denied,
		[RULE_QUIET] = &hearing->quieted,
	};
	const struct rule **slot = &hearing->covers_some;

	if (!(says & perms))
		return;
	*masks[rule->effect] |= says & perms;
	if (rule->effect == RULE_DENY)
		slot = &hearing->deny;
	else if (rule->effect == RULE_QUIET)
		slot = &hearing->quiet;
	else if (!hearing->covers_all && !(perms & ~says))
		hearing->covers_all = rule;
	if (!*slot)
		*slot = rule;
}

static const char *name_spoken_of(const struct rule *rule, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (glob_match(rule->glob, names[i], strlen(names[i])))
			return names[i];
	return NULL;
}

static struct hearing hear_all(const struct policy *policy, const char *const *names, size_t n,
			       __u32 perms)
{
	struct hearing hearing = {0};

	for (size_t i = 0; i < policy->nrules; i++)
		if (name_spoken_of(&policy->rules[i], names, n))
			hear(&hearing, &policy->rules[i], perms);
	/* A right that is allowed has no refusal to keep quiet about. */
	hearing.allowed &= ~hearing.denied;
	hearing.quieted &= ~hearing.allowed;
	return hearing;
}

static const struct rule *deciding(const struct hearing *hearing, bool allowed)
{
	if (hearing->deny)
		return hearing->deny;
	if (allowed)
		return hearing->covers_all ? hearing->covers_all : hearing->covers_some;
	return hearing->quiet;
}

const struct rule *policy_explain(const struct policy *policy, const char *path, size_t length,
				  __u32 perms, bool *ret_allowed)
{
	struct hearing hearing = {0};

	for (size_t i = 0; i < policy->nrules; i++)
		if (glob_match(policy->rules[i].glob, path, length))
			hear(&hearing, &policy->rules[i], perms);
	*ret_allowed = perms && !hearing.deny && !(perms & ~hearing.allowed);
	return deciding(&hearing, *ret_allowed);
}

/* --- what no rule can change --- */

struct usual_place {
	const char *point;
	enum bh_sb_class class;
};

/* Without a view. The automaton takes procfs to be at /proc, too. */
static const struct usual_place usual_places[] = {
	{"/proc", BH_SB_PROC},
	{"/sys/fs/cgroup", BH_SB_CGROUP},
	{"/sys/fs/bpf", BH_SB_BPF},
};

/* What follows `point` in `path`; NULL when it is not below it. */
static const char *below(const char *path, const char *point)
{
	size_t n = strlen(point);

	return !strncmp(path, point, n) && (path[n] == '/' || !path[n]) ? path + n : NULL;
}

/* The superblock's kind, and where on it the object stands. */
static enum bh_sb_class class_of(const struct question *question, const char **ret_place)
{
	*ret_place = question->place;
	if (question->sbid)
		return question->class;
	for (size_t i = 0; i < sizeof(usual_places) / sizeof(*usual_places); i++) {
		*ret_place = below(question->names[0], usual_places[i].point);
		if (*ret_place)
			return usual_places[i].class;
	}
	return BH_SB_PLAIN;
}

/* A process's directory, of which only the own one can be had. */
static bool is_closed_process(const struct policy *policy, const char *place)
{
	if (place[0] == '/' && place[1] >= '0' && place[1] <= '9')
		return true;
	return policy->proc == PROC_NONE && below(place, "/self") && strcmp(place, "/self") != 0;
}

static void apply_class(const struct policy *policy, const struct question *question, __u32 allow,
			struct answer *answer)
{
	const char *place;
	enum bh_sb_class class = class_of(question, &place);

	if (class == BH_SB_BPF)
		answer->reason = BH_REASON_CLOSED;
	if (class == BH_SB_PROC && is_closed_process(policy, place))
		answer->reason = BH_REASON_PROC_OTHER;
	if (class == BH_SB_CGROUP)
		answer->taken = allow & question->perms & ~(__u32)BH_PERM_READ;
	if (answer->reason || answer->taken)
		answer->rule = answer->hush = NULL;
}

/* --- both --- */

static int compare(const struct hearing *hearing, __u32 allow, __u32 quiet,
		   const struct question *question, struct error *error)
{
	char text[128], table[128];

	if (allow == hearing->allowed && quiet == hearing->quieted)
		return 0;
	return error_set(error, EBADE,
			 "internal error, please report it: of %s the rules allow \"%s\" and the "
			 "compiled policy allows \"%s\" (kept quiet: %#x and %#x)",
			 question->names[0], perms_to_text(hearing->allowed, text, sizeof(text)),
			 perms_to_text(allow, table, sizeof(table)), hearing->quieted, quiet);
}

int policy_answer(const struct policy *policy, const struct automaton *automaton,
		  const struct question *question, struct answer *ret, struct error *error)
{
	const struct hearing hearing =
		hear_all(policy, question->names, question->nnames, question->perms);
	const char *place = question->sbid ? question->place : question->names[0];
	__u32 allow = 0, quiet = 0, missing;
	struct answer answer = {0};
	int r = automaton_walk(automaton, question->sbid, place, strlen(place), &allow, &quiet);

	if (r < 0) {
		*ret = (struct answer){.reason = BH_REASON_UNSURE_SB};
		return 0;
	}
	allow &= question->perms;
	quiet &= question->perms;
	r = compare(&hearing, allow, quiet, question, error);
	if (r < 0)
		return r;
	answer.rule = deciding(&hearing, automaton_allows(allow, question->perms));
	answer.hush = hearing.quiet;
	apply_class(policy, question, allow, &answer);
	missing = question->perms & ~(allow & ~answer.taken);
	answer.allowed = !answer.reason && automaton_allows(allow & ~answer.taken, question->perms);
	answer.quiet = !answer.allowed && !answer.reason && !(missing & ~quiet);
	if (!answer.quiet)
		answer.hush = NULL;
	if (!answer.allowed && !answer.reason)
		answer.reason = BH_REASON_NO_RULE;
	if (answer.rule)
		answer.name = name_spoken_of(answer.rule, question->names, question->nnames);
	*ret = answer;
	return 0;
}

/* --- words --- */

/* A component that no file is called by. */
static bool is_dots(const char *component, size_t n)
{
	return n == 0 || (n == 1 && component[0] == '.') || (n == 2 && !memcmp(component, "..", 2));
}

static int check_components(const char *path, struct error *error)
{
	size_t n;

	for (const char *p = path; *p && path[1]; p += n) {
		n = strcspn(++p, "/");
		if (is_dots(p, n))
			return error_set(error, EINVAL,
					 "%s: write the place itself, without . and .. and without "
					 "a slash too many",
					 path);
	}
	return 0;
}

int policy_check_path(const char *path, __u32 perms, struct error *error)
{
	if (strlen(path) > BH_MAX_PATH)
		return error_set(error, EINVAL, "a path of more than %d bytes", BH_MAX_PATH);
	if (path[0] == '@' && path[1] && perms == BH_PERM_CONNECT)
		return 0;
	if (path[0] == '@')
		return error_set(error, EINVAL,
				 "%s is an abstract socket: it has a name, and connect is all that "
				 "can be asked about it",
				 path);
	if (path[0] != '/')
		return error_set(
			error, EINVAL,
			"\"%s\" is not absolute: write /dir/name, or @name for an abstract "
			"socket",
			path);
	return check_components(path, error);
}

/* Names below /proc/self that are links for who follows them. */
static const char *const proc_links[] = {"/root", "/cwd", "/exe", "/fd", "/map_files", "/ns"};

const char *policy_note_proc(const char *path)
{
	const char *rest = below(path, "/proc");

	if (!rest || !*rest)
		return NULL;
	if (below(rest, "/thread-self"))
		return "of each thread: the kernel judges /proc/self/task/TID instead";
	if (rest[1] >= '0' && rest[1] <= '9')
		return "/proc/PID of another process is never opened; of its own, a process is "
		       "judged as for /proc/self";
	rest = below(rest, "/self");
	for (size_t i = 0; rest && i < sizeof(proc_links) / sizeof(*proc_links); i++)
		if (below(rest, proc_links[i]))
			return "what this link of procfs leads to stands elsewhere, is judged "
			       "there, "
			       "and was not asked about here";
	return NULL;
}

int perms_from_list(const char *text, __u32 *ret, struct error *error)
{
	_cleanup_free_ char *words = strdup(text);
	char *rest = words, *word, known[256];
	__u32 perms = 0, perm;

	if (!words)
		return error_set(error, ENOMEM, "out of memory");
	while ((word = strsep(&rest, ","))) {
		perm = perm_from_text(word);
		if (!perm)
			return error_set(error, EINVAL,
					 "no right is called \"%s\": write some of %s", word,
					 perms_to_text(BH_PERM_ALL, known, sizeof(known)));
		perms |= perm;
	}
	*ret = perms;
	return 0;
}
