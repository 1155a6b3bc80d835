// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The automaton and glob_match against fixed cases; test_differential has the random ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "policy/automaton.h"

#define R BH_PERM_READ
#define W BH_PERM_WRITE
#define A BH_PERM_APPEND
#define D BH_PERM_DELETE
#define N_OF(array) (sizeof(array) / sizeof(*(array)))

static struct rule rule(enum rule_effect effect, __u32 perms, const char *glob)
{
	return (struct rule){.effect = effect, .perms = perms, .glob = (char *)(uintptr_t)glob};
}

static struct automaton compile(const struct rule *rules, size_t n, const struct mount_view *mounts,
				size_t nmounts)
{
	struct automaton automaton;
	struct error error = {0};
	int r = automaton_compile(rules, n, mounts, nmounts, &automaton, &error);

	if (r < 0)
		fail_msg("compile: %s", error.text);
	return automaton;
}

static __u32 allowed(const struct automaton *automaton, __u32 sbid, const char *path)
{
	struct bh_masks masks = {.allow = 0xdead};

	assert_int_equal(automaton_walk(automaton, sbid, path, strlen(path), &masks), 0);
	return masks.allow & BH_PERM_ALL;
}

/* Which globs are well formed, and that the offset names the byte at fault. */
static void test_glob_check(void **state)
{
	static const struct {
		const char *glob;
		int r;
		size_t offset;
		const char *reason;
	} cases[] = {
		{"/", 0, 0, NULL},
		{"/a/b", 0, 0, NULL},
		{"/**", 0, 0, NULL},
		{"/**/.env", 0, 0, NULL},
		{"/a/**/b/**", 0, 0, NULL},
		{"/*", 0, 0, NULL},
		{"/a*b*/c", 0, 0, NULL},
		{"@name", 0, 0, NULL},
		{"@/tmp/.X11-unix/X*", 0, 0, NULL},
		{"/a,b", 0, 0, NULL},
		{"/a?[b-d]{e,f/**}", 0, 0, NULL},
		{"/[]a]/[!]]/[^-a]/[a-]/[\\]]/[[*?{,]", 0, 0, NULL},
		{"/{,a}", 0, 0, NULL},
		{"{/a,/b}/c", 0, 0, NULL},
		{"/a{/**,}/b", 0, 0, NULL},
		{"/\\*\\?\\[\\]\\{\\}\\,\\!\\^\\-\\$\\\\\\ \\xfF", 0, 0, NULL},
		{"/\\*\\*.c", 0, 0, NULL},
		{"/a\\**", 0, 0, NULL},
		{"@a{?,[b]}*", 0, 0, NULL},
		{"", -EINVAL, 0, "not absolute"},
		{"a/b", -EINVAL, 0, "not absolute"},
		{"**/.env", -EINVAL, 0, "/**/name"},
		{"~/x", -EINVAL, 0, "~"},
		{"@", -EINVAL, 1, "needs a name"},
		{"@a**", -EINVAL, 2, "for paths"},
		{"/a//b", -EINVAL, 3, "empty component"},
		{"//", -EINVAL, 1, "empty component"},
		{"/a/", -EINVAL, 3, "empty component"},
		{"/a/./b", -EINVAL, 3, "never stand"},
		{"/a/..", -EINVAL, 3, "never stand"},
		{"/a/b**", -EINVAL, 3, "whole component"},
		{"/**.so", -EINVAL, 1, "whole component"},
		{"/***", -EINVAL, 1, "whole component"},
		{"/a/\\.", -EINVAL, 3, "a backslash stands before"},
		{"/a/\\x2e", -EINVAL, 3, "never stand"},
		{"/a/b\\", -EINVAL, 4, "a backslash stands before"},
		{"/a/\\x", -EINVAL, 3, "hexadecimal"},
		{"/a/\\xa", -EINVAL, 3, "hexadecimal"},
		{"/a/[bc", -EINVAL, 3, "[ without ]"},
		{"/a/[b\\]c", -EINVAL, 3, "[ without ]"},
		{"/a/[^]", -EINVAL, 3, "[ without ]"},
		{"/a/[b/]", -EINVAL, 5, "never matches /"},
		{"/a/[b-/]", -EINVAL, 6, "never matches /"},
		{"/a/[xb-a]", -EINVAL, 5, "reversed"},
		{"/a/[!\\x01-\\xff]", -EINVAL, 3, "no byte"},
		{"/a/{b,{c,d}", -EINVAL, 3, "{ without }"},
		{"/a/{b,c}}", -EINVAL, 8, "} without {"},
		{"/a/{b}", -EINVAL, 3, "alternatives"},
		{"/a/{}", -EINVAL, 3, "alternatives"},
		{"/a/{*,b}*", -EINVAL, 4, "meets"},
		{"/a/*{*,b}", -EINVAL, 3, "meets"},
		{"/a/{b,.}", -EINVAL, 6, "never stand"},
		{"/a/{b,}", -EINVAL, 7, "empty component"},
		{"/{a/,b}/c", -EINVAL, 7, "empty component"},
		{"{/a,@b}", -EINVAL, 4, "not absolute"},
		{"@{a*,b}*", -EINVAL, 3, "for paths"},
	};
	size_t i, offset;
	const char *reason;

	(void)state;
	for (i = 0; i < N_OF(cases); i++) {
		offset = 0;
		reason = "";
		if (glob_check(cases[i].glob, &offset, &reason) != cases[i].r)
			fail_msg("%s: wrong result", cases[i].glob);
		if (cases[i].r && (offset != cases[i].offset || !strstr(reason, cases[i].reason)))
			fail_msg("%s: offset %zu: %s", cases[i].glob, offset, reason);
	}
}

