// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "policy.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "load.h"
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
	for (i = 0; i < policy->nrules; i++) {
		free(policy->rules[i].glob);
		free(policy->rules[i].written);
	}
	for (i = 0; i < policy->negress; i++)
		free(policy->egress[i].discloses);
	for (i = 0; i < policy->nfiles; i++)
		free(policy->files[i]);
	environment_free(&policy->environment);
	free(policy->rules);
	free(policy->egress);
	free(policy->listen);
	free(policy->files);
	free(policy->path);
	free(policy);
}

char *policy_digest_text(const struct policy *policy, char buffer[POLICY_DIGEST_SIZE])
{
	return sodium_bin2hex(buffer, POLICY_DIGEST_SIZE, policy->digest, sizeof(policy->digest));
}

int policy_resolve(const struct policy_resolve_options *options, const char *path, char **ret_path,
		   struct error *error)
{
	const char *root = options->root ? options->root : "/";
	_cleanup_close_ int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct resolver resolver = {
		.root = fd,
		.owner = 0,
		.keep_last = options->keep_last,
		.on_link = options->on_link,
		.data = options->data,
	};

	if (fd < 0)
		return error_set(error, errno, "%s: %s", root, strerror(errno));
	return resolve_path(&resolver, path, ret_path, error);
}
