// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Questions to the kernel's own iterators: tasks and the superblocks behind descriptors. */
#include "internal.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* One question at a time: it stands in a map. */
#define QUERY_LOCK KERN_RUN_DIR "/query.lock"
/* 1,000,000 tasks of 20 bytes fit; a host has at most pid_max of 4 million and far fewer inside. */
#define MAX_ANSWER (32u << 20)

int kern_iterate(int prog_fd, pid_t tgid, void **ret, size_t *ret_size)
{
	union bpf_iter_link_info info = {.task = {.pid = (__u32)tgid}};
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	_cleanup_close_ int link = -1, iter = -1;
	_cleanup_free_ char *answer = NULL;
	size_t size = 0, room = 0;

	if (tgid) {
		opts.iter_info = &info;
		opts.iter_info_len = sizeof(info);
	}
	link = bpf_link_create(prog_fd, 0, BPF_TRACE_ITER, &opts);
	if (link < 0)
		return -errno;
	iter = bpf_iter_create(link);
	if (iter < 0)
		return -errno;
	for (;;) {
		ssize_t n;

		if (size == room) {
			char *more = room < MAX_ANSWER ? realloc(answer, room + (64u << 10)) : NULL;

			if (!more)
				return room < MAX_ANSWER ? -ENOMEM : -E2BIG;
			answer = more;
			room += 64u << 10;
		}
		n = read(iter, answer + size, room - size);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		size += (size_t)n;
	}
	*ret = TAKE_PTR(answer);
	*ret_size = size;
	return 0;
}

static int ask_tasks(struct kern *kern, const struct bh_task_query *query, void **ret,
		     size_t *ret_size)
{
	_cleanup_close_ int lock =
		open(QUERY_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	__u32 key = 0;

	/* Held for one pass over the tasks; whoever holds it does nothing else meanwhile. */
	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return -errno;
	if (bpf_map_update_elem(kern->maps[KERN_MAP_QUERIES], &key, query, BPF_ANY) < 0)
		return -errno;
	return kern_iterate(kern->progs[KERN_PROG_ITER_TASK], 0, ret, ret_size);
}

int kern_tasks(struct kern *kern, const struct bh_task_query *query, struct bh_task **ret,
	       size_t *ret_n, struct error *error)
{
	void *answer;
	size_t size;
	int r = ask_tasks(kern, query, &answer, &size);

	if (r < 0)
		return error_set(error, -r, "cannot iterate over the host's tasks: %s",
				 strerror(-r));
	*ret = answer;
	*ret_n = size / sizeof(**ret);
	return 0;
}

enum bh_sb_class kern_superblock_class(const char *type)
{
	static const struct {
		const char *type;
		enum bh_sb_class class;
	} classes[] = {
		{"proc", BH_SB_PROC},	  {"cgroup2", BH_SB_CGROUP}, {"cgroup", BH_SB_CGROUP},
		{"bpf", BH_SB_BPF},	  {"pipefs", BH_SB_PIPE},    {"pidfs", BH_SB_PIPE},
		{"debugfs", BH_SB_DEBUG}, {"tracefs", BH_SB_DEBUG},  {"securityfs", BH_SB_DEBUG},
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		if (strcmp(type, classes[i].type) == 0)
			return classes[i].class;
	return BH_SB_PLAIN;
}

static int learn(struct kern *kern, const struct bh_file *answer, struct bh_superblock *ret)
{
	int map = kern->maps[KERN_MAP_SUPERBLOCKS];
	struct bh_superblock sb = {};
	struct bh_meta meta;
	int r;

	if (bpf_map_lookup_elem(map, &answer->superblock, ret) == 0)
		return 0;
	r = kern_meta_read(kern, &meta);
	if (r < 0)
		return r;
	sb.sbid = meta.next_sbid++;
	sb.class = kern_superblock_class(answer->type);
	r = kern_meta_write(kern, &meta);
	if (r < 0)
		return r;
	if (bpf_map_update_elem(map, &answer->superblock, &sb, BPF_NOEXIST) < 0)
		return -errno;
	*ret = sb;
	return 0;
}

static int learn_answers(struct kern *kern, const struct bh_file *answers, size_t nanswers,
			 const int *fds, size_t n, struct bh_superblock *ret)
{
	for (size_t i = 0; i < n; i++) {
		size_t j = 0;
		int r;

		while (j < nanswers && answers[j].fd != (__u32)fds[i])
			j++;
		if (j == nanswers)
			return -EBADF;
		r = learn(kern, &answers[j], &ret[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static const struct bh_file *answer_of(const struct bh_file *answers, size_t n, int fd)
{
	for (size_t i = 0; i < n; i++)
		if (answers[i].fd == (__u32)fd)
			return &answers[i];
	return NULL;
}

int kern_inodes(struct kern *kern, const int *fds, size_t n, struct bh_inode *ret,
		struct error *error)
{
	_cleanup_free_ void *answers = NULL;
	struct bh_superblock sb = {};
	size_t size = 0;
	int r = kern_iterate(kern->progs[KERN_PROG_ITER_FILE], getpid(), &answers, &size);

	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct bh_file *a = answer_of(answers, size / sizeof(struct bh_file), fds[i]);

		r = a ? learn(kern, a, &sb) : -EBADF;
		if (r == 0)
			ret[i] = (struct bh_inode){
				.sbid = sb.sbid, .generation = a->generation, .ino = a->ino};
	}
	return r < 0 ? error_set(error, -r, "cannot learn the inodes behind descriptors: %s",
				 strerror(-r))
		     : 0;
}

int kern_superblocks(struct kern *kern, const int *fds, size_t n, struct bh_superblock *ret,
		     struct error *error)
{
	_cleanup_free_ void *answer = NULL;
	size_t size = 0;
	int r;

	r = kern_iterate(kern->progs[KERN_PROG_ITER_FILE], getpid(), &answer, &size);
	if (r == 0)
		r = learn_answers(kern, answer, size / sizeof(struct bh_file), fds, n, ret);
	if (r == -E2BIG)
		return error_set(error, ENOSPC,
				 "more than %u filesystems: the kernel's table is full",
				 BH_MAX_SUPERBLOCKS);
	if (r < 0)
		return error_set(error, -r, "cannot learn the superblocks behind descriptors: %s",
				 strerror(-r));
	return 0;
}

/* Since 6.9 pidfd_open(2) opens a file of a filesystem that no mount table lists; what a pidfd is
 * used for is judged as what it does (task_kill, ptrace_access_check). Before, it opens none. */
int kern_superblocks_fixed(struct kern *kern, struct error *error)
{
	_cleanup_close_ int read_end = -1, write_end = -1, pidfd = -1;
	struct bh_superblock sb[2];
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_set(error, errno, "cannot make a pipe: %s", strerror(errno));
	read_end = fds[0];
	write_end = fds[1];
	pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (pidfd < 0)
		return error_set(error, errno, "cannot open a pidfd: %s", strerror(errno));
	fds[1] = pidfd;
	return kern_superblocks(kern, fds, 2, sb, error);
}
