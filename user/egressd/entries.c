// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "entries.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include "base/cleanup.h"

void entries_done(struct entries *entries)
{
	free(entries->to);
	free(entries->terms);
	*entries = (struct entries){0};
}

void allowances_done(struct allowances *allowances)
{
	while (allowances->first) {
		struct allowance *next = allowances->first->next;

		free(allowances->first);
		allowances->first = next;
	}
	allowances->n = 0;
}

int entries_make(size_t n, struct entries *ret)
{
	struct entries entries = {
		.to = calloc(n + 1, sizeof(*entries.to)),
		.terms = calloc(n + 1, sizeof(*entries.terms)),
		.n = n,
	};

	if (!entries.to || !entries.terms) {
		entries_done(&entries);
		return -ENOMEM;
	}
	*ret = entries;
	return 0;
}

static struct allowance *find(const struct allowances *allowances, const char *text)
{
	struct allowance *a = allowances->first;

	while (a && strcmp(a->text, text))
		a = a->next;
	return a;
}

static struct allowance *add(struct allowances *allowances, const char *text)
{
	struct allowance *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	snprintf(a->text, sizeof(a->text), "%s", text);
	a->next = allowances->first;
	allowances->first = a;
	allowances->n++;
	return a;
}

int entries_bind(struct entries *entries, struct allowances *allowances, struct error *error)
{
	for (size_t i = 0; i < entries->n; i++) {
		char text[DESTINATION_TEXT_SIZE];
		struct allowance *a;

		destination_format(&entries->to[i], text);
		a = find(allowances, text);
		if (!a && allowances->n >= ENTRIES_ALLOWANCES)
			return error_set(error, ENOSPC,
					 "%u entries were listed in its life: attach it anew",
					 ENTRIES_ALLOWANCES);
		if (!a)
			a = add(allowances, text);
		if (!a)
			return -ENOMEM;
		entries->terms[i].allowance = a;
	}
	return 0;
}

static void set_limit(struct allowance *a, __u64 max_upload)
{
	a->spent += a->given - a->left;
	a->left = UINT64_MAX;
	if (max_upload < UINT64_MAX)
		a->left = max_upload > a->spent ? max_upload - a->spent : 0;
	a->given = a->left;
}

/* Listed twice, an entry has the lesser limit. */
void entries_apply(const struct entries *entries)
{
	for (size_t i = 0; i < entries->n; i++) {
		const struct terms *terms = &entries->terms[i];
		__u64 least = terms->max_upload;

		for (size_t j = 0; j < entries->n; j++)
			if (entries->terms[j].allowance == terms->allowance &&
			    entries->terms[j].max_upload < least)
				least = entries->terms[j].max_upload;
		set_limit(terms->allowance, least);
	}
}

static bool join(const struct entries *entries, const char *name, __u16 port, bool wildcard,
		 struct terms *ret)
{
	bool found = false;

	for (size_t i = 0; i < entries->n; i++) {
		const struct terms *terms = &entries->terms[i];

		if (entries->to[i].wildcard != wildcard ||
		    !destination_has_name(&entries->to[i], name) ||
		    !destination_has_port(&entries->to[i], port))
			continue;
		if (!found)
			*ret = *terms;
		else if (terms->allowance->left < ret->allowance->left)
			ret->allowance = terms->allowance;
		ret->tls = ret->tls || terms->tls;
		found = true;
	}
	return found;
}

bool entries_find(const struct entries *entries, const char *name, __u16 port, struct terms *ret)
{
	return join(entries, name, port, false, ret) || join(entries, name, port, true, ret);
}
