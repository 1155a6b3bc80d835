// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The same refusal again is counted, and told of later: never the first of its kind, never as another's, never twice. */
#include "harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_MS 600000 /* no case lasts as long */
#define TURNS 100
#define STORM 1000000

#define OUTSIDE "203.0.113.9"
#define PROBE "/lab/probe"
#define OTHER_SECRET FIXTURE "/secret/sub"

/* Cases that fail leave it off as well. */
static void fold_off(struct kern **kern)
{
	kern_fold_switch(*kern, 0);
}
#define FOLDING(kern, ms)                                  \
	_cleanup_(fold_off) struct kern *folding = (kern); \
	kern_fold_switch(folding, ms)

static const struct cell_options egress = {.flags = BH_POLICY_EGRESS};

/* --- acts; EACCES when each was refused with it --- */

static int open_times(const char *path, int flags, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		int fd = open(path, flags | O_CLOEXEC);

		if (fd >= 0 || errno != EACCES)
			return fd >= 0 ? 0 : errno;
	}
	return EACCES;
}

static int connect_to(int fd, int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

	inet_pton(AF_INET, OUTSIDE, &to.sin_addr);
	return connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;
}

static int open_secret(void *data _unused_)
{
	return open_times(FIXTURE_SECRET, O_RDONLY, TURNS);
}

/* Then once more, when the time is over in which they are folded. */
static int open_secret_later(void *data)
{
	volatile int *go = data;
	int r = open_secret(NULL);

	*go = 1;
	while (*go == 1)
		usleep(1000);
	return r == EACCES ? open_times(FIXTURE_SECRET, O_RDONLY, 1) : r;
}

static int connect_same(void *data _unused_)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), r = EACCES;

	for (int i = 0; i < TURNS && r == EACCES; i++)
		r = connect_to(fd, 443);
	return r;
}

#define PORTS (2 * BH_FOLDS)

/* Each twice, to more destinations than there are places. */
static int connect_many(void *data _unused_)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), r = EACCES;

	for (int i = 0; i < 2 * PORTS && r == EACCES; i++)
		r = connect_to(fd, 1000 + i / 2);
	return r;
}

/* What differs in one thing each. */
static int do_kinds(void *data _unused_)
{
	pid_t pid;
	int status;

	if (open_times(FIXTURE_SECRET, O_RDONLY, 2) != EACCES ||
	    open_times(FIXTURE_SECRET, O_WRONLY, 2) != EACCES ||
	    open_times(OTHER_SECRET, O_RDONLY, 2) != EACCES ||
	    open_times(FIXTURE "/secret/ke", O_RDONLY | O_CREAT, 1) != EACCES)
		return 1;
	pid = fork();
	if (pid == 0)
		_exit(open_times(FIXTURE_SECRET, O_RDONLY, 2));
	return waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == EACCES ? EACCES : 1;
}

static int open_and_exec(void *data _unused_)
{
	if (open_secret(NULL) == EACCES)
		execl(PROBE, PROBE, "read", FIXTURE_SECRET, NULL);
	return 0;
}

/* --- what is said of them --- */

struct told {
	__u64 events, repeated; /* and how many more those stand for */
};

static int on_repeat(const struct bh_event *event, size_t size _unused_, void *data)
{
	struct told *told = data;

	told->events++;
	told->repeated += event->repeated;
	return event->bits & BH_EVENT_REPEATED ? 0 : -EBADMSG;
}

static struct told events_of(const struct cell *cell)
{
	struct told told = {};

	for (size_t i = 0; i < cell->nevents; i++) {
		told.events += !(cell->events[i].head.bits & BH_EVENT_REPEATED);
		told.repeated += cell->events[i].head.repeated;
	}
	return told;
}

