// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Minimal automaton in O(edges log states): A. Valmari, "Fast brief practical DFA minimization",
 * Information Processing Letters 112 (2012). States and edges are each kept in a partition that is
 * refined by the other until neither splits. It works on an automaton with missing edges if every
 * state left can still reach a verdict, so the others are put into block 0 first.
 */
#include "dfa.h"

#include <string.h>
#include "grow.h"

/* Elements 0..n-1 in blocks: block b is the slice first[b]..past[b] of `order`, the first marked[b]
 * of them marked. */
struct partition {
	__u32 nblocks;
	__u32 *order, *place, *block_of; /* by place; by element; by element */
	__u32 *first, *past, *marked;	 /* by block */
	__u32 *touched;			 /* blocks with marks */
	__u32 ntouched;
};

static void partition_done(struct partition *p)
{
	free(p->order);
}

/* One block of n elements; 0 or -ENOMEM. */
static int partition_init(struct partition *p, size_t n)
{
	__u32 *arrays = calloc(7 * (n + 1), sizeof(__u32));
	__u32 i;

	if (!arrays)
		return -ENOMEM;
	*p = (struct partition){
		.nblocks = n > 0,
		.order = arrays,
		.place = arrays + (n + 1),
		.block_of = arrays + 2 * (n + 1),
		.first = arrays + 3 * (n + 1),
		.past = arrays + 4 * (n + 1),
		.marked = arrays + 5 * (n + 1),
		.touched = arrays + 6 * (n + 1),
	};
	for (i = 0; i < n; i++)
		p->order[i] = p->place[i] = i;
	p->past[0] = (__u32)n;
	return 0;
}

static void mark(struct partition *p, __u32 element)
{
	__u32 block = p->block_of[element], old = p->place[element];
	__u32 new = p->first[block] + p->marked[block];

	p->order[old] = p->order[new];
	p->place[p->order[old]] = old;
	p->order[new] = element;
	p->place[element] = new;
	if (!p->marked[block]++)
		p->touched[p->ntouched++] = block;
}

/* The smaller part of a block becomes a new one: that keeps the whole within n log n. */
static void split_block(struct partition *p, __u32 block)
{
	__u32 middle = p->first[block] + p->marked[block], new, i;

	if (middle == p->past[block]) {
		p->marked[block] = 0;
		return;
	}
	new = p->nblocks++;
	if (p->marked[block] <= p->past[block] - middle) {
		p->first[new] = p->first[block];
		p->past[new] = p->first[block] = middle;
	} else {
		p->past[new] = p->past[block];
		p->first[new] = p->past[block] = middle;
	}
	for (i = p->first[new]; i < p->past[new]; i++)
		p->block_of[p->order[i]] = new;
	p->marked[block] = p->marked[new] = 0;
}

static void split(struct partition *p)
{
	while (p->ntouched)
		split_block(p, p->touched[--p->ntouched]);
}

struct keyed {
	__u32 key, element;
};

