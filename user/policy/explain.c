// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "explain.h"

#include <errno.h>
#include <string.h>
#include "base/cleanup.h"
#include "links.h"

/* --- what the text says --- */

/* Rules that speak of an object and some of the rights asked for: the first of each effect. */
struct hearing {
	const struct rule *first[RULE_EFFECTS], *covers_all;
	const struct rule *runs;  /* the first that allows to run it, as is asked for */
	__u32 says[RULE_EFFECTS]; /* of all rights */
	__u32 perms;		  /* asked for */
};

static void hear(struct hearing *hearing, const struct rule *rule)
{
	__u32 says = rule->perms | (rule->perms & BH_PERM_WRITE ? BH_PERM_APPEND : 0);
	__u32 perms = hearing->perms;

	hearing->says[rule->effect] |= says;
	if (!(says & perms))
		return;
	if (!hearing->first[rule->effect])
		hearing->first[rule->effect] = rule;
	if (rule->effect == RULE_ALLOW && !hearing->runs && says & perms & RIGHTS_TO_RUN)
		hearing->runs = rule;
	if (rule->effect == RULE_ALLOW && !hearing->covers_all && !(perms & ~says))
		hearing->covers_all = rule;
}

/* What rules allow and none denies. */
static __u32 given(const struct hearing *hearing)
{
	return hearing->says[RULE_ALLOW] &
	       ~(hearing->says[RULE_DENY] | hearing->says[RULE_TRIPWIRE]);
}

/* Of the rights asked for. */
static struct bh_masks masks_of(const struct hearing *hearing)
{
	const __u32 *says = hearing->says, perms = hearing->perms;
	__u32 allow = rights_in_force(given(hearing));

	return (struct bh_masks){
		.allow = allow & perms,
		/* A right that is allowed has no refusal to keep quiet about. */
		.quiet = says[RULE_QUIET] & ~allow & ~says[RULE_TRIPWIRE] & perms,
		.audit = says[RULE_AUDIT] & allow & perms,
		.tripwire = says[RULE_TRIPWIRE] & perms,
	};
}

/* Is it refused because it may have been written inside? */
static bool is_written(const struct hearing *hearing)
{
	return hearing->perms & given(hearing) & ~rights_in_force(given(hearing));
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
	struct hearing hearing = {.perms = perms};

	for (size_t i = 0; i < policy->nrules; i++)
		if (name_spoken_of(&policy->rules[i], names, n))
			hear(&hearing, &policy->rules[i]);
	return hearing;
}

static const struct rule *deciding(const struct hearing *hearing, bool allowed)
{
	if (hearing->first[RULE_TRIPWIRE])
		return hearing->first[RULE_TRIPWIRE];
	if (hearing->first[RULE_DENY])
		return hearing->first[RULE_DENY];
	if (allowed)
		return hearing->covers_all ? hearing->covers_all : hearing->first[RULE_ALLOW];
	return is_written(hearing) ? hearing->runs : hearing->first[RULE_QUIET];
}

const struct rule *policy_explain(const struct policy *policy, const char *path, size_t length,
				  __u32 perms, bool *ret_allowed)
{
	struct hearing hearing = {.perms = perms};

	for (size_t i = 0; i < policy->nrules; i++)
		if (glob_match(policy->rules[i].glob, path, length))
			hear(&hearing, &policy->rules[i]);
	*ret_allowed = automaton_allows(masks_of(&hearing).allow, perms);
	return deciding(&hearing, *ret_allowed);
}

const struct rule *policy_watching(const struct policy *policy, const char *path, size_t length,
				   __u32 perms)
{
	for (size_t i = 0; i < policy->nrules; i++) {
		const struct rule *rule = &policy->rules[i];

		if (rule->effect == RULE_AUDIT && rule->perms & perms &&
		    glob_match(rule->glob, path, length))
			return rule;
	}
	return NULL;
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
	{"/sys/kernel/debug", BH_SB_DEBUG},
	{"/sys/kernel/tracing", BH_SB_DEBUG},
	{"/sys/kernel/security", BH_SB_DEBUG},
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

/* A process's directory, where the question is not asked of /proc/self, as which those are judged that can
 * be had. */
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
	if (class == BH_SB_DEBUG)
		answer->taken = allow & question->perms;
	answer->class = class;
	if (answer->reason || answer->taken)
		answer->rule = answer->hush = NULL;
}

/* --- both --- */

static int compare(const struct hearing *hearing, const struct bh_masks *masks,
		   const struct question *question, struct error *error)
{
	const struct bh_masks heard = masks_of(hearing);
	char text[128], table[128];

	if (!memcmp(&heard, masks, sizeof(heard)))
		return 0;
	return error_set(error, EBADE,
			 "internal error, please report it: of %s the rules allow \"%s\" and the "
			 "compiled policy allows \"%s\" (quiet: %#x and %#x, audit: %#x and %#x, "
			 "tripwire: %#x and %#x)",
			 question->names[0], perms_to_text(heard.allow, text, sizeof(text)),
			 perms_to_text(masks->allow, table, sizeof(table)), heard.quiet,
			 masks->quiet, heard.audit, masks->audit, heard.tripwire, masks->tripwire);
}

