// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a name stands for changes while it is opened. The harness, an outsider, swaps it again and again on
 * one processor; a member opens on the other. `turn` is odd while a swap is under way, half of it is the
 * side: an open before and after which the same even turn stood met no swap, and what must come of it is
 * known exactly. Of the others is known that they never open what at no time stands in an allowed place.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MNT FIXTURE "/work/mnt"
#define ASIDE FIXTURE "/work/aside"
#define LINK FIXTURE "/work/swapped"
#define MIX FIXTURE "/mix"

#define ENOUGH 100    /* mistakes, after which a race ends */
#define MAX_TARGETS 7 /* with the empty one at the end */
/* Between two swaps, in steps of a loop: at most (a power of two less one); while waiting for opens that meet
 * no swap, since on a busy host nobody may open now; and the same where a swap takes long. */
#define PAUSE_SHORT 4095
#define PAUSE_LIMIT 40000
#define PAUSE_PATIENT 10000000
#define LEAF_SWAPS 21 /* at a time, an odd number: most opens are to meet one */

/* A name that is opened once a round. What stands beside one that was opened before is judged by their directory's
 * state. */
struct target {
	const char *dir; /* held open since before the race; NULL: the path is absolute */
	const char *path;
	int expect[2]; /* by side: errno, 0 opens */
	bool fixed;    /* no swap touches it: exactly this must come of every open */
};

struct kind {
	struct target targets[MAX_TARGETS];
	const struct cell_options *options;
	int (*prepare)(void);
	int (*swap)(struct cell *cell, int side); /* to this side; 0 or -errno */
	void (*clean)(void);
	unsigned int swaps; /* at least so many; 0: as many as rounds */
	bool one_cpu;	    /* the two preempt each other */
	bool undecided;	    /* whatever is refused must be refused as undecided */
};

/* In memory that both have. */
struct race {
	const struct kind *kind;
	int dirs[MAX_TARGETS];
	unsigned int rounds, turn, opens, done;
	/* What the opener saw: opens that met no swap, by side, and those that did; what came of those
	 * whose outcome the side decides. */
	unsigned int still[2], overlapped, opened, refused;
	unsigned int leaked, wrong, wrong_target;
	int wrong_outcome, wrong_wanted;
};

