// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Files that may be appended to and not written. A member opens one with O_APPEND and changes it by one
 * system call: what appends goes on, what the kernel itself refuses it refuses, and all that writes elsewhere
 * is refused - where beside the compartment it goes through, and to who may write.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <linux/aio_abi.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define LOG FIXTURE "/work/file"  /* may be appended to */
#define BOOK FIXTURE "/open/file" /* may be written */
#define PAGE 4096
#define OLD 4 /* pages in it */

#ifndef RWF_NOAPPEND /* since 6.9 */
#define RWF_NOAPPEND 0x20
#endif

static char new[PAGE];

static int errno_of(long r)
{
	return r < 0 ? errno : 0;
}

/* --- appending --- */

static int act_write(int fd)
{
	return errno_of(write(fd, new, PAGE));
}

static struct iovec two_halves[] = {{new, PAGE / 2}, {new, PAGE / 2}};

static int act_writev(int fd)
{
	return errno_of(writev(fd, two_halves, 2));
}

/* The offset says nothing: the kernel appends. */
static int act_pwrite(int fd)
{
	return errno_of(pwrite(fd, new, PAGE, 0));
}

static int act_pwritev(int fd)
{
	return errno_of(pwritev(fd, two_halves, 2, 0));
}

static int act_pwritev2(int fd)
{
	return errno_of(pwritev2(fd, two_halves, 2, 0, RWF_DSYNC));
}

/* --- what the kernel refuses of every descriptor with O_APPEND --- */

static int act_sendfile(int fd)
{
	_cleanup_close_ int from = open(BOOK, O_RDONLY | O_CLOEXEC);

	return errno_of(sendfile(fd, from, NULL, 1));
}

static int act_splice(int fd)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0 || write(ends[1], "x", 1) != 1)
		return VERB_BROKEN;
	return errno_of(splice(ends[0], NULL, fd, NULL, 1, 0));
}

static int act_copy(int fd)
{
	_cleanup_close_ int from = open(BOOK, O_RDONLY | O_CLOEXEC);

	return errno_of(copy_file_range(from, NULL, fd, NULL, 1, 0));
}

static int act_clone(int fd)
{
	_cleanup_close_ int from = open(BOOK, O_RDONLY | O_CLOEXEC);

	return errno_of(ioctl(fd, FICLONE, from));
}

/* --- writing elsewhere --- */

static int act_punch(int fd)
{
	return errno_of(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE));
}

static int act_zero(int fd)
{
	return errno_of(fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, PAGE));
}

static int act_collapse(int fd)
{
	return errno_of(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, PAGE));
}

static int act_insert(int fd)
{
	return errno_of(fallocate(fd, FALLOC_FL_INSERT_RANGE, 0, PAGE));
}

static int act_allocate(int fd)
{
	return errno_of(fallocate(fd, 0, 0, (OLD + 1) * PAGE));
}

/* linux/falloc.h in the kernel: the same by ioctl, from XFS. */
struct space_resv {
	__s16 l_type, l_whence;
	__s64 l_start, l_len;
	__s32 l_sysid;
	__u32 l_pid;
	__s32 l_pad[4];
};
#define FS_IOC_RESVSP _IOW('X', 40, struct space_resv)
#define FS_IOC_UNRESVSP _IOW('X', 41, struct space_resv)
#define FS_IOC_UNRESVSP64 _IOW('X', 43, struct space_resv)
#define FS_IOC_ZERO_RANGE _IOW('X', 57, struct space_resv)

static int preallocate(int fd, unsigned long command)
{
	struct space_resv range = {.l_start = 0, .l_len = PAGE};

	return errno_of(ioctl(fd, command, &range));
}

static int act_unreserve(int fd)
{
	return preallocate(fd, FS_IOC_UNRESVSP);
}

static int act_unreserve64(int fd)
{
	return preallocate(fd, FS_IOC_UNRESVSP64);
}

static int act_reserve(int fd)
{
	return preallocate(fd, FS_IOC_RESVSP);
}

static int act_zero_ioctl(int fd)
{
	return preallocate(fd, FS_IOC_ZERO_RANGE);
}

static int act_noappend(int fd)
{
	return errno_of(pwritev2(fd, two_halves, 2, 0, RWF_NOAPPEND));
}