static int check_sum(const struct cell *cell, const struct bh_tally *t)
{
	struct bh_fates sum = {};

	CHECK(t->refused + t->noted == t->reported + t->quiet + t->folded + t->lost,
	      "of %llu refused %llu were reported, %llu folded, %llu lost",
	      (unsigned long long)t->refused, (unsigned long long)t->reported,
	      (unsigned long long)t->folded, (unsigned long long)t->lost);
	for (int hook = 0; hook < BH_HOOK_COUNT; hook++) {
		const struct bh_fates *f = &t->fates[hook];

		CHECK(t->hook[hook] == f->reported + f->quiet + f->folded + f->lost,
		      "%s: the tally does not add up", hook_name(hook));
		sum.reported += f->reported;
		sum.folded += f->folded;
		sum.lost += f->lost;
	}
	CHECK(sum.reported == t->reported && sum.folded == t->folded && sum.lost == t->lost,
	      "of all hooks: %llu reported, %llu folded, %llu lost",
	      (unsigned long long)sum.reported, (unsigned long long)sum.folded,
	      (unsigned long long)sum.lost);
	CHECK(events_of(cell).events == t->reported, "%llu events of %llu reported",
	      (unsigned long long)events_of(cell).events, (unsigned long long)t->reported);
	return 0;
}

/* With what waits yet to be told of, all that was folded was told of once. */
static int check_account(struct cell *cell)
{
	struct bh_tally tally = cell_tally(cell);
	struct told told, waiting = {}, none = {};

	cell_drain(cell);
	told = events_of(cell);
	CHECK(kern_folds_take(cell->kern, cell->id, on_repeat, &waiting) == 0, "what was taken");
	CHECK(kern_folds_take(cell->kern, cell->id, on_repeat, &none) == 0 && !none.events,
	      "taken twice");
	CHECK(told.repeated + waiting.repeated == tally.folded,
	      "%llu told of and %llu waited, of %llu folded", (unsigned long long)told.repeated,
	      (unsigned long long)waiting.repeated, (unsigned long long)tally.folded);
	return check_sum(cell, &tally);
}

/* --- cases --- */

static int case_each(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	int r;

	CHECK(cell, "no cell");
	r = cell_call(cell, INSIDE, open_secret, NULL);
	CHECK(r == EACCES, "%s", outcome_text(r));
	CHECK(cell_tally(cell).reported == TURNS, "without folding %llu were reported",
	      (unsigned long long)cell_tally(cell).reported);
	return check_account(cell);
}

static int check_first(struct cell *cell, cell_fn fn, enum bh_hook hook, __u8 bits)
{
	const int due = bits ? 0 : EACCES;
	int r = cell_call(cell, INSIDE, fn, NULL);
	struct bh_tally tally = cell_tally(cell);

	CHECK(r == due, "%s", outcome_text(r));
	cell_drain(cell);
	CHECK(tally.hook[hook] == TURNS && tally.fates[hook].reported == 1 &&
		      tally.fates[hook].folded == TURNS - 1,
	      "of %llu refused %llu were reported, %llu folded",
	      (unsigned long long)tally.hook[hook], (unsigned long long)tally.fates[hook].reported,
	      (unsigned long long)tally.fates[hook].folded);
	CHECK(cell_event(cell, 0, hook) && cell_event(cell, 0, hook)->head.bits == bits &&
		      cell_event(cell, 0, hook)->head.repeated == 0,
	      "not the first was told of");
	return check_account(cell);
}

static int case_open(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	FOLDING(kern, LONG_MS);

	CHECK(cell, "no cell");
	return check_first(cell, open_secret, BH_HOOK_FILE_OPEN, 0);
}

static int case_connect(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &egress);
	FOLDING(kern, LONG_MS);

	CHECK(cell, "no cell");
	return check_first(cell, connect_same, BH_HOOK_CONNECT4, 0);
}

