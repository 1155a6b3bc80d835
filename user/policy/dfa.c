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

/* Parts the bytes of each class that are in the set from those that are not. */
static void split_classes(struct dfa *dfa, const struct byte_set *set)
{
	unsigned int inside[256] = {0}, outside[256] = {0}, byte;
	__u8 fresh[256];
	size_t class, nclasses = dfa->nclasses;

	for (byte = 0; byte < 256; byte++) {
		if (byte_set_has(set, byte))
			inside[dfa->classes[byte]]++;
		else
			outside[dfa->classes[byte]]++;
	}
	for (class = 0; class < nclasses; class ++)
		fresh[class] = (__u8)(inside[class] && outside[class] ? dfa->nclasses++ : class);
	for (byte = 0; byte < 256; byte++) {
		if (byte_set_has(set, byte))
			dfa->classes[byte] = fresh[dfa->classes[byte]];
	}
}

/* Bytes that no symbol tells apart share a class. */
static int fill_classes(struct dfa *dfa, const struct nfa *nfa)
{
	unsigned int byte;
	size_t i, class;

	dfa->nclasses = 1;
	for (byte = 0; byte < 256; byte++) {
		struct byte_set one = {0};

		byte_set_add(&one, byte);
		if (byte_set_has(&nfa->literal, byte))
			split_classes(dfa, &one);
	}
	for (i = 0; i < nfa->nsets; i++)
		split_classes(dfa, &nfa->sets[i]);
	for (byte = 256; byte--;)
		dfa->byte_of[dfa->classes[byte]] = (__u8)byte;
	dfa->class_sets = calloc(nfa->nsets + 1, sizeof(*dfa->class_sets));
	if (!dfa->class_sets)
		return -ENOMEM;
	for (i = 0; i < nfa->nsets; i++) {
		for (class = 0; class < dfa->nclasses; class ++) {
			if (byte_set_has(&nfa->sets[i], dfa->byte_of[class]))
				byte_set_add(&dfa->class_sets[i], class);
		}
	}
	return 0;
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

/* The children of a state's nodes one by one; 0 at the end. */
struct children {
	const struct nfa *nfa;
	const struct nodes *nodes;
	size_t i;
	__u32 next;
};

static __u32 next_child(struct children *children)
{
	const struct nfa_node *nodes = children->nfa->nodes;
	__u32 child;

	while (!children->next && children->i < children->nodes->n)
		children->next = nodes[children->nodes->items[children->i++]].child;
	child = children->next;
	children->next = child ? nodes[child].sibling : 0;
	return child;
}

static size_t first_unnamed(const struct dfa *dfa, const struct byte_set *named)
{
	size_t class = 0;

	while (class < dfa->nclasses && byte_set_has(named, class))
		class ++;
	return class;
}

/* The classes that lead elsewhere than the class *ret_usual does; that is nclasses if all do. */
static void mark_named(const struct dfa *dfa, const struct nfa *nfa, const struct nodes *from,
		       struct byte_set *named, size_t *ret_usual)
{
	struct children literals = {nfa, from, 0, 0}, sets = literals;
	__u32 child;
	size_t i;

	*named = (struct byte_set){0};
	byte_set_add(named, dfa->classes['/']);
	while ((child = next_child(&literals))) {
		if (nfa->nodes[child].symbol < 256)
			byte_set_add(named, dfa->classes[nfa->nodes[child].symbol]);
	}
	*ret_usual = first_unnamed(dfa, named);
	while (*ret_usual < dfa->nclasses && (child = next_child(&sets))) {
		struct byte_set differ;

		if (nfa->nodes[child].symbol < NFA_SET)
			continue;
		differ = dfa->class_sets[nfa->nodes[child].symbol - NFA_SET];
		if (byte_set_has(&differ, *ret_usual))
			byte_set_invert(&differ);
		for (i = 0; i < BYTE_SET_WORDS; i++)
			named->words[i] |= differ.words[i];
	}
}

static int add_edges(struct dfa *dfa, struct nfa *nfa, struct sets *sets, __u32 state,
		     struct nodes *from, struct nodes *to)
{
	__u32 head = 0, usual_head = 0;
	struct byte_set named;
	size_t label, usual, i;
	int r;

	/* A copy: the pool moves as sets are added. */
	from->n = 0;
	for (i = sets->begin[state]; i < sets->begin[state + 1]; i++) {
		if (nodes_push(from, sets->pool[i]) < 0)
			return -ENOMEM;
	}
	mark_named(dfa, nfa, from, &named, &usual);
	/* The usual class is the first that is not named. */
	for (label = 0; label < dfa->nclasses; label++) {
		if (label == usual || byte_set_has(&named, label)) {
			r = nfa_step(nfa, from, dfa->byte_of[label], to);
			if (r == 0)
				r = intern(dfa, nfa, sets, to, &head);
			if (r < 0)
				return r;
			if (label == usual)
				usual_head = head;
		}
		r = add_edge(dfa, state, label, byte_set_has(&named, label) ? head : usual_head);
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
	if (fill_classes(dfa, nfa) < 0 || intern(dfa, nfa, &sets, &none, &state) < 0)
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
	free(dfa->class_sets);
	memset(dfa, 0, sizeof(*dfa));
}
