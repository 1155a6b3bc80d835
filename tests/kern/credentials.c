// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who acts with credentials that are not the task's own, and is judged none the less. */
#include "harness.h"
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct board *board;

/* --- io_uring --- */

struct ring {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static int ring_make(struct ring *ring)
{
	struct io_uring_params p = {};
	char *sq;

	ring->fd = syscall(SYS_io_uring_setup, 4, &p);
	if (ring->fd < 0)
		return -errno;
	sq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe) + 4096,
		  PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
	ring->sqes = mmap(NULL, p.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
			  MAP_SHARED, ring->fd, IORING_OFF_SQES);
	if (sq == MAP_FAILED || ring->sqes == MAP_FAILED)
		return -errno;
	/* IORING_FEAT_SINGLE_MMAP, everywhere since 5.4. */
	ring->sq_tail = (void *)(sq + p.sq_off.tail);
	ring->sq_mask = (void *)(sq + p.sq_off.ring_mask);
	ring->sq_array = (void *)(sq + p.sq_off.array);
	ring->cq_head = (void *)(sq + p.cq_off.head);
	ring->cq_tail = (void *)(sq + p.cq_off.tail);
	ring->cq_mask = (void *)(sq + p.cq_off.ring_mask);
	ring->cqes = (void *)(sq + p.cq_off.cqes);
	return 0;
}

/* The result of one request: 0 or its positive errno. */
static int ring_do(struct ring *ring, const struct io_uring_sqe *sqe)
{
	unsigned int tail = *ring->sq_tail, index = tail & *ring->sq_mask;
	int r;

	ring->sqes[index] = *sqe;
	ring->sq_array[index] = index;
	__atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return VERB_BROKEN + errno;
	if (*ring->cq_head == __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE))
		return VERB_BROKEN + EIO;
	r = ring->cqes[*ring->cq_head & *ring->cq_mask].res;
	(*ring->cq_head)++;
	return r < 0 ? -r : 0;
}

/* openat by a worker thread of the kernel (IOSQE_ASYNC), or with the credentials that were
 * registered. */
static int ring_open(struct ring *ring, const char *path, __u8 flags, __u16 personality)
{
	const struct io_uring_sqe sqe = {.opcode = IORING_OP_OPENAT,
					 .flags = flags,
					 .fd = AT_FDCWD,
					 .addr = (unsigned long)path,
					 .open_flags = O_RDONLY,
					 .personality = personality};

	return ring_do(ring, &sqe);
}

/* setxattr with the credentials that were registered; a filesystem without such attributes says so
 * one step further than the hook. */
static int ring_setxattr(struct ring *ring, const char *path, __u16 personality)
{
	const struct io_uring_sqe sqe = {.opcode = IORING_OP_SETXATTR,
					 .addr = (unsigned long)"user.ring",
					 .addr2 = (unsigned long)"1",
					 .addr3 = (unsigned long)path,
					 .len = 1,
					 .personality = personality};
	int r = ring_do(ring, &sqe);

	return r == EOPNOTSUPP ? 0 : r;
}

/* The ring and its first worker are older than the move. */
static int ring_before_and_inside(void *data _unused_)
{
	struct ring ring;

	if (ring_make(&ring) < 0)
		return 1;
	board->results[0] = ring_open(&ring, FIXTURE_SECRET, IOSQE_ASYNC, 0);
	board->done = 1;
	if (board_await(&board->go, 1) < 0)
		return 1;
	board->results[1] = ring_open(&ring, FIXTURE_SECRET, IOSQE_ASYNC, 0);
	board->results[2] = ring_open(&ring, FIXTURE_OPEN, IOSQE_ASYNC, 0);
	return 0;
}

/* Credentials lent by a ring that is older than the move are not taken for a filesystem's. */
static int ring_lends_credentials(void *data _unused_)
{
	struct ring ring;
	int registered;
	__u16 id;

	if (ring_make(&ring) < 0)
		return 1;
	registered =
		(int)syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_PERSONALITY, NULL, 0);
	/* From here on its own are others. */
	if (registered <= 0 || setgroups(0, NULL) < 0)
		return 1;
	id = (__u16)registered;
	board->results[0] = ring_setxattr(&ring, FIXTURE_SECRET, id);
	if (board->results[0] == 0)
		board->results[0] = ring_open(&ring, FIXTURE_SECRET, 0, id);
	board->done = 1;
	if (board_await(&board->go, 1) < 0)
		return 1;
	board->results[1] = ring_setxattr(&ring, FIXTURE_SECRET, id);
	board->results[2] = ring_setxattr(&ring, FIXTURE "/work/file", id);
	board->results[3] = ring_open(&ring, FIXTURE_SECRET, 0, id);
	board->results[4] = ring_open(&ring, FIXTURE_OPEN, 0, id);
	return 0;
}