/* What the automaton says of the rights that are asked for. */
static int walk(const struct automaton *automaton, const struct question *question,
		struct bh_masks *ret, struct bh_masks *ret_raw)
{
	const char *place = question->sbid ? question->place : question->names[0];
	int r = automaton_walk(automaton, question->sbid, place, strlen(place), ret);

	*ret_raw = *ret;
	ret->allow &= question->perms;
	ret->quiet &= question->perms;
	ret->audit &= question->perms;
	ret->tripwire &= question->perms;
	return r;
}

/* Of what is refused: quietly, by which reason. */
static void say_no(const struct bh_masks *masks, __u32 missing, struct answer *answer)
{
	answer->quiet = !masks->tripwire && !(missing & ~masks->quiet);
	answer->reason = masks->tripwire ? BH_REASON_TRIPWIRE : BH_REASON_NO_RULE;
}

/* --- files with several names --- */

static int add_pattern(const struct denial *denial, void *context)
{
	__u32 *patterns = context;

	*patterns |= denial->is_name ? 0 : denial->perms;
	return 0;
}

/* Without a view every pattern is taken to concern the file. */
static int patterns_of(const struct policy *policy, const struct automaton *automaton, __u32 sbid,
		       __u32 *ret)
{
	*ret = 0;
	if (!sbid)
		return policy_denials(policy->rules, policy->nrules, add_pattern, ret);
	for (size_t i = 0; i < automaton->nstarts; i++)
		if (automaton->starts[i].sbid == sbid)
			*ret = automaton->starts[i].start.patterns;
	return 0;
}

/* As bh_place_links does: what the rules allow by this name and other names may deny. */
static int hide(const struct policy *policy, const struct automaton *automaton,
		const struct question *question, const struct bh_masks *masks,
		struct answer *answer, __u32 *allow)
{
	__u32 patterns = 0, asked = *allow & question->perms;
	int r = 0;

	if (!question->linked)
		return 0;
	if (!(masks->allow & BH_PERM_LINKS))
		r = patterns_of(policy, automaton, question->sbid, &patterns);
	if (masks->quiet & BH_PERM_LINKS)
		patterns |= BH_PERM_DELETE;
	*allow &= ~(patterns | question->pinned);
	if (!answer->reason && asked & question->pinned)
		answer->reason = BH_REASON_PINNED;
	else if (!answer->reason && asked & patterns)
		answer->reason = BH_REASON_OLD_LINK;
	return r;
}

int policy_answer(const struct policy *policy, const struct automaton *automaton,
		  const struct question *question, struct answer *ret, struct error *error)
{
	const struct hearing hearing =
		hear_all(policy, question->names, question->nnames, question->perms);
	struct bh_masks masks = {0}, raw = {0};
	struct answer answer = {0};
	__u32 allow;
	int r = walk(automaton, question, &masks, &raw);

	if (r < 0) {
		*ret = (struct answer){.reason = BH_REASON_UNSURE_SB};
		return 0;
	}
	r = compare(&hearing, &masks, question, error);
	if (r < 0)
		return r;
	answer.rule = deciding(&hearing, automaton_allows(masks.allow, question->perms));
	answer.hush = hearing.first[RULE_QUIET];
	apply_class(policy, question, masks.allow, &answer);
	allow = masks.allow & ~answer.taken;
	if (automaton_allows(allow, question->perms))
		r = hide(policy, automaton, question, &raw, &answer, &allow);
	if (r < 0)
		return error_set(error, ENOMEM, "out of memory");
	answer.allowed = !answer.reason && automaton_allows(allow, question->perms);
	if (!answer.allowed && !answer.reason)
		say_no(&masks, question->perms & ~allow, &answer);
	if (!answer.quiet)
		answer.hush = NULL;
	if (answer.allowed && masks.audit)
		answer.watch = hearing.first[RULE_AUDIT];
	answer.written = answer.reason == BH_REASON_NO_RULE && answer.rule &&
			 answer.rule->effect == RULE_ALLOW;
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

static const char *const note_others[] = {
	[PROC_NONE] = "proc: none opens no process's directory",
	[PROC_SELF] =
		"/proc/PID of another process is never opened; of its own, a process is judged as "
		"for /proc/self",
	[PROC_COMPARTMENT] =
		"/proc/PID of who stands in the compartment's cgroup is judged as "
		"/proc/self, any other is never opened; --as-seen-by tells which it is",
};

const char *policy_note_proc(enum proc_view view, const char *path)
{
	const char *rest = below(path, "/proc");

	if (!rest || !*rest)
		return NULL;
	if (below(rest, "/thread-self"))
		return "of each thread: the kernel judges /proc/self/task/TID instead";
	if (rest[1] >= '0' && rest[1] <= '9')
		return note_others[view];
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
