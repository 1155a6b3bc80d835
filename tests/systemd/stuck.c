// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * usage: stuck
 *
 * A process that no freezer stops: inside read(2) it waits for a page that its own userfaultfd
 * would have to bring, and nobody brings it. Only a kill ends it.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fail(const char *what)
{
	perror(what);
	return 1;
}

int main(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register area = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (zero < 0 || uffd < 0 || page == MAP_FAILED)
		return fail("stuck: setting up");
	area.range.start = (uintptr_t)page;
	area.range.len = 4096;
	if (ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &area))
		return fail("stuck: userfaultfd");
	/* The kernel copies to the page, and that fault may not be given up for a signal. */
	if (read(zero, page, 4096) != 4096)
		return fail("stuck: read");
	return fail("stuck: the page came by itself");
}
