// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Explanations: the verdict is the matcher's, the rule is the text's, and they never part. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "compart/internal.h"
#include "compart/locate.h"
#include "policy/explain.h"

#define R BH_PERM_READ
#define W BH_PERM_WRITE
#define A BH_PERM_APPEND
#define N_OF(array) (sizeof(array) / sizeof(*(array)))

static struct rule rule(enum rule_effect effect, __u32 perms, const char *glob, unsigned int line)
{
	return (struct rule){.effect = effect,
			     .perms = perms,
			     .glob = (char *)(uintptr_t)glob,
			     .place = {"p.yaml", line, 5}};
}

static struct policy policy_of(struct rule *rules, size_t n)
{
	return (struct policy){.name = "t", .proc = PROC_SELF, .rules = rules, .nrules = n};
}

static struct automaton compile(const struct policy *policy, const struct mounts *mounts)
{
	struct automaton automaton;
	struct error error = {0};

	if (automaton_compile(policy->rules, policy->nrules, mounts ? mounts->views : NULL,
			      mounts ? mounts->n : 0, &automaton, &error) < 0)
		fail_msg("%s", error.text);
	return automaton;
}

static struct answer ask(const struct policy *policy, const struct automaton *automaton,
			 const struct question *question)
{
	struct error error = {0};
	struct answer answer;

	if (policy_answer(policy, automaton, question, &answer, &error) < 0)
		fail_msg("%s", error.text);
	return answer;
}

/* Verdict, deciding rule, and the one that keeps quiet, by line; 0: none. */
static void test_answer(void **state)
{
	struct rule rules[] = {
		rule(RULE_ALLOW, R, "/n/**", 1),
		rule(RULE_ALLOW, W | A, "/n/a", 2),
		rule(RULE_DENY, W | A, "/n/b*", 3),
		rule(RULE_QUIET, W | A, "/n/q*", 4),
		rule(RULE_QUIET, W | A, "/n/b", 5),
		rule(RULE_ALLOW, R | W, "/sys/fs/cgroup/**", 6),
		rule(RULE_ALLOW, R, "/proc/**", 7),
		rule(RULE_ALLOW, R, "/sys/fs/bpf/**", 8),
		rule(RULE_AUDIT, R | W, "/n/w*", 9),
		rule(RULE_TRIPWIRE, R, "/n/*/bait", 10),
		rule(RULE_QUIET, R | W, "/n/q/**", 11),
	};
	static const struct {
		const char *path;
		__u32 perms;
		bool allowed, quiet;
		unsigned int rule, hush, watch;
		enum bh_reason reason;
	} cases[] = {
		{"/n/x", R, true, false, 1, 0, 0, BH_REASON_NONE},
		{"/n/a", R | W, true, false, 1, 0, 0, BH_REASON_NONE},
		{"/n/a", A, true, false, 2, 0, 0, BH_REASON_NONE},
		{"/n/bc", W, false, false, 3, 0, 0, BH_REASON_NO_RULE},
		{"/n/b", W, false, true, 3, 5, 0, BH_REASON_NO_RULE},
		{"/n/q", W, false, true, 4, 4, 0, BH_REASON_NO_RULE},
		{"/n/q", R | W, false, true, 4, 4, 0, BH_REASON_NO_RULE},
		/* Of one right nothing is said, so it is no quiet refusal. */
		{"/n/q", W | BH_PERM_DELETE, false, false, 4, 0, 0, BH_REASON_NO_RULE},
		{"/other", R, false, false, 0, 0, 0, BH_REASON_NO_RULE},
		{"/n/w", R, true, false, 1, 0, 9, BH_REASON_NONE},
		{"/n/w", W, false, false, 0, 0, 0, BH_REASON_NO_RULE},
		{"/n/q/bait", W, false, true, 11, 11, 0, BH_REASON_NO_RULE},
		{"/n/q/bait", R, false, false, 10, 0, 0, BH_REASON_TRIPWIRE},
		{"/n/q/bait", R | W, false, false, 10, 0, 0, BH_REASON_TRIPWIRE},
		/* What no rule can change. */
		{"/sys/fs/cgroup/a", R, true, false, 6, 0, 0, BH_REASON_NONE},
		{"/sys/fs/cgroup/a", R | W, false, false, 0, 0, 0, BH_REASON_NO_RULE},
		{"/proc/self/maps", R, true, false, 7, 0, 0, BH_REASON_NONE},
		{"/proc/1/maps", R, false, false, 0, 0, 0, BH_REASON_PROC_OTHER},
		{"/sys/fs/bpf/x", R, false, false, 0, 0, 0, BH_REASON_CLOSED},
	};
	const struct policy policy = policy_of(rules, N_OF(rules));
	struct automaton automaton = compile(&policy, NULL);

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		const struct question question = {.names = &cases[i].path,
						  .nnames = 1,
						  .place = cases[i].path,
						  .perms = cases[i].perms};
		const struct answer a = ask(&policy, &automaton, &question);

		if (a.allowed != cases[i].allowed || a.quiet != cases[i].quiet ||
		    a.reason != cases[i].reason ||
		    (a.rule ? a.rule->place.line : 0) != cases[i].rule ||
		    (a.hush ? a.hush->place.line : 0) != cases[i].hush ||
		    (a.watch ? a.watch->place.line : 0) != cases[i].watch)
			fail_msg("%s, %#x: %d %d, reason %d, rules %u and %u", cases[i].path,
				 cases[i].perms, a.allowed, a.quiet, a.reason,
				 a.rule ? a.rule->place.line : 0, a.hush ? a.hush->place.line : 0);
	}
	automaton_done(&automaton);
}

