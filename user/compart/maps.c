// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lines of /proc/PID/maps. Pure. */
#include "internal.h"

#include <errno.h>
#include <string.h>

/* By how the name begins, first match; what is no absolute path and not here has no file. */
static const struct {
	const char *head;
	enum mapping_kind kind;
} kinds[] = {
	{"[vdso]", MAPPING_KERNEL},	  {"[vvar", MAPPING_KERNEL},
	{"[vsyscall]", MAPPING_KERNEL},	  {"[uprobes]", MAPPING_KERNEL},
	{"[sigpage]", MAPPING_KERNEL},	  {"[shadow stack]", MAPPING_KERNEL},
	{"[anon_shmem:", MAPPING_MEMORY}, {"[", MAPPING_NAMELESS},
	{"/memfd:", MAPPING_MEMORY},	  {"/dev/zero (deleted)", MAPPING_MEMORY},
	{"/SYSV", MAPPING_MEMORY},	  {"/[aio] (deleted)", MAPPING_MEMORY},
};

/* Only the newline is escaped here, not the backslash: what else looks like an escape is the name. */
static void newline_unescape(char *text)
{
	char *out = text;

	for (const char *p = text; *p; out++) {
		bool escaped = !strncmp(p, "\\012", 4);

		*out = escaped ? '\n' : *p;
		p += escaped ? 4 : 1;
	}
	*out = '\0';
}

static const char deleted[] = " (deleted)";

static enum mapping_kind kind_of(const char *path)
{
	size_t n = strlen(path);

	if (!*path)
		return MAPPING_NAMELESS;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(path, kinds[i].head, strlen(kinds[i].head)))
			return kinds[i].kind;
	if (*path != '/')
		return MAPPING_OBJECT;
	if (n >= sizeof(deleted) && !strcmp(path + n - (sizeof(deleted) - 1), deleted))
		return MAPPING_DELETED;
	return MAPPING_FILE;
}

/* "START-END rwxs OFFSET MAJ:MIN INODE      PATH": the path may hold anything but a newline. */
int mapping_parse(char *line, struct mapping *ret)
{
	unsigned long long start, end, inode;
	unsigned int major, minor;
	char perms[5] = "";
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%llx-%llx %4s %*x %x:%x %llu%n", &start, &end, perms, &major, &minor,
		   &inode, &at) != 6 ||
	    !at || strlen(perms) != 4)
		return -EINVAL;
	ret->start = start;
	ret->end = end;
	ret->inode = inode;
	ret->dev_major = major;
	ret->dev_minor = minor;
	ret->path = line + at;
	ret->path += strspn(ret->path, " ");
	newline_unescape(ret->path);
	ret->bits = (perms[0] == 'r' ? MAPPING_READ : 0) | (perms[1] == 'w' ? MAPPING_WRITE : 0) |
		    (perms[2] == 'x' ? MAPPING_EXEC : 0) | (perms[3] == 's' ? MAPPING_SHARED : 0);
	ret->kind = kind_of(ret->path);
	return 0;
}