static unsigned int load(const unsigned int *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void store(unsigned int *word, unsigned int value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

static int pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

/* Whether enough was seen of all that can happen: without, a race proves nothing, and goes on. */
static bool was_race(const struct race *race)
{
	const unsigned int floor = race->rounds / 100;
	const struct target *first = &race->kind->targets[0];
	unsigned int swaps = race->kind->swaps ? race->kind->swaps : race->rounds;

	return load(&race->turn) / 2 >= swaps && race->still[0] >= floor &&
	       race->still[1] >= floor && race->overlapped >= floor &&
	       (first->expect[0] == first->expect[1] ||
		(race->opened >= floor && race->refused >= floor));
}

/* --- who opens --- */

/* Secrets of the fixture begin with an s, what may be read at some place with another letter. */
static int open_target(const struct race *race, size_t i, bool *ret_secret)
{
	const struct target *t = &race->kind->targets[i];
	_cleanup_close_ int fd = openat(race->dirs[i], t->path, O_RDONLY | O_CLOEXEC);
	char first = 0;

	*ret_secret = false;
	if (fd < 0)
		return errno;
	if (pread(fd, &first, 1, 0) < 0)
		return VERB_BROKEN + errno;
	*ret_secret = first == 's';
	return 0;
}

static void open_once(struct race *race, size_t i)
{
	const struct target *t = &race->kind->targets[i];
	unsigned int before = load(&race->turn), side = before / 2 % 2, after;
	bool secret, still;
	int r = open_target(race, i, &secret);

	after = load(&race->turn);
	still = after == before && before % 2 == 0;
	if (!t->fixed) {
		race->still[side] += still;
		race->overlapped += after != before;
	}
	if (t->expect[0] != t->expect[1]) {
		race->opened += r == 0;
		race->refused += r == EACCES;
	} else if (race->kind->undecided) {
		race->refused += r == EACCES;
	}
	if (secret || ((still || t->fixed) && r == 0 && t->expect[side] != 0)) {
		race->leaked++;
	} else if ((still || t->fixed) ? r != t->expect[side] : r && r != EACCES && r != ENOENT) {
		if (!race->wrong++) {
			race->wrong_target = i;
			race->wrong_outcome = r;
			race->wrong_wanted = t->expect[side];
		}
	}
	store(&race->opens, race->opens + 1);
}

static int open_all(void *data)
{
	struct race *race = data;
	unsigned int n;
	size_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin_to(0);
	for (n = 0; n < race->rounds || !was_race(race); n++) {
		for (i = 0; race->kind->targets[i].path; i++)
			open_once(race, i);
		if (race->leaked + race->wrong >= ENOUGH)
			break;
	}
	store(&race->done, 1);
	return 0;
}

/* --- who swaps --- */

/* Every other time for some opens, which then meet no swap; else for a moment or none, and some do. On one
 * processor nobody opens meanwhile: there it is for as long. */
static void pause_a_little(const struct race *race, unsigned int *seed)
{
	const unsigned int from = load(&race->opens);
	unsigned int limit = race->kind->swaps ? PAUSE_PATIENT : PAUSE_LIMIT, i;
	bool wait;

	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	wait = *seed >> 31 || race->kind->swaps;
	for (i = wait ? limit : *seed & PAUSE_SHORT; i > 0; i--)
		if (wait && !race->kind->one_cpu &&
		    load(&race->opens) - from >= 2 + (*seed >> 16 & 3))
			break;
}

/* Ends what hangs: on a host with ten times its work the slowest kinds take two minutes. */
static int swap_until_done(struct cell *cell, struct race *race)
{
	const time_t end = time(NULL) + 300 + race->rounds / 100;
	unsigned int seed = 2463534242, turn = 0;
	int r = 0;

	while (r == 0 && !load(&race->done)) {
		store(&race->turn, ++turn);
		r = race->kind->swap(cell, (turn + 1) / 2 % 2);
		store(&race->turn, ++turn);
		pause_a_little(race, &seed);
		if (time(NULL) > end)
			r = -ETIMEDOUT;
	}
	return r;
}

static int race_swaps(struct cell *cell, struct race *race)
{
	cpu_set_t before;
	pid_t pid = cell_spawn(cell, cell->cgroup_fd, open_all, race);
	int r, ended;

	if (pid < 0)
		return -errno;
	sched_getaffinity(0, sizeof(before), &before);
	pin_to(race->kind->one_cpu ? 0 : 1);
	r = swap_until_done(cell, race);
	sched_setaffinity(0, sizeof(before), &before);
	if (r < 0)
		kill(pid, SIGKILL);
	ended = cell_wait(pid);
	return r < 0 ? r : ended == 0 ? 0 : -ECHILD;
}

/* --- what is swapped --- */

static int put(const char *dir, const char *file, const char *text)
{
	_cleanup_close_ int fd = -1;

	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = file ? open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644) : -1;
	return !file ? 0 : fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int prepare_symlink(void)
{
	return symlink(FIXTURE_OPEN, LINK) < 0 ? -errno : 0;
}

static int swap_symlink(struct cell *cell _unused_, int side)
{
	if (symlink(side ? FIXTURE_SECRET : FIXTURE_OPEN, FIXTURE "/new") < 0)
		return -errno;
	return rename(FIXTURE "/new", LINK) < 0 ? -errno : 0;
}

static int prepare_above(void)
{
	int r = put(FIXTURE "/open/move", NULL, NULL);

	r = r ?: put(FIXTURE "/open/move/deep", FIXTURE "/open/move/deep/file", "moves\n");
	return r ?: put(FIXTURE "/open/move/deep", FIXTURE "/open/move/deep/next", "moves\n");
}

static int swap_above(struct cell *cell _unused_, int side)
{
	int r = side ? rename(FIXTURE "/open/move", FIXTURE "/secret/move")
		     : rename(FIXTURE "/secret/move", FIXTURE "/open/move");

	return r < 0 ? -errno : 0;
}

/* A directory that changes its name and its parent at once: half of each is another place. */
static struct rule mix_rules[] = {
	{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)MIX "/a/open/**"},
	{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)MIX "/b/shown/**"},
	{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)FIXTURE_OPEN},
};
static const struct cell_options mix_options = {.rules = mix_rules, .nrules = 3};