/* Files with other names, of which the rules say nothing, or deny one. */
static void test_linked(void **state)
{
	struct rule rules[] = {
		rule(RULE_ALLOW, R | W | BH_PERM_DELETE, "/n/**", 1),
		rule(RULE_ALLOW, R | W, "/n/name", 2),
		rule(RULE_ALLOW, R | W, "/pool/**", 3),
		rule(RULE_DENY, R, "/n/**/.env", 4),
		rule(RULE_DENY, W, "/n/key", 5),
	};
	static const struct {
		const char *path;
		__u32 perms, pinned;
		bool allowed;
		unsigned int rule;
		enum bh_reason reason;
	} cases[] = {
		{"/n/x", R, 0, false, 1, BH_REASON_OLD_LINK},
		{"/n/x", W, 0, true, 1, BH_REASON_NONE},
		{"/n/x", R | W, 0, false, 1, BH_REASON_OLD_LINK},
		{"/n/x", W, W, false, 1, BH_REASON_PINNED},
		{"/n/x", R, R, false, 1, BH_REASON_PINNED},
		{"/n/name", R, 0, true, 1, BH_REASON_NONE},
		{"/n/name", R, R, false, 1, BH_REASON_PINNED},
		{"/pool/x", R, 0, true, 3, BH_REASON_NONE},
		{"/n/.env", R, 0, false, 4, BH_REASON_NO_RULE},
		{"/n/.env", BH_PERM_DELETE, 0, false, 1, BH_REASON_OLD_LINK},
		{"/n/x", BH_PERM_DELETE, 0, true, 1, BH_REASON_NONE},
	};
	struct policy policy = policy_of(rules, N_OF(rules));
	struct automaton automaton;

	(void)state;
	rules[2].links = true;
	automaton = compile(&policy, NULL);
	for (size_t i = 0; i < N_OF(cases); i++) {
		struct question question = {.names = &cases[i].path,
					    .nnames = 1,
					    .place = cases[i].path,
					    .perms = cases[i].perms,
					    .linked = true,
					    .pinned = cases[i].pinned};
		const struct answer a = ask(&policy, &automaton, &question);

		if (a.allowed != cases[i].allowed || a.reason != cases[i].reason || a.written ||
		    (a.rule ? a.rule->place.line : 0) != cases[i].rule)
			fail_msg("%s, %#x: %d, reason %d, written %d, rule %u", cases[i].path,
				 cases[i].perms, a.allowed, a.reason, a.written,
				 a.rule ? a.rule->place.line : 0);
		question.linked = false;
		assert_int_equal(ask(&policy, &automaton, &question).allowed,
				 cases[i].reason != BH_REASON_NO_RULE);
	}
	automaton_done(&automaton);
}

