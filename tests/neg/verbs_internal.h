/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the families of verbs share: the shape of a verb's function, and its answers. A family is a
 * file, verbs_FAMILY.c, of static functions and a table of them, which verbs.c joins to the others.
 */
#ifndef NEG_VERBS_INTERNAL_H
#define NEG_VERBS_INTERNAL_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/mman.h>
#include "base/cleanup.h"
#include "verbs.h"

#define PAGE 4096
#define VERB(name) static int verb_##name(int argc _unused_, char **argv _unused_)

extern const struct verb file_verbs[], attribute_verbs[], exec_verbs[], socket_verbs[],
	process_verbs[], namespace_verbs[], kernel_verbs[], child_verbs[], live_verbs[];

static inline int failed(void)
{
	return errno ? errno : EIO;
}

static inline int broken(void)
{
	return VERB_BROKEN + failed();
}

static inline int result(long r)
{
	return r < 0 ? failed() : 0;
}

static inline int result_fd(long fd)
{
	if (fd < 0)
		return failed();
	close(fd);
	return 0;
}

/* Reached the kernel's own check of its arguments: whoever may not, does not get that far. */
static inline int result_past(long r, int harmless)
{
	return r < 0 && errno != harmless ? failed() : 0;
}

static inline int number(const char *text)
{
	return (int)strtol(text, NULL, 0);
}

static inline int read_fd(int fd)
{
	char byte;
	int r;

	if (fd < 0)
		return failed();
	r = result(read(fd, &byte, 1));
	close(fd);
	return r;
}

static inline int map_fd(int fd, int prot, int flags)
{
	void *map = mmap(NULL, PAGE, prot, flags, fd, 0);

	if (map == MAP_FAILED)
		return failed();
	munmap(map, PAGE);
	return 0;
}

#endif