static int submit(int fd, int flags)
{
	struct iocb call = {.aio_lio_opcode = IOCB_CMD_PWRITE,
			    .aio_fildes = (__u32)fd,
			    .aio_buf = (__u64) new,
			    .aio_nbytes = PAGE,
			    .aio_rw_flags = flags},
		    *calls = &call;
	struct io_event done = {};
	aio_context_t context = 0;

	if (syscall(SYS_io_setup, 1, &context) < 0)
		return VERB_BROKEN + errno;
	if (syscall(SYS_io_submit, context, 1L, &calls) < 0)
		return errno;
	if (syscall(SYS_io_getevents, context, 1L, 1L, &done, NULL) != 1)
		return VERB_BROKEN + errno;
	return done.res < 0 ? (int)-done.res : 0;
}

static int act_aio(int fd)
{
	return submit(fd, 0);
}

static int act_aio_noappend(int fd)
{
	return submit(fd, RWF_NOAPPEND);
}

/* Of a mapping that is read only: since 6.7 that is enough to punch a hole. */
static int act_remove(int fd)
{
	void *map = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	return map == MAP_FAILED ? VERB_BROKEN + errno : errno_of(madvise(map, PAGE, MADV_REMOVE));
}

static int act_append_off(int fd)
{
	return errno_of(fcntl(fd, F_SETFL, 0)) ?: errno_of(pwrite(fd, new, PAGE, 0));
}

static int act_map(int fd)
{
	char *map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return errno;
	*map = 'n';
	return 0;
}

static int act_map_later(int fd)
{
	char *map = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return VERB_BROKEN + errno;
	if (mprotect(map, PAGE, PROT_READ | PROT_WRITE) < 0)
		return errno;
	*map = 'n';
	return 0;
}

static int act_truncate(int fd)
{
	return errno_of(ftruncate(fd, 0));
}

/* --- the same by the numbers of i386 --- */

static int call32(int number, const int args[6])
{
	const long sixth = args[5];
	int r;

	/* Below the red zone, in which the compiler may keep something. */
	asm volatile("sub $128, %%rsp; push %%rbp; mov %[sixth], %%rbp; int $0x80; pop %%rbp; "
		     "add $128, %%rsp"
		     : "=a"(r)
		     : "a"(number), "b"(args[0]), "c"(args[1]), "d"(args[2]), "S"(args[3]),
		       "D"(args[4]), [sixth] "r"(sixth)
		     : "r8", "r9", "r10", "r11", "memory", "cc");
	return r < 0 ? -r : 0;
}

/* What it is given by address stands where 32 bits reach. */
struct low {
	struct {
		__u32 base, length;
	} vector;
	char bytes[PAGE / 2];
};

static struct low *low_page(void)
{
	struct low *low = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (low == MAP_FAILED)
		return NULL;
	memset(low->bytes, 'n', sizeof(low->bytes));
	low->vector.base = (__u32)(unsigned long)low->bytes;
	low->vector.length = sizeof(low->bytes);
	return low;
}

static int act_write32(int fd)
{
	struct low *low = low_page();

	return low ? call32(4, (int[6]){fd, (int)low->vector.base, (int)low->vector.length})
		   : VERB_BROKEN;
}

static int pwritev2_32(int fd, int flags)
{
	struct low *low = low_page();

	return low ? call32(379, (int[6]){fd, (int)(unsigned long)&low->vector, 1, 0, 0, flags})
		   : VERB_BROKEN;
}

static int act_pwritev2_32(int fd)
{
	return pwritev2_32(fd, RWF_DSYNC);
}

static int act_noappend32(int fd)
{
	return pwritev2_32(fd, RWF_NOAPPEND);
}

static int act_punch32(int fd)
{
	return call32(324, (int[6]){fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 0, PAGE, 0});
}

enum outcome {
	APPENDS,  /* goes on */
	KERNEL,	  /* refused with row->error by the kernel, to everybody */
	OVERRIDE, /* refused with row->error by row->hook; to others it changes what stands there */
	RESERVE,  /* the same, but changes nothing that stands there */
};

