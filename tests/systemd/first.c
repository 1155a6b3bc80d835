// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * usage: first SECRET RESULT PROGRAM [ARGUMENT]...
 *
 * What a unit starts. Its first open is the secret, and what came of it is a line of RESULT,
 * "PID ERRNO"; then it becomes PROGRAM. Static: before main() nothing is opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd, code = 0, n;
	char line[64];

	if (argc < 4)
		return 2;
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		code = errno;
	else
		close(fd);
	n = snprintf(line, sizeof(line), "%d %d\n", (int)getpid(), code);
	fd = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		return 3;
	execv(argv[3], argv + 3);
	return 4;
}