static int prepare_mix(void)
{
	int r = put(MIX, NULL, NULL);

	r = r ?: put(MIX "/a", NULL, NULL);
	r = r ?: put(MIX "/b", NULL, NULL);
	r = r ?: put(MIX "/a/shown", MIX "/a/shown/key", "secret\n");
	r = r ?: put(MIX "/a/shown", MIX "/a/shown/next", "secret\n");
	r = r ?: put(MIX "/a/open", MIX "/a/open/file", "moves\n");
	return r ?: put(MIX "/a/open", MIX "/a/open/next", "moves\n");
}

static int swap_closed(struct cell *cell _unused_, int side)
{
	int r = side ? rename(MIX "/a/shown", MIX "/b/open")
		     : rename(MIX "/b/open", MIX "/a/shown");

	return r < 0 ? -errno : 0;
}

static int swap_shown(struct cell *cell _unused_, int side)
{
	int r = side ? rename(MIX "/a/open", MIX "/b/shown")
		     : rename(MIX "/b/shown", MIX "/a/open");

	return r < 0 ? -errno : 0;
}

static int prepare_exchange(void)
{
	int r = put(FIXTURE "/open/one", FIXTURE "/open/one/file", "moves\n");

	r = r ?: put(FIXTURE "/open/one", FIXTURE "/open/one/next", "moves\n");
	r = r ?: put(FIXTURE "/secret/one", FIXTURE "/secret/one/file", "moves\n");
	r = r ?: put(FIXTURE "/open", FIXTURE "/open/leaf", "moves\n");
	return r ?: put(FIXTURE "/secret", FIXTURE "/secret/leaf", "moves\n");
}

static int swap_directories(struct cell *cell _unused_, int side _unused_)
{
	return renameat2(AT_FDCWD, FIXTURE "/open/one", AT_FDCWD, FIXTURE "/secret/one",
			 RENAME_EXCHANGE) < 0
		       ? -errno
		       : 0;
}

static int swap_files(struct cell *cell _unused_, int side _unused_)
{
	return renameat2(AT_FDCWD, FIXTURE "/open/leaf", AT_FDCWD, FIXTURE "/secret/leaf",
			 RENAME_EXCHANGE) < 0
		       ? -errno
		       : 0;
}

/* Two files that change their names all the time in a directory where nothing may be read, while names like theirs
 * may be read in the filesystem's root: of a walk that is disturbed no part is taken for the whole. */
static struct rule leaf_rules[] = {
	{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)"/leaf-*"},
	{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)FIXTURE_OPEN},
};
static const struct cell_options leaf_options = {.rules = leaf_rules, .nrules = 2};

static int prepare_leaves(void)
{
	int r = put(FIXTURE "/secret", FIXTURE "/secret/leaf-one", "secret\n");

	return r ?: put(FIXTURE "/secret", FIXTURE "/secret/leaf-two", "secret\n");
}

static int swap_leaves(struct cell *cell _unused_, int side _unused_)
{
	for (int i = 0; i < LEAF_SWAPS; i++)
		if (renameat2(AT_FDCWD, FIXTURE "/secret/leaf-one", AT_FDCWD,
			      FIXTURE "/secret/leaf-two", RENAME_EXCHANGE) < 0)
			return -errno;
	return 0;
}

/* A file that is not to be read has for a while a name by which it may be. */
static int prepare_name(void)
{
	int r = put(FIXTURE "/secret", FIXTURE "/secret/named", "moves\n");

	if (r == 0 && link(FIXTURE "/secret/named", FIXTURE "/open/named") < 0)
		r = -errno;
	return r;
}

static int swap_name(struct cell *cell _unused_, int side)
{
	int r = side ? unlink(FIXTURE "/open/named")
		     : link(FIXTURE "/secret/named", FIXTURE "/open/named");

	return r < 0 ? -errno : 0;
}

