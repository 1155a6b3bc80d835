// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Attributes of files, and ioctls. */
#include "verbs_internal.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <termios.h>

#define XATTR "user.neg"
#define ACL "system.posix_acl_access"

#ifndef SYS_file_setattr
#define SYS_file_setattr 469 /* the same on every architecture, since 6.17 */
#endif

VERB(chmod)
{
	return result(chmod(argv[1], 0777));
}

VERB(fchmod)
{
	return result(fchmod(number(argv[1]), 0777));
}

VERB(chown)
{
	return result(chown(argv[1], geteuid(), getegid()));
}

VERB(utimes)
{
	return result(utimensat(AT_FDCWD, argv[1], NULL, 0));
}

VERB(futimes)
{
	return result(futimens(number(argv[1]), NULL));
}

/* A filesystem that has none says so one step further than the hook. */
VERB(setxattr)
{
	return result_past(setxattr(argv[1], XATTR, "1", 1, 0), EOPNOTSUPP);
}

VERB(getxattr)
{
	if (getxattr(argv[1], XATTR, NULL, 0) < 0 && errno != EOPNOTSUPP && errno != ENODATA)
		return failed();
	return 0;
}

/* The kernel's own are free: what ls(1) asks for. */
VERB(get_acl)
{
	if (getxattr(argv[1], ACL, NULL, 0) < 0 && errno != EOPNOTSUPP && errno != ENODATA)
		return failed();
	return 0;
}

VERB(fsetxattr)
{
	return result_past(fsetxattr(number(argv[1]), XATTR, "1", 1, 0), EOPNOTSUPP);
}

VERB(removexattr)
{
	if (removexattr(argv[1], XATTR) < 0 && errno != EOPNOTSUPP && errno != ENODATA)
		return failed();
	return 0;
}

/* rwx for owner, group and others: version 2 (linux/posix_acl_xattr.h), then tag, rights, id. */
VERB(set_acl)
{
	static const struct {
		__u32 version;
		struct {
			__u16 tag, rights;
			__u32 id;
		} entries[3];
	} acl = {2, {{0x01, 7, -1u}, {0x04, 7, -1u}, {0x20, 7, -1u}}};

	return result_past(setxattr(argv[1], ACL, &acl, sizeof(acl), 0), EOPNOTSUPP);
}

VERB(remove_acl)
{
	if (removexattr(argv[1], ACL) < 0 && errno != EOPNOTSUPP && errno != ENODATA)
		return failed();
	return 0;
}

/* No flags, which the file has anyway. */
VERB(set_flags)
{
	int flags = 0;

	return result_past(ioctl(number(argv[1]), FS_IOC_SETFLAGS, &flags), ENOTTY);
}

VERB(file_setattr)
{
	__u64 attr[3] = {0};

	if (syscall(SYS_file_setattr, AT_FDCWD, argv[1], attr, sizeof(attr), 0) < 0 &&
	    errno != ENOSYS && errno != EOPNOTSUPP)
		return failed();
	return 0;
}

/* Without an argument to read or write; what the file does not know is one step further. */
VERB(ioctl)
{
	return result_past(ioctl(number(argv[1]), (unsigned int)strtoul(argv[2], NULL, 0), NULL),
			   ENOTTY);
}

/* A terminal at FD, with CONTROL the one that a new session of the process controls. */
static int terminal(int fd, int control)
{
	int ends, slave, unlock = 0;
	char name[32];
	unsigned int n;

	ends = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	if (ends < 0 || ioctl(ends, TIOCSPTLCK, &unlock) || ioctl(ends, TIOCGPTN, &n))
		return broken();
	snprintf(name, sizeof(name), "/dev/pts/%u", n);
	slave = open(name, O_RDWR | O_NOCTTY);
	if (slave < 0 || dup2(slave, fd) != fd)
		return broken();
	if (!control)
		return 0;
	return setsid() < 0 ? broken() : result(ioctl(fd, TIOCSCTTY, 0));
}

VERB(terminal)
{
	return terminal(number(argv[1]), 0);
}

VERB(own_terminal)
{
	return terminal(number(argv[1]), 1);
}

/* What every line editor does: asks, and sets. */
VERB(tty_set)
{
	struct termios settings;

	if (tcgetattr(number(argv[1]), &settings))
		return broken();
	return result(tcsetattr(number(argv[1]), TCSANOW, &settings));
}

const struct verb attribute_verbs[] = {
	{"chmod", 1, verb_chmod, "FILE"},
	{"fchmod", 1, verb_fchmod, "FD"},
	{"chown", 1, verb_chown, "FILE"},
	{"utimes", 1, verb_utimes, "FILE"},
	{"futimes", 1, verb_futimes, "FD"},
	{"setxattr", 1, verb_setxattr, "FILE"},
	{"fsetxattr", 1, verb_fsetxattr, "FD"},
	{"getxattr", 1, verb_getxattr, "FILE"},
	{"get-acl", 1, verb_get_acl, "FILE"},
	{"removexattr", 1, verb_removexattr, "FILE"},
	{"set-acl", 1, verb_set_acl, "FILE"},
	{"remove-acl", 1, verb_remove_acl, "FILE"},
	{"set-flags", 1, verb_set_flags, "FD"},
	{"file-setattr", 1, verb_file_setattr, "FILE"},
	{"ioctl", 2, verb_ioctl, "FD NUMBER"},
	{"terminal", 1, verb_terminal, "FD"},
	{"own-terminal", 1, verb_own_terminal, "FD"},
	{"tty-set", 1, verb_tty_set, "FD"},
	{},
};
