// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Files with several names: denied by one, reached by another. */
#include "harness.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "board.h"

#define W FIXTURE "/work"
#define KEY W "/key" /* denied by its whole name */
#define ALL_BUT_RUNNING                                                                    \
	(BH_PERM_READ | BH_PERM_WRITE | BH_PERM_APPEND | BH_PERM_CREATE | BH_PERM_DELETE | \
	 BH_PERM_ATTRIBUTES | BH_PERM_LINK)

#define RULE(effect_, perms_, glob_)                                            \
	{                                                                       \
		.effect = (effect_), .perms = (perms_), .glob = (char *)(glob_) \
	}
#define WORK RULE(RULE_ALLOW, ALL_BUT_RUNNING, W "/**")

static const struct rule by_name[] = {WORK, RULE(RULE_DENY, BH_PERM_READ, KEY),
				      RULE(RULE_DENY, BH_PERM_READ, W "/far/away/key")};
static const struct rule by_pattern[] = {WORK, RULE(RULE_DENY, BH_PERM_READ, W "/**/*.env"),
					 RULE(RULE_ALLOW, ALL_BUT_RUNNING, W "/named")};
static const struct rule linked[] = {
	{.effect = RULE_ALLOW, .perms = ALL_BUT_RUNNING, .links = true, .glob = (char *)W "/**"},
	RULE(RULE_DENY, BH_PERM_READ, W "/**/*.env")};
static const struct rule allowing[] = {WORK};

#define OPTIONS(rules_)                                                         \
	(struct cell_options)                                                   \
	{                                                                       \
		.rules = (rules_), .nrules = sizeof(rules_) / sizeof(*(rules_)) \
	}

/* Installs a policy in place of the one before, as a reload does. */
static int renew(struct cell *cell, const struct cell_options *options)
{
	__u32 before = cell->generation;
	struct bh_compartment entry;
	int r = cell_policy(cell, options);

	if (r == 0)
		r = kern_compartment_get(cell->kern, cell->id, &entry);
	entry.generation = cell->generation;
	if (r == 0)
		r = kern_compartment_set(cell->kern, cell->id, &entry);
	return r < 0 ? r : kern_policy_remove(cell->kern, before);
}

/* --- acts, one after the other --- */

struct act {
	enum where where;
	const char *verb, *a, *b;
	int outcome;
	enum bh_reason reason; /* of a refusal inside */
};

static enum bh_hook hook_of(const char *verb)
{
	static const struct {
		const char *verb;
		enum bh_hook hook;
	} hooks[] = {{"unlink", BH_HOOK_PATH_UNLINK},
		     {"rename", BH_HOOK_PATH_RENAME},
		     {"exchange", BH_HOOK_PATH_RENAME},
		     {"link", BH_HOOK_PATH_LINK}};

	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
		if (!strcmp(verb, hooks[i].verb))
			return hooks[i].hook;
	return BH_HOOK_FILE_OPEN;
}

static int check_refusal(struct cell *cell, const struct act *a, size_t from,
			 const struct bh_tally *before)
{
	struct bh_tally now = cell_tally(cell);
	enum bh_hook hook = hook_of(a->verb);
	const struct bh_event_copy *e;

	cell_drain(cell);
	e = cell_event(cell, from, hook);
	CHECK(now.refused == before->refused + 1 && now.hook[hook] == before->hook[hook] + 1,
	      "%s %s: not counted", a->verb, a->a);
	CHECK(e && e->head.error == EACCES, "%s %s: no event", a->verb, a->a);
	CHECK(e->head.reason == a->reason, "%s %s: by reason %u, not %u", a->verb, a->a,
	      e->head.reason, a->reason);
	return 0;
}

static int do_act(struct cell *cell, const struct act *a)
{
	struct bh_tally before = cell_tally(cell);
	size_t from = cell->nevents;
	int r = cell_verb(cell, a->where, a->verb, a->a, a->b, NULL);

	CHECK(r == a->outcome, "%s, %s %s %s: %s", a->where == INSIDE ? "inside" : "beside",
	      a->verb, a->a, a->b ? a->b : "", outcome_text(r));
	return a->where == INSIDE && r ? check_refusal(cell, a, from, &before) : 0;
}

static int do_acts(struct cell *cell, const struct act *acts, size_t n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = do_act(cell, &acts[i]);
	return r;
}

