// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "grant.h"

#include <errno.h>
#include <string.h>
#include "base/cleanup.h"

void grant_done(struct grant *grant)
{
	free(grant->only);
	*grant = (struct grant){0};
}

bool grant_covers(const struct grant *grant, const char *name)
{
	if (!grant->given || !grant->only)
		return grant->given;
	for (size_t i = 0; i < grant->n; i++)
		if (destination_has_name(&grant->only[i], name))
			return true;
	return false;
}

int grant_read(const char *text, struct destination *ret, struct error *error)
{
	struct destination_fault fault;

	*ret = (struct destination){.wildcard = !strncmp(text, "*.", 2)};
	if (ret->wildcard)
		text += 2;
	if (destination_name(text, strlen(text), ret->name, &fault))
		return error_set(error, EINVAL, "a name of the grant, byte %zu: %s",
				 fault.offset + (ret->wildcard ? 2 : 0), fault.reason);
	return 0;
}