/* One glob, one path: the meaning of *, ** and component boundaries, by both matchers. */
static void test_meaning(void **state)
{
	static const struct {
		const char *glob, *path;
		int match;
	} cases[] = {
		{"/a/b", "/a/b", 1},
		{"/a/b", "/a/bc", 0},
		{"/a/b", "/a", 0},
		{"/a/b", "/a/b/c", 0},
		{"/a/*", "/a/b", 1},
		{"/a/*", "/a/b/c", 0},
		{"/a/*", "/a", 0},
		{"/a/*.so*", "/a/libc.so.6", 1},
		{"/a/*.so*", "/a/.so", 1},
		{"/a/*.so*", "/a/libc.a", 0},
		{"/a*", "/a", 1},
		{"/a*", "/ab", 1},
		{"/a*", "/a/b", 0},
		{"/a/**", "/a", 1},
		{"/a/**", "/a/b", 1},
		{"/a/**", "/a/b/c", 1},
		{"/a/**", "/ab", 0},
		{"/a/**", "/", 0},
		{"/**", "/", 1},
		{"/**", "/a/b", 1},
		{"/**", "@a", 0},
		{"/", "/", 1},
		{"/", "/a", 0},
		{"/*", "/", 0},
		{"/**/.env", "/.env", 1},
		{"/**/.env", "/a/.env", 1},
		{"/**/.env", "/a/b/.env", 1},
		{"/**/.env", "/a/b.env", 0},
		{"/**/.env", "/.env/a", 0},
		{"/a/**/x", "/a/x", 1},
		{"/a/**/x", "/a/x/x", 1},
		{"/a/**/x", "/ax", 0},
		{"/a/**/b/**/c", "/a/b/b/c", 1},
		{"/a/**/b/**/c", "/a/c/b", 0},
		{"/a/**/**/c", "/a/c", 1},
		{"/a/**/*", "/a", 0},
		{"/a/**/*", "/a/b/c", 1},
		{"@name", "@name", 1},
		{"@name", "@names", 0},
		{"@n*", "@names", 1},
		{"@n*", "@n/x", 0},
		{"@n*", "/n", 0},
		{"/a\n*", "/a\nb", 1},
		{"/\xff*", "/\xff\x80", 1},
		{"/*", "/\x80\n\x01", 1},
		{"/a?", "/ab", 1},
		{"/a?", "/a", 0},
		{"/a?", "/a/", 0},
		{"/a?b", "/a/b", 0},
		{"/?", "/\xff", 1},
		{"/??", "/\xc3\xa9", 1},
		{"/a[bc]", "/ac", 1},
		{"/a[bc]", "/ad", 0},
		{"/a[b-d]", "/ac", 1},
		{"/a[!b-d]", "/ac", 0},
		{"/a[^b-d]", "/ae", 1},
		{"/a[!b]c", "/a/c", 0},
		{"/a[+-9]c", "/a/c", 0},
		{"/a[+-9]c", "/a.c", 1},
		{"/[]-a]", "/]", 1},
		{"/[]-a]", "/^", 1},
		{"/[!]a]", "/]", 0},
		{"/[a-]", "/-", 1},
		{"/[-a]", "/-", 1},
		{"/[\\x80-\\xff]", "/\x90", 1},
		{"/[\\x80-\\xff]", "/a", 0},
		{"/[{,}*?]", "/,", 1},
		{"/[[]", "/[", 1},
		{"/[a\\-z]", "/b", 0},
		{"/[a\\-z]", "/-", 1},
		{"/{a,b}/c", "/b/c", 1},
		{"/{a,b}/c", "/c/c", 0},
		{"/{a,b}/c", "/{a,b}/c", 0},
		{"/a{,.old}", "/a", 1},
		{"/a{,.old}", "/a.old", 1},
		{"/a{/**,}/b", "/a/b", 1},
		{"/a{/**,}/b", "/a/x/y/b", 1},
		{"/{a/b,c{d,e/*}}/f", "/a/b/f", 1},
		{"/{a/b,c{d,e/*}}/f", "/cd/f", 1},
		{"/{a/b,c{d,e/*}}/f", "/ce/x/f", 1},
		{"/{a/b,c{d,e/*}}/f", "/c/f", 0},
		{"/{a/b,c{d,e/*}}/f", "/ce/f", 0},
		{"/a/{**,b}", "/a", 1},
		{"/{[,],\\,}x", "/,x", 1},
		{"/{[}],a}x", "/}x", 1},
		{"{/a,/b}/*", "/b/c", 1},
		{"/{,a}", "/", 1},
		{"/{,a}", "/a", 1},
		{"/{a,b}{a,b}", "/ba", 1},
		{"/{a,b}{a,b}", "/b", 0},
		{"/a\\*", "/a*", 1},
		{"/a\\*", "/ab", 0},
		{"/\\*\\*", "/**", 1},
		{"/\\*\\*", "/a/b", 0},
		{"/\\x61\\x2A", "/a*", 1},
		{"/\\xff?", "/\xff.", 1},
		{"/a\\ b\\\\", "/a b\\", 1},
		{"@n?[0-9]{a,b}*", "@nx7bcd", 1},
		{"@n?[0-9]{a,b}*", "@n/7b", 0},
	};
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(cases); i++) {
		struct rule one = rule(RULE_ALLOW, R, cases[i].glob);
		struct automaton automaton = compile(&one, 1, NULL, 0);

		if (!!glob_match(cases[i].glob, cases[i].path, strlen(cases[i].path)) !=
		    cases[i].match)
			fail_msg("glob_match: %s on %s", cases[i].glob, cases[i].path);
		if ((allowed(&automaton, 0, cases[i].path) == R) != cases[i].match)
			fail_msg("automaton: %s on %s", cases[i].glob, cases[i].path);
		automaton_done(&automaton);
	}
}

