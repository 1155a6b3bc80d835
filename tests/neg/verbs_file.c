// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Files: reading and changing them by every route, names for them, mappings that gain rights. */
#include "verbs_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <linux/openat2.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef RENAME_EXCHANGE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE 2
#define RENAME_WHITEOUT 4
#endif

VERB(read)
{
	return read_fd(open(argv[1], O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

VERB(read_at)
{
	int dir = open(argv[1], O_PATH | O_DIRECTORY);

	return dir < 0 ? broken() : read_fd(openat(dir, argv[2], O_RDONLY));
}

VERB(read_fd)
{
	return read_fd(dup(number(argv[1])));
}

VERB(watch)
{
	int fd = inotify_init1(IN_CLOEXEC);

	return fd < 0 ? broken()
		      : result(inotify_add_watch(fd, argv[1], IN_ALL_EVENTS) < 0 ? -1 : 0);
}

/* Without capabilities: of inodes, by handle. Filesystems without a number say so one step further than the hook. */
VERB(fanotify)
{
	int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_REPORT_FID, O_RDONLY);

	if (fd < 0)
		return broken();
	return result_past(fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, argv[1]), ENODEV);
}

VERB(openat2)
{
	struct open_how how = {.flags = O_RDONLY, .resolve = RESOLVE_NO_MAGICLINKS};

	return read_fd(syscall(SYS_openat2, AT_FDCWD, argv[1], &how, sizeof(how)));
}

VERB(write)
{
	return result_fd(open(argv[1], O_WRONLY | O_CLOEXEC));
}

VERB(append)
{
	return result_fd(open(argv[1], O_WRONLY | O_APPEND | O_CLOEXEC));
}

/* A hole where something may have stood. */
VERB(append_punch)
{
	_cleanup_close_ int fd = open(argv[1], O_WRONLY | O_APPEND | O_CLOEXEC);

	return fd < 0 ? broken()
		      : result(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE));
}

VERB(open_trunc)
{
	return result_fd(open(argv[1], O_WRONLY | O_TRUNC | O_CLOEXEC));
}

/* Truncates what it may only read. */
VERB(open_read_trunc)
{
	return result_fd(open(argv[1], O_RDONLY | O_TRUNC));
}

/* Access mode 3: neither reading nor writing, ioctl alone. */
VERB(open_ioctl)
{
	return result_fd(open(argv[1], O_ACCMODE | O_CLOEXEC));
}

