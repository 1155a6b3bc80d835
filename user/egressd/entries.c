// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "entries.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <ldns/sha2.h>
#include <sys/mman.h>
#include "base/cleanup.h"

void entries_done(struct entries *entries)
{
	free(entries->to);
	free(entries->terms);
	*entries = (struct entries){0};
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

/* --- allowances --- */

int allowances_map(int fd, struct allowances **ret)
{
	void *at = mmap(NULL, sizeof(**ret), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	*ret = at;
	return 0;
}

void allowances_unmap(struct allowances *allowances)
{
	if (allowances)
		munmap(allowances, sizeof(*allowances));
}

/* In the order of the program, whatever the compiler thinks: the process may be killed between any two. */
static void put(__u64 *at, __u64 value)
{
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
}

static __u64 spent_of(const struct allowance *a)
{
	return a->limit ? a->limit - a->left : a->settled;
}

/* At each step it says the one or the other. */
static void settle(struct allowance *a, __u64 spent)
{
	put(&a->settled, spent);
	put(&a->limit, 0);
}

static void set_limit(struct allowance *a, __u64 max_upload)
{
	__u64 spent = spent_of(a), limit = max_upload > spent ? max_upload : spent;

	settle(a, spent);
	put(&a->left, limit - spent);
	put(&a->limit, limit);
}

void allowances_lease(struct allowances *allowances, __u64 lease)
{
	if (allowances->lease == lease)
		return;
	for (size_t i = 0; i < ALLOWANCES; i++) {
		settle(&allowances->of[i], 0);
		put(&allowances->of[i].left, 0);
	}
	/* Last: half of it is done again. */
	put(&allowances->lease, lease);
}

/* Its own, or the first that is nobody's; NULL: neither. */
static struct allowance *find(struct allowances *allowances, const __u8 key[ALLOWANCE_KEY])
{
	static const __u8 none[ALLOWANCE_KEY];

	for (size_t i = 0; i < ALLOWANCES; i++) {
		struct allowance *a = &allowances->of[i];

		if (!memcmp(a->key, key, ALLOWANCE_KEY) || !memcmp(a->key, none, ALLOWANCE_KEY))
			return a;
	}
	return NULL;
}

int entries_bind(struct entries *entries, struct allowances *allowances, struct error *error)
{
	for (size_t i = 0; i < entries->n; i++) {
		char text[DESTINATION_TEXT_SIZE];
		__u8 digest[LDNS_SHA256_DIGEST_LENGTH];
		struct allowance *a;

		destination_format(&entries->to[i], text);
		ldns_sha256((unsigned char *)text, (unsigned int)strlen(text), digest);
		a = find(allowances, digest);
		if (!a)
			return error_set(error, ENOSPC,
					 "%u entries were listed in its life: attach it anew",
					 ALLOWANCES);
		memcpy(a->key, digest, ALLOWANCE_KEY);
		entries->terms[i].allowance = a;
	}
	return 0;
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