/* proc: none closes the own process's directory, and leaves the rest of procfs to the rules. */
static void test_proc_none(void **state)
{
	struct rule rules[] = {rule(RULE_ALLOW, R, "/proc/**", 1)};
	static const char *const own = "/proc/self/maps", *const all = "/proc/meminfo";
	struct policy policy = policy_of(rules, 1);
	struct automaton automaton = compile(&policy, NULL);

	(void)state;
	policy.proc = PROC_NONE;
	assert_int_equal(ask(&policy, &automaton,
			     &(struct question){.names = &own, .nnames = 1, .perms = R})
				 .reason,
			 BH_REASON_PROC_OTHER);
	assert_true(
		ask(&policy, &automaton, &(struct question){.names = &all, .nnames = 1, .perms = R})
			.allowed);
	automaton_done(&automaton);
}

/* A table that is not this text's: said, never papered over. */
static void test_disagreement(void **state)
{
	struct rule rules[] = {rule(RULE_ALLOW, R, "/n/**", 1)},
		    others[] = {rule(RULE_DENY, R, "/n/**", 1)};
	const struct policy policy = policy_of(rules, 1), other = policy_of(others, 1);
	struct automaton automaton = compile(&other, NULL);
	static const char *const path = "/n/x";
	struct error error = {0};
	struct answer answer;

	(void)state;
	assert_int_equal(policy_answer(&policy, &automaton,
				       &(struct question){.names = &path, .nnames = 1, .perms = R},
				       &answer, &error),
			 -EBADE);
	assert_non_null(strstr(error.text, "internal error"));
	assert_non_null(strstr(error.text, "/n/x"));
	automaton_done(&automaton);
}

/* --- places --- */

static struct mount_view views[] = {
	{.sbid = 1, .root = "/", .point = "/"},
	{.sbid = 1, .root = "/var/data", .point = "/data"},
	{.sbid = 2, .root = "/", .point = "/home"},
	{.sbid = 3, .root = "/", .point = "/cg"},
};
static const struct mounts mounts = {.views = views, .n = N_OF(views)};

/* Names are those of all mounts that show the place, once each. */
static void test_names(void **state)
{
	static const struct {
		__u32 sbid;
		const char *place, *names[3];
	} cases[] = {
		{1, "/var/data/x", {"/var/data/x", "/data/x"}},
		{1, "/var/data", {"/var/data", "/data"}},
		{1, "/var/database", {"/var/database"}},
		{1, "/", {"/"}},
		{2, "/", {"/home"}},
		{2, "/me", {"/home/me"}},
		{9, "/x", {NULL}},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		_cleanup_strings_ char **names = NULL;
		size_t n = 0, k = 0;

		assert_int_equal(mounts_names(&mounts, cases[i].sbid, cases[i].place, &names, &n),
				 0);
		for (; cases[i].names[k]; k++)
			assert_string_equal(names[k], cases[i].names[k]);
		assert_int_equal(n, k);
	}
}

