// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The families of verbs joined, and the way to a verb by its name. */
#include "verbs_internal.h"

#include <string.h>

const char verb_landmark[16] = "bulkhead-probe";

const struct verb *const verb_families[] = {
	file_verbs,	 attribute_verbs, exec_verbs,  socket_verbs, process_verbs,
	namespace_verbs, kernel_verbs,	  child_verbs, live_verbs,   NULL,
};

const struct verb *verb_find(const char *name)
{
	const struct verb *const *family, *v;

	for (family = verb_families; *family; family++)
		for (v = *family; v->name; v++)
			if (!strcmp(v->name, name))
				return v;
	return NULL;
}

int verb_run(int argc, char **argv)
{
	const struct verb *v = argc > 0 ? verb_find(argv[0]) : NULL;

	if (!v || argc <= v->nargs)
		return VERB_BROKEN + EINVAL;
	errno = 0;
	return v->fn(argc, argv);
}
