// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mounts that the host makes after the policy was compiled: refused, or judged by the place they stand for,
 * until the agent has seen them; then by the rules of their own place too.
 */
#include "scene.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include "compart/compart.h"

#define NEW FIXTURE "/open/new"	    /* a filesystem that the view does not know */
#define BOUND FIXTURE "/open/bound" /* FIXTURE_WORK, which no rule lets read */
#define LEARN_MS 90000		    /* more than the longest pause between two renewals */
#define LEARN_STEP_MS 10
#define BUSY_MS 5000 /* milliseconds, of a host that is very busy */
#define BURST 100
#define BURST_STEP_US 5000
#define RENEW_MS 1000 /* what renewals of a view are apart, at least */

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

__attribute__((noreturn)) static int stays(void *data _unused_)
{
	close_range(3, ~0u, 0);
	for (;;)
		pause();
}

/* In a mount namespace of its own, which the host's mounts come to and which gives none back, as units have. */
static int stays_apart(void *data)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
		return errno;
	return stays(data);
}

static int opens(void *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? errno : 0;
}

static int open_in(const char *cgroup, const char *path)
{
	_cleanup_close_ int fd = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t pid = fd < 0 ? -1 : cell_spawn(NULL, fd, opens, (void *)path);

	return pid < 0 ? VERB_BROKEN + errno : cell_wait(pid);
}

/* What is opened in the provider's mount namespace. A member may not go there itself. */
struct apart {
	const struct scene *s;
	const char *path;
};

static int opens_apart(void *data)
{
	const struct apart *apart = data;
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, apart->s->provider, 0);

	if (pidfd < 0 || setns(pidfd, CLONE_NEWNS))
		return VERB_BROKEN + errno;
	return open_in(apart->s->cgroup, apart->path);
}

static int open_apart(const struct scene *s, const char *path)
{
	struct apart apart = {s, path};
	pid_t pid = cell_spawn(NULL, -1, opens_apart, &apart);

	return pid < 0 ? VERB_BROKEN + errno : cell_wait(pid);
}

static int put(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	CHECK(fd >= 0, "%s: %s", path, strerror(errno));
	close(fd);
	return 0;
}

static int bind_work(void)
{
	CHECK(mount(FIXTURE_WORK, BOUND, NULL, MS_BIND, NULL) == 0, "bind: %s", strerror(errno));
	return put(BOUND "/denied");
}

static int mount_new(void)
{
	CHECK(mount("none", NEW, "tmpfs", 0, NULL) == 0, "tmpfs: %s", strerror(errno));
	return put(NEW "/file") || put(NEW "/denied") || bind_work() ? -1 : 0;
}

static int entry_of(struct kern *kern, const char *cgroup, __u32 *ret_id,
		    struct bh_compartment *ret)
{
	__u64 number;

	CHECK(kern_cgroup_id(cgroup, &number) == 0 && kern_cgroup_get(kern, number, ret_id) == 0 &&
		      kern_compartment_get(kern, *ret_id, ret) == 0,
	      "no compartment");
	return 0;
}

static int unsure_of(struct kern *kern, __u32 id, __u64 *ret)
{
	struct bh_tally tally;

	CHECK(kern_tally(kern, id, &tally) == 0, "no tally");
	*ret = tally.unsure;
	return 0;
}

/* A stopped agent sees nothing: what is refused now is refused by what is in force. */
static int agent_pause(struct scene *s)
{
	int status;

	CHECK(kill(s->agent, SIGSTOP) == 0 && waitpid(s->agent, &status, WUNTRACED) == s->agent &&
		      WIFSTOPPED(status),
	      "the agent does not stop");
	return 0;
}

/* Opens it again and again until the result is `wanted`; in *ret_before how often it was another. */
static int wait_for(struct scene *s, const char *path, int wanted, unsigned int *ret_before)
{
	int r = 0;

	long long end = now_ms() + LEARN_MS;

	for (*ret_before = 0; now_ms() < end; ++*ret_before) {
		r = open_in(s->cgroup, path);
		if (r == wanted)
			return 0;
		CHECK(r == EACCES || r == 0, "%s: %s", path, outcome_text(r));
		usleep(LEARN_STEP_MS * 1000);
	}
	return case_fail("%s, after %d ms: %s", path, LEARN_MS, outcome_text(r));
}

/* Refused at first, the bind by the place that it stands for. How often it was undecided until it opened. */
static int wait_learnt(struct scene *s, struct kern *kern, __u32 id, __u64 *ret_unsure)
{
	unsigned int refused = 0;
	int r = open_in(s->cgroup, BOUND "/file");

	CHECK(r == EACCES, "bound, not learnt: %s", outcome_text(r));
	if (unsure_of(kern, id, ret_unsure))
		return -1;
	CHECK(*ret_unsure == 0, "undecided before anything was asked for");
	r = open_in(s->cgroup, NEW "/file");
	CHECK(r == EACCES, "mounted, not learnt: %s", outcome_text(r));
	kill(s->agent, SIGCONT);
	if (wait_for(s, NEW "/file", 0, &refused) || unsure_of(kern, id, ret_unsure))
		return -1;
	CHECK(*ret_unsure == refused + 1, "%u refusals, %llu undecided", refused + 1,
	      (unsigned long long)*ret_unsure);
	return 0;
}

