// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tables of policies in the kernel: one for all generations whose words are equal. */
#include "internal.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* The heads that stand in the kernel, read at once: a system call for each would take as long as
 * compiling. */
struct heads {
	__u32 *keys;
	struct bh_policy *items;
	__u32 n;
};

static void heads_done(struct heads *heads)
{
	free(heads->keys);
	free(heads->items);
}

static int heads_read(struct kern *kern, struct heads *heads)
{
	__u32 batch;

	heads->n = BH_MAX_GENERATIONS;
	heads->keys = calloc(heads->n, sizeof(*heads->keys));
	heads->items = calloc(heads->n, sizeof(*heads->items));
	if (!heads->keys || !heads->items)
		return -ENOMEM;
	/* ENOENT: that was the last of them. */
	if (bpf_map_lookup_batch(kern->maps[KERN_MAP_POLICIES], NULL, &batch, heads->keys,
				 heads->items, &heads->n, NULL) < 0 &&
	    errno != ENOENT)
		return -errno;
	return 0;
}

int kern_policies_say(struct kern *kern, __u32 flags)
{
	_cleanup_(heads_done) struct heads heads = {};
	int r = heads_read(kern, &heads);

	for (__u32 i = 0; r == 0 && i < heads.n; i++)
		r = heads.items[i].generation && heads.items[i].flags & flags;
	return r;
}

__u32 kern_table_pages(__u32 nwords)
{
	return (nwords + BH_PAGE_WORDS - 1) / BH_PAGE_WORDS;
}

static bool is_same(const struct bh_policy *one, const struct bh_policy *other)
{
	return one->nwords == other->nwords &&
	       memcmp(one->digest, other->digest, sizeof(one->digest)) == 0;
}

/* Pages of all tables, each counted once. */
static __u32 count_pages(const struct heads *heads)
{
	__u32 i, j, pages = 0;

	for (i = 0; i < heads->n; i++) {
		if (!heads->items[i].generation)
			continue;
		for (j = 0; j < i; j++) {
			if (heads->items[j].generation &&
			    is_same(&heads->items[i], &heads->items[j]))
				break;
		}
		pages += j == i ? kern_table_pages(heads->items[i].nwords) : 0;
	}
	return pages;
}

int kern_table_open(struct kern *kern, __u32 index)
{
	__u32 id;
	int fd;

	if (bpf_map_lookup_elem(kern->maps[KERN_MAP_TABLES], &index, &id) < 0)
		return -errno;
	fd = bpf_map_get_fd_by_id(id);
	return fd < 0 ? -errno : fd;
}

static int fill_table(int fd, const struct automaton *a)
{
	_cleanup_free_ struct bh_page *page = malloc(sizeof(*page));
	__u32 n, number;

	if (!page)
		return -ENOMEM;
	for (number = 0; number < kern_table_pages(a->head.nwords); number++) {
		n = a->head.nwords - number * BH_PAGE_WORDS;
		if (n > BH_PAGE_WORDS)
			n = BH_PAGE_WORDS;
		memset(page, 0, sizeof(*page));
		memcpy(page->words, a->words + (size_t)number * BH_PAGE_WORDS, n * sizeof(__u32));
		if (bpf_map_update_elem(fd, &number, page, BPF_ANY) < 0)
			return -errno;
	}
	return 0;
}

static int make_table(const struct automaton *a)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_INNER_MAP);
	_cleanup_close_ int fd = -1;
	int r;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bh_table", sizeof(__u32), sizeof(struct bh_page),
			    kern_table_pages(a->head.nwords), &opts);
	if (fd < 0)
		return -errno;
	r = fill_table(fd, a);
	if (r < 0)
		return r;
	/* Nobody changes a table any more, not even root through another pin. */
	if (bpf_map_freeze(fd) < 0)
		return -errno;
	return TAKE_FD(fd);
}

void kern_table_digest(const struct automaton *a, struct bh_policy *head)
{
	crypto_hash_sha256(head->digest, (const unsigned char *)a->words,
			   (unsigned long long)a->head.nwords * sizeof(__u32));
}

int kern_table_get(struct kern *kern, const struct automaton *a, const struct bh_policy *head)
{
	_cleanup_(heads_done) struct heads heads = {};
	int r = heads_read(kern, &heads);

	if (r < 0)
		return r;
	for (__u32 i = 0; i < heads.n; i++) {
		if (!heads.items[i].generation || !is_same(&heads.items[i], head))
			continue;
		r = kern_table_open(kern, heads.keys[i]);
		if (r >= 0)
			return r;
	}
	if (count_pages(&heads) + kern_table_pages(head->nwords) > BH_MAX_HOST_PAGES)
		return -EDQUOT;
	return make_table(a);
}
