// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Mappings that exist already: files that run, files shared, memory that can hold new code. */
#include "internal.h"

#include <errno.h>
#include <string.h>

/* The segment before, so that a library's four segments make one line. */
struct last {
	char *path;
	struct mapping of;
};

static bool is_same(const struct mapping *a, const struct mapping *b)
{
	return a->bits == b->bits && a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor;
}

static bool is_repeat(struct last *last, const struct mapping *m)
{
	bool same = last->path && is_same(&last->of, m) && !strcmp(last->path, m->path);

	if (!same) {
		free(last->path);
		last->path = strdup(m->path);
		last->of = *m;
	}
	return same;
}

static const char *text_of(const struct mapping *m)
{
	return *m->path ? m->path : "nameless memory";
}

static void link_of(pid_t pid, const struct mapping *m, char buffer[96])
{
	snprintf(buffer, 96, "/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)m->start,
		 (unsigned long long)m->end);
}

/* A private mapping shows the file too, until it is written to: where what is open is taken away, that
 * must not be what is left. */
static bool reads_privately(const struct inventory *inv, const struct mapping *m)
{
	return m->bits & MAPPING_READ && !(m->bits & (MAPPING_EXEC | MAPPING_SHARED)) &&
	       inv->policy->existing[EXISTING_FILES] == EXISTING_REVOKE;
}

/* Shared memory that no file holds is memory. With a name left it is a file, whatever it says. */
static void judge_memory(struct inventory *inv, pid_t pid, const struct mapping *m)
{
	char link[96];

	link_of(pid, m, link);
	if (m->bits & MAPPING_EXEC)
		inventory_refuse(inv, EXISTING_MAPPINGS, pid, "runs %s, which no rule can name",
				 m->path);
	else if (m->bits & MAPPING_SHARED && !link_is_nameless(link))
		inventory_refuse(inv, EXISTING_MAPPINGS, pid,
				 "shares memory with %s, a file by another name", m->path);
	else if (m->kind == MAPPING_DELETED && reads_privately(inv, m))
		inventory_refuse(inv, EXISTING_MAPPINGS, pid, "maps %s, which no rule can name",
				 m->path);
}

static void judge_file(struct inventory *inv, pid_t pid, const struct mapping *m)
{
	/* How it came to be executable is not known: the program, its loader, or a library. */
	static const __u32 ways[] = {BH_PERM_MAP_EXEC, BH_PERM_EXEC, BH_PERM_INTERP};
	bool runs = false;
	char link[96];

	if (!(m->bits & (MAPPING_EXEC | MAPPING_SHARED)) && !reads_privately(inv, m))
		return;
	link_of(pid, m, link);
	if (!inventory_sees_link(inv, link)) {
		inventory_refuse(inv, EXISTING_MAPPINGS, pid,
				 "maps %s: it was opened on a mount that is gone or of "
				 "others",
				 m->path);
		return;
	}
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		runs = runs || inventory_allows(inv, m->path, ways[i]);
	if (m->bits & MAPPING_EXEC && !runs)
		inventory_refuse(inv, EXISTING_MAPPINGS, pid,
				 "maps %s: no rule allows to run it or map-exec", m->path);
	if (reads_privately(inv, m) && !runs && !inventory_allows(inv, m->path, BH_PERM_READ))
		inventory_refuse(inv, EXISTING_MAPPINGS, pid, "maps %s: no rule allows read",
				 m->path);
	if (!(m->bits & MAPPING_SHARED))
		return;
	if (m->bits & MAPPING_WRITE && !inventory_allows(inv, m->path, BH_PERM_WRITE))
		inventory_refuse(inv, EXISTING_MAPPINGS, pid,
				 "shares memory with %s: no rule allows write", m->path);
	else if (m->bits & MAPPING_READ && !(m->bits & (MAPPING_EXEC | MAPPING_WRITE)) &&
		 !inventory_allows(inv, m->path, BH_PERM_READ))
		inventory_refuse(inv, EXISTING_MAPPINGS, pid,
				 "shares memory with %s: no rule allows read", m->path);
}

static void judge_nameless(struct inventory *inv, pid_t pid, const struct mapping *m, bool jit)
{
	if (m->bits & MAPPING_EXEC && !jit)
		inventory_refuse(inv, EXISTING_MAPPINGS, pid,
				 "%llx-%llx: executable %s, and its program has no jit",
				 (unsigned long long)m->start, (unsigned long long)m->end,
				 text_of(m));
}

/* Written pages of a private file mapping are code that no file holds. */
static bool is_written_code(const struct mapping *m)
{
	return (m->bits & (MAPPING_EXEC | MAPPING_WRITE)) == (MAPPING_EXEC | MAPPING_WRITE);
}

static void judge(struct inventory *inv, pid_t pid, const struct mapping *m, bool jit)
{
	switch (m->kind) {
	case MAPPING_KERNEL:
		break;
	case MAPPING_NAMELESS:
		judge_nameless(inv, pid, m, jit);
		break;
	case MAPPING_FILE:
		if (is_written_code(m))
			judge_nameless(inv, pid, m, jit);
		judge_file(inv, pid, m);
		break;
	case MAPPING_MEMORY:
	case MAPPING_DELETED:
		judge_memory(inv, pid, m);
		break;
	case MAPPING_OBJECT:
		inventory_refuse(inv, EXISTING_MAPPINGS, pid, "maps %s: no rule can allow it",
				 m->path);
		break;
	}
}

int inventory_mappings(struct inventory *inv, pid_t pid, struct error *error)
{
	bool jit = process_may_jit(inv->policy, pid);
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	struct last last = {};
	struct mapping m;
	size_t size = 0;
	char path[64];
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT || errno == ESRCH ? -ESRCH : -errno;
	while (!r && getline(&line, &size, file) > 0) {
		if (mapping_parse(line, &m))
			r = error_set(error, EINVAL, "%s: a line that makes no sense", path);
		else if (!is_repeat(&last, &m) || m.kind == MAPPING_NAMELESS)
			judge(inv, pid, &m, jit);
		if (!r && clock_ms() > inv->deadline_ms)
			r = error_set(error, ETIMEDOUT, "%s: not judged in %u ms", path,
				      BH_INVENTORY_MS);
	}
	free(last.path);
	return r;
}
