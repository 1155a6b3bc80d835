// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lines of /proc/PID/mountinfo, and paths on superblocks as people write them. Pure. */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

void octal_unescape(char *text)
{
	char *out = text;

	for (const char *p = text; *p; out++) {
		if (p[0] == '\\' && is_octal(p[1]) && is_octal(p[2]) && is_octal(p[3])) {
			*out = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + p[3] - '0');
			p += 4;
		} else {
			*out = *p++;
		}
	}
	*out = '\0';
}

/* As the kernel packs the two. 0 when it is none. */
static __u32 device_parse(const char *text)
{
	unsigned int major, minor;
	char rest;

	if (sscanf(text, "%u:%u%c", &major, &minor, &rest) != 2 || major > 0xfff || minor > 0xfffff)
		return 0;
	return major << 20 | minor;
}

/* "ID PARENT MAJ:MIN ROOT POINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS" */
int mountinfo_parse(char *line, struct mountinfo *ret)
{
	char *fields[6], *save = NULL, *tag, *type, *end;
	unsigned long id;
	__u32 device;

	for (size_t i = 0; i < 6; i++) {
		fields[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!fields[i])
			return -EINVAL;
	}
	do
		tag = strtok_r(NULL, " ", &save);
	while (tag && strcmp(tag, "-"));
	type = tag ? strtok_r(NULL, " ", &save) : NULL;
	id = strtoul(fields[0], &end, 10);
	device = device_parse(fields[2]);
	if (!type || *end || end == fields[0] || id > UINT_MAX || !device || *fields[4] != '/')
		return -EINVAL;
	octal_unescape(fields[3]);
	octal_unescape(fields[4]);
	*ret = (struct mountinfo){.id = (unsigned int)id,
				  .device = device,
				  .root = fields[3],
				  .point = fields[4],
				  .type = type};
	return 0;
}

int fdinfo_mount(const char *fdinfo, unsigned int *ret)
{
	const char *line = strstr(fdinfo, "mnt_id:");

	return line && sscanf(line, "mnt_id: %u", ret) == 1 ? 0 : -EINVAL;
}

bool mountinfo_has_path(const struct mountinfo *m)
{
	static const char deleted[] = "//deleted";
	size_t n = strlen(m->root);

	if (!strcmp(m->type, "autofs") || *m->root != '/')
		return false;
	return n < sizeof(deleted) - 1 || strcmp(m->root + n - (sizeof(deleted) - 1), deleted) != 0;
}

static int join(const char *point, const char *rest, size_t length, char *buffer, size_t size)
{
	int n;

	if (!strcmp(point, "/") && length)
		point = "";
	n = snprintf(buffer, size, "%s%.*s", point, (int)length, rest);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* Bytes of `root` when it is `path` or above it, -1 otherwise. "/" counts none. */
static ssize_t root_covers(const char *root, const char *path, size_t length)
{
	size_t n = strcmp(root, "/") ? strlen(root) : 0;

	if (n > length || memcmp(root, path, n) || (n < length && path[n] != '/'))
		return -1;
	return n;
}

int mounts_translate(const struct mounts *mounts, __u32 sbid, const char *path, size_t length,
		     char *buffer, size_t size)
{
	const struct mount_view *best = NULL;
	ssize_t best_bytes = -1, bytes;

	if (length > BH_MAX_PATH)
		return -ENAMETOOLONG;
	for (size_t i = 0; i < mounts->n; i++) {
		if (mounts->views[i].sbid != sbid)
			continue;
		bytes = root_covers(mounts->views[i].root, path, length);
		if (bytes > best_bytes) {
			best_bytes = bytes;
			best = &mounts->views[i];
		}
	}
	if (!best)
		return -ENOENT;
	/* "/" alone is the mount's root itself. */
	if (!best_bytes && length == 1)
		length = 0;
	return join(best->point, path + best_bytes, length - best_bytes, buffer, size);
}
