// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Files of names: a line that says whose, and a line "ADDRESS NAME" for each, appended as they come. */
#include "kept.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include "base/log.h"
#include "policy/address.h"
#include "policy/destination.h"

/* Of a whole file, each line as long as one can be. */
#define LINE_BYTES (INET_ADDRSTRLEN + 1 + DESTINATION_NAME_SIZE)
#define FILE_BYTES ((KEPT_MAX_NAMES + 1) * LINE_BYTES)

int kept_boot(char ret[KEPT_BOOT_SIZE])
{
	_cleanup_close_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, KEPT_BOOT_SIZE - 1);

	if (n != KEPT_BOOT_SIZE - 1)
		return n < 0 ? -errno : -EIO;
	ret[n] = '\0';
	return 0;
}

static void head_line(const struct kept_of *of, char *buffer, size_t size)
{
	snprintf(buffer, size, "names %llu %llu %s %s\n", (unsigned long long)of->serial,
		 (unsigned long long)of->cgroup_id, of->boot, of->range);
}

/* -EBADMSG for what is none of ours. */
static int parse_pair(const char *address, const char *name, struct kept_name *ret)
{
	char canonical[DESTINATION_NAME_SIZE];
	struct destination_fault fault;
	struct address parsed;
	const __u8 *b = parsed.bytes;

	if (address_parse(address, &parsed) || parsed.family != ADDRESS_V4 ||
	    destination_name(name, strlen(name), canonical, &fault) || strcmp(name, canonical) != 0)
		return -EBADMSG;
	ret->address = (__u32)b[0] << 24 | (__u32)b[1] << 16 | (__u32)b[2] << 8 | b[3];
	return 0;
}

/* 1: new, 0: known, -EBADMSG: one of the two has another one. */
static int compare(const struct kept_names *names, const struct kept_name *pair, const char *name)
{
	for (size_t i = 0; i < names->n; i++) {
		bool same = names->names[i].address == pair->address;

		if (same != !strcmp(names->names[i].name, name))
			return -EBADMSG;
		if (same)
			return 0;
	}
	return 1;
}

/* 1: added to those in memory, 0: known. */
static int take(struct kept_names *names, const char *address, const char *name)
{
	struct kept_name pair = {0};
	struct kept_name *bigger;
	int r = parse_pair(address, name, &pair);

	if (!r)
		r = compare(names, &pair, name);
	if (r <= 0)
		return r;
	if (names->n == KEPT_MAX_NAMES)
		return -ENOSPC;
	/* They come one by one, seldom. */
	bigger = reallocarray(names->names, names->n + 1, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	names->names = bigger;
	pair.name = strdup(name);
	if (!pair.name)
		return -ENOMEM;
	names->names[names->n++] = pair;
	return 1;
}

static int write_line(int fd, const struct kept_name *pair)
{
	char line[LINE_BYTES + 2], address[INET_ADDRSTRLEN];
	struct in_addr in = {.s_addr = htonl(pair->address)};
	int n;

	inet_ntop(AF_INET, &in, address, sizeof(address));
	n = snprintf(line, sizeof(line), "%s %s\n", address, pair->name);
	return write(fd, line, (size_t)n) == n ? 0 : -EIO;
}

/* Lines up to the first that makes no sense: behind it nothing can be believed. 1: all of it did; 0; -ENOMEM. */
static int read_lines(struct kept_names *names, const struct kept_of *of, char *text)
{
	char head[128], *save = NULL;
	bool torn = text[strlen(text) - 1] != '\n';

	head_line(of, head, sizeof(head));
	if (strncmp(text, head, strlen(head)) != 0)
		return 0;
	/* Half a line, of who was killed within its write. */
	if (torn)
		strrchr(text, '\n')[1] = '\0';
	for (char *line = strtok_r(text + strlen(head), "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *blank = strchr(line, ' ');
		int r;

		if (blank)
			*blank = '\0';
		r = blank ? take(names, line, blank + 1) : -EBADMSG;
		if (r < 0)
			return r == -ENOMEM ? r : 0;
	}
	return !torn;
}

static char *read_file(const char *path, size_t most)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    (size_t)st.st_size > most)
		return NULL;
	text = malloc((size_t)st.st_size + 1);
	n = text ? read(fd, text, (size_t)st.st_size) : -1;
	if (n <= 0 || memchr(text, '\0', (size_t)n))
		return NULL;
	text[n] = '\0';
	return TAKE_PTR(text);
}