/* Who may write may append; who may append alone is told, wherever the name stands in the table. */
static void test_appends(void **state)
{
	const struct rule rules[] = {
		rule(RULE_ALLOW, R | W, "/a/**"), rule(RULE_QUIET, A, "/b"),
		rule(RULE_AUDIT, A, "/a/c"),	  rule(RULE_DENY, W, "/a/d"),
		rule(RULE_ALLOW, A, "/a/log"),	  rule(RULE_ALLOW, A, "/log"),
	};
	static const struct {
		size_t n;
		bool appends;
	} cases[] = {{0, false}, {1, false}, {4, false}, {5, false}, {6, true}};
	struct automaton automaton;

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		automaton = compile(rules, cases[i].n, NULL, 0);
		assert_int_equal(automaton_appends(&automaton), cases[i].appends);
		automaton_done(&automaton);
	}
}

/* The row that says so stands on a page behind the first. */
static void test_appends_far(void **state)
{
	enum { NAMES = 2000 };
	static char globs[NAMES][32];
	static struct rule rules[NAMES];
	struct automaton automaton;
	size_t i;

	(void)state;
	for (i = 0; i < NAMES; i++) {
		snprintf(globs[i], sizeof(globs[i]), "/%zu/file%zu", i * 7919 % 10007, i);
		rules[i] = rule(RULE_ALLOW, i % 2 ? R : R | W, globs[i]);
	}
	automaton = compile(rules, NAMES, NULL, 0);
	assert_true(automaton.head.nwords > 2 * BH_PAGE_WORDS);
	assert_false(automaton_appends(&automaton));
	automaton_done(&automaton);
	for (i = 0; i < NAMES; i += 97) {
		rules[i].perms |= A;
		rules[i].perms &= ~(__u32)W;
		automaton = compile(rules, NAMES, NULL, 0);
		assert_true(automaton_appends(&automaton));
		automaton_done(&automaton);
		rules[i].perms = R;
	}
}

