// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Minimal automaton in O(edges log states): A. Valmari, G. Franceschinis, "Simple O(m log n) Time
 * Markov Chain Lumping" (TACAS 2010), with sets of labels where they have sums of weights. States
 * stand in blocks, and a block is split when its states do not lead into some other block by the
 * same labels, until none splits. It works on an automaton with missing edges if every state left
 * can still reach a verdict, so the edges to others are left aside.
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
	__u32 *waiting, *is_waiting;	 /* blocks by which others have to be split; by block */
	__u32 nwaiting;
};

static void partition_done(struct partition *p)
{
	free(p->order);
}

/* One block of n elements; 0 or -ENOMEM. */
static int partition_init(struct partition *p, size_t n)
{
	__u32 *arrays = calloc(8 * (n + 1), sizeof(__u32));
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
		.waiting = arrays + 6 * (n + 1),
		.is_waiting = arrays + 7 * (n + 1),
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
	p->marked[block]++;
}

static void wait(struct partition *p, __u32 block)
{
	if (!p->is_waiting[block])
		p->waiting[p->nwaiting++] = block;
	p->is_waiting[block] = 1;
}

/*
 * Parts the marked elements of a block from the others. The smaller part becomes a new block, and
 * it alone has to wait unless the old one does: who agrees on the whole and on one part agrees on
 * the other.
 */
static void split(struct partition *p, __u32 block)
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
	wait(p, new);
}

struct keyed {
	__u64 key;
	__u32 element;
};