/* One name allowed and none denied; a superblock nobody knows is undecided; its kind counts. */
static void test_place(void **state)
{
	struct rule rules[] = {
		rule(RULE_ALLOW, R | W, "/data/**", 1),
		rule(RULE_DENY, W, "/var/data/**", 2),
		rule(RULE_ALLOW, R | W, "/cg/**", 3),
	};
	const struct policy policy = policy_of(rules, N_OF(rules));
	struct automaton automaton = compile(&policy, &mounts);
	static const char *const names[] = {"/var/data/x", "/data/x"}, *const cg = "/cg/x";
	struct question question = {
		.names = names, .nnames = 2, .sbid = 1, .place = "/var/data/x", .perms = R};
	struct answer answer = ask(&policy, &automaton, &question);

	(void)state;
	assert_true(answer.allowed);
	assert_string_equal(answer.name, "/data/x");
	question.perms = W;
	answer = ask(&policy, &automaton, &question);
	assert_false(answer.allowed);
	assert_int_equal(answer.rule->place.line, 2);
	assert_string_equal(answer.name, "/var/data/x");
	question.sbid = 9;
	answer = ask(&policy, &automaton, &question);
	assert_int_equal(answer.reason, BH_REASON_UNSURE_SB);
	question = (struct question){
		.names = &cg, .nnames = 1, .sbid = 3, .place = "/x", .perms = R | W};
	assert_true(ask(&policy, &automaton, &question).allowed);
	question.class = BH_SB_CGROUP;
	answer = ask(&policy, &automaton, &question);
	assert_false(answer.allowed);
	assert_int_equal(answer.taken, W);
	question.class = BH_SB_DEBUG;
	answer = ask(&policy, &automaton, &question);
	assert_false(answer.allowed);
	assert_int_equal(answer.taken, R | W);
	assert_int_equal(answer.class, BH_SB_DEBUG);
	assert_null(answer.rule);
	automaton_done(&automaton);
}

/* --- random ones --- */

static unsigned int seed = 3;

static unsigned int draw(unsigned int n)
{
	return (unsigned int)rand_r(&seed) % n;
}

static void random_path(char *path, const char *const *parts, unsigned int n, unsigned int most)
{
	*path = '\0';
	for (unsigned int k = draw(most) + 1; k; k--)
		path += sprintf(path, "/%s", parts[draw(n)]);
}

#define RULES 8
#define MOUNTS 5

struct random {
	struct rule rules[RULES];
	char globs[RULES][64];
	struct mount_view views[MOUNTS];
	char roots[MOUNTS][32], points[MOUNTS][32];
};

static void make_random(struct random *c)
{
	static const char *const parts[] = {"a", "b", "ab", "*", "**", "a*", "*b"};

	for (size_t i = 0; i < RULES; i++) {
		random_path(c->globs[i], parts, N_OF(parts), 3);
		c->rules[i] =
			rule((enum rule_effect)draw(3), draw(8), c->globs[i], (unsigned int)i + 1);
		c->rules[i].perms |= c->rules[i].perms & W ? A : 0;
	}
	for (size_t i = 0; i < MOUNTS; i++) {
		random_path(c->roots[i], parts, 3, 2);
		random_path(c->points[i], parts, 3, 2);
		c->views[i] = (struct mount_view){1 + draw(2), draw(3) ? c->roots[i] : "/",
						  draw(3) ? c->points[i] : "/"};
	}
}

static void ask_random(const struct policy *policy, const struct automaton *automaton,
		       const struct mounts *seen)
{
	static const char *const parts[] = {"a", "b", "ab", "c"};
	_cleanup_strings_ char **names = NULL;
	struct question question = {.sbid = draw(3), .perms = 1 + draw(15)};
	const char *written;
	struct answer answer;
	char place[64] = "/";

	if (draw(20))
		random_path(place, parts, N_OF(parts), 4);
	question.place = written = place;
	question.names = &written;
	question.nnames = 1;
	if (question.sbid) {
		assert_int_equal(mounts_names(seen, question.sbid, place, &names, &question.nnames),
				 0);
		question.names = (const char *const *)names;
	}
	answer = ask(policy, automaton, &question);
	/* Whatever is decided has somebody who decided it. */
	assert_true(!answer.allowed || (answer.rule && answer.rule->effect == RULE_ALLOW));
	assert_true(!answer.quiet || answer.hush);
	assert_true(!answer.rule || (answer.name && glob_match(answer.rule->glob, answer.name,
							       strlen(answer.name))));
}

