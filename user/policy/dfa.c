// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "dfa.h"

#include <string.h>
#include "grow.h"

/* The node sets of the states, one behind the other, and a hash table to find a set's state. */
struct sets {
	__u32 *pool;
	size_t used, pool_size;
	size_t *begin; /* by state, one more than there are states */
	size_t begin_size;
	__u32 *buckets;	 /* state + 1, 0: empty */
	size_t nbuckets; /* a power of two */
};

static void sets_done(struct sets *sets)
{
	free(sets->pool);
	free(sets->begin);
	free(sets->buckets);
}

static __u64 hash_nodes(const __u32 *items, size_t n)
{
	__u64 hash = 0x9e3779b97f4a7c15 ^ n;
	size_t i;

	for (i = 0; i < n; i++) {
		hash = (hash ^ items[i]) * 0xff51afd7ed558ccd;
		hash ^= hash >> 32;
	}
	return hash;
}

static size_t first_bucket(const struct sets *sets, const __u32 *items, size_t n)
{
	return hash_nodes(items, n) & (sets->nbuckets - 1);
}

static int rehash(struct sets *sets, size_t nstates)
{
	size_t i, b, nbuckets = sets->nbuckets ? 2 * sets->nbuckets : 1024;

	free(sets->buckets);
	sets->buckets = calloc(nbuckets, sizeof(*sets->buckets));
	if (!sets->buckets)
		return -ENOMEM;
	sets->nbuckets = nbuckets;
	for (i = 0; i < nstates; i++) {
		b = first_bucket(sets, sets->pool + sets->begin[i],
				 sets->begin[i + 1] - sets->begin[i]);
		while (sets->buckets[b])
			b = (b + 1) & (nbuckets - 1);
		sets->buckets[b] = (__u32)i + 1;
	}
	return 0;
}

static int is_set_of(const struct sets *sets, __u32 state, const struct nodes *nodes)
{
	size_t begin = sets->begin[state];

	return sets->begin[state + 1] - begin == nodes->n &&
	       (!nodes->n || !memcmp(sets->pool + begin, nodes->items, nodes->n * sizeof(__u32)));
}

static int add_state(struct dfa *dfa, struct sets *sets, const struct nodes *nodes, __u32 verdict)
{
	if (nodes->n > BH_MAX_DFA_NODES - sets->used)
		return -E2BIG;
	if (grow(&sets->pool, &sets->pool_size, sets->used + nodes->n + 1) < 0 ||
	    grow(&sets->begin, &sets->begin_size, dfa->nstates + 2) < 0 ||
	    grow(&dfa->verdicts, &dfa->states_size, dfa->nstates + 1) < 0)
		return -ENOMEM;
	if (nodes->n)
		memcpy(sets->pool + sets->used, nodes->items, nodes->n * sizeof(__u32));
	sets->begin[dfa->nstates] = sets->used;
	sets->used += nodes->n;
	dfa->verdicts[dfa->nstates++] = verdict;
	sets->begin[dfa->nstates] = sets->used;
	return 0;
}

/* The state of a sorted set, made if there is none. 0, -ENOMEM or -E2BIG. */
static int intern(struct dfa *dfa, struct nfa *nfa, struct sets *sets, const struct nodes *nodes,
		  __u32 *ret_state)
{
	size_t b;
	int r;

	if (2 * dfa->nstates >= sets->nbuckets && rehash(sets, dfa->nstates) < 0)
		return -ENOMEM;
	b = first_bucket(sets, nodes->items, nodes->n);
	for (; sets->buckets[b]; b = (b + 1) & (sets->nbuckets - 1)) {
		if (is_set_of(sets, sets->buckets[b] - 1, nodes)) {
			*ret_state = sets->buckets[b] - 1;
			return 0;
		}
	}
	r = add_state(dfa, sets, nodes, nfa_verdict(nfa, nodes));
	if (r < 0)
		return r;
	sets->buckets[b] = (__u32)dfa->nstates;
	*ret_state = (__u32)dfa->nstates - 1;
	return 0;
}

