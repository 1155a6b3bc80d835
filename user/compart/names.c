// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Names of cgroups and units. Pure. */
#include "internal.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

bool path_covers(const char *top, const char *path)
{
	size_t n = strlen(top);

	while (n && top[n - 1] == '/')
		n--;
	return !strncmp(top, path, n) && (path[n] == '/' || path[n] == '\0');
}

bool paths_overlap(const char *a, const char *b)
{
	return path_covers(a, b) || path_covers(b, a);
}

static bool component_matches(const char *component, size_t n, const char *pattern)
{
	char name[BH_MAX_NAME + 1];

	if (n >= sizeof(name))
		return false;
	memcpy(name, component, n);
	name[n] = '\0';
	return fnmatch(pattern, name, 0) == 0;
}

bool path_is_session(const char *cgroup)
{
	bool below_users = false;
	size_t n;

	for (const char *p = cgroup; *p; p += n) {
		p += strspn(p, "/");
		n = strcspn(p, "/");
		if (component_matches(p, n, "user.slice"))
			below_users = true;
		if (!below_users)
			continue;
		if (component_matches(p, n, "session-*.scope"))
			return true;
		if (component_matches(p, n, "user@*.service") && !p[n])
			return true;
	}
	return false;
}

/* Every kind of unit: a name that ends with one of the others is a mistake, not "x.socket.service".
 */
static const char *const other_suffixes[] = {".socket",	   ".scope", ".slice",	".target", ".mount",
					     ".automount", ".swap",  ".device", ".timer",  ".path"};

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), k = strlen(suffix);

	return n >= k && !strcmp(name + n - k, suffix);
}

int unit_name_normalise(const char *name, char ret[UNIT_NAME_SIZE])
{
	const char *suffix = has_suffix(name, ".service") ? "" : ".service";
	const char *at;

	for (size_t i = 0; i < sizeof(other_suffixes) / sizeof(*other_suffixes); i++)
		if (has_suffix(name, other_suffixes[i]))
			return -EINVAL;
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr(":-_.\\@", *p))
			return -EINVAL;
	at = strchr(name, '@');
	if (!*name || *name == '.' || *name == '-' || at == name || (at && strchr(at + 1, '@')))
		return -EINVAL;
	if (strlen(name) + strlen(suffix) >= UNIT_NAME_SIZE)
		return -EINVAL;
	return snprintf(ret, UNIT_NAME_SIZE, "%s%s", name, suffix) < UNIT_NAME_SIZE ? 0 : -EINVAL;
}

bool unit_is_template(const char *name)
{
	return has_suffix(name, "@.service");
}

int unit_template_of(const char *name, char ret[UNIT_NAME_SIZE])
{
	const char *at = strchr(name, '@');

	if (!at || unit_is_template(name) || !has_suffix(name, ".service"))
		return -ENOENT;
	if ((size_t)(at - name) + sizeof("@.service") > UNIT_NAME_SIZE)
		return -ENOENT;
	snprintf(ret, UNIT_NAME_SIZE, "%.*s@.service", (int)(at - name), name);
	return 0;
}