/* Deny wins whatever the order, write brings append, quiet stays beside the verdict. */
static void test_verdicts(void **state)
{
	const struct rule rules[] = {
		rule(RULE_DENY, W, "/a/secret/**"),  rule(RULE_ALLOW, R | W, "/a/**"),
		rule(RULE_QUIET, R | W, "/a/quiet"), rule(RULE_QUIET, R, "/b"),
		rule(RULE_ALLOW, A, "/log"),
	};
	struct automaton automaton = compile(rules, N_OF(rules), NULL, 0);
	struct bh_masks masks;

	(void)state;
	assert_int_equal(allowed(&automaton, 0, "/a"), R | W | A);
	assert_int_equal(allowed(&automaton, 0, "/a/secret"), R);
	assert_int_equal(allowed(&automaton, 0, "/a/secret/x"), R);
	assert_int_equal(allowed(&automaton, 0, "/a/secrets"), R | W | A);
	assert_int_equal(allowed(&automaton, 0, "/log"), A);
	assert_int_equal(allowed(&automaton, 0, "/c"), 0);
	automaton_walk(&automaton, 0, "/b", 2, &masks);
	assert_int_equal(masks.allow, 0);
	assert_int_equal(masks.quiet, R);
	automaton_walk(&automaton, 0, "/a/quiet", 8, &masks);
	assert_int_equal(masks.allow, R | W | A);
	assert_int_equal(masks.quiet, 0);
	automaton_done(&automaton);
}

/* Audit reports what is allowed and allows nothing; a tripwire wins over all, deny over audit. */
static void test_watch(void **state)
{
	static const struct rule rules[] = {
		{.effect = RULE_ALLOW, .perms = R | W, .glob = (char *)"/a/**"},
		{.effect = RULE_AUDIT, .perms = R | W, .glob = (char *)"/*/log"},
		{.effect = RULE_DENY, .perms = W, .glob = (char *)"/a/l*"},
		{.effect = RULE_TRIPWIRE, .perms = R, .glob = (char *)"/*/bait/**"},
		{.effect = RULE_QUIET, .perms = R, .glob = (char *)"/b/**"},
	};
	static const struct {
		const char *path;
		struct bh_masks masks;
	} cases[] = {
		{"/a/x", {.allow = R | W | A}},
		{"/a/log", {.allow = R, .audit = R}},
		{"/b/log", {.quiet = R}},
		{"/a/bait", {.allow = W | A, .tripwire = R}},
		{"/a/bait/x", {.allow = W | A, .tripwire = R}},
		{"/b/bait/x", {.tripwire = R}},
		{"/c/bait", {.tripwire = R}},
	};
	struct automaton automaton = compile(rules, N_OF(rules), NULL, 0);
	struct bh_masks masks;
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(cases); i++) {
		automaton_walk(&automaton, 0, cases[i].path, strlen(cases[i].path), &masks);
		if (memcmp(&masks, &cases[i].masks, sizeof(masks)) != 0)
			fail_msg("%s: allow %x quiet %x audit %x tripwire %x", cases[i].path,
				 masks.allow, masks.quiet, masks.audit, masks.tripwire);
	}
	automaton_done(&automaton);
}

