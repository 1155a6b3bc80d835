// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Random policies, mounts and paths: the automaton says what glob_match, the logic of rules and the
 * mapping of paths through mounts say. BULKHEAD_SEED=N draws other cases.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "policy/automaton.h"

#define W BH_PERM_WRITE
#define A BH_PERM_APPEND
#define N_OF(array) (sizeof(array) / sizeof(*(array)))

#define POLICIES 5500
#define PATHS 64
#define MAX_RULES 12
#define MAX_MOUNTS 6
#define GLOB 256
#define PATH 1024

struct world {
	struct rule rules[MAX_RULES];
	struct mount_view mounts[MAX_MOUNTS];
	char globs[MAX_RULES][GLOB], roots[MAX_MOUNTS][PATH], points[MAX_MOUNTS][PATH];
	size_t nrules, nmounts;
};

static uint64_t random_state;

static unsigned int draw(unsigned int below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(random_state >> 33) % below;
}

/* --- text that grows --- */

struct text {
	char bytes[PATH];
	size_t n;
};

static void put(struct text *text, const char *bytes)
{
	size_t n = strlen(bytes);

	if (text->n + n < sizeof(text->bytes)) {
		memcpy(text->bytes + text->n, bytes, n + 1);
		text->n += n;
	}
}

static void put_byte(struct text *text, unsigned int byte)
{
	const char bytes[] = {(char)byte, '\0'};

	put(text, bytes);
}

/* --- globs --- */

/* Few letters, so that random globs and random paths meet; and what has a meaning in globs. */
static const char letters[] = "aaabbbc.-*?[]{},\\!^\n\x7f\xc3\xff";

static unsigned int draw_letter(void)
{
	return (unsigned char)letters[draw(draw(2) ? 7 : (unsigned int)sizeof(letters) - 1)];
}

/* One byte as a glob writes it. */
static void put_literal(struct text *glob, unsigned int byte)
{
	char hex[8];

	if (!draw(12)) {
		snprintf(hex, sizeof(hex), draw(2) ? "\\x%02x" : "\\x%02X", byte);
		put(glob, hex);
		return;
	}
	if (strchr("*?[]{},\\", (int)byte) || (strchr("!^-", (int)byte) && !draw(4)))
		put_byte(glob, '\\');
	put_byte(glob, byte);
}

static void put_set(struct text *glob)
{
	static const char *const sets[] = {"[ab]",  "[!ab]",  "[^b]",	   "[a-b]",	    "[]a]",
					   "[!]a]", "[a-]",   "[-c]",	   "[\\x80-\\xff]", "[+-9]",
					   "[[{]",  "[,a}*]", "[\\]\\-c]", "[!\\x01-a]"};
	unsigned int i, byte;

	if (draw(3)) {
		put(glob, sets[draw(N_OF(sets))]);
		return;
	}
	put(glob, draw(3) ? "[" : "[!");
	for (i = 1 + draw(3); i; i--) {
		byte = draw_letter();
		if (strchr("[]\\!^-", (int)byte))
			put_byte(glob, '\\');
		put_byte(glob, byte);
		if (!draw(4))
			put(glob, "-\\xff");
	}
	put(glob, "]");
}

static void put_glob(struct text *glob, unsigned int components, unsigned int depth);

static void put_braces(struct text *glob, unsigned int depth)
{
	unsigned int i, n = 2 + draw(2);

	put(glob, "{");
	for (i = 0; i < n; i++) {
		put(glob, i ? "," : "");
		if (draw(5))
			put_glob(glob, draw(5) ? 1 : 2, depth + 1);
	}
	put(glob, "}");
}

static void put_component(struct text *glob, unsigned int depth)
{
	unsigned int i;

	if (!draw(7)) {
		put(glob, "**");
		return;
	}
	for (i = 1 + draw(3); i; i--) {
		switch (draw(9)) {
		case 0:
			put(glob, "*");
			break;
		case 1:
			put(glob, "?");
			break;
		case 2:
			put_set(glob);
			break;
		case 3:
			if (depth < 3) {
				put_braces(glob, depth);
				break;
			}
			/* fallthrough */
		default:
			put_literal(glob, draw_letter());
		}
	}
}

static void put_glob(struct text *glob, unsigned int components, unsigned int depth)
{
	unsigned int i;

	for (i = 0; i < components; i++) {
		put(glob, i ? "/" : "");
		put_component(glob, depth);
	}
}