/* The same where a pattern denies the file: no name of it may be read at any time. */
static struct rule denied_rules[] = {
	{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)FIXTURE "/**"},
	{.effect = RULE_DENY, .perms = BH_PERM_READ, .glob = (char *)FIXTURE "/secret/**"},
};
static const struct cell_options denied_options = {.rules = denied_rules, .nrules = 2};

static int prepare_denied_name(void)
{
	int r = put(FIXTURE "/secret", FIXTURE "/secret/named", "secret\n");

	if (r == 0 && link(FIXTURE "/secret/named", FIXTURE "/open/named") < 0)
		r = -errno;
	return r;
}

static int prepare_mount(void)
{
	int r = put(MNT, MNT "/key", "moves\n");

	return r ?: put(ASIDE, ASIDE "/key", "moves\n");
}

static int swap_mount(struct cell *cell _unused_, int side)
{
	int r = side ? mount(FIXTURE "/secret", MNT, NULL, MS_BIND, NULL)
		     : umount2(MNT, MNT_DETACH);

	return r < 0 ? -errno : 0;
}

static int prepare_mount_move(void)
{
	int r = prepare_mount();

	return r ?: mount(FIXTURE "/secret", ASIDE, NULL, MS_BIND, NULL) < 0 ? -errno : 0;
}

static int swap_mount_move(struct cell *cell _unused_, int side)
{
	int r = side ? mount(ASIDE, MNT, NULL, MS_MOVE, NULL)
		     : mount(MNT, ASIDE, NULL, MS_MOVE, NULL);

	return r < 0 ? -errno : 0;
}

static void clean_mounts(void)
{
	umount2(MNT, MNT_DETACH);
	umount2(ASIDE, MNT_DETACH);
}

/* Two policies take turns; what both say must hold through every change. */
static struct rule reload_rules[] = {
	{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)FIXTURE "/open/**"},
	{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)FIXTURE "/work/file"},
};
static const struct cell_options reload_sides[2] = {{.rules = reload_rules, .nrules = 2},
						    {.rules = reload_rules, .nrules = 1}};

static int prepare_reload(void)
{
	return harness_hurry(true);
}

static void clean_reload(void)
{
	harness_hurry(false);
}

static int swap_policy(struct cell *cell, int side)
{
	struct bh_compartment entry;
	__u32 before = cell->generation;
	int r = cell_policy(cell, &reload_sides[side]);

	if (r == 0)
		r = kern_compartment_get(cell->kern, cell->id, &entry);
	if (r < 0)
		return r;
	entry.generation = cell->generation;
	r = kern_compartment_set(cell->kern, cell->id, &entry);
	return r < 0 ? r : kern_policy_remove(cell->kern, before);
}

/* --- the races --- */

#define ALWAYS_OPEN                                 \
	{                                           \
		.path = FIXTURE_OPEN, .fixed = true \
	}
#define NEVER_OPEN                                                                \
	{                                                                         \
		.path = FIXTURE_SECRET, .expect = {EACCES, EACCES}, .fixed = true \
	}

static const struct kind symlink_kind = {
	.targets = {{.path = LINK, .expect = {0, EACCES}}, ALWAYS_OPEN, NEVER_OPEN},
	.prepare = prepare_symlink,
	.swap = swap_symlink,
};

#define ABOVE_TARGETS                                                                              \
	{                                                                                          \
		{.dir = FIXTURE "/open/move/deep", .path = "file", .expect = {0, EACCES}},         \
			{.dir = FIXTURE "/open/move/deep", .path = "next", .expect = {0, EACCES}}, \
			{.dir = FIXTURE "/open", .path = "move/deep/file", .expect = {0, ENOENT}}, \
			{.dir = FIXTURE "/secret",                                                 \
			 .path = "move/deep/file",                                                 \
			 .expect = {ENOENT, EACCES}},                                              \
			ALWAYS_OPEN, NEVER_OPEN                                                    \
	}