/* No rule: nothing is allowed anywhere, and the dead row is all zero. */
static void test_empty(void **state)
{
	const struct mount_view mounts[] = {{1, "/", "/"}, {2, "/x", "/y"}};
	struct automaton automaton = compile(NULL, 0, mounts, 2);
	size_t i;

	(void)state;
	for (i = 0; i < automaton.head.nwords; i++)
		assert_int_equal(automaton.words[i], 0);
	assert_int_equal(automaton.head.start, 0);
	assert_int_equal(allowed(&automaton, 2, "/x/a"), 0);
	automaton_done(&automaton);
}

/* A path on a superblock is judged as the path people see, through every mount of it. */
static void test_mounts(void **state)
{
	const struct rule rules[] = {
		rule(RULE_ALLOW, R, "/**"),	     rule(RULE_ALLOW, W, "/srv/data*"),
		rule(RULE_ALLOW, W, "/srv/data/**"), rule(RULE_DENY, R, "/etc/shadow"),
		rule(RULE_ALLOW, BH_PERM_EXEC, "/"), rule(RULE_ALLOW, BH_PERM_LINK, "/boot"),
	};
	const struct mount_view mounts[] = {
		{7, "/", "/boot"},
		{1, "/", "/"},
		{1, "/exports/data", "/srv/data"},
		{2, "/vol", "/"},
		{3, "/deep/etc", "/etc"},
		{4, "/a", "/srv/data"},
		{4, "/a", "/mnt/other"},
	};
	static const struct {
		__u32 sbid;
		const char *path;
		__u32 allow;
	} cases[] = {
		{1, "", R | BH_PERM_EXEC},
		{1, "/", R | BH_PERM_EXEC},
		{1, "/x", R},
		{1, "/etc/shadow", 0},
		{1, "/exports/data", R | W | A},
		{1, "/exports/data/x", R | W | A},
		{1, "/exports/datax", R},
		{1, "/srv/data/x", R | W | A},
		{2, "", 0},
		{2, "/vo", 0},
		{2, "/vol", R | BH_PERM_EXEC},
		{2, "/vol/etc/shadow", 0},
		{2, "/vol/etc/passwd", R},
		{2, "/volx", 0},
		{2, "/etc/passwd", 0},
		{3, "/deep/etc/shadow", 0},
		{3, "/deep/etc", R},
		{3, "/deep/etcx", 0},
		{4, "/a/x", R | W | A},
		{4, "/ax", 0},
		{7, "", R | BH_PERM_LINK},
		{7, "/", R | BH_PERM_LINK},
		{7, "/vmlinuz", R},
	};
	struct automaton automaton = compile(rules, N_OF(rules), mounts, N_OF(mounts));
	struct bh_masks masks;
	size_t i;

	(void)state;
	assert_int_equal(automaton.nstarts, 5);
	for (i = 0; i < N_OF(cases); i++) {
		if (allowed(&automaton, cases[i].sbid, cases[i].path) != cases[i].allow)
			fail_msg("superblock %u: %s: %x", cases[i].sbid, cases[i].path,
				 allowed(&automaton, cases[i].sbid, cases[i].path));
	}
	assert_int_equal(automaton_walk(&automaton, 99, "/", 1, &masks), -ENOENT);
	automaton_done(&automaton);
}

/* A denied name denies the file under each of its names. */
static void test_one_name_denied(void **state)
{
	const struct rule rules[] = {rule(RULE_ALLOW, R, "/open/**"),
				     rule(RULE_DENY, R, "/shut/**")};
	const struct mount_view mounts[] = {
		{1, "/d", "/open"}, {1, "/d", "/shut/x"}, {1, "/", "/m"}};
	struct automaton automaton = compile(rules, 2, mounts, 3);

	(void)state;
	assert_int_equal(allowed(&automaton, 1, "/d/f"), 0);
	assert_int_equal(allowed(&automaton, 0, "/open/f"), R);
	automaton_done(&automaton);
}

/* The state behind /proc/self is the one the walk reaches, and only where /proc is whole. */
static void test_self(void **state)
{
	const struct rule rules[] = {rule(RULE_ALLOW, R, "/proc/self/**"),
				     rule(RULE_ALLOW, R, "/proc/stat")};
	const struct mount_view mounts[] = {{5, "/", "/proc"}, {6, "/sys", "/proc"}};
	struct automaton automaton = compile(rules, 2, mounts, 2);
	__u32 row = automaton.head.nclasses;

	(void)state;
	assert_int_equal(allowed(&automaton, 5, "/self/maps"), R);
	assert_int_equal(allowed(&automaton, 5, "/1/maps"), 0);
	assert_int_equal(allowed(&automaton, 5, ""), 0);
	assert_int_not_equal(automaton.starts[0].start.self, 0);
	assert_int_equal(automaton.words[automaton.starts[0].start.self + row] & 0xffff, R);
	assert_int_equal(automaton.starts[1].start.self, 0);
	automaton_done(&automaton);
}

