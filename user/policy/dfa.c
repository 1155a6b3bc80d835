// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "dfa.h"

#include <string.h>
#include "grow.h"
#include "hash.h"

/* To find a set's state and the number of a set of labels. */
struct indexes {
	struct hash_index states, labels;
};

static void indexes_done(struct indexes *indexes)
{
	hash_done(&indexes->states);
	hash_done(&indexes->labels);
}

static __u64 hash_nodes(const __u32 *items, size_t n)
{
	__u64 hash = 0x9e3779b97f4a7c15 ^ n;
	size_t i;

	for (i = 0; i < n; i++)
		hash = hash_mix(hash, items[i]);
	return hash;
}

static int is_set_of(const struct dfa_sets *sets, __u32 state, const struct nodes *nodes)
{
	size_t begin = sets->begin[state];

	return sets->begin[state + 1] - begin == nodes->n &&
	       (!nodes->n || !memcmp(sets->pool + begin, nodes->items, nodes->n * sizeof(__u32)));
}

static int add_state(struct dfa *dfa, const struct nodes *nodes, __u64 verdict)
{
	struct dfa_sets *sets = &dfa->sets;

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
static int intern(struct dfa *dfa, struct nfa *nfa, struct indexes *indexes,
		  const struct nodes *nodes, __u32 *ret_state)
{
	__u64 hash = hash_nodes(nodes->items, nodes->n);
	__u32 state;
	size_t at;
	int r;

	if (hash_reserve(&indexes->states) < 0)
		return -ENOMEM;
	for (at = hash_begin(&indexes->states, hash);
	     hash_next(&indexes->states, hash, &at, &state);) {
		if (is_set_of(&dfa->sets, state, nodes)) {
			*ret_state = state;
			return 0;
		}
	}
	r = add_state(dfa, nodes, nfa_verdict(nfa, nodes));
	if (r < 0)
		return r;
	*ret_state = (__u32)dfa->nstates - 1;
	hash_put(&indexes->states, hash, at, *ret_state);
	return 0;
}

/* The number of a set of labels, most of which many edges have. */
static int intern_labels(struct dfa *dfa, struct indexes *indexes, const struct byte_set *labels,
			 __u32 *ret)
{
	__u64 hash = 0;
	size_t at, i;

	for (i = 0; i < BYTE_SET_WORDS; i++)
		hash = hash_mix(hash, labels->words[i]);
	if (hash_reserve(&indexes->labels) < 0 ||
	    grow(&dfa->labels, &dfa->labels_size, dfa->nlabels + 1) < 0)
		return -ENOMEM;
	for (at = hash_begin(&indexes->labels, hash);
	     hash_next(&indexes->labels, hash, &at, ret);) {
		if (!memcmp(&dfa->labels[*ret], labels, sizeof(*labels)))
			return 0;
	}
	*ret = (__u32)dfa->nlabels++;
	dfa->labels[*ret] = *labels;
	hash_put(&indexes->labels, hash, at, *ret);
	return 0;
}

/* Parts the bytes of each class that are in the set from those that are not. */
static void split_classes(struct dfa *dfa, const struct byte_set *set)
{
	unsigned int inside[256] = {0}, outside[256] = {0}, byte;
	__u8 fresh[256];
	size_t label, nclasses = dfa->nclasses;

	for (byte = 0; byte < 256; byte++) {
		if (byte_set_has(set, byte))
			inside[dfa->classes[byte]]++;
		else
			outside[dfa->classes[byte]]++;
	}
	for (label = 0; label < nclasses; label++)
		fresh[label] = (__u8)(inside[label] && outside[label] ? dfa->nclasses++ : label);
	for (byte = 0; byte < 256; byte++) {
		if (byte_set_has(set, byte))
			dfa->classes[byte] = fresh[dfa->classes[byte]];
	}
}

/* Bytes that no symbol tells apart share a class. NUL has one alone: it is in no path, and the table
 * gives it a meaning of its own. */
static void fill_classes(struct dfa *dfa, const struct nfa *nfa)
{
	struct byte_set nul = {0};
	unsigned int byte;
	size_t i, label;

	dfa->nclasses = 1;
	byte_set_add(&nul, '\0');
	split_classes(dfa, &nul);
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
	for (label = 0; label < dfa->nclasses; label++)
		byte_set_add(&dfa->all, label);
}

/* The sets of the rules again, of classes instead of bytes. */
static int fill_class_sets(struct dfa *dfa, const struct nfa *nfa)
{
	size_t i, label;

	dfa->class_sets = calloc(nfa->nsets + 1, sizeof(*dfa->class_sets));
	if (!dfa->class_sets)
		return -ENOMEM;
	for (i = 0; i < nfa->nsets; i++) {
		for (label = 0; label < dfa->nclasses; label++) {
			if (byte_set_has(&nfa->sets[i], dfa->byte_of[label]))
				byte_set_add(&dfa->class_sets[i], label);
		}
	}
	return 0;
}

/* The ways on from one state: no two to the same head. */
struct ways {
	struct {
		struct byte_set labels;
		__u32 head;
	} items[256];
	size_t n;
};

static void add_way(struct ways *ways, __u32 head, const struct byte_set *labels)
{
	size_t i;

	for (i = 0; i < ways->n && ways->items[i].head != head; i++)
		;
	if (i == ways->n) {
		ways->items[i].labels = (struct byte_set){0};
		ways->items[i].head = head;
		ways->n++;
	}
	byte_set_unite(&ways->items[i].labels, labels);
}

static int add_edges(struct dfa *dfa, struct indexes *indexes, __u32 tail, const struct ways *ways)
{
	struct dfa_edge *edge;
	size_t i;

	if (dfa->nedges + ways->n > BH_MAX_DFA_EDGES)
		return -E2BIG;
	if (grow(&dfa->edges, &dfa->edges_size, dfa->nedges + ways->n) < 0)
		return -ENOMEM;
	for (i = 0; i < ways->n; i++) {
		if (!ways->items[i].head)
			continue;
		edge = &dfa->edges[dfa->nedges++];
		*edge = (struct dfa_edge){.tail = tail, .head = ways->items[i].head};
		if (intern_labels(dfa, indexes, &ways->items[i].labels, &edge->labels) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The children of a state's nodes one by one; 0 at the end. */
struct children {
	const struct nfa *nfa;
	const struct nodes *nodes;
	size_t i;
	__u32 edge;
};

static __u32 next_child(struct children *children)
{
	const struct nfa *nfa = children->nfa;
	__u32 edge;

	while (!children->edge && children->i < children->nodes->n)
		children->edge = nfa->nodes[children->nodes->items[children->i++]].edge;
	edge = children->edge;
	children->edge = nfa->edges[edge].next;
	return nfa->edges[edge].child;
}

/* A class that no literal names: rather that of a byte which few sets tell from others. */
static size_t find_unnamed(const struct dfa *dfa, const struct byte_set *named)
{
	size_t label = dfa->nclasses;

	if (!byte_set_has(named, dfa->classes[1]))
		return dfa->classes[1];
	while (label-- && byte_set_has(named, label))
		;
	return label < dfa->nclasses ? label : dfa->nclasses;
}

/* The classes that lead elsewhere than the class *ret_usual does; that is nclasses if all do. */
static void mark_named(const struct dfa *dfa, const struct nfa *nfa, const struct nodes *from,
		       struct byte_set *named, size_t *ret_usual)
{
	struct children literals = {nfa, from, 0, 0}, sets = literals;
	__u32 child;

	*named = (struct byte_set){0};
	byte_set_add(named, dfa->classes['\0']);
	byte_set_add(named, dfa->classes['/']);
	while ((child = next_child(&literals))) {
		if (nfa->nodes[child].symbol < 256)
			byte_set_add(named, dfa->classes[nfa->nodes[child].symbol]);
	}
	*ret_usual = find_unnamed(dfa, named);
	while (*ret_usual < dfa->nclasses && (child = next_child(&sets))) {
		struct byte_set differ;

		if (nfa->nodes[child].symbol < NFA_SET)
			continue;
		differ = dfa->class_sets[nfa->nodes[child].symbol - NFA_SET];
		if (byte_set_has(&differ, *ret_usual))
			byte_set_invert(&differ);
		byte_set_unite(named, &differ);
	}
}

/* A copy: the pool moves as sets are added. */
static int copy_set(const struct dfa_sets *sets, __u32 state, struct nodes *to)
{
	size_t i;

	to->n = 0;
	for (i = sets->begin[state]; i < sets->begin[state + 1]; i++) {
		if (nodes_push(to, sets->pool[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Finds where a state leads, making the states that are new. */
static int explore(struct dfa *dfa, struct nfa *nfa, struct indexes *indexes, __u32 state,
		   struct nodes *from, struct nodes *to)
{
	struct byte_set named, labels;
	size_t label, usual;
	struct ways ways;
	__u32 head = 0;
	int r;

	ways.n = 0;
	if (copy_set(&dfa->sets, state, from) < 0)
		return -ENOMEM;
	mark_named(dfa, nfa, from, &named, &usual);
	for (label = 0; label < dfa->nclasses; label++) {
		if ((label != usual && !byte_set_has(&named, label)) || label == dfa->classes['\0'])
			continue;
		labels = (struct byte_set){0};
		if (label == usual)
			byte_set_differ(&labels, &dfa->all, &named);
		else
			byte_set_add(&labels, label);
		r = nfa_step(nfa, from, dfa->byte_of[label], to);
		if (r == 0)
			r = intern(dfa, nfa, indexes, to, &head);
		if (r < 0)
			return r;
		add_way(&ways, head, &labels);
	}
	return add_edges(dfa, indexes, state, &ways);
}

int dfa_build(struct dfa *dfa, struct nfa *nfa, const struct nodes *starts, size_t nstarts,
	      __u32 *ret_starts)
{
	_cleanup_(nodes_done) struct nodes from = {0}, to = {0};
	_cleanup_(indexes_done) struct indexes indexes = {0};
	const struct nodes none = {0};
	__u32 state;
	size_t i;
	int r;

	memset(dfa, 0, sizeof(*dfa));
	fill_classes(dfa, nfa);
	if (fill_class_sets(dfa, nfa) < 0 || intern(dfa, nfa, &indexes, &none, &state) < 0)
		return -ENOMEM;
	for (i = 0; i < nstarts; i++) {
		r = intern(dfa, nfa, &indexes, &starts[i], &ret_starts[i]);
		if (r < 0)
			return r;
	}
	for (state = 1; state < dfa->nstates; state++) {
		r = explore(dfa, nfa, &indexes, state, &from, &to);
		if (r < 0)
			return r;
	}
	return 0;
}

void dfa_done(struct dfa *dfa)
{
	free(dfa->verdicts);
	free(dfa->edges);
	free(dfa->labels);
	free(dfa->class_sets);
	free(dfa->sets.pool);
	free(dfa->sets.begin);
	memset(dfa, 0, sizeof(*dfa));
}