#define ACTS(cell, ...)                                                        \
	do {                                                                   \
		static const struct act acts_[] = {__VA_ARGS__};               \
		int r_ = do_acts(cell, acts_, sizeof(acts_) / sizeof(*acts_)); \
		if (r_)                                                        \
			return r_;                                             \
	} while (0)

#define OUT(verb, a, b)                  \
	{                                \
		BESIDE, verb, a, b, 0, 0 \
	}
#define IN(verb, a, b)                   \
	{                                \
		INSIDE, verb, a, b, 0, 0 \
	}
#define NO(verb, a, b, reason)                                 \
	{                                                      \
		INSIDE, verb, a, b, EACCES, BH_REASON_##reason \
	}
/* By somebody else it can be had. */
#define BOTH(path, reason) OUT("read", path, NULL), NO("read", path, NULL, reason)

/* Whose policy allows all of the fixture's work, and then becomes `options`'s. */
#define CELL(cell)                                               \
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL); \
	CHECK(cell, "no cell")
#define RENEW(cell, rules) CHECK(renew(cell, &OPTIONS(rules)) == 0, "no policy")

/* --- denied by its whole name --- */

static int case_old(struct kern *kern)
{
	CELL(cell);
	ACTS(cell, OUT("create", KEY, NULL), OUT("link", KEY, W "/old"),
	     OUT("link", W "/file", W "/plain"));
	RENEW(cell, by_name);
	ACTS(cell, BOTH(KEY, NO_RULE), BOTH(W "/old", PINNED),
	     /* Another right than the one that is denied; another file with two names. */
	     IN("write", W "/old", NULL), IN("read", W "/plain", NULL), IN("read", W "/file", NULL),
	     /* Its second name would be its only one. */
	     NO("unlink", KEY, NULL, OLD_LINK), NO("rename", W "/file", KEY, OLD_LINK));
	return 0;
}

static int case_later(struct kern *kern)
{
	CELL(cell);
	ACTS(cell, OUT("create", KEY, NULL));
	RENEW(cell, by_name);
	ACTS(cell, OUT("link", KEY, W "/later"), OUT("link", W "/file", W "/plain"),
	     BOTH(W "/later", PINNED), IN("read", W "/plain", NULL));
	return 0;
}

/* As an editor does: a new file with the old one's name. */
static int case_replaced(struct kern *kern)
{
	CELL(cell);
	ACTS(cell, OUT("create", KEY, NULL));
	RENEW(cell, by_name);
	ACTS(cell, OUT("create", W "/tmp", NULL), OUT("rename", W "/tmp", KEY),
	     OUT("link", KEY, W "/later"), BOTH(W "/later", PINNED),
	     /* What has two names already comes to stand there. */
	     OUT("create", W "/one", NULL), OUT("link", W "/one", W "/two"),
	     IN("read", W "/two", NULL), OUT("rename", W "/one", KEY), BOTH(W "/two", PINNED),
	     OUT("create", W "/three", NULL), OUT("link", W "/three", W "/four"),
	     OUT("exchange", W "/three", KEY), BOTH(W "/four", PINNED));
	return 0;
}

/* The name is given to a file that has another one. */
static int case_given(struct kern *kern)
{
	CELL(cell);
	RENEW(cell, by_name);
	ACTS(cell, IN("read", W "/file", NULL), OUT("link", W "/file", KEY),
	     BOTH(W "/file", PINNED), OUT("unlink", KEY, NULL), IN("read", W "/file", NULL));
	return 0;
}

/* The directory that the name is in is made later, and by another one's rename. */
static int case_loose(struct kern *kern)
{
	CELL(cell);
	ACTS(cell, OUT("link", W "/file", W "/plain"));
	RENEW(cell, by_name);
	ACTS(cell, IN("read", W "/plain", NULL), OUT("mkdir", W "/far", NULL),
	     BOTH(W "/plain", OLD_LINK));
	CHECK(kern_policy_loose(kern, cell->generation) == BH_LOOSE, "not loose");
	RENEW(cell, by_name);
	CHECK(kern_policy_loose(kern, cell->generation) == BH_PINNED, "loose");
	ACTS(cell, IN("read", W "/plain", NULL), OUT("mkdir", W "/near", NULL),
	     IN("read", W "/plain", NULL), OUT("rename", W "/near", W "/far/away"),
	     BOTH(W "/plain", OLD_LINK));
	RENEW(cell, by_name);
	ACTS(cell, OUT("create", W "/far/away/key", NULL),
	     OUT("link", W "/far/away/key", W "/found"), BOTH(W "/found", PINNED),
	     IN("read", W "/plain", NULL));
	return 0;
}