/* Rules, mounts and places at random: table and text agree on every right, by every name. */
static void test_agreement(void **state)
{
	(void)state;
	for (int i = 0; i < 1500; i++) {
		struct random c;
		struct mounts seen = {.views = c.views, .n = MOUNTS};
		struct automaton automaton;
		struct policy policy;

		make_random(&c);
		policy = policy_of(c.rules, RULES);
		automaton = compile(&policy, &seen);
		for (int j = 0; j < 40; j++)
			ask_random(&policy, &automaton, &seen);
		automaton_done(&automaton);
	}
}

/* --- paths --- */

static void test_check_path(void **state)
{
	static const struct {
		const char *path, *text;
		__u32 perms;
	} cases[] = {
		{"/", NULL, R},
		{"/a/b.c", NULL, R},
		{"/a/..b", NULL, R},
		{"@x", NULL, BH_PERM_CONNECT},
		{"@x", "abstract socket", R},
		{"@x", "abstract socket", R | BH_PERM_CONNECT},
		{"@", "abstract socket", BH_PERM_CONNECT},
		{"a/b", "\"a/b\" is not absolute", R},
		{"", "\"\" is not absolute", R},
		{"/a/../b", "without . and ..", R},
		{"/a/.", "without . and ..", R},
		{"/a//b", "a slash too many", R},
		{"/a/", "a slash too many", R},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		struct error error = {0};
		int r = policy_check_path(cases[i].path, cases[i].perms, &error);

		assert_int_equal(r, cases[i].text ? -EINVAL : 0);
		if (cases[i].text && !strstr(error.text, cases[i].text))
			fail_msg("%s: %s", cases[i].path, error.text);
	}
}

static void test_perm_list(void **state)
{
	struct error error = {0};
	__u32 perms = 0;

	(void)state;
	assert_int_equal(perms_from_list("read", &perms, NULL), 0);
	assert_int_equal(perms, R);
	assert_int_equal(perms_from_list("map-exec,write,read", &perms, NULL), 0);
	assert_int_equal(perms, R | W | BH_PERM_MAP_EXEC);
	assert_int_equal(perms_from_list("read,", &perms, &error), -EINVAL);
	assert_int_equal(perms_from_list("reed", &perms, &error), -EINVAL);
	assert_non_null(
		strstr(error.text, "no right is called \"reed\": write some of read,write"));
}

/* What a path of procfs leads to is not what it is called. */
static void test_note_proc(void **state)
{
	(void)state;
	assert_null(policy_note_proc(PROC_SELF, "/proc/self/maps"));
	assert_null(policy_note_proc(PROC_SELF, "/proc"));
	assert_null(policy_note_proc(PROC_SELF, "/process/1"));
	assert_null(policy_note_proc(PROC_SELF, "/proc/self/rootless"));
	assert_non_null(policy_note_proc(PROC_SELF, "/proc/self/root/etc/shadow"));
	assert_non_null(policy_note_proc(PROC_SELF, "/proc/self/fd"));
	assert_non_null(policy_note_proc(PROC_SELF, "/proc/thread-self/comm"));
	assert_non_null(policy_note_proc(PROC_SELF, "/proc/1/maps"));
	assert_non_null(strstr(policy_note_proc(PROC_COMPARTMENT, "/proc/1/maps"),
			       "stands in the compartment's cgroup"));
	assert_non_null(strstr(policy_note_proc(PROC_NONE, "/proc/1/maps"), "proc: none"));
}

/* --- links --- */

static char dir[] = "/tmp/test_explain.XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[4][PATH_MAX];
	static unsigned int turn;

	turn = (turn + 1) % N_OF(path);
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static void note_link(const char *link, const char *target, void *data)
{
	char *text = data;

	sprintf(text + strlen(text), "%s>%s ", link, target);
}