/* What rules say of files with several names: by name, by pattern, by its key; and what a deletion would
 * uncover. */
static void test_links(void **state)
{
	struct rule rules[] = {
		rule(RULE_ALLOW, R | W, "/ws/**"),	 rule(RULE_ALLOW, R | W, "/ws/name"),
		rule(RULE_ALLOW, R, "/ws/part"),	 rule(RULE_ALLOW, R, "/pool/**"),
		rule(RULE_ALLOW, R, "/one/[.]{a,b*}"),	 rule(RULE_ALLOW, D, "/ws/**"),
		rule(RULE_DENY, R, "/ws/**/.env"),	 rule(RULE_DENY, D, "/ws/kept"),
		rule(RULE_TRIPWIRE, W, "/etc/[p]asswd"),
	};
	const struct mount_view mounts[] = {
		{1, "/", "/"}, {2, "/", "/ws/deep"}, {3, "/", "/other"}, {4, "/", "/etc"}};
	static const struct {
		const char *path;
		int links, covers;
	} cases[] = {
		{"/ws/x", 0, 0},      {"/ws/name", 1, 0},    {"/ws/part", 0, 0}, {"/pool/x", 1, 0},
		{"/one/.a", 1, 0},    {"/one/.b", 0, 0},     {"/ws/.env", 0, 1}, {"/ws/kept", 0, 0},
		{"/ws/d/.env", 0, 1}, {"/etc/passwd", 0, 0}, {"/none", 0, 0},
	};
	struct automaton automaton;
	struct bh_masks masks;
	size_t i;

	(void)state;
	rules[3].links = true;
	automaton = compile(rules, N_OF(rules), mounts, N_OF(mounts));
	for (i = 0; i < N_OF(cases); i++) {
		automaton_walk(&automaton, 0, cases[i].path, strlen(cases[i].path), &masks);
		if (!!(masks.allow & BH_PERM_LINKS) != cases[i].links ||
		    !!(masks.quiet & BH_PERM_LINKS) != cases[i].covers)
			fail_msg("%s: allow %x, quiet %x", cases[i].path, masks.allow, masks.quiet);
	}
	assert_int_equal(automaton.nstarts, 4);
	assert_int_equal(automaton.starts[0].start.patterns, R);
	assert_int_equal(automaton.starts[0].start.literals, W | A);
	assert_int_equal(automaton.starts[1].start.patterns, R);
	assert_int_equal(automaton.starts[2].start.patterns, 0);
	assert_int_equal(automaton.starts[3].start.patterns, 0);
	assert_int_equal(automaton.starts[1].start.literals, 0);
	assert_int_equal(automaton.starts[3].start.literals, W | A);
	automaton_done(&automaton);
}

/* The longest names and paths the kernel has. */
static void test_long(void **state)
{
	static char name[BH_MAX_NAME + 2], deep[BH_MAX_PATH + 1], path[BH_MAX_PATH + 1];
	struct rule rules[] = {rule(RULE_ALLOW, R, name), rule(RULE_ALLOW, W, deep),
			       rule(RULE_ALLOW, BH_PERM_EXEC, "/**/z*")};
	struct automaton automaton;
	size_t i;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[0] = '/';
	for (i = 0; i < BH_MAX_PATH - 1; i += 2)
		memcpy(deep + i, "/d", 2);
	automaton = compile(rules, 3, NULL, 0);
	assert_int_equal(allowed(&automaton, 0, name), R);
	name[BH_MAX_NAME] = 'x';
	assert_int_equal(allowed(&automaton, 0, name), 0);
	assert_int_equal(allowed(&automaton, 0, deep), W | A);
	memcpy(path, deep, sizeof(path));
	path[4000] = '\0';
	assert_int_equal(allowed(&automaton, 0, path), 0);
	path[3999] = 'z';
	assert_int_equal(allowed(&automaton, 0, path), BH_PERM_EXEC);
	automaton_done(&automaton);
}