static int case_reload(struct kern *kern)
{
	CELL(cell);
	ACTS(cell, OUT("create", KEY, NULL), OUT("link", KEY, W "/old"));
	RENEW(cell, by_name);
	ACTS(cell, BOTH(W "/old", PINNED));
	RENEW(cell, by_name);
	ACTS(cell, BOTH(W "/old", PINNED));
	RENEW(cell, allowing);
	ACTS(cell, IN("read", W "/old", NULL), IN("read", KEY, NULL));
	return 0;
}

/* --- denied by pattern --- */

static int case_pattern(struct kern *kern)
{
	CELL(cell);
	ACTS(cell, OUT("create", W "/x.env", NULL), OUT("link", W "/x.env", W "/old"),
	     OUT("create", W "/named", NULL), OUT("link", W "/named", W "/unnamed"));
	RENEW(cell, by_pattern);
	ACTS(cell, BOTH(W "/x.env", NO_RULE), BOTH(W "/old", OLD_LINK), IN("read", W "/file", NULL),
	     IN("write", W "/old", NULL), IN("read", W "/named", NULL),
	     BOTH(W "/unnamed", OLD_LINK));
	return 0;
}

static int case_pattern_names(struct kern *kern)
{
	CELL(cell);
	ACTS(cell, OUT("create", W "/x.env", NULL), OUT("link", W "/x.env", W "/old"),
	     OUT("create", W "/y.env", NULL));
	RENEW(cell, by_pattern);
	ACTS(cell, /* To a name whose own rule would have it read. */
	     NO("rename", W "/old", W "/named", RIGHTS), NO("link", W "/old", W "/named", RIGHTS),
	     IN("rename", W "/old", W "/moved"), IN("link", W "/moved", W "/more"),
	     BOTH(W "/more", OLD_LINK), IN("rename", W "/file", W "/named"),
	     IN("read", W "/named", NULL),
	     /* Then the other name would be the only one. */
	     NO("unlink", W "/x.env", NULL, OLD_LINK),
	     NO("rename", W "/named", W "/x.env", OLD_LINK), IN("unlink", W "/y.env", NULL),
	     IN("unlink", W "/more", NULL),
	     /* An outsider may, and then it is. */
	     BOTH(W "/moved", OLD_LINK), OUT("unlink", W "/x.env", NULL),
	     IN("read", W "/moved", NULL));
	return 0;
}

static int case_pattern_later(struct kern *kern)
{
	CELL(cell);
	ACTS(cell, OUT("create", W "/x.env", NULL));
	RENEW(cell, by_pattern);
	ACTS(cell, OUT("link", W "/x.env", W "/later"), BOTH(W "/later", OLD_LINK));
	return 0;
}

static int case_allowed(struct kern *kern)
{
	CELL(cell);
	ACTS(cell, OUT("create", W "/x.env", NULL), OUT("link", W "/x.env", W "/old"));
	RENEW(cell, linked);
	ACTS(cell, IN("read", W "/old", NULL), BOTH(W "/x.env", NO_RULE));
	return 0;
}

/* --- names that are gone --- */

struct holder {
	struct board *board;
	const char *name, *other;
	const char *beside; /* by it the name's directory is known */
};

static int open_again(int fd)
{
	char path[32];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	if (again < 0)
		return errno;
	close(again);
	return 0;
}