/* Each link is told in order; * is a byte; the last one stays where its name is what is meant. */
static void test_links(void **state)
{
	static const struct {
		const char *path, *end, *steps;
		bool keep_last;
	} cases[] = {
		{"/usr/bin/ls", "/usr/bin/ls", "", false},
		{"/bin/ls", "/usr/bin/ls", "/bin>usr/bin ", false},
		{"/time", "/usr/bin/UTC", "/time>/bin/zone /bin>usr/bin /usr/bin/zone>UTC ", false},
		{"/time", "/time", "", true},
		{"/bin/zone", "/usr/bin/zone", "/bin>usr/bin ", true},
		{"/bin", "/bin", "", true},
		{"/bin/", "/bin", "", true},
		{"/star*/x", "/usr/x", "/star*>usr ", false},
		{"/to-star", "/a*b", "/to-star>a*b ", false},
		{"/bin/new", "/usr/bin/new", "/bin>usr/bin ", false},
	};

	(void)state;
	if (geteuid())
		skip(); /* links must be root's */
	mkdir(in_dir("usr"), 0755);
	mkdir(in_dir("usr/bin"), 0755);
	assert_int_equal(symlink("usr/bin", in_dir("bin")), 0);
	assert_int_equal(symlink("UTC", in_dir("usr/bin/zone")), 0);
	assert_int_equal(symlink("/bin/zone", in_dir("time")), 0);
	assert_int_equal(symlink("usr", in_dir("star*")), 0);
	assert_int_equal(symlink("a*b", in_dir("to-star")), 0);
	for (size_t i = 0; i < N_OF(cases); i++) {
		_cleanup_free_ char *end = NULL;
		char steps[1024] = "";
		const struct policy_resolve_options options = {.root = dir,
							       .keep_last = cases[i].keep_last,
							       .on_link = note_link,
							       .data = steps};
		struct error error = {0};

		if (policy_resolve(&options, cases[i].path, &end, &error) < 0)
			fail_msg("%s: %s", cases[i].path, error.text);
		assert_string_equal(end, cases[i].end);
		assert_string_equal(steps, cases[i].steps);
	}
}

/* --- this process's own mounts --- */

static struct mounts own_mounts(void)
{
	struct mounts own = {};
	struct error error = {};
	pid_t self = getpid();
	size_t tables = 0;

	if (mounts_read(NULL, &self, 1, &own, &error) < 0)
		fail_msg("%s", error.text);
	assert_int_equal(mounts_member(&own, &tables), self);
	assert_int_equal(tables, 1);
	return own;
}

/* A file is found by the mount it stands on, and a new one by where it would. */
static void test_locate(void **state)
{
	_cleanup_(mounts_done) struct mounts own = own_mounts();
	_cleanup_(location_done) struct location file = {}, none = {}, proc = {};
	struct error error = {};

	(void)state;
	assert_int_equal(location_find(&own, dir, &file, &error), 0);
	assert_true(file.exists);
	assert_string_equal(file.names[0], dir);
	assert_int_equal(file.class, BH_SB_PLAIN);
	assert_int_equal(location_find(&own, in_dir("not/there"), &none, &error), 0);
	assert_false(none.exists);
	assert_int_equal(none.sbid, file.sbid);
	assert_string_equal(none.names[0], in_dir("not/there"));
	assert_int_equal(strncmp(none.place, file.place, strlen(file.place)), 0);
	/* Not where that link leads this process, which is not who is asked about. */
	assert_int_equal(location_find(&own, "/proc/self/root/etc", &proc, &error), 0);
	assert_int_equal(proc.class, BH_SB_PROC);
	assert_string_equal(proc.point, "/proc");
	assert_string_equal(proc.place, "/self/root/etc");
}