static const struct kind above_kind = {
	.targets = ABOVE_TARGETS, .prepare = prepare_above, .swap = swap_above};

static const struct kind above_preempted_kind = {
	.targets = ABOVE_TARGETS,
	.prepare = prepare_above,
	.swap = swap_above,
	.one_cpu = true,
};

static const struct kind closed_kind = {
	.targets = {{.dir = MIX "/a/shown", .path = "key", .expect = {EACCES, EACCES}},
		    {.dir = MIX "/a/shown", .path = "next", .expect = {EACCES, EACCES}},
		    ALWAYS_OPEN,
		    NEVER_OPEN},
	.options = &mix_options,
	.prepare = prepare_mix,
	.swap = swap_closed,
};

static const struct kind shown_kind = {
	.targets = {{.dir = MIX "/a/open", .path = "file"},
		    {.dir = MIX "/a/open", .path = "next"},
		    ALWAYS_OPEN},
	.options = &mix_options,
	.prepare = prepare_mix,
	.swap = swap_shown,
	.undecided = true,
};

static const struct kind directories_kind = {
	.targets = {{.dir = FIXTURE "/open/one", .path = "file", .expect = {0, EACCES}},
		    {.dir = FIXTURE "/open/one", .path = "next", .expect = {0, EACCES}},
		    {.dir = FIXTURE "/secret/one", .path = "file", .expect = {EACCES, 0}},
		    {.path = FIXTURE "/open/one/file"},
		    {.dir = FIXTURE "/secret", .path = "one/file", .expect = {EACCES, EACCES}},
		    ALWAYS_OPEN},
	.prepare = prepare_exchange,
	.swap = swap_directories,
};

static const struct kind files_kind = {
	.targets = {{.path = FIXTURE "/open/leaf"},
		    {.path = FIXTURE "/secret/leaf", .expect = {EACCES, EACCES}},
		    ALWAYS_OPEN,
		    NEVER_OPEN},
	.prepare = prepare_exchange,
	.swap = swap_files,
};

static const struct kind leaves_kind = {
	.targets = {{.path = FIXTURE "/secret/leaf-one", .expect = {EACCES, EACCES}},
		    {.path = FIXTURE "/secret/leaf-two", .expect = {EACCES, EACCES}},
		    ALWAYS_OPEN,
		    NEVER_OPEN},
	.options = &leaf_options,
	.prepare = prepare_leaves,
	.swap = swap_leaves,
	.swaps = 500,
};

static const struct kind name_kind = {
	.targets = {NEVER_OPEN,
		    {.path = FIXTURE "/open/named", .expect = {0, ENOENT}},
		    {.path = FIXTURE "/secret/named", .expect = {EACCES, EACCES}, .fixed = true},
		    ALWAYS_OPEN},
	.prepare = prepare_name,
	.swap = swap_name,
};

static const struct kind denied_name_kind = {
	.targets = {NEVER_OPEN,
		    {.path = FIXTURE "/open/named", .expect = {EACCES, ENOENT}},
		    {.path = FIXTURE "/open/named", .expect = {EACCES, ENOENT}},
		    {.path = FIXTURE "/open/named", .expect = {EACCES, ENOENT}},
		    ALWAYS_OPEN},
	.options = &denied_options,
	.prepare = prepare_denied_name,
	.swap = swap_name,
};

static const struct kind mount_kind = {
	.targets = {{.path = MNT "/key", .expect = {0, EACCES}}, ALWAYS_OPEN, NEVER_OPEN},
	.prepare = prepare_mount,
	.swap = swap_mount,
	.clean = clean_mounts,
};

static const struct kind mount_move_kind = {
	.targets = {{.path = MNT "/key", .expect = {0, EACCES}},
		    {.path = ASIDE "/key", .expect = {EACCES, 0}},
		    ALWAYS_OPEN,
		    NEVER_OPEN},
	.prepare = prepare_mount_move,
	.swap = swap_mount_move,
	.clean = clean_mounts,
};

