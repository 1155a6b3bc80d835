// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A question about a path, answered as an object that people and programs are shown alike. */
#include "explain.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include "audit/escape.h"
#include "audit/event.h"
#include "audit/names.h"
#include "compart/locate.h"
#include "policy/explain.h"
#include "policy/links.h"

/* What an inquiry gathers on its way. */
struct findings {
	const struct inquiry *inquiry;
	json_t *answer;
	struct automaton automaton;
	struct mounts mounts;
	struct location location;
	char root[64]; /* of a member, whose eyes it is seen through; "" */
	char *path;    /* with links followed */
	const char *names[1];
	struct question question;
};

static void findings_done(struct findings *f)
{
	json_decref(f->answer);
	automaton_done(&f->automaton);
	mounts_done(&f->mounts);
	location_done(&f->location);
	free(f->path);
}

void explain_note(json_t *answer, const char *format, ...)
{
	_cleanup_free_ char *text = NULL, *line = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	/* Names of files are in it, as they are. */
	line = text ? escape_line(text) : NULL;
	if (line)
		json_array_append_new(json_object_get(answer, "notes"), json_string(line));
}

bool explain_is_allowed(const json_t *answer)
{
	return !strcmp(text_of(answer, "verdict"), "allowed");
}

/* --- verdicts and rules --- */

static json_t *rule_json(const struct rule *rule)
{
	if (!rule)
		return json_null();
	return json_pack("{s:s, s:o, s:o, s:o, s:I, s:I}", "effect", effect_name(rule->effect),
			 "rights", perms_record(rule->perms), "glob", text_json(rule->glob), "file",
			 text_json(rule->place.file), "line", (json_int_t)rule->place.line,
			 "column", (json_int_t)rule->place.column);
}

/* As in records of events: that a deny rule said no is another word than that none said yes. */
static bool is_denied(const struct answer *answer)
{
	return answer->reason == BH_REASON_NO_RULE && answer->rule &&
	       answer->rule->effect == RULE_DENY;
}

static const char *reason_of(const struct findings *f, const struct answer *answer)
{
	if (answer->written)
		return "it may have been written inside, and written-inside: true is not on";
	if (answer->taken && answer->class == BH_SB_DEBUG)
		return "debugfs, tracefs and securityfs are never opened, whatever the rules say";
	if (answer->taken)
		return "a cgroup filesystem is read and never written, whatever the rules say";
	if (answer->reason == BH_REASON_PROC_OTHER && f->inquiry->policy->proc == PROC_NONE)
		return "proc: none opens no process's directory, not even the own";
	if (is_denied(answer))
		return "a rule of the policy denies it";
	return answer->reason ? reason_text(answer->reason) : NULL;
}

static const char *reason_word(const struct answer *answer)
{
	if (is_denied(answer))
		return "denied";
	if (answer->written)
		return "written-inside";
	return answer->reason ? reason_name(answer->reason) : NULL;
}

/* The fields that the whole question and each of its rights have alike. */
static json_t *answer_json(const struct findings *f, const struct answer *answer)
{
	return json_pack("{s:s, s:b, s:s?, s:s?, s:o, s:o, s:o, s:o}", "verdict",
			 answer->allowed ? "allowed" : "refused", "quiet", answer->quiet, "reason",
			 reason_word(answer), "reason_text", reason_of(f, answer), "rule",
			 rule_json(answer->rule), "quiet_rule", rule_json(answer->hush),
			 "audit_rule", rule_json(answer->watch), "name", text_json(answer->name));
}

static int ask(struct findings *f, __u32 perms, struct answer *ret, struct error *error)
{
	f->question.perms = perms;
	return policy_answer(f->inquiry->policy, &f->automaton, &f->question, ret, error);
}

static int answer_each(struct findings *f, struct error *error)
{
	json_t *each = json_array();
	struct answer answer;
	char word[16];
	int r = 0;

	json_object_set_new(f->answer, "each", each);
	for (__u32 bit = 1; r == 0 && bit & BH_PERM_ALL; bit <<= 1) {
		json_t *row;

		if (!(f->inquiry->perms & bit))
			continue;
		r = ask(f, bit, &answer, error);
		if (r < 0)
			return r;
		row = answer_json(f, &answer);
		json_object_set_new(row, "right",
				    json_string(perms_to_text(bit, word, sizeof(word))));
		json_array_append_new(each, row);
	}
	return r;
}

