// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "resolve.h"

struct perm_name {
	const char *text;
	__u32 perm;
};

#define PERM_NAME(name, text, bit) {text, BH_PERM_##name},
static const struct perm_name perm_names[] = {BH_PERMS(PERM_NAME)};
#define NPERMS (sizeof(perm_names) / sizeof(*perm_names))

__u32 perm_from_text(const char *text)
{
	size_t i;

	for (i = 0; i < NPERMS; i++) {
		if (!strcmp(text, perm_names[i].text))
			return perm_names[i].perm;
	}
	return 0;
}

char *perms_to_text(__u32 perms, char *buffer, size_t size)
{
	size_t i, n = 0;

	if (!size)
		return buffer;
	buffer[0] = '\0';
	for (i = 0; i < NPERMS && n < size; i++) {
		if (perms & perm_names[i].perm)
			n += (size_t)snprintf(buffer + n, size - n, "%s%s", n ? "," : "",
					      perm_names[i].text);
	}
	return buffer;
}

void policy_free(struct policy *policy)
{
	size_t i;

	if (!policy)
		return;
	for (i = 0; i < policy->nrules; i++)
		free(policy->rules[i].glob);
	for (i = 0; i < policy->nfiles; i++)
		free(policy->files[i]);
	free(policy->rules);
	free(policy->files);
	free(policy->path);
	free(policy);
}

/* Rules that speak of a path and some of the rights asked for: the first of each kind. */
struct hearing {
	const struct rule *deny, *covers_all, *covers_some, *quiet;
	__u32 allowed;
};

static void hear(struct hearing *hearing, const struct rule *rule, __u32 perms)
{
	__u32 says = rule->perms | (rule->perms & BH_PERM_WRITE ? BH_PERM_APPEND : 0);
	const struct rule **slot = &hearing->covers_some;

	if (!(says & perms))
		return;
	if (rule->effect == RULE_ALLOW)
		hearing->allowed |= says;
	if (rule->effect == RULE_DENY)
		slot = &hearing->deny;
	else if (rule->effect == RULE_QUIET)
		slot = &hearing->quiet;
	else if (!hearing->covers_all && !(perms & ~says))
		hearing->covers_all = rule;
	if (!*slot)
		*slot = rule;
}

const struct rule *policy_explain(const struct policy *policy, const char *path, size_t length,
				  __u32 perms, bool *ret_allowed)
{
	struct hearing hearing = {0};
	size_t i;

	for (i = 0; i < policy->nrules; i++) {
		if (glob_match(policy->rules[i].glob, path, length))
			hear(&hearing, &policy->rules[i], perms);
	}
	*ret_allowed = perms && !hearing.deny && !(perms & ~hearing.allowed);
	if (hearing.deny)
		return hearing.deny;
	if (*ret_allowed)
		return hearing.covers_all ? hearing.covers_all : hearing.covers_some;
	return hearing.quiet;
}

int policy_resolve(const char *root, const char *path, char **ret_path, struct error *error)
{
	_cleanup_close_ int fd = open(root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct resolver resolver = {.root = fd, .owner = 0};

	if (fd < 0)
		return error_set(error, errno, "%s: %s", root ? root : "/", strerror(errno));
	return resolve_glob(&resolver, path, ret_path, error);
}