static int compare_keyed(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* One block for each verdict, all of them waiting. */
static int part_verdicts(struct partition *p, const struct dfa *dfa)
{
	_cleanup_free_ struct keyed *keys = calloc(dfa->nstates, sizeof(*keys));
	size_t i, begin;
	__u32 block;

	if (!keys || partition_init(p, dfa->nstates) < 0)
		return -ENOMEM;
	for (i = 0; i < dfa->nstates; i++)
		keys[i] = (struct keyed){dfa->verdicts[i], (__u32)i};
	qsort(keys, dfa->nstates, sizeof(*keys), compare_keyed);
	for (begin = 0; begin < dfa->nstates;) {
		block = p->block_of[keys[begin].element];
		for (i = begin; i < dfa->nstates && keys[i].key == keys[begin].key; i++)
			mark(p, keys[i].element);
		split(p, block);
		begin = i;
	}
	for (block = 0; block < p->nblocks; block++)
		wait(p, block);
	return 0;
}

/* Edges by the state they lead to: those into s are into[begin[s]]..into[begin[s + 1] - 1]; none
 * into a state from which no verdict can be reached. */
struct incoming {
	__u32 *begin, *into;
	__u8 *live;
};

static void incoming_done(struct incoming *in)
{
	free(in->begin);
	free(in->into);
	free(in->live);
}

static int sort_edges(struct incoming *in, const struct dfa *dfa)
{
	size_t i;

	/* Two places further up, so that filling in leaves each beginning where it belongs. */
	in->begin = calloc(dfa->nstates + 2, sizeof(__u32));
	in->into = calloc(dfa->nedges + 1, sizeof(__u32));
	if (!in->begin || !in->into)
		return -ENOMEM;
	for (i = 0; i < dfa->nedges; i++)
		in->begin[dfa->edges[i].head + 2]++;
	for (i = 1; i < dfa->nstates; i++)
		in->begin[i + 1] += in->begin[i];
	for (i = 0; i < dfa->nedges; i++)
		in->into[in->begin[dfa->edges[i].head + 1]++] = (__u32)i;
	return 0;
}

/* Marks every state from which a verdict can be reached. */
static int find_live(struct incoming *in, const struct dfa *dfa)
{
	_cleanup_free_ __u32 *todo = calloc(dfa->nstates, sizeof(__u32));
	size_t n = 0, i;
	__u32 state;

	in->live = calloc(dfa->nstates, 1);
	if (!todo || !in->live)
		return -ENOMEM;
	for (state = 0; state < dfa->nstates; state++) {
		if (dfa->verdicts[state]) {
			in->live[state] = 1;
			todo[n++] = state;
		}
	}
	while (n) {
		state = todo[--n];
		for (i = in->begin[state]; i < in->begin[state + 1]; i++) {
			__u32 tail = dfa->edges[in->into[i]].tail;

			if (!in->live[tail]) {
				in->live[tail] = 1;
				todo[n++] = tail;
			}
		}
	}
	return 0;
}

/* A state that leads into the block at hand, the block it is in, and by which labels. */
struct leading {
	struct byte_set labels;
	__u32 block, state;
};

struct leadings {
	struct leading *items;
	size_t n, size;
	__u32 *number; /* by state: its place in items, from 1 */
};

static void leadings_done(struct leadings *leadings)
{
	free(leadings->items);
	free(leadings->number);
}

static int compare_leadings(const void *a, const void *b)
{
	const struct leading *x = a, *y = b;
	size_t i;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	for (i = 0; i < BYTE_SET_WORDS; i++) {
		if (x->labels.words[i] != y->labels.words[i])
			return x->labels.words[i] < y->labels.words[i] ? -1 : 1;
	}
	return 0;
}

static int add_leading(struct leadings *leadings, const struct dfa *dfa, const struct partition *p,
		       const struct dfa_edge *edge)
{
	__u32 *number = &leadings->number[edge->tail];

	if (!*number) {
		if (grow(&leadings->items, &leadings->size, leadings->n + 1) < 0)
			return -ENOMEM;
		leadings->items[leadings->n] = (struct leading){
			.block = p->block_of[edge->tail],
			.state = edge->tail,
		};
		*number = (__u32)++leadings->n;
	}
	byte_set_unite(&leadings->items[*number - 1].labels, &dfa->labels[edge->labels]);
	return 0;
}

static int find_leadings(const struct dfa *dfa, const struct incoming *in,
			 const struct partition *p, __u32 block, struct leadings *ret)
{
	__u32 i, j, state;

	ret->n = 0;
	for (i = p->first[block]; i < p->past[block]; i++) {
		state = p->order[i];
		if (!in->live[state])
			continue;
		for (j = in->begin[state]; j < in->begin[state + 1]; j++) {
			if (add_leading(ret, dfa, p, &dfa->edges[in->into[j]]) < 0)
				return -ENOMEM;
		}
	}
	for (i = 0; i < ret->n; i++)
		ret->number[ret->items[i].state] = 0;
	if (ret->n > 1)
		qsort(ret->items, ret->n, sizeof(*ret->items), compare_leadings);
	return 0;
}

static int refine(const struct dfa *dfa, const struct incoming *in, struct partition *p)
{
	_cleanup_(leadings_done) struct leadings leadings = {
		.number = calloc(dfa->nstates, sizeof(*leadings.number)),
	};
	size_t i, begin;
	__u32 block;

	if (!leadings.number)
		return -ENOMEM;
	while (p->nwaiting) {
		block = p->waiting[--p->nwaiting];
		p->is_waiting[block] = 0;
		if (find_leadings(dfa, in, p, block, &leadings) < 0)
			return -ENOMEM;
		for (begin = 0; begin < leadings.n; begin = i) {
			const struct leading *first = &leadings.items[begin];

			/* Not first->block: that may have been split since. */
			block = p->block_of[first->state];
			for (i = begin; i < leadings.n; i++) {
				if (compare_leadings(first, &leadings.items[i]))
					break;
				mark(p, leadings.items[i].state);
			}
			split(p, block);
		}
	}
	return 0;
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

int dfa_minimise(const struct dfa *dfa, __u32 *ret_block, size_t *ret_nblocks)
{
	_cleanup_(partition_done) struct partition states = {0};
	_cleanup_free_ __u32 *number = calloc(dfa->nstates + 1, sizeof(__u32));
	_cleanup_(incoming_done) struct incoming in = {0};

	if (!number || sort_edges(&in, dfa) < 0 || find_live(&in, dfa) < 0 ||
	    part_verdicts(&states, dfa) < 0 || refine(dfa, &in, &states) < 0)
		return -ENOMEM;
	*ret_nblocks = number_blocks(&states, dfa->nstates, number, ret_block);
	return 0;
}