/* results[0]: outside. Then, inside, of each act: what is not allowed, what is. */
static int check_ring(struct kern *kern, cell_fn fn, int nacts)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	pid_t pid;
	int i, r;

	CHECK(cell, "no cell");
	board = board_new();
	CHECK(board, "no memory");
	pid = cell_spawn(cell, cell->beside_fd, fn, NULL);
	CHECK(pid > 0 && board_await(&board->done, 1) == 0, "no ring");
	r = cell_move(cell->cgroup, pid);
	board->go = 1;
	CHECK(cell_wait(pid) == 0 && r == 0, "the process did not end");
	CHECK(board->results[0] == 0, "control: %s", outcome_text(board->results[0]));
	for (i = 1; i < 2 * nacts; i += 2) {
		CHECK(board->results[i] == EACCES, "by a ring older than the move: %s",
		      outcome_text(board->results[i]));
		CHECK(board->results[i + 1] == 0, "what the policy allows: %s",
		      outcome_text(board->results[i + 1]));
	}
	board_free(board);
	return 0;
}

static int case_ring_worker(struct kern *kern)
{
	return check_ring(kern, ring_before_and_inside, 1);
}

static int case_ring_lends(struct kern *kern)
{
	return check_ring(kern, ring_lends_credentials, 2);
}

/* --- core dumps --- */

#define DROP FIXTURE "/drop"

static bool dump_where_they_stand(void)
{
	_cleanup_close_ int fd = open("/proc/sys/kernel/core_pattern", O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, "core", 4) == 4;
}

static int dump_core(void *data _unused_)
{
	const struct rlimit limit = {1 << 20, 1 << 20};

	if (chdir(DROP) < 0 || setrlimit(RLIMIT_CORE, &limit) < 0 ||
	    signal(SIGABRT, SIG_DFL) == SIG_ERR)
		return VERB_BROKEN + errno;
	abort();
}

/* What a process in `where` could write of its memory to where it stood. Bytes or -errno. */
static long core_size(struct cell *cell, enum where where)
{
	struct stat st = {};
	int r = cell_call(cell, where, dump_core, NULL);

	if (r != VERB_BROKEN + ECHILD)
		return -EIO;
	if (stat(DROP "/core", &st) < 0)
		return -errno;
	unlink(DROP "/core");
	return st.st_size;
}

/* The kernel opens a core file with credentials made for it: where the task may make files and not
 * write to them, it stays empty. */
static int case_core_dump(struct kern *kern)
{
	struct rule rules[] = {
		{.effect = RULE_ALLOW, .perms = BH_PERM_CREATE, .glob = (char *)DROP "/**"}};
	const struct cell_options options = {.rules = rules, .nrules = 1};
	_cleanup_cell_ struct cell *cell = NULL;
	const struct bh_event_copy *e;
	long size;

	CHECK(dump_where_they_stand(), "cannot set core_pattern");
	cell = cell_new(kern, &options);
	CHECK(cell, "no cell");
	CHECK(mkdir(DROP, 0755) == 0, "no directory");
	size = core_size(cell, BESIDE);
	CHECK(size > 0, "control: a core file of %ld bytes", size);
	size = core_size(cell, INSIDE);
	CHECK(size == 0, "a core file of %ld bytes", size);
	cell_drain(cell);
	e = cell_event(cell, 0, BH_HOOK_FILE_OPEN);
	CHECK(e && strstr(e->tail, "drop/core"), "no event of the core file");
	rmdir(DROP);
	return 0;
}

const struct test_case credentials_cases[] = {
	{"credentials/ring-worker", case_ring_worker, CASE_REFUSES},
	{"credentials/ring-lends", case_ring_lends, CASE_REFUSES},
	{"credentials/core-dump", case_core_dump, CASE_REFUSES},
	{},
};