static const struct row {
	const char *name;
	int (*act)(int fd);
	enum outcome outcome;
	int error;
	enum bh_hook hook;
} rows[] = {
	{"write", act_write, APPENDS, 0, BH_HOOK_NONE},
	{"writev", act_writev, APPENDS, 0, BH_HOOK_NONE},
	{"pwrite", act_pwrite, APPENDS, 0, BH_HOOK_NONE},
	{"pwritev", act_pwritev, APPENDS, 0, BH_HOOK_NONE},
	{"pwritev2", act_pwritev2, APPENDS, 0, BH_HOOK_NONE},
	{"write32", act_write32, APPENDS, 0, BH_HOOK_NONE},
	{"pwritev2-32", act_pwritev2_32, APPENDS, 0, BH_HOOK_NONE},
	{"sendfile", act_sendfile, KERNEL, EINVAL, BH_HOOK_NONE},
	{"splice", act_splice, KERNEL, EINVAL, BH_HOOK_NONE},
	{"copy_file_range", act_copy, KERNEL, EBADF, BH_HOOK_NONE},
	{"clone", act_clone, KERNEL, EBADF, BH_HOOK_NONE},
	{"punch", act_punch, OVERRIDE, EPERM, BH_HOOK_FILE_APPEND},
	{"zero", act_zero, OVERRIDE, EPERM, BH_HOOK_FILE_APPEND},
	{"collapse", act_collapse, OVERRIDE, EPERM, BH_HOOK_FILE_APPEND},
	{"insert", act_insert, OVERRIDE, EPERM, BH_HOOK_FILE_APPEND},
	{"allocate", act_allocate, RESERVE, EPERM, BH_HOOK_FILE_APPEND},
	{"unreserve", act_unreserve, OVERRIDE, EPERM, BH_HOOK_FILE_APPEND},
	{"unreserve64", act_unreserve64, OVERRIDE, EPERM, BH_HOOK_FILE_APPEND},
	{"reserve", act_reserve, RESERVE, EPERM, BH_HOOK_FILE_APPEND},
	{"zero-ioctl", act_zero_ioctl, OVERRIDE, EPERM, BH_HOOK_FILE_APPEND},
	{"noappend", act_noappend, OVERRIDE, EPERM, BH_HOOK_FILE_APPEND},
	{"aio", act_aio, RESERVE, EPERM, BH_HOOK_FILE_APPEND},
	{"aio-noappend", act_aio_noappend, OVERRIDE, EPERM, BH_HOOK_FILE_APPEND},
	{"remove", act_remove, OVERRIDE, EPERM, BH_HOOK_FILE_APPEND},
	{"punch32", act_punch32, OVERRIDE, EPERM, BH_HOOK_FILE_APPEND},
	{"noappend32", act_noappend32, OVERRIDE, EPERM, BH_HOOK_FILE_APPEND},
	{"append-off", act_append_off, OVERRIDE, EPERM, BH_HOOK_FILE_FCNTL},
	{"map", act_map, OVERRIDE, EACCES, BH_HOOK_MMAP_FILE},
	{"map-later", act_map_later, OVERRIDE, EACCES, BH_HOOK_FILE_MPROTECT},
	{"truncate", act_truncate, OVERRIDE, EACCES, BH_HOOK_INODE_SETATTR},
};

/* --- who does it, and what becomes of the file --- */

struct attempt {
	const struct row *row;
	const char *path;
};

static int run_attempt(void *data)
{
	const struct attempt *a = data;
	_cleanup_close_ int fd = open(a->path, O_RDWR | O_APPEND | O_CLOEXEC);

	return fd < 0 ? VERB_BROKEN + errno : a->row->act(fd);
}

static int fill(const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	char page[PAGE];
	int i;

	memset(page, 'o', sizeof(page));
	memset(new, 'n', sizeof(new));
	for (i = 0; i < OLD; i++)
		if (fd < 0 || write(fd, page, PAGE) != PAGE)
			return -errno;
	return 0;
}

/* What stood there stands there, and what else there is stands behind it. *ret_more: how much. */
static bool is_whole(const char *path, long *ret_more)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	static char text[OLD * PAGE];
	long i;

	*ret_more = lseek(fd, 0, SEEK_END) - (long)sizeof(text);
	if (*ret_more < 0 || pread(fd, text, sizeof(text), 0) != sizeof(text))
		return false;
	for (i = 0; i < (long)sizeof(text) && text[i] == 'o';)
		i++;
	return i == sizeof(text);
}