/* With the view of this very process, as written and as mapped are one answer. */
static void test_located_answer(void **state)
{
	struct rule rules[] = {rule(RULE_ALLOW, R, "/tmp/**", 1)};
	const struct policy policy = policy_of(rules, 1);
	_cleanup_(mounts_done) struct mounts own = own_mounts();
	_cleanup_(location_done) struct location at = {};
	struct automaton automaton = compile(&policy, &own);
	struct error error = {};
	struct answer answer;

	(void)state;
	assert_int_equal(location_find(&own, in_dir("x"), &at, &error), 0);
	answer = ask(&policy, &automaton,
		     &(struct question){.names = (const char *const *)at.names,
					.nnames = at.nnames,
					.sbid = at.sbid,
					.class = at.class,
					.place = at.place,
					.perms = R});
	assert_true(answer.allowed);
	assert_string_equal(answer.name, in_dir("x"));
	automaton_done(&automaton);
}

/* Of a process's directory: who stands in the cgroup, and what is asked of the rules then. */
static void test_member(void **state)
{
	struct rule rules[] = {rule(RULE_ALLOW, R, "/proc/self/status", 1)};
	struct policy policy = policy_of(rules, 1);
	_cleanup_(mounts_done) struct mounts own = own_mounts();
	_cleanup_(location_done) struct location at = {}, self = {};
	struct automaton automaton = compile(&policy, &own);
	_cleanup_free_ char *cgroup = NULL;
	struct error error = {};
	struct question q;
	char path[64];

	(void)state;
	policy.proc = PROC_COMPARTMENT;
	assert_int_equal(cgroup_of_pid(getpid(), &cgroup), 0);
	snprintf(path, sizeof(path), "/proc/%d/status", getpid());
	assert_int_equal(location_find(&own, path, &at, &error), 0);
	assert_int_equal(location_find(&own, "/proc/self/status", &self, &error), 0);
	assert_true(location_is_member(&own, &at, cgroup));
	assert_false(location_is_member(&own, &at, "/sys/fs/cgroup/no-such"));
	assert_false(location_is_member(&own, &self, cgroup));
	q = (struct question){.names = (const char *const *)at.names,
			      .nnames = at.nnames,
			      .sbid = at.sbid,
			      .class = at.class,
			      .place = at.place,
			      .perms = R};
	assert_int_equal(ask(&policy, &automaton, &q).reason, BH_REASON_PROC_OTHER);
	assert_int_equal(location_as_self(&at), 0);
	assert_string_equal(at.place, "/self/status");
	assert_string_equal(at.names[0], "/proc/self/status");
	q.place = at.place;
	assert_true(ask(&policy, &automaton, &q).allowed);
	automaton_done(&automaton);
}

static void test_no_cgroup(void **state)
{
	struct mounts none = {};
	struct error error = {};

	(void)state;
	assert_int_equal(mounts_of_cgroup("/tmp", &none, &error), -EINVAL);
	assert_non_null(strstr(error.text, "/tmp is no cgroup: write a directory below "));
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	static const char *const names[] = {"bin",     "usr/bin/zone", "time", "star*",
					    "to-star", "usr/bin",      "usr",  ""};

	(void)state;
	for (size_t i = 0; i < N_OF(names); i++)
		remove(in_dir(names[i]));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_linked),	       cmocka_unit_test(test_answer),
		cmocka_unit_test(test_proc_none),      cmocka_unit_test(test_disagreement),
		cmocka_unit_test(test_names),	       cmocka_unit_test(test_place),
		cmocka_unit_test(test_agreement),      cmocka_unit_test(test_check_path),
		cmocka_unit_test(test_perm_list),      cmocka_unit_test(test_note_proc),
		cmocka_unit_test(test_links),	       cmocka_unit_test(test_locate),
		cmocka_unit_test(test_located_answer), cmocka_unit_test(test_no_cgroup),
		cmocka_unit_test(test_member),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