/* Bytes no symbol names behave alike and share a class. */
static void fill_classes(struct dfa *dfa, const struct nfa *nfa)
{
	int byte, other = -1;

	for (byte = 0; byte < 256; byte++) {
		if (!nfa->literal[byte] && other >= 0) {
			dfa->classes[byte] = (__u8)other;
			continue;
		}
		if (!nfa->literal[byte])
			other = (int)dfa->nclasses;
		dfa->byte_of[dfa->nclasses] = (__u8)byte;
		dfa->classes[byte] = (__u8)dfa->nclasses++;
	}
}

static int add_edge(struct dfa *dfa, __u32 tail, size_t label, __u32 head)
{
	if (!head)
		return 0;
	if (dfa->nedges >= BH_MAX_DFA_EDGES)
		return -E2BIG;
	if (grow(&dfa->edges, &dfa->edges_size, dfa->nedges + 1) < 0)
		return -ENOMEM;
	dfa->edges[dfa->nedges++] = (struct dfa_edge){tail, (__u32)label, head};
	return 0;
}

/* Marks the classes that lead elsewhere than a byte named by no rule would. */
static void mark_named(const struct dfa *dfa, const struct nfa *nfa, const struct nodes *from,
		       __u8 *named)
{
	__u32 child;
	size_t i;

	memset(named, 0, 256);
	named[dfa->classes['/']] = 1;
	for (i = 0; i < from->n; i++) {
		child = nfa->nodes[from->items[i]].child;
		for (; child; child = nfa->nodes[child].sibling) {
			if (nfa->nodes[child].symbol < 256)
				named[dfa->classes[nfa->nodes[child].symbol]] = 1;
		}
	}
}

static int add_edges(struct dfa *dfa, struct nfa *nfa, struct sets *sets, __u32 state,
		     struct nodes *from, struct nodes *to)
{
	__u32 head = 0, usual = 0;
	int r, has_usual = 0;
	__u8 named[256];
	size_t label, i;

	/* A copy: the pool moves as sets are added. */
	from->n = 0;
	for (i = sets->begin[state]; i < sets->begin[state + 1]; i++) {
		if (nodes_push(from, sets->pool[i]) < 0)
			return -ENOMEM;
	}
	mark_named(dfa, nfa, from, named);
	for (label = 0; label < dfa->nclasses; label++) {
		if (named[label] || !has_usual) {
			r = nfa_step(nfa, from, dfa->byte_of[label], to);
			if (r == 0)
				r = intern(dfa, nfa, sets, to, &head);
			if (r < 0)
				return r;
			if (!named[label]) {
				usual = head;
				has_usual = 1;
			}
		}
		r = add_edge(dfa, state, label, named[label] ? head : usual);
		if (r < 0)
			return r;
	}
	return 0;
}

int dfa_build(struct dfa *dfa, struct nfa *nfa, const struct nodes *starts, size_t nstarts,
	      __u32 *ret_starts)
{
	_cleanup_(nodes_done) struct nodes from = {0}, to = {0};
	_cleanup_(sets_done) struct sets sets = {0};
	const struct nodes none = {0};
	__u32 state;
	size_t i;
	int r;

	memset(dfa, 0, sizeof(*dfa));
	fill_classes(dfa, nfa);
	if (intern(dfa, nfa, &sets, &none, &state) < 0)
		return -ENOMEM;
	for (i = 0; i < nstarts; i++) {
		r = intern(dfa, nfa, &sets, &starts[i], &ret_starts[i]);
		if (r < 0)
			return r;
	}
	for (state = 1; state < dfa->nstates; state++) {
		r = add_edges(dfa, nfa, &sets, state, &from, &to);
		if (r < 0)
			return r;
	}
	return 0;
}

void dfa_done(struct dfa *dfa)
{
	free(dfa->verdicts);
	free(dfa->edges);
	memset(dfa, 0, sizeof(*dfa));
}