struct companion {
	__u32 perm;
	const char *text;
};

/* What else is worth to be known of a program. */
static const struct companion companions[] = {
	{BH_PERM_INTERP, "it may be opened as the interpreter of a program or script (interp)"},
	{BH_PERM_JIT, "as a program it may have writable and executable memory (jit)"},
};

static int note_program(struct findings *f, struct error *error)
{
	struct answer answer;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(companions) / sizeof(*companions); i++) {
		if (!(f->inquiry->perms & BH_PERM_EXEC) || f->inquiry->perms & companions[i].perm)
			continue;
		r = ask(f, companions[i].perm, &answer, error);
		if (r == 0 && answer.allowed)
			explain_note(f->answer, "%s: %s:%u:%u", companions[i].text,
				     answer.rule->place.file, answer.rule->place.line,
				     answer.rule->place.column);
	}
	return r;
}

static int answer_question(struct findings *f, struct error *error)
{
	const char *note = policy_note_proc(f->inquiry->policy->proc, f->question.names[0]);
	_cleanup_json_ json_t *whole = NULL;
	struct answer answer;
	int r = ask(f, f->inquiry->perms, &answer, error);

	if (r < 0)
		return r;
	whole = answer_json(f, &answer);
	json_object_update(f->answer, whole);
	r = answer_each(f, error);
	if (r == 0)
		r = note_program(f, error);
	if (note)
		explain_note(f->answer, "%s", note);
	if (f->inquiry->policy->mode == BH_MODE_AUDIT)
		explain_note(f->answer,
			     "the policy's mode is audit: what it refuses is reported and "
			     "goes through");
	return r;
}

/* --- from the path to the place --- */

static void on_link(const char *link, const char *target, void *data)
{
	struct findings *f = data;

	json_array_append_new(json_object_get(f->answer, "links"),
			      json_pack("{s:o, s:o}", "link", text_json(link), "target",
					text_json(target)));
}

/* Done to a name, and not to what it leads to. */
#define OF_THE_NAME (BH_PERM_DELETE | BH_PERM_LINK)

static int resolve(struct findings *f, const char *root, struct error *error)
{
	const __u32 perms = f->inquiry->perms;
	struct policy_resolve_options options = {
		.root = root, .keep_last = perms & OF_THE_NAME, .on_link = on_link, .data = f};
	_cleanup_free_ char *end = NULL;
	int r;

	if (f->inquiry->literal) {
		f->path = strdup(f->inquiry->path);
		return f->path ? 0 : error_set(error, ENOMEM, "out of memory");
	}
	r = policy_resolve(&options, f->inquiry->path, &f->path, error);
	if (r < 0 || !options.keep_last || !(perms & ~(OF_THE_NAME | BH_PERM_CREATE)))
		return r;
	options = (struct policy_resolve_options){.root = root};
	r = policy_resolve(&options, f->inquiry->path, &end, error);
	if (r == 0 && strcmp(end, f->path) != 0)
		return error_set(error, EINVAL,
				 "%s is a link: delete and link are about the link itself, other "
				 "rights about %s: ask for them one by one",
				 f->path, end);
	return r;
}

static int follow_path(struct findings *f, const char *root, struct error *error)
{
	int r = resolve(f, root, error);

	if (r == 0)
		r = policy_check_path(f->path, f->inquiry->perms, error);
	if (r == 0)
		json_object_set_new(f->answer, "resolved", text_json(f->path));
	return r;
}

static json_t *names_json(char *const *names, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, text_json(names[i]));
	return array;
}

static json_t *place_json(const struct findings *f, pid_t pid, size_t tables)
{
	const struct location *l = &f->location;

	return json_pack("{s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:b, s:o}", "cgroup",
			 text_json(f->inquiry->cgroup), "pid", (json_int_t)pid, "mount_tables",
			 (json_int_t)tables, "mount", text_json(l->point), "mount_root",
			 text_json(l->root), "filesystem", text_json(l->type), "path",
			 text_json(l->place), "exists", l->exists, "names",
			 names_json(l->names, l->nnames));
}

/* The kernel judges a member's directory in procfs as /proc/self, if the policy says so. An event says itself
 * what it was judged as. */