static int compare_keyed(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* Parts elements with different keys. */
static void split_by_key(struct partition *p, struct keyed *keys, size_t n)
{
	size_t i = 0;

	if (n)
		qsort(keys, n, sizeof(*keys), compare_keyed);
	while (i < n) {
		__u32 key = keys[i].key;

		for (; i < n && keys[i].key == key; i++)
			mark(p, keys[i].element);
		split(p);
	}
}

/* Edges by the state they lead to: those into s are into[begin[s]]..into[begin[s + 1] - 1]. */
struct incoming {
	__u32 *begin, *into;
};

static void incoming_done(struct incoming *in)
{
	free(in->begin);
	free(in->into);
}

static int incoming_init(struct incoming *in, const struct dfa *dfa)
{
	_cleanup_free_ __u32 *cursor = calloc(dfa->nstates + 1, sizeof(__u32));
	size_t i;

	in->begin = calloc(dfa->nstates + 1, sizeof(__u32));
	in->into = calloc(dfa->nedges + 1, sizeof(__u32));
	if (!cursor || !in->begin || !in->into)
		return -ENOMEM;
	for (i = 0; i < dfa->nedges; i++)
		in->begin[dfa->edges[i].head + 1]++;
	for (i = 0; i < dfa->nstates; i++)
		in->begin[i + 1] += in->begin[i];
	memcpy(cursor, in->begin, (dfa->nstates + 1) * sizeof(__u32));
	for (i = 0; i < dfa->nedges; i++)
		in->into[cursor[dfa->edges[i].head]++] = (__u32)i;
	return 0;
}

/* Marks in `live` every state from which a verdict can be reached. */
static int find_live(const struct dfa *dfa, const struct incoming *in, __u8 *live)
{
	_cleanup_free_ __u32 *todo = calloc(dfa->nstates + 1, sizeof(__u32));
	size_t n = 0, i;
	__u32 state;

	if (!todo)
		return -ENOMEM;
	for (state = 0; state < dfa->nstates; state++) {
		if (dfa->verdicts[state]) {
			live[state] = 1;
			todo[n++] = state;
		}
	}
	while (n) {
		state = todo[--n];
		for (i = in->begin[state]; i < in->begin[state + 1]; i++) {
			__u32 tail = dfa->edges[in->into[i]].tail;

			if (!live[tail]) {
				live[tail] = 1;
				todo[n++] = tail;
			}
		}
	}
	return 0;
}

/* First partitions: states by verdict, edges by label. */
static int part_states(const struct dfa *dfa, struct partition *states)
{
	_cleanup_free_ struct keyed *keys = calloc(dfa->nstates + 1, sizeof(*keys));
	__u32 i;

	if (!keys || partition_init(states, dfa->nstates) < 0)
		return -ENOMEM;
	for (i = 0; i < dfa->nstates; i++)
		keys[i] = (struct keyed){dfa->verdicts[i], i};
	split_by_key(states, keys, dfa->nstates);
	return 0;
}

static int part_edges(const struct dfa *dfa, struct partition *edges)
{
	_cleanup_free_ struct keyed *keys = calloc(dfa->nedges + 1, sizeof(*keys));
	__u32 i;

	if (!keys || partition_init(edges, dfa->nedges) < 0)
		return -ENOMEM;
	for (i = 0; i < dfa->nedges; i++)
		keys[i] = (struct keyed){dfa->edges[i].label, i};
	split_by_key(edges, keys, dfa->nedges);
	return 0;
}

/* Drops the edges from which no verdict can be reached. */
static int prune(struct dfa *dfa)
{
	_cleanup_free_ __u8 *live = calloc(dfa->nstates + 1, 1);
	_cleanup_(incoming_done) struct incoming in = {0};
	size_t i, kept = 0;

	if (!live || incoming_init(&in, dfa) < 0 || find_live(dfa, &in, live) < 0)
		return -ENOMEM;
	for (i = 0; i < dfa->nedges; i++) {
		if (live[dfa->edges[i].head])
			dfa->edges[kept++] = dfa->edges[i];
	}
	dfa->nedges = kept;
	return 0;
}

static void split_edges_into(struct partition *edges, const struct partition *states, __u32 block,
			     const struct incoming *in)
{
	__u32 i, j, state;

	for (i = states->first[block]; i < states->past[block]; i++) {
		state = states->order[i];
		for (j = in->begin[state]; j < in->begin[state + 1]; j++)
			mark(edges, in->into[j]);
	}
	split(edges);
}

static void refine(const struct dfa *dfa, const struct incoming *in, struct partition *states,
		   struct partition *edges)
{
	__u32 block = 1, cord, i;

	for (cord = 0; cord < edges->nblocks; cord++) {
		for (i = edges->first[cord]; i < edges->past[cord]; i++)
			mark(states, dfa->edges[edges->order[i]].tail);
		split(states);
		for (; block < states->nblocks; block++)
			split_edges_into(edges, states, block, in);
	}
}

/* Numbers for blocks that depend on the automaton alone, not on the order of splits. */
static size_t number_blocks(const struct partition *states, size_t nstates, __u32 *number,
			    __u32 *ret_block)
{
	__u32 next = 0;
	size_t i;

	for (i = 0; i < nstates; i++) {
		__u32 block = states->block_of[i];

		if (!number[block])
			number[block] = ++next;
		ret_block[i] = number[block] - 1;
	}
	return next;
}

int dfa_minimise(struct dfa *dfa, __u32 *ret_block, size_t *ret_nblocks)
{
	_cleanup_(partition_done) struct partition states = {0}, edges = {0};
	_cleanup_free_ __u32 *number = calloc(dfa->nstates + 1, sizeof(__u32));
	_cleanup_(incoming_done) struct incoming in = {0};

	if (!number || prune(dfa) < 0 || incoming_init(&in, dfa) < 0 ||
	    part_states(dfa, &states) < 0 || part_edges(dfa, &edges) < 0)
		return -ENOMEM;
	refine(dfa, &in, &states, &edges);
	*ret_nblocks = number_blocks(&states, dfa->nstates, number, ret_block);
	return 0;
}