/* What is drawn may be malformed: ".", an empty component, stars that meet. Then again. */
static void draw_glob(char *ret)
{
	struct text glob;

	do {
		glob = (struct text){.n = 0};
		put(&glob, draw(12) ? "/" : "@");
		if (draw(30))
			put_glob(&glob, 1 + draw(4), 0);
	} while (glob.n >= GLOB || glob_check(glob.bytes, NULL, NULL) < 0);
	strcpy(ret, glob.bytes);
}

/* --- paths that a glob matches, or nearly --- */

static void put_name(struct text *path)
{
	unsigned int i;

	for (i = 1 + draw(2); i; i--)
		put_byte(path, draw_letter());
}

/* A byte that is written at `at`; returns what is behind it. */
static const char *sample_literal(struct text *path, const char *at)
{
	char hex[3] = "";

	if (at[0] == '\\' && at[1] == 'x') {
		memcpy(hex, at + 2, 2);
		put_byte(path, (unsigned int)strtoul(hex, NULL, 16));
		return at + 4;
	}
	at += at[0] == '\\';
	put_byte(path, (unsigned char)at[0]);
	return at + 1;
}

/* Often in the set: its first byte. */
static const char *sample_set(struct text *path, const char *at)
{
	bool negated = at[1] == '!' || at[1] == '^';

	at = sample_literal(path, at + 1 + negated);
	if (negated || !draw(4)) {
		path->n--;
		put_byte(path, draw_letter());
	}
	while (*at != ']')
		at += at[0] == '\\' ? 2 : 1;
	return at + 1;
}

/* The ',' or '}' behind an alternative. */
static const char *alternative_end(const char *at)
{
	unsigned int depth = 0;

	while (depth || (*at != ',' && *at != '}')) {
		struct text nothing = {.n = 0};

		depth += *at == '{';
		depth -= *at == '}';
		at = *at == '[' ? sample_set(&nothing, at) : sample_literal(&nothing, at);
	}
	return at;
}

static void sample(struct text *path, const char *at, const char *end);

static const char *sample_braces(struct text *path, const char *at)
{
	const char *begins[8], *ends[8];
	unsigned int n = 0, i;

	do {
		begins[n] = at + 1;
		at = ends[n++] = alternative_end(at + 1);
	} while (*at == ',');
	i = draw(n);
	sample(path, begins[i], ends[i]);
	return at + 1;
}

static const char *sample_stars(struct text *path, const char *at)
{
	unsigned int i;

	if (at[1] != '*') {
		for (i = draw(3); i; i--)
			put_byte(path, draw_letter());
		return at + 1;
	}
	/* Its '/' goes with it when it stands for nothing. */
	if (!draw(3) && path->n && path->bytes[path->n - 1] == '/') {
		path->bytes[--path->n] = '\0';
		return at + 2;
	}
	for (i = draw(3), put_name(path); i; i--) {
		put(path, "/");
		put_name(path);
	}
	return at + 2;
}

static void sample(struct text *path, const char *at, const char *end)
{
	while (at < end) {
		if (*at == '*')
			at = sample_stars(path, at);
		else if (*at == '{')
			at = sample_braces(path, at);
		else if (*at == '[')
			at = sample_set(path, at);
		else if (*at == '?')
			put_byte(path, draw_letter()), at++;
		else
			at = sample_literal(path, at);
	}
}

/* One byte more, less or other. */
static void disturb(struct text *path)
{
	struct text before = *path;
	size_t at = path->n ? draw((unsigned int)path->n) : 0;

	path->n = at;
	if (draw(3))
		put_byte(path, draw(4) ? draw_letter() : '/');
	put(path, before.bytes + at + (draw(3) && at < before.n));
}

/* As the kernel's walk makes them: no empty component, none at the end; "/" alone for the root. */
static void clean(struct text *path)
{
	size_t i, n = 0;

	for (i = 0; i < path->n; i++) {
		if (path->bytes[i] != '/' || !n || path->bytes[n - 1] != '/')
			path->bytes[n++] = path->bytes[i];
	}
	while (n > 1 && path->bytes[n - 1] == '/')
		n--;
	path->bytes[n] = '\0';
	path->n = n;
}