static int find_process(struct findings *f)
{
	if (f->inquiry->policy->proc != PROC_COMPARTMENT || f->inquiry->literal ||
	    !location_is_member(&f->mounts, &f->location, f->inquiry->cgroup))
		return 0;
	explain_note(f->answer, "of a process of the compartment: judged as /proc/self");
	return location_as_self(&f->location);
}

/* The view as the kernel has it: the path's superblock, and where it stands there. */
static int map_path(struct findings *f, struct error *error)
{
	struct location *l = &f->location;
	size_t tables = 0;
	pid_t pid;
	int r = mounts_of_cgroup(f->inquiry->cgroup, &f->mounts, error);

	if (r < 0)
		return r;
	pid = mounts_member(&f->mounts, &tables);
	snprintf(f->root, sizeof(f->root), "/proc/%d/root", (int)pid);
	r = follow_path(f, f->root, error);
	if (r < 0 || f->path[0] == '@')
		return r;
	r = location_find(&f->mounts, f->path, l, error);
	if (r < 0)
		return r;
	json_object_set_new(f->answer, "place", place_json(f, pid, tables));
	r = find_process(f);
	if (r < 0)
		return error_set(error, -r, "out of memory");
	f->question = (struct question){.names = (const char *const *)l->names,
					.nnames = l->nnames,
					.sbid = l->sbid,
					.class = l->class,
					.place = l->place};
	return 0;
}

static int find_place(struct findings *f, struct error *error)
{
	int r = f->inquiry->cgroup ? map_path(f, error) : follow_path(f, NULL, error);

	if (r < 0 || f->question.nnames)
		return r;
	f->names[0] = f->path;
	f->question = (struct question){.names = f->names, .nnames = 1, .place = f->path};
	return 0;
}

/* --- other names of the file --- */

static int stat_seen(const struct findings *f, const char *path, struct stat *ret)
{
	_cleanup_free_ char *seen = NULL;

	if (asprintf(&seen, "%s%s", f->root, path) < 0) {
		seen = NULL;
		return -ENOMEM;
	}
	return lstat(seen, ret) < 0 ? -errno : 0;
}

struct other_names {
	struct findings *f;
	struct stat st;
};

static int compare_denied(const struct denial *denial, void *context)
{
	struct other_names *others = context;
	struct stat st;

	if (!denial->is_name || !strcmp(denial->path, others->f->path) ||
	    stat_seen(others->f, denial->path, &st) || st.st_dev != others->st.st_dev ||
	    st.st_ino != others->st.st_ino)
		return 0;
	others->f->question.pinned |= denial->perms;
	explain_note(others->f->answer, "%s is the same file, and a rule denies that",
		     denial->path);
	return 0;
}

/* Which of them members made, nobody but the kernel programs knows. */
static int look_for_links(struct findings *f)
{
	const struct policy *policy = f->inquiry->policy;
	struct other_names others = {.f = f};

	if (f->path[0] != '/' || stat_seen(f, f->path, &others.st) || !S_ISREG(others.st.st_mode) ||
	    others.st.st_nlink < 2)
		return 0;
	f->question.linked = true;
	explain_note(f->answer,
		     "the file has %lu names: this is said of hard links that were not made in the "
		     "compartment; those that were are judged by their own name alone",
		     (unsigned long)others.st.st_nlink);
	return policy_denials(policy->rules, policy->nrules, compare_denied, &others);
}

int inquire(const struct inquiry *inquiry, json_t **ret, struct error *error)
{
	_cleanup_(findings_done) struct findings f = {.inquiry = inquiry};
	const struct policy *policy = inquiry->policy;
	int r;

	f.answer = json_pack("{s:o, s:o, s:o, s:[], s:n, s:[]}", "policy", policy_json(policy),
			     "path", text_json(inquiry->path), "rights",
			     perms_record(inquiry->perms), "links", "place", "notes");
	if (!f.answer)
		return error_set(error, ENOMEM, "out of memory");
	r = find_place(&f, error);
	if (r == 0)
		r = automaton_compile(policy->rules, policy->nrules, f.mounts.views, f.mounts.n,
				      &f.automaton, error);
	if (r == 0 && look_for_links(&f) < 0)
		r = error_set(error, ENOMEM, "out of memory");
	if (r == 0)
		r = answer_question(&f, error);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f.answer);
	return 0;
}