static int make(struct cell *cell, enum where where, const struct row *row, const char *path)
{
	struct attempt a = {row, path};

	return fill(path) ? VERB_BROKEN : cell_call(cell, where, run_attempt, &a);
}

/* What this kernel or this filesystem has not: refused by it, and inside before that. */
static bool is_missing(int r)
{
	return r == EOPNOTSUPP || r == EINVAL;
}

/* Refused by 6.1 before anybody is asked: a flag that it does not know, a mapping that cannot be written. */
static bool is_older(const struct row *row, int control)
{
	return (row->act == act_aio_noappend && control == EOPNOTSUPP) ||
	       (row->act == act_remove && control == EACCES);
}

static int check_control(struct cell *cell, const struct row *row, int *ret)
{
	long more;
	int r = make(cell, BESIDE, row, LOG);

	*ret = r;
	if (row->outcome == KERNEL) {
		CHECK(r == row->error, "control: %s: %s", row->name, outcome_text(r));
		return 0;
	}
	if (is_older(row, r))
		return 0;
	CHECK(r == 0 || (row->outcome != APPENDS && is_missing(r)), "control: %s: %s", row->name,
	      outcome_text(r));
	if (r)
		printf("# append/%s: %s beside the compartment\n", row->name, outcome_text(r));
	CHECK(r || is_whole(LOG, &more) != (row->outcome == OVERRIDE),
	      "control: %s: what stood there", row->name);
	CHECK(row->outcome != APPENDS || more > 0, "control: %s: nothing was appended", row->name);
	return 0;
}

static int check_event(struct cell *cell, const struct row *row)
{
	const struct bh_event_copy *e = cell_event(cell, 0, row->hook);
	size_t have = e ? strlen(e->tail) : 0, want = strlen("/work/file");

	CHECK(e, "%s: no event", row->name);
	CHECK(e->head.error == row->error && e->head.perms == BH_PERM_WRITE &&
		      e->head.reason == BH_REASON_NO_RULE,
	      "%s: the event says errno %d, rights %#x, %s", row->name, e->head.error,
	      e->head.perms, reason_text(e->head.reason));
	CHECK(have >= want && !strcmp(e->tail + have - want, "/work/file"),
	      "%s: the event is about %.120s", row->name, e->tail);
	return 0;
}

static int check_inside(struct cell *cell, const struct row *row, int control)
{
	struct bh_tally before = cell_tally(cell), after;
	bool refused = row->hook != BH_HOOK_NONE;
	long more;
	int r;

	if (is_older(row, control))
		return 0;
	cell_drain(cell);
	cell->nevents = 0;
	r = make(cell, INSIDE, row, LOG);
	after = cell_tally(cell);
	CHECK(r == row->error, "%s: %s", row->name, outcome_text(r));
	CHECK(is_whole(LOG, &more), "%s: what stood there does not", row->name);
	CHECK((more > 0) == (row->outcome == APPENDS), "%s: %ld bytes more", row->name, more);
	CHECK(after.unsure == before.unsure && after.refused == before.refused + refused,
	      "%s: %llu refusals", row->name, after.refused - before.refused);
	if (!refused)
		return 0;
	CHECK(after.hook[row->hook] == before.hook[row->hook] + 1, "%s: the counter stands still",
	      row->name);
	cell_drain(cell);
	return check_event(cell, row);
}

/* Who may write does all of it. */
static int check_writer(struct cell *cell, const struct row *row, int control)
{
	struct bh_tally before = cell_tally(cell), after;
	int r = make(cell, INSIDE, row, BOOK);

	after = cell_tally(cell);
	CHECK(r == control && after.refused == before.refused, "%s, of who may write: %s",
	      row->name, outcome_text(r));
	return 0;
}

static struct rule rules[] = {
	{.effect = RULE_ALLOW,
	 .perms = BH_PERM_READ | BH_PERM_APPEND | BH_PERM_IOCTL,
	 .glob = (char *)FIXTURE "/work/**"},
	{.effect = RULE_ALLOW,
	 .perms = BH_PERM_READ | BH_PERM_WRITE | BH_PERM_APPEND | BH_PERM_IOCTL,
	 .glob = (char *)FIXTURE "/open/**"},
};
static const struct cell_options appending = {.rules = rules, .nrules = 2};

