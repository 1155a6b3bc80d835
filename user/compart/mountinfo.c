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

#define DIGEST crypto_hash_sha256_BYTES

struct words {
	unsigned char (*items)[DIGEST]; /* one of each table */
	size_t n;
};

static void words_done(struct words *words)
{
	free(words->items);
}

static int add_word(struct words *words, crypto_hash_sha256_state *table)
{
	unsigned char(*bigger)[DIGEST] =
		reallocarray(words->items, words->n + 1, sizeof(*words->items));

	if (!bigger)
		return -ENOMEM;
	words->items = bigger;
	crypto_hash_sha256_final(table, words->items[words->n++]);
	return 0;
}

/* In the order of the table: of two mounts at one place the later one is seen. */
static int hash_line(crypto_hash_sha256_state *table, char *line)
{
	struct mountinfo m = {};
	int r = mountinfo_parse(line, &m);

	if (r || !mountinfo_has_path(&m))
		return r;
	/* Each text with its NUL: what ends here cannot begin there. */
	crypto_hash_sha256_update(table, (const unsigned char *)&m.device, sizeof(m.device));
	crypto_hash_sha256_update(table, (const unsigned char *)m.root, strlen(m.root) + 1);
	crypto_hash_sha256_update(table, (const unsigned char *)m.point, strlen(m.point) + 1);
	return 0;
}

/* Takes the text apart in place. */
static int hash_tables(struct words *words, char *text)
{
	crypto_hash_sha256_state table;
	char *save = NULL;
	bool begun = false;
	int r = 0;

	for (char *line = strtok_r(text, "\n", &save); !r && line;
	     line = strtok_r(NULL, "\n", &save)) {
		bool is_head = !strchr(line, ' '); /* a number alone: whose table follows */

		if (is_head && begun)
			r = add_word(words, &table);
		if (is_head)
			crypto_hash_sha256_init(&table);
		else
			r = begun ? hash_line(&table, line) : -EINVAL;
		begun = true;
	}
	return r || !begun ? r : add_word(words, &table);
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, DIGEST);
}

int mounts_digest(const char *tables, char buffer[MOUNTS_DIGEST_SIZE])
{
	_cleanup_(words_done) struct words words = {};
	_cleanup_free_ char *text = strdup(tables);
	crypto_hash_sha256_state all;
	unsigned char digest[DIGEST];
	int r = text ? hash_tables(&words, text) : -ENOMEM;

	if (r)
		return r;
	if (words.n)
		qsort(words.items, words.n, DIGEST, by_bytes);
	crypto_hash_sha256_init(&all);
	/* What several namespaces see alike counts once. */
	for (size_t i = 0; i < words.n; i++)
		if (!i || memcmp(words.items[i], words.items[i - 1], DIGEST) != 0)
			crypto_hash_sha256_update(&all, words.items[i], DIGEST);
	crypto_hash_sha256_final(&all, digest);
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