/* No two rows of a table are equal but for NUL: no path tells states apart that the table keeps apart
 * for nothing (test_differential tells the converse, that none were merged wrongly). */
static void test_minimal(void **state)
{
	const struct rule rules[] = {rule(RULE_ALLOW, R, "/usr/lib/**/*.so*"),
				     rule(RULE_ALLOW, R, "/opt/lib/**/*.so*"),
				     rule(RULE_DENY, R, "/nothing/**")};
	struct automaton automaton = compile(rules, 3, NULL, 0);
	size_t i, j, row = automaton.head.nclasses + BH_ROW_EXTRA;

	(void)state;
	for (i = 0; i < automaton.head.nwords; i += row) {
		assert_int_equal(automaton.words[i + automaton.head.classes['\0']], i);
		automaton.words[i + automaton.head.classes['\0']] = 0;
	}
	for (i = 0; i < automaton.head.nwords; i += row) {
		for (j = i + row; j < automaton.head.nwords; j += row)
			assert_memory_not_equal(automaton.words + i, automaton.words + j,
						row * sizeof(__u32));
	}
	/* The two trees share their tails: nine states for each head, six for the tail and less. */
	assert_in_range(automaton.head.nwords / row, 10, 22);
	automaton_done(&automaton);
}

/* No row stands across the edge of a page, and every state named is the first word of a row. */
static void test_pages(void **state)
{
	char globs[600][32];
	struct rule rules[600];
	struct automaton automaton;
	size_t i, j, row, offset;

	(void)state;
	for (i = 0; i < 600; i++) {
		snprintf(globs[i], sizeof(globs[i]), "/%08x%08x/x", (unsigned)i * 2654435761u,
			 (unsigned)i * 40503u * 65537u);
		rules[i] = rule(RULE_ALLOW, R, globs[i]);
	}
	automaton = compile(rules, 600, NULL, 0);
	row = automaton.head.nclasses + BH_ROW_EXTRA;
	assert_true(automaton.head.nwords > 4 * BH_PAGE_WORDS);
	for (i = 0; i < automaton.head.nwords; i += row) {
		if (i % BH_PAGE_WORDS + row > BH_PAGE_WORDS)
			i += BH_PAGE_WORDS - i % BH_PAGE_WORDS;
		for (j = 0; j < automaton.head.nclasses; j++) {
			offset = automaton.words[i + j] % BH_PAGE_WORDS;
			assert_int_equal(offset % row, 0);
			assert_true(offset + row <= BH_PAGE_WORDS);
			assert_true(automaton.words[i + j] < automaton.head.nwords);
		}
	}
	automaton_done(&automaton);
}

/* A set of rules that has no small automaton is refused, those that make it so are named and no
 * other, *ret is left alone. */
static void test_bound(void **state)
{
	enum { INNOCENT = 2000, GUILTY = 16 };
	static char globs[INNOCENT + GUILTY][64];
	static struct rule rules[INNOCENT + GUILTY];
	struct automaton automaton, before;
	struct error error = {0};
	const char *at = error.text;
	unsigned int line, first = 1700, named = 0, more = 0, i;

	(void)state;
	for (i = 0; i < INNOCENT + GUILTY; i++) {
		const char *form = i % 50 ? "/usr/share/p%u/f%u" : "/**/secret%u.key%u";

		if (i >= first && i < first + GUILTY)
			form = "/**/a%u*b%u*c/**/d*";
		snprintf(globs[i], sizeof(globs[i]), form, i, i * 7);
		rules[i] = rule(RULE_ALLOW, 1u << (i % 13), globs[i]);
		rules[i].place = (struct place){"big.yaml", i, 7};
	}
	memset(&automaton, 0x5a, sizeof(automaton));
	before = automaton;
	assert_int_equal(automaton_compile(rules, N_OF(rules), NULL, 0, &automaton, &error),
			 -E2BIG);
	assert_memory_equal(&automaton, &before, sizeof(before));
	assert_ptr_equal(strstr(error.text, "big.yaml:"), error.text);
	while ((at = strstr(at, "big.yaml:"))) {
		assert_int_equal(sscanf(at, "big.yaml:%u:", &line), 1);
		assert_in_range(line, first, first + GUILTY - 1);
		at++;
		named++;
	}
	at = strstr(error.text, ", and ");
	assert_non_null(at);
	assert_int_equal(sscanf(at, ", and %u more like them", &more), 1);
	assert_in_range(named + more, GUILTY / 2, GUILTY);
}

