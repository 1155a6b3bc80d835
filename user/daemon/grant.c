// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What an operator granted, kept so that an agent that starts anew grants what is left of it and no more. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include "kept.h"
#include "policy/destination.h"

/* BH_MAX_DESTINATIONS names, quoted, and what stands around. */
#define GRANT_BYTES ((size_t)BH_MAX_DESTINATIONS * (DESTINATION_TEXT_SIZE + 4) + 512)

DEFINE_CLEANUP(json_t *, json_decref)
#define _cleanup_json_ _cleanup_(cleanup_json_decref)

uint64_t boot_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t grant_left_ms(const struct grant *grant)
{
	uint64_t now = boot_ms();

	if (!grant->given)
		return 0;
	if (!grant->until_ms)
		return UINT64_MAX;
	return grant->until_ms > now ? grant->until_ms - now : 0;
}

void grant_done(struct grant *grant)
{
	for (char **name = grant->only; name && *name; name++)
		free(*name);
	free(grant->only);
	*grant = (struct grant){0};
}

static void grant_path(const char *directory, const struct kept_of *of, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%" PRIu64 ".grant", directory, (uint64_t)of->serial);
}

void grant_forget(const char *directory, const struct kept_of *of)
{
	char path[PATH_MAX];

	grant_path(directory, of, path);
	unlink(path);
}

static json_t *to_json(const struct kept_of *of, const struct grant *grant)
{
	json_t *only = grant->only ? json_array() : NULL;

	for (char **name = grant->only; name && *name; name++)
		json_array_append_new(only, json_string(*name));
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o*}", "boot", of->boot, "serial",
			 (json_int_t)of->serial, "cgroup", (json_int_t)of->cgroup_id, "until-ms",
			 (json_int_t)grant->until_ms, "uid", (json_int_t)grant->uid, "lease",
			 (json_int_t)grant->lease, "only", only);
}

static int write_whole(const char *path, const char *text)
{
	_cleanup_close_ int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -ENOSPC;
}

int grant_save(const char *directory, const struct kept_of *of, const struct grant *grant)
{
	_cleanup_json_ json_t *object = to_json(of, grant);
	_cleanup_free_ char *text = object ? json_dumps(object, JSON_INDENT(2)) : NULL;
	char path[PATH_MAX], beside[PATH_MAX + 8];
	int r;

	if (!text)
		return -ENOMEM;
	grant_path(directory, of, path);
	snprintf(beside, sizeof(beside), "%s.new", path);
	r = write_whole(beside, text);
	if (!r && rename(beside, path))
		r = -errno;
	if (r)
		unlink(beside);
	return r;
}

static int take_only(const json_t *list, struct grant *grant)
{
	const json_t *name;
	size_t i;

	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) > BH_MAX_DESTINATIONS)
		return -EBADMSG;
	grant->only = calloc(json_array_size(list) + 1, sizeof(char *));
	if (!grant->only)
		return -ENOMEM;
	json_array_foreach (list, i, name) {
		if (!json_is_string(name))
			return -EBADMSG;
		grant->only[i] = strdup(json_string_value(name));
		if (!grant->only[i])
			return -ENOMEM;
	}
	return 0;
}

static int from_json(const json_t *object, const struct kept_of *of, struct grant *grant)
{
	json_int_t serial, cgroup, until, uid, lease = 0; /* 0: an earlier agent's */
	const char *boot;

	if (json_unpack((json_t *)object, "{s:s, s:I, s:I, s:I, s:I, s?I}", "boot", &boot, "serial",
			&serial, "cgroup", &cgroup, "until-ms", &until, "uid", &uid, "lease",
			&lease) ||
	    until < 0 || lease < 0)
		return -EBADMSG;
	if (strcmp(boot, of->boot) || (__u64)serial != of->serial || (__u64)cgroup != of->cgroup_id)
		return -ENOENT;
	*grant = (struct grant){.given = true,
				.until_ms = (uint64_t)until,
				.uid = (uid_t)uid,
				.lease = (uint64_t)lease};
	if (!grant_left_ms(grant))
		return -ENOENT;
	return take_only(json_object_get(object, "only"), grant);
}

int grant_load(const char *directory, const struct kept_of *of, struct grant *ret)
{
	_cleanup_json_ json_t *object = NULL;
	_cleanup_fclose_ FILE *file = NULL;
	struct grant grant = {0};
	char path[PATH_MAX];
	_cleanup_free_ char *text = malloc(GRANT_BYTES + 1);
	size_t n;
	int r;

	if (!text)
		return -ENOMEM;
	grant_path(directory, of, path);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	n = fread(text, 1, GRANT_BYTES + 1, file);
	object = n <= GRANT_BYTES ? json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL) : NULL;
	r = object ? from_json(object, of, &grant) : -EBADMSG;
	if (r)
		grant_done(&grant);
	else
		*ret = grant;
	return r;
}