static int open_all(void *data _unused_)
{
	int fd = -1;

	for (int i = 0; i < TURNS; i++) {
		fd = open(FIXTURE_SECRET, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return errno;
		close(fd);
	}
	return 0;
}

static int case_audit(struct kern *kern)
{
	const struct cell_options options = {.mode = BH_MODE_AUDIT};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	FOLDING(kern, LONG_MS);

	CHECK(cell, "no cell");
	return check_first(cell, open_all, BH_HOOK_FILE_OPEN, BH_EVENT_AUDIT);
}

static int wait_go(volatile int *go, int value)
{
	for (int ms = 0; *go != value && ms < HARNESS_DEADLINE_MS; ms++)
		usleep(1000);
	return *go == value ? 0 : -1;
}

/* The next one after a while says how many there were meanwhile. */
static int case_later(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	volatile int *go =
		mmap(NULL, sizeof(*go), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	FOLDING(kern, LONG_MS);
	struct bh_tally tally;
	pid_t pid;
	int r;

	CHECK(cell && go != MAP_FAILED, "no cell");
	pid = cell_spawn(cell, cell->cgroup_fd, open_secret_later, (void *)go);
	r = wait_go(go, 1);
	kern_fold_switch(kern, 1);
	usleep(20000);
	*go = 2;
	r = pid > 0 ? cell_wait(pid) : r;
	tally = cell_tally(cell);
	CHECK(r == EACCES, "%s", outcome_text(r));
	cell_drain(cell);
	CHECK(tally.reported == 2 && cell->nevents == 2 && tally.folded == TURNS - 1,
	      "%llu reported, %llu folded", (unsigned long long)tally.reported,
	      (unsigned long long)tally.folded);
	CHECK(cell->events[1].head.repeated == TURNS - 1 && cell->events[1].head.seq == 2,
	      "the second says %u", cell->events[1].head.repeated);
	return check_account(cell);
}

/* Another right, name or process is another kind; a name that begins alike is another. */
static int case_kinds(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	FOLDING(kern, LONG_MS);
	struct bh_tally tally;
	int r;

	CHECK(cell, "no cell");
	r = cell_call(cell, INSIDE, do_kinds, NULL);
	CHECK(r == EACCES, "%s", outcome_text(r));
	tally = cell_tally(cell);
	CHECK(tally.reported == 5 && tally.folded == 4, "%llu reported, %llu folded",
	      (unsigned long long)tally.reported, (unsigned long long)tally.folded);
	return check_account(cell);
}

static int case_exec(struct kern *kern)
{
	static struct rule rules[] = {
		{.effect = RULE_ALLOW,
		 .perms = BH_PERM_READ | BH_PERM_EXEC | BH_PERM_INTERP | BH_PERM_MAP_EXEC,
		 .glob = (char *)"/{lab,usr,lib,lib64,bin,etc}/**"}};
	const struct cell_options options = {.rules = rules, .nrules = 1};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	FOLDING(kern, LONG_MS);
	struct bh_tally tally;
	pid_t pid;
	int r;

	CHECK(cell, "no cell");
	pid = cell_spawn(cell, cell->cgroup_fd, open_and_exec, NULL);
	r = pid > 0 ? cell_wait(pid) : -1;
	CHECK(r == 0, "%s", outcome_text(r));
	tally = cell_tally(cell);
	CHECK(tally.fates[BH_HOOK_FILE_OPEN].reported == 2 &&
		      tally.fates[BH_HOOK_FILE_OPEN].folded == TURNS - 1,
	      "before and after an exec: %llu reported, %llu folded",
	      (unsigned long long)tally.fates[BH_HOOK_FILE_OPEN].reported,
	      (unsigned long long)tally.fates[BH_HOOK_FILE_OPEN].folded);
	return check_account(cell);
}

/* Each has its own account, and its own of what waits. */
static int case_compartments(struct kern *kern)
{
	_cleanup_cell_ struct cell *one = cell_new(kern, NULL), *other = cell_new(kern, NULL);
	FOLDING(kern, LONG_MS);
	struct told told = {};
	int r;

	CHECK(one && other, "no cells");
	r = cell_call(one, INSIDE, open_secret, NULL);
	CHECK(r == EACCES, "one: %s", outcome_text(r));
	r = cell_call(other, INSIDE, open_secret, NULL);
	CHECK(r == EACCES, "the other: %s", outcome_text(r));
	CHECK(cell_tally(one).folded == TURNS - 1 && cell_tally(other).folded == TURNS - 1 &&
		      cell_tally(one).reported == 1 && cell_tally(other).reported == 1,
	      "one took part in the other's");
	/* Each reads the ring, and throws away what is not its own. */
	CHECK(kern_folds_take(kern, one->id, on_repeat, &told) == 0 && told.events == 1 &&
		      told.repeated == TURNS - 1,
	      "of one: %llu waited", (unsigned long long)told.repeated);
	cell_drain(other);
	told = (struct told){};
	CHECK(kern_folds_take(kern, 0, on_repeat, &told) == 0 && told.events == 0,
	      "the other's was taken while it may be repeated");
	kern_fold_switch(kern, 1);
	usleep(20000);
	CHECK(kern_folds_take(kern, 0, on_repeat, &told) == 0 && told.repeated == TURNS - 1,
	      "of the other: %llu waited", (unsigned long long)told.repeated);
	return 0;
}

/* What makes room for another kind is told of: nobody hides what he did by doing more. */
static int case_evict(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &egress);
	FOLDING(kern, LONG_MS);
	struct bh_tally tally;
	int r;

	CHECK(cell, "no cell");
	r = cell_call(cell, INSIDE, connect_many, NULL);
	CHECK(r == EACCES, "%s", outcome_text(r));
	tally = cell_tally(cell);
	CHECK(tally.lost == 0 && tally.reported == PORTS && tally.folded == PORTS,
	      "of %u destinations %llu were reported, %llu folded", PORTS,
	      (unsigned long long)tally.reported, (unsigned long long)tally.folded);
	cell_drain(cell);
	CHECK(events_of(cell).repeated > PORTS / 4, "%llu repeats made room",
	      (unsigned long long)events_of(cell).repeated);
	for (size_t i = 0, port = 1000; i < cell->nevents; i++) {
		const struct bh_event *e = &cell->events[i].head;

		CHECK(e->bits & BH_EVENT_REPEATED || e->object[3] == port++,
		      "port %zu was not told of", port);
	}
	return check_account(cell);
}

/* --- a million of them, and nobody reads --- */

struct storm {
	int first; /* port; every other one goes to the same */
	unsigned int n;
	int wrong;
};

static void *storm_run(void *data)
{
	struct storm *storm = data;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (unsigned int i = 0; i < storm->n && !storm->wrong; i++)
		if (connect_to(fd, i % 2 ? 443 : storm->first + (int)(i / 2 % 30000)) != EACCES)
			storm->wrong = 1;
	close(fd);
	return NULL;
}

/* Two threads at the same kinds. */
static int do_storm(void *data _unused_)
{
	struct storm one = {.first = 1000, .n = STORM / 2}, other = one;
	pthread_t thread;

	if (pthread_create(&thread, NULL, storm_run, &other))
		return 1;
	storm_run(&one);
	pthread_join(thread, NULL);
	return one.wrong || other.wrong ? 0 : EACCES;
}

static int wait_long(pid_t pid)
{
	int r = VERB_BROKEN + ETIMEDOUT;

	for (int i = 0; i < 10 && r == VERB_BROKEN + ETIMEDOUT; i++)
		r = cell_wait_ms(pid, HARNESS_DEADLINE_MS, i == 9);
	return r;
}

static int case_storm(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &egress);
	FOLDING(kern, BH_FOLD_MS);
	struct bh_tally tally;
	pid_t pid;
	int r;

	CHECK(cell, "no cell");
	pid = cell_spawn(cell, cell->cgroup_fd, do_storm, NULL);
	r = pid > 0 ? wait_long(pid) : 0;
	CHECK(r == EACCES, "with nobody reading: %s", outcome_text(r));
	tally = cell_tally(cell);
	CHECK(tally.refused == STORM && tally.hook[BH_HOOK_CONNECT4] == STORM,
	      "%llu of %u were counted", (unsigned long long)tally.refused, STORM);
	printf("# a storm of %u: %llu reported, %llu folded, %llu lost\n", STORM,
	       (unsigned long long)tally.reported, (unsigned long long)tally.folded,
	       (unsigned long long)tally.lost);
	CHECK(tally.lost && tally.folded && tally.reported,
	      "the ring never filled, or nothing was folded");
	r = check_account(cell);
	for (size_t i = 0; r == 0 && i < cell->nevents && i < 2; i++)
		CHECK(cell->events[i].head.repeated == 0, "the first was hidden");
	return r;
}

const struct test_case fold_cases[] = {
	{"fold/each", case_each, CASE_REFUSES},
	{"fold/open", case_open, CASE_REFUSES},
	{"fold/connect", case_connect, CASE_REFUSES},
	{"fold/audit", case_audit, CASE_REFUSES},
	{"fold/later", case_later, CASE_REFUSES},
	{"fold/kinds", case_kinds, CASE_REFUSES},
	{"fold/exec", case_exec, CASE_REFUSES},
	{"fold/compartments", case_compartments, CASE_REFUSES},
	{"fold/evict", case_evict, CASE_REFUSES},
	{"fold/storm", case_storm, CASE_REFUSES},
	{},
};
