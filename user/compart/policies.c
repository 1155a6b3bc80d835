// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "policies.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLICIES_INSTALLED "/usr/share/bulkhead/policies"
#define POLICIES_IN_TREE "/../../policies" /* from build/bin */

const char *policies_dir(void)
{
	static char tree[PATH_MAX + sizeof(POLICIES_IN_TREE)];
	const char *asked = secure_getenv("BULKHEAD_POLICIES");
	ssize_t n;
	char *slash;

	if (asked && *asked)
		return asked;
	if (access(POLICIES_INSTALLED, F_OK) == 0)
		return POLICIES_INSTALLED;
	n = readlink("/proc/self/exe", tree, PATH_MAX);
	if (n <= 0)
		return POLICIES_INSTALLED;
	tree[n] = '\0';
	slash = strrchr(tree, '/');
	if (!slash)
		return POLICIES_INSTALLED;
	strcpy(slash, POLICIES_IN_TREE);
	return access(tree, F_OK) ? POLICIES_INSTALLED : tree;
}
