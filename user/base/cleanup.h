/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ownership by attribute: a variable marked _cleanup_xxx_ gives back what it holds when it leaves
 * scope; TAKE_PTR and TAKE_FD hand it on. Destructors take NULL (and -1).
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <dirent.h>

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _unused_ __attribute__((unused))

/* Defines cleanup_<func>(type *): for use as _cleanup_(cleanup_<func>). */
#define DEFINE_CLEANUP(type, func)                          \
	static inline _unused_ void cleanup_##func(type *p) \
	{                                                   \
		if (*p)                                     \
			func(*p);                           \
	}

static inline _unused_ void cleanup_freep(void *p)
{
	free(*(void **)p);
}

static inline _unused_ void cleanup_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

DEFINE_CLEANUP(FILE *, fclose)
DEFINE_CLEANUP(DIR *, closedir)

#define _cleanup_free_ _cleanup_(cleanup_freep)
#define _cleanup_close_ _cleanup_(cleanup_closep)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)
#define _cleanup_closedir_ _cleanup_(cleanup_closedir)

#define TAKE_PTR(p)                         \
	({                                  \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})

#define TAKE_FD(fd)                \
	({                         \
		int taken_ = (fd); \
		(fd) = -1;         \
		taken_;            \
	})

#endif