static int check_state(struct kern *kern, enum kern_hook_state want, const char *when)
{
	enum kern_hook_state state = KERN_HOOK_LOST;
	__u32 link;

	CHECK(kern_hook_state(kern, BH_HOOK_FILE_APPEND, &state, &link) == 0 && state == want,
	      "%s: the re-check's state is %d", when, state);
	return 0;
}

static int case_rows(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &appending);
	int control = 0;
	size_t i;

	CHECK(cell, "no cell");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (check_control(cell, &rows[i], &control) ||
		    check_inside(cell, &rows[i], control) || check_writer(cell, &rows[i], control))
			return -1;
	}
	return 0;
}

/* Told, and let through. */
static int case_audit(struct kern *kern)
{
	const struct cell_options audited = {.rules = rules, .nrules = 2, .mode = BH_MODE_AUDIT};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &audited);
	static const struct row punch = {"punch", act_punch, OVERRIDE, 0, BH_HOOK_FILE_APPEND};
	const struct bh_event_copy *e;
	long more;
	int r;

	CHECK(cell, "no cell");
	r = make(cell, INSIDE, &punch, LOG);
	CHECK(r == 0 && !is_whole(LOG, &more), "punch: %s", outcome_text(r));
	cell_drain(cell);
	e = cell_event(cell, 0, BH_HOOK_FILE_APPEND);
	CHECK(e && e->head.bits & BH_EVENT_AUDIT, "it was not told");
	return 0;
}

/* --- while it is needed --- */

static int punch_held(void *data)
{
	return act_punch(*(int *)data);
}

/* A descriptor that was left to a member of another compartment, whose policy says nothing of appending. */
static int case_others(struct kern *kern)
{
	_cleanup_cell_ struct cell *other = cell_new(kern, NULL);
	_cleanup_cell_ struct cell *cell = NULL;
	_cleanup_close_ int fd = open(FIXTURE_SECRET, O_WRONLY | O_APPEND | O_CLOEXEC);
	struct bh_tally before, after;
	int r;

	CHECK(other && fd >= 0, "no cell");
	if (check_state(kern, KERN_HOOK_IDLE, "a policy without append alone"))
		return -1;
	/* Makes the fixture anew: the descriptor's file has no name any more. */
	cell = cell_new(kern, &appending);
	CHECK(cell, "no second cell");
	if (check_state(kern, KERN_HOOK_ATTACHED, "a policy with it"))
		return -1;
	before = cell_tally(other);
	r = cell_call(other, INSIDE, punch_held, &fd);
	after = cell_tally(other);
	CHECK(r == 0 && before.refused == after.refused, "a hole by another's member: %s",
	      outcome_text(r));
	r = cell_call(cell, INSIDE, punch_held, &fd);
	CHECK(r == EPERM, "a hole by a member whose policy is about it: %s", outcome_text(r));
	cell_free(TAKE_PTR(cell));
	return check_state(kern, KERN_HOOK_IDLE, "the policy gone");
}

/* Two generations of it: attached until the last has gone. */
static int case_settles(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &appending);
	struct kern *other = NULL;
	struct error error = {};
	__u32 before;
	int r;

	CHECK(cell, "no cell");
	before = cell->generation;
	CHECK(cell_policy(cell, &appending) == 0, "no second generation");
	CHECK(kern_policy_remove(kern, before) == 0, "the first does not go");
	if (check_state(kern, KERN_HOOK_ATTACHED, "one of two gone"))
		return -1;
	/* One that lost its link is not adopted. */
	CHECK(rename(KERN_PIN_DIR "/recheck-links/append/file_permission", KERN_PIN_DIR "/kept") ==
		      0,
	      "no such pin");
	r = kern_open(&other, &error);
	rename(KERN_PIN_DIR "/kept", KERN_PIN_DIR "/recheck-links/append/file_permission");
	CHECK(r == -ESTALE, "adopted without its re-check");
	r = kern_open(&other, &error);
	CHECK(r == 0, "not adopted: %.200s", error.text);
	kern_close(other);
	cell_free(TAKE_PTR(cell));
	return check_state(kern, KERN_HOOK_IDLE, "both gone");
}

const struct test_case append_cases[] = {
	{"append/rows", case_rows, CASE_REFUSES},
	{"append/audit", case_audit, CASE_REFUSES},
	{"append/others", case_others, CASE_REFUSES},
	{"append/settles", case_settles, CASE_REFUSES},
	{},
};