/* Written beside and renamed: a reader sees all of it or the one before. */
static int open_beside(const char *path, char *beside, size_t size)
{
	int fd;

	if (snprintf(beside, size, "%s.new", path) >= (int)size)
		return -ENAMETOOLONG;
	fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

static int rewrite(struct kept_names *names, const struct kept_of *of)
{
	char beside[PATH_MAX], head[128];
	_cleanup_close_ int fd = open_beside(names->path, beside, sizeof(beside));
	int r = 0;

	if (fd < 0)
		return fd;
	head_line(of, head, sizeof(head));
	if (write(fd, head, strlen(head)) != (ssize_t)strlen(head))
		r = -EIO;
	for (size_t i = 0; !r && i < names->n; i++)
		r = write_line(fd, &names->names[i]);
	if (r || rename(beside, names->path)) {
		unlink(beside);
		return r ? r : -errno;
	}
	names->fd = TAKE_FD(fd);
	return 0;
}

static void open_file(struct kept_names *names, const struct kept_of *of, bool whole)
{
	int r = 0;

	if (whole)
		names->fd = open(names->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	if (names->fd < 0)
		r = rewrite(names, of);
	if (r)
		log_warning("%s: %s: names that get addresses are not kept over a restart",
			    names->path, strerror(-r));
}

int kept_names_open(const char *directory, const struct kept_of *of, struct kept_names *ret)
{
	struct kept_names names = {.fd = -1};
	_cleanup_free_ char *text = NULL;
	int r = 0;

	if (asprintf(&names.path, "%s/%llu", directory, (unsigned long long)of->serial) < 0)
		return -ENOMEM;
	text = read_file(names.path, FILE_BYTES);
	if (text)
		r = read_lines(&names, of, text);
	if (r < 0) {
		kept_names_done(&names);
		return r;
	}
	open_file(&names, of, r == 1);
	*ret = names;
	return 0;
}

int kept_names_add(struct kept_names *names, const char *address, const char *name)
{
	int r = take(names, address, name);

	if (r == -ENOSPC && !names->full)
		log_warning("%s: more names than are kept (%d)", names->path, KEPT_MAX_NAMES);
	names->full = names->full || r == -ENOSPC;
	if (r <= 0)
		return r;
	if (names->fd >= 0 && write_line(names->fd, &names->names[names->n - 1])) {
		log_warning("%s: names that get addresses are not kept over a restart any more",
			    names->path);
		close(names->fd);
		names->fd = -1;
	}
	return 0;
}

void kept_names_cut(struct kept_names *names, const struct kept_of *of, size_t n)
{
	for (size_t i = n; i < names->n; i++)
		free(names->names[i].name);
	names->n = n < names->n ? n : names->n;
	if (names->fd >= 0)
		close(names->fd);
	names->fd = -1;
	open_file(names, of, false);
}

void kept_names_done(struct kept_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->names[i].name);
	free(names->names);
	free(names->path);
	if (names->fd >= 0)
		close(names->fd);
	*names = (struct kept_names){.fd = -1};
}

void kept_forget(const char *directory, __u64 serial)
{
	static const char *const ends[] = {"",		 ".new",   ".grant",
					   ".grant.new", ".spent", ".spent.new"};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		snprintf(path, sizeof(path), "%s/%llu%s", directory, (unsigned long long)serial,
			 ends[i]);
		unlink(path);
	}
}

void kept_sweep(const char *directory, bool (*is_live)(void *data, __u64 serial), void *data)
{
	_cleanup_closedir_ DIR *dir = opendir(directory);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *end;
		unsigned long long serial = strtoull(entry->d_name, &end, 10);

		if (end != entry->d_name && (!*end || *end == '.') && !is_live(data, serial))
			kept_forget(directory, serial);
	}
}
