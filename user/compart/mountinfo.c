// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lines of /proc/PID/mountinfo, and paths on superblocks as people write them. Pure. */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
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

/* --- what is mounted, as one word --- */

struct places {
	char **texts; /* "DEVICE ROOT POINT ", as the kernel escapes them: with no other space */
	size_t n, room;
};

static void places_done(struct places *places)
{
	for (size_t i = 0; i < places->n; i++)
		free(places->texts[i]);
	free(places->texts);
}

/* Where n more fields of a line end, NULL: it has fewer. */
static const char *skip_fields(const char *at, const char *end, int n)
{
	for (; n && at; n--) {
		at = memchr(at, ' ', end - at);
		at = at ? at + 1 : NULL;
	}
	return at;
}

/* "ID PARENT MAJ:MIN ROOT POINT ..." */
static int add_place(struct places *places, const char *line, const char *end)
{
	const char *from = skip_fields(line, end, 2), *to = from ? skip_fields(from, end, 3) : NULL;
	size_t bigger = places->room ? places->room * 2 : 64;
	char **p;

	if (!to)
		return -EINVAL;
	if (places->n == places->room) {
		p = reallocarray(places->texts, bigger, sizeof(*p));
		if (!p)
			return -ENOMEM;
		places->texts = p;
		places->room = bigger;
	}
	places->texts[places->n] = strndup(from, to - from);
	return places->texts[places->n++] ? 0 : -ENOMEM;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_places(struct places *places, const char *tables)
{
	int r = 0;

	for (const char *end, *line = tables; !r && *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		/* A number alone: whose table follows. */
		if (memchr(line, ' ', end - line))
			r = add_place(places, line, end);
	}
	if (!r && places->n)
		qsort(places->texts, places->n, sizeof(*places->texts), by_text);
	return r;
}

int mounts_digest(const char *tables, char buffer[MOUNTS_DIGEST_SIZE])
{
	_cleanup_(places_done) struct places places = {};
	unsigned char digest[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state state;
	int r = read_places(&places, tables);

	if (r)
		return r;
	crypto_hash_sha256_init(&state);
	for (size_t i = 0; i < places.n; i++) {
		/* What several namespaces see alike counts once. */
		if (i && !strcmp(places.texts[i], places.texts[i - 1]))
			continue;
		crypto_hash_sha256_update(&state, (const unsigned char *)places.texts[i],
					  strlen(places.texts[i]));
	}
	crypto_hash_sha256_final(&state, digest);
	sodium_bin2hex(buffer, MOUNTS_DIGEST_SIZE, digest, sizeof(digest));
	return 0;
}

/* --- paths --- */

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