static int open_by_name(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* Holds a name without opening it, until it is none. */
static int hold(void *data)
{
	const struct holder *h = data;
	struct board *board = h->board;
	int fd = open(h->name, O_PATH | O_CLOEXEC);

	board->results[0] = open_again(fd);
	board->done = 1;
	if (fd < 0 || open_by_name(h->beside) || board_await(&board->go, 1) < 0)
		return -1;
	board->results[1] = open_again(fd);
	board->results[2] = open_by_name(h->other);
	return 0;
}

/* Made by somebody else, and taken away by them while it is held. */
static int lose_name(struct cell *cell, const struct holder *h)
{
	pid_t pid = cell_spawn(cell, cell->cgroup_fd, hold, (void *)h);
	int fd = open(h->name, O_PATH | O_CLOEXEC), outside;

	CHECK(pid > 0 && board_await(&h->board->done, 1) == 0, "no member");
	CHECK(unlink(h->name) == 0, "unlink: %s", strerror(errno));
	outside = open_again(fd);
	close(fd);
	h->board->go = 1;
	CHECK(cell_wait(pid) == 0, "the member failed");
	CHECK(outside == 0, "control: %s", outcome_text(outside));
	return 0;
}

static int check_lost(struct cell *cell, enum bh_reason reason, const char *key)
{
	struct holder h = {board_new(), W "/old", key, W "/file"};
	struct bh_tally before = cell_tally(cell), after;
	const struct bh_event_copy *e;
	int r;

	CHECK(h.board, "no board");
	r = lose_name(cell, &h);
	if (r == 0 && (h.board->results[0] != EACCES || h.board->results[1] != EACCES ||
		       h.board->results[2] != EACCES))
		r = case_fail("by the name %d, when it is gone %d, by the other %d",
			      h.board->results[0], h.board->results[1], h.board->results[2]);
	board_free(h.board);
	if (r)
		return r;
	after = cell_tally(cell);
	CHECK(after.hook[BH_HOOK_FILE_OPEN] == before.hook[BH_HOOK_FILE_OPEN] + 3, "not counted");
	cell_drain(cell);
	CHECK(cell->nevents >= 2, "no events");
	e = &cell->events[cell->nevents - 2];
	CHECK(e->head.reason == reason, "by reason %u", e->head.reason);
	return 0;
}

static int case_lost(struct kern *kern)
{
	CELL(cell);
	ACTS(cell, OUT("create", KEY, NULL), OUT("link", KEY, W "/old"));
	RENEW(cell, by_name);
	if (check_lost(cell, BH_REASON_PINNED, KEY))
		return -1;
	ACTS(cell, OUT("create", W "/x.env", NULL), OUT("link", W "/x.env", W "/old"));
	RENEW(cell, by_pattern);
	return check_lost(cell, BH_REASON_OLD_LINK, W "/x.env");
}

/* What is found by the name that is gone is not known of the one that is left. */
static int case_lost_known(struct kern *kern)
{
	CELL(cell);
	struct holder h = {board_new(), FIXTURE "/open/x", FIXTURE "/secret/x", FIXTURE_OPEN};
	int r;

	CHECK(h.board, "no board");
	ACTS(cell, OUT("create", FIXTURE "/secret/x", NULL),
	     OUT("link", FIXTURE "/secret/x", FIXTURE "/open/x"));
	r = lose_name(cell, &h);
	if (r == 0 && h.board->results[2] != EACCES)
		r = case_fail("by the other name: %s", outcome_text(h.board->results[2]));
	board_free(h.board);
	return r;
}

/* As git makes its objects: what lost one of its names has one, and who changes it holds its lock alone. */
static int case_settled(struct kern *kern)
{
	CELL(cell);
	RENEW(cell, by_pattern);
	ACTS(cell, IN("create", W "/first", NULL), IN("link", W "/first", W "/last"),
	     IN("unlink", W "/first", NULL), IN("read", W "/last", NULL),
	     IN("chmod", W "/last", NULL), IN("utimes", W "/last", NULL),
	     IN("truncate", W "/last", NULL), IN("setxattr", W "/last", NULL),
	     IN("set-acl", W "/last", NULL), IN("read", W "/last", NULL));
	return 0;
}

/* What was made without a name keeps the place it was made at, beside the name it got. */
static int name_nameless(void *data _unused_)
{
	int fd = open(W, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600), r = open_again(fd);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (r == 0 && linkat(AT_FDCWD, path, AT_FDCWD, W "/named-now", AT_SYMLINK_FOLLOW) < 0)
		r = errno;
	return r ? r : open_again(fd);
}

static int case_nameless(struct kern *kern)
{
	CELL(cell);
	int r;

	RENEW(cell, by_pattern);
	r = cell_call(cell, INSIDE, name_nameless, NULL);
	CHECK(r == 0, "%s", outcome_text(r));
	return 0;
}

/* --- linkat(2) of a descriptor, with no name at all --- */

/* Before 6.10 a capability is asked for, which nobody inside has, then only by who did not open it himself; the
 * kernel answers as if there were no such file. Who needs none comes to the hook of every link. */
static int check_empty(struct cell *cell, const char *verb, const char *what, const char *name)
{
	struct bh_tally before, after;
	const struct bh_event_copy *e;
	size_t from;
	int r = cell_verb(cell, BESIDE, verb, what, name, NULL);

	CHECK(r == 0 && unlink(name) == 0, "control, %s %s: %s", verb, what, outcome_text(r));
	cell_drain(cell);
	from = cell->nevents;
	before = cell_tally(cell);
	r = cell_verb(cell, INSIDE, verb, what, name, NULL);
	after = cell_tally(cell);
	CHECK(access(name, F_OK) < 0, "%s %s: the name is there", verb, what);
	if (r == ENOENT) {
		CHECK(after.hook[BH_HOOK_CAPABLE] > before.hook[BH_HOOK_CAPABLE],
		      "%s %s: not by us: no capability was refused", verb, what);
		return 0;
	}
	CHECK(r == hook_errno(BH_HOOK_PATH_LINK), "%s %s: %s", verb, what, outcome_text(r));
	CHECK(after.hook[BH_HOOK_PATH_LINK] == before.hook[BH_HOOK_PATH_LINK] + 1,
	      "%s %s: not counted", verb, what);
	cell_drain(cell);
	e = cell_event(cell, from, BH_HOOK_PATH_LINK);
	CHECK(e && e->head.error == EACCES, "%s %s: no event", verb, what);
	return 0;
}

static int case_empty_path(struct kern *kern)
{
	CELL(cell);
	_cleanup_close_ int fd = open(FIXTURE_SECRET, O_RDONLY | O_CLOEXEC);
	char held[16];
	int r;

	CHECK(fd >= 0, "no descriptor");
	snprintf(held, sizeof(held), "%d", fd);
	r = check_empty(cell, "link-fd", held, W "/new");
	if (r == 0)
		r = check_empty(cell, "link-open", FIXTURE_OPEN, W "/new");
	if (r == 0)
		r = check_empty(cell, "tmpfile-link-fd", W, FIXTURE "/open/new");
	if (r)
		return r;
	r = cell_verb(cell, INSIDE, "link-open", W "/file", W "/new", NULL);
	CHECK(r == 0 || r == ENOENT, "what may be linked: %s", outcome_text(r));
	printf("# links/empty-path: %s\n", r ? "a capability is asked for" : "judged as a link");
	return 0;
}

/* --- made inside --- */

static int case_inside(struct kern *kern)
{
	CELL(cell);
	RENEW(cell, by_pattern);
	ACTS(cell, IN("create", W "/new", NULL), IN("link", W "/new", W "/second"),
	     IN("read", W "/new", NULL), IN("read", W "/second", NULL),
	     IN("rename", W "/second", W "/sub/third"), IN("read", W "/sub/third", NULL),
	     IN("link", W "/sub/third", W "/fourth"), IN("read", W "/fourth", NULL),
	     /* A file of before that had one name. */
	     IN("link", W "/file", W "/also"), IN("read", W "/also", NULL),
	     IN("read", W "/file", NULL),
	     /* No descriptor is its name. */
	     IN("tmpfile-link", W, W "/nameless"), IN("read", W "/nameless", NULL));
	RENEW(cell, by_pattern);
	ACTS(cell, IN("read", W "/fourth", NULL), OUT("link", W "/new", W "/theirs"),
	     BOTH(W "/fourth", OLD_LINK), BOTH(W "/theirs", OLD_LINK), IN("read", W "/also", NULL),
	     OUT("rename", W "/also", W "/other"), BOTH(W "/file", OLD_LINK));
	return 0;
}

/* As git does with each object: nothing is kept of what has one name. */
static int case_forgotten(struct kern *kern)
{
	CELL(cell);
	RENEW(cell, by_pattern);
	ACTS(cell, IN("create", W "/tmp", NULL), IN("link", W "/tmp", W "/object"));
	CHECK(cell_tally(cell).made == 1, "%llu made", (unsigned long long)cell_tally(cell).made);
	ACTS(cell, IN("unlink", W "/tmp", NULL), IN("read", W "/object", NULL));
	CHECK(cell_tally(cell).made == 0, "%llu left", (unsigned long long)cell_tally(cell).made);
	ACTS(cell, IN("link", W "/object", W "/again"), IN("exchange", W "/again", W "/file"),
	     IN("read", W "/file", NULL), IN("read", W "/object", NULL));
	return 0;
}

/* Another compartment's links are not its own. */
static int case_others(struct kern *kern)
{
	CELL(cell);
	_cleanup_cell_ struct cell *other = cell_new(kern, NULL);

	CHECK(other, "no other cell");
	RENEW(cell, by_pattern);
	RENEW(other, by_pattern);
	ACTS(other, IN("link", W "/file", W "/second"), IN("read", W "/second", NULL));
	ACTS(cell, BOTH(W "/second", OLD_LINK));
	ACTS(cell, IN("link", W "/second", W "/third"));
	ACTS(other, BOTH(W "/second", OLD_LINK));
	return 0;
}

/* --- what is left --- */

static int count(const char *map)
{
	__u8 key[sizeof(struct bh_pin_name)], next[sizeof(key)];
	char path[128];
	_cleanup_close_ int fd = -1;
	int n = 0;

	snprintf(path, sizeof(path), KERN_PIN_DIR "/maps/%s", map);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -1;
	while (bpf_map_get_next_key(fd, n ? key : NULL, next) == 0) {
		memcpy(key, next, sizeof(key));
		n++;
	}
	return n;
}

static int fill_all(struct kern *kern)
{
	CELL(cell);
	ACTS(cell, OUT("create", KEY, NULL), OUT("link", KEY, W "/old"));
	RENEW(cell, by_name);
	ACTS(cell, IN("link", W "/file", W "/second"), BOTH(W "/old", PINNED));
	CHECK(count("bh_made") == 1 && count("bh_pins") == 1 && count("bh_pin_names") > 3 &&
		      count("bh_pin_directories") > 2 && count("bh_pin_rules") > 3,
	      "%d made, %d pins, %d names, %d directories, %d rules", count("bh_made"),
	      count("bh_pins"), count("bh_pin_names"), count("bh_pin_directories"),
	      count("bh_pin_rules"));
	return 0;
}

/* A new file with the old one's name, again and again; of every second one an alias is left. */
static int churn(void *data _unused_)
{
	char alias[64];

	for (int i = 0; i < 64; i++) {
		int fd = open(W "/tmp", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		if (fd < 0)
			return errno;
		close(fd);
		snprintf(alias, sizeof(alias), W "/sub/alias-%d", i / 2);
		if ((i % 2 && link(W "/tmp", alias) < 0) || rename(W "/tmp", KEY) < 0)
			return errno;
	}
	return 0;
}

/* None of them is remembered: the table is of all compartments. */
static int case_churn(struct kern *kern)
{
	CELL(cell);
	int r, before;

	ACTS(cell, OUT("create", KEY, NULL));
	RENEW(cell, by_name);
	before = count("bh_pins");
	r = cell_call(cell, INSIDE, churn, NULL);
	CHECK(r == 0, "%s", outcome_text(r));
	CHECK(count("bh_pins") == before, "%d pins more", count("bh_pins") - before);
	/* What an outsider links to it is told all the same. */
	ACTS(cell, OUT("link", KEY, W "/later"), BOTH(W "/later", PINNED));
	return 0;
}

static int case_residue(struct kern *kern)
{
	static const char *const maps[] = {"bh_made", "bh_pins", "bh_pin_names",
					   "bh_pin_directories", "bh_pin_rules"};
	int r = fill_all(kern);

	for (size_t i = 0; r == 0 && i < sizeof(maps) / sizeof(*maps); i++)
		CHECK(count(maps[i]) == 0, "%s: %d left", maps[i], count(maps[i]));
	return r;
}

const struct test_case links_cases[] = {
	{"links/old", case_old, CASE_REFUSES},
	{"links/later", case_later, CASE_REFUSES},
	{"links/replaced", case_replaced, CASE_REFUSES},
	{"links/given", case_given, CASE_REFUSES},
	{"links/loose", case_loose, CASE_REFUSES},
	{"links/reload", case_reload, CASE_REFUSES},
	{"links/pattern", case_pattern, CASE_REFUSES},
	{"links/pattern-names", case_pattern_names, CASE_REFUSES},
	{"links/pattern-later", case_pattern_later, CASE_REFUSES},
	{"links/allowed", case_allowed, CASE_REFUSES},
	{"links/lost", case_lost, CASE_REFUSES},
	{"links/lost-known", case_lost_known, CASE_REFUSES},
	{"links/settled", case_settled, CASE_ALLOWS},
	{"links/nameless", case_nameless, CASE_ALLOWS},
	{"links/empty-path", case_empty_path, CASE_REFUSES},
	{"links/inside", case_inside, CASE_REFUSES},
	{"links/forgotten", case_forgotten, CASE_REFUSES},
	{"links/others", case_others, CASE_REFUSES},
	{"links/churn", case_churn, CASE_REFUSES},
	{"links/residue", case_residue, CASE_REFUSES},
	{},
};
