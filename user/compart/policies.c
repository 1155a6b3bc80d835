// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "policies.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLICIES_INSTALLED "/usr/share/bulkhead/policies"

/* Seen from the program's directory: installed under another prefix, or built in its tree. */
static const char *const beside[] = {"/../share/bulkhead/policies", "/../../policies"};

const char *policies_dir(void)
{
	static char path[PATH_MAX + 64];
	const char *asked = secure_getenv("BULKHEAD_POLICIES");
	ssize_t n;
	char *slash;

	if (asked && *asked)
		return asked;
	if (access(POLICIES_INSTALLED, F_OK) == 0)
		return POLICIES_INSTALLED;
	n = readlink("/proc/self/exe", path, PATH_MAX);
	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	for (size_t i = 0; slash && i < sizeof(beside) / sizeof(beside[0]); i++) {
		strcpy(slash, beside[i]);
		if (access(path, F_OK) == 0)
			return path;
	}
	return POLICIES_INSTALLED;
}