VERB(create)
{
	return result_fd(open(argv[1], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

VERB(tmpfile)
{
	return result_fd(open(argv[1], O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
}

/* O_TMPFILE in one directory, given a name in another. */
VERB(tmpfile_link)
{
	char self[32];
	int fd = open(argv[1], O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd < 0)
		return broken();
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return result(linkat(AT_FDCWD, self, AT_FDCWD, argv[2], AT_SYMLINK_FOLLOW));
}

VERB(opath_read)
{
	char self[32];
	int fd = open(argv[1], O_PATH | O_CLOEXEC);

	if (fd < 0)
		return broken();
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return read_fd(open(self, O_RDONLY));
}

/* reopen DIRECTORY FILE: what is open to read, opened to write by its descriptor's name in DIRECTORY. */
VERB(reopen)
{
	int fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	char self[64];

	if (fd < 0)
		return broken();
	snprintf(self, sizeof(self), "%s/%d", argv[1], fd);
	return result_fd(open(self, O_RDWR | O_CLOEXEC));
}

/* reopen-fd DIRECTORY FD: the same of one that was open before, to read. */
VERB(reopen_fd)
{
	char self[64];

	snprintf(self, sizeof(self), "%s/%d", argv[1], number(argv[2]));
	return read_fd(open(self, O_RDONLY | O_CLOEXEC));
}

/* open-as FILE FD: a descriptor for later. */
VERB(open_as)
{
	int fd = open(argv[1], O_RDWR | O_NOCTTY);

	return fd < 0 || dup2(fd, number(argv[2])) < 0 ? broken() : 0;
}

/* A name for an open descriptor, without any in between. */
static int link_fd(int fd, const char *name)
{
	return result(linkat(fd, "", AT_FDCWD, name, AT_EMPTY_PATH));
}

VERB(link_fd)
{
	return link_fd(number(argv[1]), argv[2]);
}

VERB(link_open)
{
	_cleanup_close_ int fd = open(argv[1], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? broken() : link_fd(fd, argv[2]);
}

VERB(tmpfile_link_fd)
{
	_cleanup_close_ int fd = open(argv[1], O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	return fd < 0 ? broken() : link_fd(fd, argv[2]);
}

static int by_handle(char **argv, int flags, int *ret_fd)
{
	union {
		struct file_handle head;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} handle = {.head.handle_bytes = MAX_HANDLE_SZ};
	int mount_id;

	if (name_to_handle_at(AT_FDCWD, argv[1], &handle.head, &mount_id, 0) < 0 ||
	    chdir(argv[2]) < 0)
		return broken();
	*ret_fd = open_by_handle_at(AT_FDCWD, &handle.head, flags);
	return *ret_fd < 0 ? failed() : 0;
}

VERB(handle_read)
{
	int fd, r = by_handle(argv, O_RDONLY, &fd);

	return r ? r : read_fd(fd);
}

/* The same of a directory, which later kernels let those do who may mount. */
VERB(handle_list)
{
	int fd, r = by_handle(argv, O_RDONLY | O_DIRECTORY, &fd);

	return r ? r : result_fd(fd);
}

VERB(list)
{
	return result_fd(open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

VERB(link)
{
	return result(link(argv[1], argv[2]));
}

static int rename_with(char **argv, unsigned int flags)
{
	return result(syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[2], flags));
}

VERB(rename)
{
	return rename_with(argv, 0);
}

VERB(exchange)
{
	return rename_with(argv, RENAME_EXCHANGE);
}

VERB(whiteout)
{
	return rename_with(argv, RENAME_WHITEOUT);
}

/* Moves what may be moved, then reads it at the new place. */
VERB(rename_read)
{
	if (rename(argv[1], argv[2]) < 0)
		return failed();
	return read_fd(open(argv[3], O_RDONLY));
}

VERB(truncate)
{
	return result(truncate(argv[1], 0));
}

VERB(ftruncate)
{
	return result(ftruncate(number(argv[1]), 0));
}

VERB(unlink)
{
	return result(unlink(argv[1]));
}

VERB(rmdir)
{
	return result(rmdir(argv[1]));
}

VERB(mkdir)
{
	return result(mkdir(argv[1], 0700));
}

/* Makes nothing that stays: for places that are not the fixture's. */
VERB(mkdir_rmdir)
{
	int r = result(mkdir(argv[1], 0700));

	if (r == 0)
		rmdir(argv[1]);
	return r;
}

VERB(create_unlink)
{
	int r = verb_create(argc, argv);

	if (r == 0)
		unlink(argv[1]);
	return r;
}

VERB(mkfifo)
{
	return result(mknod(argv[1], S_IFIFO | 0600, 0));
}

/* Memory, 1:1: the device node that gives everything away. */
VERB(mknod_dev)
{
	return result(mknod(argv[1], S_IFCHR | 0600, (1 << 8) | 1));
}

VERB(symlink)
{
	return result(symlink(argv[1], argv[2]));
}

/* O_APPEND put on and taken off again: the second is a right to write. */
VERB(append_off)
{
	if (fcntl(number(argv[1]), F_SETFL, O_APPEND))
		return broken();
	return result(fcntl(number(argv[1]), F_SETFL, 0));
}

VERB(append_mmap)
{
	if (fcntl(number(argv[1]), F_SETFL, O_APPEND))
		return broken();
	return map_fd(number(argv[1]), PROT_READ | PROT_WRITE, MAP_SHARED);
}

/* A mapping that was made with few rights gets more. */
static int gain(int fd, int before, int after)
{
	void *p = mmap(NULL, PAGE, before, MAP_SHARED, fd, 0);
	int r;

	if (p == MAP_FAILED)
		return broken();
	r = result(mprotect(p, PAGE, after));
	munmap(p, PAGE);
	return r;
}

/* Nobody's file: made, sized and used as every runtime does. */
VERB(memory_file)
{
	_cleanup_close_ int fd = (int)syscall(SYS_memfd_create, "neg", 0);

	if (fd < 0 || ftruncate(fd, PAGE))
		return failed();
	return gain(fd, PROT_NONE, PROT_READ | PROT_WRITE);
}

VERB(map_gain_read)
{
	return gain(number(argv[1]), PROT_NONE, PROT_READ);
}

VERB(map_gain_write)
{
	return gain(number(argv[1]), PROT_READ, PROT_READ | PROT_WRITE);
}

const struct verb file_verbs[] = {
	{"read", 1, verb_read, "FILE"},
	{"read-at", 2, verb_read_at, "DIRECTORY NAME"},
	{"read-fd", 1, verb_read_fd, "FD"},
	{"openat2", 1, verb_openat2, "FILE"},
	{"write", 1, verb_write, "FILE"},
	{"append", 1, verb_append, "FILE"},
	{"append-punch", 1, verb_append_punch, "FILE"},
	{"open-trunc", 1, verb_open_trunc, "FILE"},
	{"open-read-trunc", 1, verb_open_read_trunc, "FILE"},
	{"open-ioctl", 1, verb_open_ioctl, "FILE"},
	{"create", 1, verb_create, "FILE"},
	{"tmpfile", 1, verb_tmpfile, "DIRECTORY"},
	{"tmpfile-link", 2, verb_tmpfile_link, "DIRECTORY NAME"},
	{"opath-read", 1, verb_opath_read, "FILE"},
	{"reopen", 2, verb_reopen, "DIRECTORY-OF-DESCRIPTORS FILE"},
	{"reopen-fd", 2, verb_reopen_fd, "DIRECTORY-OF-DESCRIPTORS FD"},
	{"open-as", 2, verb_open_as, "FILE FD"},
	{"link-fd", 2, verb_link_fd, "FD NEW"},
	{"link-open", 2, verb_link_open, "OLD NEW"},
	{"tmpfile-link-fd", 2, verb_tmpfile_link_fd, "DIRECTORY NAME"},
	{"handle-read", 2, verb_handle_read, "FILE DIRECTORY-ON-THE-SAME-FILESYSTEM"},
	{"handle-list", 2, verb_handle_list, "DIRECTORY DIRECTORY-ON-THE-SAME-FILESYSTEM"},
	{"list", 1, verb_list, "DIRECTORY"},
	{"watch", 1, verb_watch, "PATH"},
	{"fanotify", 1, verb_fanotify, "PATH"},
	{"link", 2, verb_link, "OLD NEW"},
	{"rename", 2, verb_rename, "OLD NEW"},
	{"exchange", 2, verb_exchange, "ONE OTHER"},
	{"whiteout", 2, verb_whiteout, "OLD NEW"},
	{"rename-read", 3, verb_rename_read, "OLD NEW FILE"},
	{"truncate", 1, verb_truncate, "FILE"},
	{"ftruncate", 1, verb_ftruncate, "FD"},
	{"append-off", 1, verb_append_off, "FD"},
	{"append-mmap", 1, verb_append_mmap, "FD"},
	{"memory-file", 0, verb_memory_file, ""},
	{"map-gain-read", 1, verb_map_gain_read, "FD"},
	{"map-gain-write", 1, verb_map_gain_write, "FD"},
	{"unlink", 1, verb_unlink, "FILE"},
	{"rmdir", 1, verb_rmdir, "DIRECTORY"},
	{"mkdir", 1, verb_mkdir, "DIRECTORY"},
	{"mkdir-rmdir", 1, verb_mkdir_rmdir, "DIRECTORY"},
	{"create-unlink", 1, verb_create_unlink, "FILE"},
	{"mkfifo", 1, verb_mkfifo, "FILE"},
	{"mknod-dev", 1, verb_mknod_dev, "FILE"},
	{"symlink", 2, verb_symlink, "TARGET NEW"},
	{},
};