/* Many rules of which none is worse than others are too much all the same. */
static void test_bound_even(void **state)
{
	static char globs[8000][128];
	static struct rule rules[8000];
	struct automaton automaton;
	struct error error = {0};
	unsigned int seed = 3;
	size_t i, j;

	(void)state;
	for (i = 0; i < N_OF(rules); i++) {
		globs[i][0] = '/';
		for (j = 1; j < 100; j++)
			globs[i][j] = (char)('a' + rand_r(&seed) % 26);
		rules[i] = rule(RULE_ALLOW, 1u << (i % 13), globs[i]);
	}
	assert_int_equal(automaton_compile(rules, N_OF(rules), NULL, 0, &automaton, &error),
			 -E2BIG);
	assert_non_null(strstr(error.text, "none of them more than others"));
}

/* So are too many different sets of bytes. */
static void test_bound_sets(void **state)
{
	static char globs[BH_MAX_SETS + 1][16];
	static struct rule rules[BH_MAX_SETS + 1];
	struct automaton automaton;
	struct error error = {0};
	unsigned int i;

	(void)state;
	for (i = 0; i < N_OF(rules); i++) {
		snprintf(globs[i], sizeof(globs[i]), "/[\\x%02x\\x%02x]", 0x40 + i % 64,
			 0xc0 + i / 64);
		rules[i] = rule(RULE_ALLOW, R, globs[i]);
		rules[i].place = (struct place){"sets.yaml", i + 1, 7};
	}
	assert_int_equal(automaton_compile(rules, N_OF(rules), NULL, 0, &automaton, &error),
			 -E2BIG);
	assert_non_null(strstr(error.text, "sets.yaml:1025:7: "));
	assert_non_null(strstr(error.text, "too many different [...]"));
}

/* And braces that write out to more text than there should be. */
static void test_bound_nodes(void **state)
{
	static char globs[24][512];
	static struct rule rules[24];
	struct automaton automaton;
	struct error error = {0};
	char name[201];
	unsigned int i;

	(void)state;
	memset(name, 'x', 200);
	name[200] = '\0';
	for (i = 0; i < N_OF(rules); i++) {
		snprintf(globs[i], sizeof(globs[i]),
			 "/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}%c%s", 'c' + i, name);
		rules[i] = rule(RULE_ALLOW, R, globs[i]);
	}
	assert_int_equal(automaton_compile(rules, N_OF(rules), NULL, 0, &automaton, &error),
			 -E2BIG);
	assert_non_null(strstr(error.text, "too long together, braces written out"));
}

/* A bad glob is refused with its place. */
static void test_bad_rule(void **state)
{
	struct rule bad = rule(RULE_ALLOW, R, "/a/[b");
	struct automaton automaton;
	struct error error = {0};

	(void)state;
	bad.place = (struct place){"x.yaml", 3, 9};
	assert_int_equal(automaton_compile(&bad, 1, NULL, 0, &automaton, &error), -EINVAL);
	assert_non_null(strstr(error.text, "x.yaml:3:9: /a/[b at byte 4: [ without ]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_glob_check), cmocka_unit_test(test_meaning),
		cmocka_unit_test(test_appends),	   cmocka_unit_test(test_appends_far),
		cmocka_unit_test(test_verdicts),   cmocka_unit_test(test_empty),
		cmocka_unit_test(test_mounts),	   cmocka_unit_test(test_one_name_denied),
		cmocka_unit_test(test_self),	   cmocka_unit_test(test_watch),
		cmocka_unit_test(test_links),	   cmocka_unit_test(test_long),
		cmocka_unit_test(test_minimal),	   cmocka_unit_test(test_pages),
		cmocka_unit_test(test_bound),	   cmocka_unit_test(test_bound_even),
		cmocka_unit_test(test_bound_sets), cmocka_unit_test(test_bound_nodes),
		cmocka_unit_test(test_bad_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