static const struct kind reload_kind = {
	.targets = {{.path = FIXTURE "/work/file", .expect = {0, EACCES}}, ALWAYS_OPEN, NEVER_OPEN},
	.options = &reload_sides[0],
	.prepare = prepare_reload,
	.swap = swap_policy,
	.clean = clean_reload,
	.swaps = 1000,
};

static int check_race(struct cell *cell, const struct race *race)
{
	const struct kind *kind = race->kind;
	struct bh_tally tally = cell_tally(cell);

	printf("# %u rounds, %u swaps: %u and %u opens met none, %u did; by the side %u opened, %u "
	       "refused; %llu undecided\n",
	       race->rounds, race->turn / 2, race->still[0], race->still[1], race->overlapped,
	       race->opened, race->refused, (unsigned long long)tally.unsure);
	CHECK(race->leaked == 0, "%u opens of what may not be read", race->leaked);
	CHECK(race->wrong == 0, "%u other outcomes than the right one, first %s: %s instead of %s",
	      race->wrong, kind->targets[race->wrong_target].path,
	      outcome_text(race->wrong_outcome), outcome_text(race->wrong_wanted));
	CHECK(was_race(race), "there was no race");
	CHECK(tally.hook[BH_HOOK_FILE_OPEN] >= race->refused, "refusals were not counted");
	CHECK(!kind->undecided || race->refused == tally.unsure,
	      "%u good opens refused, %llu undecided", race->refused,
	      (unsigned long long)tally.unsure);
	if (kind->undecided)
		return 0;
	cell_drain(cell);
	CHECK(cell_event(cell, 0, BH_HOOK_FILE_OPEN), "no event");
	return 0;
}

static int hold_directories(struct race *race)
{
	const struct target *t = race->kind->targets;
	size_t i;

	for (i = 0; t[i].path; i++) {
		race->dirs[i] =
			t[i].dir ? open(t[i].dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : AT_FDCWD;
		if (t[i].dir && race->dirs[i] < 0)
			return -errno;
	}
	return 0;
}

static void drop_directories(struct race *race)
{
	size_t i;

	for (i = 0; i < MAX_TARGETS; i++)
		if (race->dirs[i] > 0)
			close(race->dirs[i]);
}

static int run_race(struct kern *kern, const struct kind *kind)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, kind->options);
	struct race *race = mmap(NULL, sizeof(*race), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int r;

	CHECK(cell && race != MAP_FAILED, "no cell");
	race->kind = kind;
	race->rounds = harness_rounds;
	r = kind->prepare ? kind->prepare() : 0;
	if (r == 0)
		r = hold_directories(race);
	if (r == 0)
		r = race_swaps(cell, race);
	if (kind->clean)
		kind->clean();
	drop_directories(race);
	r = r < 0 ? case_fail("the race: %s", strerror(-r)) : check_race(cell, race);
	munmap(race, sizeof(*race));
	return r;
}

#define RACE(name)                                   \
	static int case_##name(struct kern *kern)    \
	{                                            \
		return run_race(kern, &name##_kind); \
	}
RACE(symlink)
RACE(above)
RACE(above_preempted)
RACE(closed)
RACE(shown)
RACE(directories)
RACE(files)
RACE(leaves)
RACE(name)
RACE(denied_name)
RACE(mount)
RACE(mount_move)
RACE(reload)

const struct test_case swap_cases[] = {
	{"race/symlink", case_symlink, CASE_REFUSES},
	{"race/above", case_above, CASE_REFUSES},
	{"race/preempted-above", case_above_preempted, CASE_REFUSES},
	{"race/half-renamed", case_closed, CASE_REFUSES},
	{"race/half-renamed-open", case_shown, CASE_ALLOWS},
	{"race/exchange-directories", case_directories, CASE_REFUSES},
	{"race/exchange-files", case_files, CASE_REFUSES},
	{"race/exchange-leaves", case_leaves, CASE_REFUSES},
	{"race/name", case_name, CASE_REFUSES},
	{"race/denied-name", case_denied_name, CASE_REFUSES},
	{"race/mount", case_mount, CASE_REFUSES},
	{"race/mount-move", case_mount_move, CASE_REFUSES},
	{"race/reload", case_reload, CASE_REFUSES},
	{},
};
