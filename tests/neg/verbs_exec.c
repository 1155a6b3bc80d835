// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Running code: programs by every route, and memory that is made executable. */
#include "verbs_internal.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The errno of an exec comes back by a pipe that a successful exec closes. A status that is not 0
 * is a program that did not come to life: its loader was refused, say. */
static int run(int dir, const char *program, char **argv, int flags)
{
	char *const envp[] = {NULL};
	int ends[2], error = 0, status = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return broken();
	pid = fork();
	if (pid < 0)
		return failed();
	if (pid == 0) {
		syscall(SYS_execveat, dir, program, argv, envp, flags);
		error = errno;
		_exit(write(ends[1], &error, sizeof(error)) != sizeof(error));
	}
	close(ends[1]);
	if (read(ends[0], &error, sizeof(error)) != sizeof(error))
		error = 0;
	close(ends[0]);
	waitpid(pid, &status, 0);
	if (error)
		return error;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : VERB_BROKEN + ECHILD;
}

VERB(exec)
{
	return run(AT_FDCWD, argv[1], argv + 1, 0);
}

/* exec-as NAME FILE: the same file under another argv[0]. */
VERB(exec_as)
{
	char *words[] = {argv[1], NULL};

	return run(AT_FDCWD, argv[2], words, 0);
}

static int copy_to(int to, const char *from)
{
	char buffer[16384];
	ssize_t n;
	int fd = open(from, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return broken();
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		if (write(to, buffer, n) != n)
			return broken();
	close(fd);
	return 0;
}

VERB(copy)
{
	_cleanup_close_ int fd = open(argv[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	return fd < 0 ? broken() : copy_to(fd, argv[1]);
}

static int make_memfd(const char *from, int *ret_fd)
{
	*ret_fd = memfd_create("bulkhead-probe", MFD_CLOEXEC);
	return *ret_fd < 0 ? broken() : copy_to(*ret_fd, from);
}

/* A program that is there answers this verb and is well. */
#define WELL ((char *)"unix-pair")

VERB(exec_memfd)
{
	char *words[] = {argv[1], WELL, NULL};
	int fd, r = make_memfd(argv[1], &fd);

	return r ? r : run(fd, "", words, AT_EMPTY_PATH);
}

/* A copy is a new file: what may be run is a name, not its bytes. */
VERB(exec_copy)
{
	char *words[] = {argv[2], WELL, NULL};
	int fd = open(argv[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	int r = fd < 0 ? broken() : copy_to(fd, argv[1]);

	if (fd >= 0)
		close(fd);
	return r ? r : run(AT_FDCWD, argv[2], words, 0);
}

/* By a descriptor that cannot write, or the kernel takes it for busy. Takes fd. */
static int run_open(int fd, char **words)
{
	char self[32];
	int reader;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	reader = open(self, O_RDONLY | O_CLOEXEC);
	if (reader < 0)
		return broken();
	close(fd);
	return run(reader, "", words, AT_EMPTY_PATH);
}

/* exec-tmpfile PROGRAM DIRECTORY: a copy that never had a name. */
VERB(exec_tmpfile)
{
	char *words[] = {argv[1], WELL, NULL};
	int fd = open(argv[2], O_RDWR | O_TMPFILE | O_CLOEXEC, 0700);
	int r = fd < 0 ? broken() : copy_to(fd, argv[1]);

	return r ? r : run_open(fd, words);
}

/* exec-deleted PROGRAM NEW: a copy that has none any more. */
VERB(exec_deleted)
{
	char *words[] = {argv[2], WELL, NULL};
	int fd = open(argv[2], O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	int r = fd < 0 ? broken() : copy_to(fd, argv[1]);

	if (!r && unlink(argv[2]) < 0)
		r = broken();
	return r ? r : run_open(fd, words);
}

VERB(mmap_exec)
{
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? broken() : map_fd(fd, PROT_READ | PROT_EXEC, MAP_PRIVATE);
}

VERB(mmap_memfd)
{
	int fd, r = make_memfd(argv[1], &fd);

	return r ? r : map_fd(fd, PROT_READ | PROT_EXEC, MAP_PRIVATE);
}

VERB(mmap_anon)
{
	return map_fd(-1, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS);
}

static int protect(int fd, int flags, bool touch, int pkey)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (page == MAP_FAILED)
		return broken();
	if (touch)
		page[0] = 1;
	if (pkey)
		return result(syscall(SYS_pkey_mprotect, page, PAGE, PROT_READ | PROT_EXEC, -1));
	return result(mprotect(page, PAGE, PROT_READ | PROT_EXEC));
}

VERB(mprotect)
{
	return protect(-1, MAP_PRIVATE | MAP_ANONYMOUS, true, 0);
}

VERB(pkey_mprotect)
{
	return protect(-1, MAP_PRIVATE | MAP_ANONYMOUS, true, 1);
}

/* Pages of a file that may be mapped executable, changed before they are. */
VERB(mprotect_file)
{
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? broken() : protect(fd, MAP_PRIVATE, true, 0);
}

const struct verb exec_verbs[] = {
	{"exec", 1, verb_exec, "PROGRAM [ARG]..."},
	{"exec-as", 2, verb_exec_as, "NAME PROGRAM"},
	{"exec-memfd", 1, verb_exec_memfd, "PROGRAM"},
	{"copy", 2, verb_copy, "FILE NEW"},
	{"exec-copy", 2, verb_exec_copy, "PROGRAM NEW"},
	{"exec-tmpfile", 2, verb_exec_tmpfile, "PROGRAM DIRECTORY"},
	{"exec-deleted", 2, verb_exec_deleted, "PROGRAM NEW"},
	{"mmap-exec", 1, verb_mmap_exec, "FILE"},
	{"mmap-memfd", 1, verb_mmap_memfd, "FILE"},
	{"mmap-anon", 0, verb_mmap_anon, ""},
	{"mprotect", 0, verb_mprotect, ""},
	{"pkey-mprotect", 0, verb_pkey_mprotect, ""},
	{"mprotect-file", 1, verb_mprotect_file, "FILE"},
	{},
};