static void draw_path(const struct world *world, struct text *path)
{
	const char *glob = world->globs[draw((unsigned int)world->nrules)];
	unsigned int i;

	*path = (struct text){.n = 0};
	if (draw(8)) {
		sample(path, glob, glob + strlen(glob));
	} else {
		for (i = draw(4); i; i--) {
			put(path, "/");
			put_name(path);
		}
	}
	for (i = draw(3); i > 1; i--)
		disturb(path);
	if (path->bytes[0] != '/' && (path->bytes[0] != '@' || draw(4))) {
		struct text rest = *path;

		*path = (struct text){.n = 0};
		put(path, "/");
		put(path, rest.bytes);
	}
	if (path->bytes[0] == '/')
		clean(path);
}

/* --- policies and mounts --- */

/* A directory; often one that rules speak of. */
static void draw_directory(const struct world *world, char *ret)
{
	struct text path = {.n = 0};
	char *slash;

	if (draw(3))
		draw_path(world, &path);
	slash = strrchr(path.bytes, '/');
	if (slash && draw(2))
		*slash = '\0';
	strcpy(ret, path.bytes[0] == '/' ? path.bytes : "/");
}

static void draw_world(struct world *world)
{
	size_t i;

	world->nrules = 1 + draw(MAX_RULES);
	world->nmounts = draw(MAX_MOUNTS + 1);
	for (i = 0; i < world->nrules; i++) {
		draw_glob(world->globs[i]);
		/* Often alike, so that tails are shared. */
		world->rules[i] = (struct rule){
			.effect = (enum rule_effect)draw(RULE_EFFECTS),
			.perms = 1 + draw(draw(2) ? 3 : BH_PERM_ALL),
			.glob = world->globs[i],
		};
	}
	for (i = 0; i < world->nmounts; i++) {
		draw_directory(world, world->roots[i]);
		draw_directory(world, world->points[i]);
		world->mounts[i] =
			(struct mount_view){1 + draw(3), world->roots[i], world->points[i]};
	}
}

/* Takes a path as people see it to where it stands on a superblock, through some mount of it. */
static __u32 place_on_mount(const struct world *world, struct text *path)
{
	const struct mount_view *mount;
	struct text seen = *path;
	size_t length;

	if (!world->nmounts || !draw(4) || path->bytes[0] != '/')
		return 0;
	mount = &world->mounts[draw((unsigned int)world->nmounts)];
	length = strcmp(mount->point, "/") ? strlen(mount->point) : 0;
	if (draw(8) && !strncmp(path->bytes, mount->point, length)) {
		*path = (struct text){.n = 0};
		put(path, mount->root);
		put(path, "/");
		put(path, seen.bytes + length);
		clean(path);
	}
	return mount->sbid;
}

/* --- what is expected --- */

struct verdict {
	__u32 says[RULE_EFFECTS];
};

/* What the rules say of one name, by glob_match alone. */
static void judge_name(const struct world *world, const char *path, struct verdict *verdict)
{
	__u32 perms;
	size_t i;

	for (i = 0; i < world->nrules; i++) {
		if (!glob_match(world->rules[i].glob, path, strlen(path)))
			continue;
		perms = world->rules[i].perms | (world->rules[i].perms & W ? A : 0);
		verdict->says[world->rules[i].effect] |= perms;
	}
}

/* The names a file has through the mounts of its superblock, judged one by one. */
static void judge_file(const struct world *world, __u32 sbid, const char *path,
		       struct verdict *verdict)
{
	char seen[2 * PATH];
	size_t i, length;

	path = strcmp(path, "/") ? path : "";
	for (i = 0; i < world->nmounts; i++) {
		const struct mount_view *mount = &world->mounts[i];

		length = strcmp(mount->root, "/") ? strlen(mount->root) : 0;
		if (mount->sbid != sbid || strncmp(path, mount->root, length) ||
		    (path[length] && path[length] != '/'))
			continue;
		snprintf(seen, sizeof(seen), "%s%s", strcmp(mount->point, "/") ? mount->point : "",
			 path + length);
		judge_name(world, seen, verdict);
	}
}

/* --- the comparison --- */

struct count {
	unsigned int cases, differ, spoken; /* of: some rule names the file */
};

/* Tripwire, then deny, then allow; audit is of what is allowed, quiet of what is not. */
static struct bh_masks settle(const struct verdict *verdict)
{
	__u32 no = verdict->says[RULE_TRIPWIRE] | verdict->says[RULE_DENY];
	__u32 yes = verdict->says[RULE_ALLOW] & ~no;

	return (struct bh_masks){
		.allow = yes,
		.quiet = verdict->says[RULE_QUIET] & ~yes & ~verdict->says[RULE_TRIPWIRE],
		.audit = verdict->says[RULE_AUDIT] & yes,
		.tripwire = verdict->says[RULE_TRIPWIRE],
	};
}