/* What is denied there is denied by the new names as well, and of what the bind stands for. */
static int check_judged(struct scene *s)
{
	static const struct {
		const char *path;
		int result;
	} rows[] = {
		{BOUND "/file", 0},	   {NEW "/denied", EACCES},
		{BOUND "/denied", EACCES}, {FIXTURE_WORK "/denied", EACCES},
		{FIXTURE_WORK "/file", 0}, {FIXTURE_SECRET, EACCES},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int r = open_in(s->cgroup, rows[i].path);

		CHECK(r == rows[i].result, "%s, learnt: %s", rows[i].path, outcome_text(r));
	}
	return 0;
}

/* Of this compartment alone: other cases' events are more than a pipe holds. They come a little later. */
static int check_told(void)
{
	static const char *const events[] = {
		"sh", "-c", "bulkhead events | grep ' edited ' | tail -n 100", NULL};
	static char text[1 << 16];

	for (int i = 0; i < 25; i++) {
		CHECK(program_print(events, text, sizeof(text)) == 0, "no events");
		if (strstr(text, "a filesystem the policy's view does not know") &&
		    strstr(text, NEW "/denied"))
			return 0;
		usleep(200 * 1000);
	}
	return case_fail("events: %.400s", text);
}

/* Many mounts and refusals make few renewals. */
static int check_renewals(const struct bh_compartment *before, const struct bh_compartment *after,
			  long long began_ms)
{
	long long ms = now_ms() - began_ms;
	__u32 n = after->generation - before->generation;

	CHECK(after->generation > before->generation && n <= 2 + ms / RENEW_MS,
	      "%u renewals in %lld ms", n, ms);
	return 0;
}

static int check_learnt(struct scene *s, struct kern *kern)
{
	struct bh_compartment before, after;
	__u64 unsure = 0, later = 0;
	long long began = now_ms();
	__u32 id;

	if (entry_of(kern, s->cgroup, &id, &before) || wait_learnt(s, kern, id, &unsure) ||
	    check_judged(s) || unsure_of(kern, id, &later) ||
	    entry_of(kern, s->cgroup, &id, &after))
		return -1;
	CHECK(later == unsure, "undecided although it is learnt");
	return check_renewals(&before, &after, began) ? -1 : check_told();
}

/* An attached provider that runs, and an agent that sees nothing from here on. */
static int begin_with(struct scene *s, cell_fn provider)
{
	int r;

	if (scene_init(s, "plain") ||
	    scene_policy(s, "  - {deny: [read], on: [\"" FIXTURE "/open/**/denied\"]}\n"))
		return -1;
	s->provider = cell_spawn(NULL, -1, provider, NULL);
	CHECK(s->provider > 0 && cell_move(s->cgroup, s->provider) == 0, "no provider");
	CHECK(mkdir(NEW, 0755) == 0 && mkdir(BOUND, 0755) == 0, "no places");
	if (agent_start(s))
		return -1;
	CHECK(scene_attach(s) == 0, "attach failed");
	r = open_in(s->cgroup, FIXTURE_OPEN);
	CHECK(r == 0, "control: %s", outcome_text(r));
	return agent_pause(s);
}

static int begin(struct scene *s)
{
	return begin_with(s, stays);
}

/* The control of what is denied, and of the cgroup: nothing else refuses it. */
static int end(struct scene *s, int result, const char *denied)
{
	int r;

	kill(s->agent, SIGCONT);
	CHECK(scene_detach(s) == 0 || result, "detach failed");
	r = result ? 0 : open_in(s->cgroup, denied);
	umount2(NEW, MNT_DETACH);
	umount2(BOUND, MNT_DETACH);
	CHECK(r == 0, "control, detached: %s", outcome_text(r));
	return result;
}

static int case_mounts(struct kern *kern)
{
	_cleanup_scene_ struct scene s = {};
	int r;

	if (begin(&s))
		return -1;
	r = mount_new() || check_learnt(&s, kern) ? -1 : 0;
	return end(&s, r, NEW "/denied");
}

/* Not busy for long: the agent has it open for the moment in which it learns its filesystem. */
static int unmount(const char *path)
{
	int r = -1;

	for (int ms = 0; r && ms < BUSY_MS; ms++) {
		r = umount2(path, 0);
		if (r && errno != EBUSY)
			break;
		usleep(r ? 1000 : 0);
	}
	CHECK(r == 0, "umount: %s", strerror(errno));
	return 0;
}

/* What a bind stands for is decided before it is learnt and after it, so nobody is undecided who could tell
 * the agent: and what is unmounted has its other names alone. */