static void tell(const struct world *world, __u32 sbid, const char *path,
		 const struct bh_masks *masks, const struct bh_masks *wanted)
{
	size_t i;

	print_message("superblock %u, \"%s\": %x %x %x %x, expected %x %x %x %x\n", sbid, path,
		      masks->allow, masks->quiet, masks->audit, masks->tripwire, wanted->allow,
		      wanted->quiet, wanted->audit, wanted->tripwire);
	for (i = 0; i < world->nrules; i++)
		print_message("  rule %d %x \"%s\"%s\n", world->rules[i].effect,
			      world->rules[i].perms, world->globs[i],
			      glob_match(world->globs[i], path, strlen(path)) ? " matches" : "");
	for (i = 0; i < world->nmounts; i++)
		print_message("  mount %u \"%s\" at \"%s\"\n", world->mounts[i].sbid,
			      world->mounts[i].root, world->mounts[i].point);
}

static void compare(const struct world *world, const struct automaton *automaton,
		    struct count *count)
{
	struct verdict verdict = {0};
	struct text path;
	struct bh_masks masks, wanted;
	__u32 sbid;

	draw_path(world, &path);
	sbid = place_on_mount(world, &path);
	if (automaton_walk(automaton, sbid, path.bytes, path.n, &masks) < 0)
		fail_msg("no superblock %u", sbid);
	if (sbid)
		judge_file(world, sbid, path.bytes, &verdict);
	else
		judge_name(world, path.bytes, &verdict);
	count->cases++;
	wanted = settle(&verdict);
	count->spoken += verdict.says[RULE_ALLOW] || verdict.says[RULE_DENY] ||
			 verdict.says[RULE_QUIET] || verdict.says[RULE_TRIPWIRE];
	if (!memcmp(&masks, &wanted, sizeof(masks)))
		return;
	if (!count->differ++)
		tell(world, sbid, path.bytes, &masks, &wanted);
}

/* Of a table within a page: parts rows by verdict, then by where they lead, until nothing changes: as
 * many parts as rows. */
static void assert_minimal(const struct automaton *automaton)
{
	size_t row = automaton->head.nclasses + BH_ROW_EXTRA, n = automaton->head.nwords / row;
	size_t i, j, label, parts = 0, before;
	__u32 *part = calloc(n, sizeof(*part)), *next = calloc(n, sizeof(*next));

	assert_true(part && next);
	do {
		before = parts;
		parts = 0;
		for (i = 0; i < n; i++) {
			const __u32 *a = automaton->words + i * row, *b;

			for (j = 0; j < i; j++) {
				b = automaton->words + j * row;
				for (label = 0; label < automaton->head.nclasses; label++) {
					if (part[a[label] / row] != part[b[label] / row])
						break;
				}
				if (part[i] == part[j] && label == automaton->head.nclasses &&
				    !memcmp(a + label, b + label, BH_ROW_EXTRA * sizeof(*a)))
					break;
			}
			next[i] = j < i ? next[j] : (__u32)parts++;
		}
		memcpy(part, next, n * sizeof(*part));
	} while (parts != before);
	assert_int_equal(parts, n);
	free(part);
	free(next);
}

static void test_differential(void **state)
{
	const char *given = getenv("BULKHEAD_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : 1;
	struct count count = {0};
	struct world world;
	unsigned int i, j;

	(void)state;
	random_state = seed;
	for (i = 0; i < POLICIES; i++) {
		struct automaton automaton;
		struct error error = {0};

		draw_world(&world);
		if (automaton_compile(world.rules, world.nrules, world.mounts, world.nmounts,
				      &automaton, &error) < 0)
			fail_msg("policy %u of seed %llu: %s", i, (unsigned long long)seed,
				 error.text);
		for (j = 0; j < PATHS; j++)
			compare(&world, &automaton, &count);
		if (i % 16 == 0 && automaton.head.nwords < BH_PAGE_WORDS)
			assert_minimal(&automaton);
		automaton_done(&automaton);
	}
	print_message("%u differential cases, %u differ (seed %llu, rules name the file in %u)\n",
		      count.cases, count.differ, (unsigned long long)seed, count.spoken);
	assert_int_equal(count.differ, 0);
	/* Near misses, not misses. */
	assert_in_range(count.spoken, count.cases / 4, count.cases * 3 / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_differential)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