static int learn_bind(struct scene *s, struct kern *kern)
{
	struct bh_compartment now;
	unsigned int before;
	__u64 unsure = 0;
	__u32 id;
	int r = open_in(s->cgroup, BOUND "/file");

	CHECK(r == EACCES, "bound, not learnt: %s", outcome_text(r));
	kill(s->agent, SIGCONT);
	if (wait_for(s, BOUND "/file", 0, &before) || wait_for(s, FIXTURE_WORK "/file", 0, &before))
		return -1;
	r = open_in(s->cgroup, FIXTURE_WORK "/denied");
	CHECK(r == EACCES, "denied by its new name: %s", outcome_text(r));
	if (unmount(BOUND) || wait_for(s, FIXTURE_WORK "/file", EACCES, &before) ||
	    entry_of(kern, s->cgroup, &id, &now) || unsure_of(kern, id, &unsure))
		return -1;
	CHECK(unsure == 0, "%llu undecided", (unsigned long long)unsure);
	return 0;
}

static int case_bind(struct kern *kern)
{
	_cleanup_scene_ struct scene s = {};
	int r;

	if (begin(&s))
		return -1;
	r = bind_work() || learn_bind(&s, kern) ? -1 : 0;
	return end(&s, r, FIXTURE_WORK "/denied");
}

/* The agent that comes next sees what was mounted while there was none. */
static int learn_away(struct scene *s)
{
	unsigned int before;
	int r;

	agent_end(s, SIGKILL);
	if (bind_work())
		return -1;
	r = open_in(s->cgroup, BOUND "/file");
	CHECK(r == EACCES, "bound, no agent: %s", outcome_text(r));
	return agent_start(s) ? -1 : wait_for(s, BOUND "/file", 0, &before);
}

static int case_away(struct kern *kern _unused_)
{
	_cleanup_scene_ struct scene s = {};

	return begin(&s) ? -1 : end(&s, learn_away(&s), BOUND "/denied");
}

static int learn_slave(struct scene *s)
{
	long long end;
	int r;

	/* The agent's stop has come after the provider's start by far. */
	r = open_apart(s, FIXTURE_OPEN);
	CHECK(r == 0, "control: %s", outcome_text(r));
	if (bind_work())
		return -1;
	r = open_apart(s, BOUND "/file");
	CHECK(r == EACCES, "bound, not learnt: %s", outcome_text(r));
	kill(s->agent, SIGCONT);
	for (end = now_ms() + LEARN_MS; r == EACCES && now_ms() < end;) {
		usleep(LEARN_STEP_MS * 1000);
		r = open_apart(s, BOUND "/file");
	}
	CHECK(r == 0, "bound, after %d ms: %s", LEARN_MS, outcome_text(r));
	r = open_apart(s, BOUND "/denied");
	CHECK(r == EACCES, "denied by its new name: %s", outcome_text(r));
	return 0;
}

static int case_slave(struct kern *kern _unused_)
{
	_cleanup_scene_ struct scene s = {};
	int r;

	CHECK(mount(NULL, "/", NULL, MS_SHARED, NULL) == 0, "not shared: %s", strerror(errno));
	r = begin_with(&s, stays_apart);
	r = r ? r : end(&s, learn_slave(&s), BOUND "/denied");
	mount(NULL, "/", NULL, MS_PRIVATE, NULL);
	return r;
}

/* Mounted and unmounted all the time: one view for many, and the last, at another place, is not forgotten. */
static int learn_burst(struct scene *s, struct kern *kern)
{
	struct bh_compartment before, after;
	long long began = now_ms();
	unsigned int tries;
	__u32 id;

	kill(s->agent, SIGCONT);
	if (entry_of(kern, s->cgroup, &id, &before))
		return -1;
	for (int i = 0; i < BURST; i++) {
		CHECK(mount(FIXTURE_WORK, BOUND, NULL, MS_BIND, NULL) == 0, "bind: %s",
		      strerror(errno));
		usleep(BURST_STEP_US);
		if (unmount(BOUND))
			return -1;
		usleep(BURST_STEP_US);
	}
	CHECK(mount(FIXTURE_WORK, NEW, NULL, MS_BIND, NULL) == 0, "bind: %s", strerror(errno));
	if (put(NEW "/denied") || wait_for(s, NEW "/file", 0, &tries) ||
	    entry_of(kern, s->cgroup, &id, &after))
		return -1;
	return check_renewals(&before, &after, began);
}

static int case_burst(struct kern *kern)
{
	_cleanup_scene_ struct scene s = {};

	return begin(&s) ? -1 : end(&s, learn_burst(&s, kern), NEW "/denied");
}

const struct test_case learnt_cases[] = {
	{"agent/learnt-mounts", case_mounts, CASE_REFUSES},
	{"agent/learnt-bind", case_bind, CASE_REFUSES},
	{"agent/learnt-slave", case_slave, CASE_REFUSES},
	{"agent/learnt-away", case_away, CASE_REFUSES},
	{"agent/learnt-burst", case_burst, CASE_ALLOWS},
	{},
};
